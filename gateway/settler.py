"""The thread that settles: reads the inbox from the last recorded offset, in order.

And never gives up.

A ledger that does not answer delays a report, it never loses one: the inbox has it on disk, and the
offset only moves after the record is durable.
"""

import logging
import threading

from audit.errors import AuditError, IdempotencyConflictError
from audit.kinds import Kind
from audit.queries import LedgerReader
from gateway.errors import GatewayError
from gateway.fix_child import FixChild
from gateway.settlement import Received, SettleTools, settle
from gateway.telemetry import Telemetry

_log = logging.getLogger(__name__)
POLL_S = 0.05
RETRY_S = 0.2


class Settler:
    """Settles one session's inbox."""

    def __init__(
        self, fix: FixChild, tools: SettleTools, reader: LedgerReader, telemetry: Telemetry
    ) -> None:
        """Start from the last inbox offset that is on record."""
        self._fix = fix
        self._telemetry = telemetry
        self._tools = tools
        self._offset, self._skip = _resume(reader, tools.session)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="settler", daemon=True)

    @property
    def session(self) -> str:
        """The session whose inbox this is."""
        return self._tools.session

    @property
    def offset(self) -> int:
        """Where the next unsettled message begins in the inbox."""
        return self._offset

    def start(self) -> None:
        """Start settling."""
        self._thread.start()

    def wake(self) -> None:
        """Say that something came in; safe from a callback."""
        self._wake.set()

    def drain(self) -> bool:
        """Settle what is in the inbox now, on the caller's thread; only before `start`."""
        return self._take_all()

    def stop(self) -> None:
        """Finish what is in the inbox and stop."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        while True:
            stopping = self._stopping.is_set()
            done = self._take_all()
            if stopping and done:
                return
            self._wake.wait(POLL_S if done else RETRY_S)
            self._wake.clear()

    def _take_all(self) -> bool:
        """Settle every whole message; False when the ledger did not take one."""
        for entry in self._fix.inbox_since(self._offset):
            if entry.offset != self._skip:
                try:
                    with self._telemetry.span("settle"):
                        settle(Received(offset=entry.offset, raw=entry.raw), self._tools)
                except IdempotencyConflictError as error:
                    # an earlier try did reach the ledger, at another market time
                    _log.warning("report at %s is on record already: %s", entry.offset, error)
                except (AuditError, GatewayError) as error:
                    _log.error("report at %s waits for the ledger: %s", entry.offset, error)
                    return False
            self._offset = entry.next_offset
        return True


def _resume(reader: LedgerReader, session: str) -> tuple[int, int]:
    """Return (offset to read from, offset to skip): the last recorded message itself is skipped."""
    last = -1
    for record in reader.records(stream=f"session/{session}", kinds=(Kind.FIX_INBOUND,)):
        last = max(last, int(str(record.body["offset"])))
    return (0, -1) if last < 0 else (last, last)
