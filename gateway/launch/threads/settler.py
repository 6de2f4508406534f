"""The thread that settles broker messages from the inbox, in order, from the last recorded offset.

A ledger that does not answer delays a report and never loses it: the inbox has it on disk, and the
offset moves only after the record is durable. `state` shows an unexpected error until its report is
settled, and a report that waits longer than `LASTING_US`; meanwhile no new order is sent.
"""

import logging
import threading
from collections.abc import Callable
from hashlib import sha256
from typing import Protocol

from audit.errors import AuditError, CanonicalError, DraftError, IdempotencyConflictError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.durable.inbox import Entry
from gateway import clock
from gateway.errors import GatewayError
from gateway.telemetry.spans import Telemetry
from gateway.walk.journal.persons import hide
from gateway.walk.journal.session import FixInbound
from gateway.walk.settlement import Received, SettleTools, settle

_log = logging.getLogger(__name__)
POLL_S = 0.05
RETRY_S = 0.2
LASTING_US = 2_000_000
READY = "ready"


class InboxPort(Protocol):
    """The part of the FIX child's supervisor that settling needs."""

    def inbox_since(self, offset: int) -> list[Entry]:
        """Return the messages that begin at or after an offset."""


class Settler:
    """Settles one session's inbox."""

    def __init__(
        self,
        fix: InboxPort,
        tools: SettleTools,
        reader: LedgerReader,
        telemetry: Telemetry,
        monotonic: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        self._fix = fix
        self._reader = reader
        self._monotonic = monotonic
        self._telemetry = telemetry
        self._tools = tools
        self._offset, self._skip = _resume(reader, tools.session)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._trouble = ""
        self._waits: tuple[int, int] | None = None  # offset of the report at hand, since when
        self._told = False
        self._thread = threading.Thread(target=self._run, name="settler", daemon=True)

    @property
    def session(self) -> str:
        """The name of the session."""
        return self._tools.session

    @property
    def offset(self) -> int:
        """The inbox offset of the next unsettled message."""
        return self._offset

    @property
    def state(self) -> str:
        """`ready`, or why reports do not reach the book."""
        if self._trouble:
            return self._trouble
        waits = self._waits
        if waits is not None and self._monotonic() - waits[1] > LASTING_US:
            return f"stuck at {waits[0]}: the report waits for the ledger"
        began = self._thread.ident is not None
        return "stopped" if began and not self._thread.is_alive() else READY

    @property
    def ready(self) -> bool:
        """Whether reports reach the book; otherwise no new order may leave."""
        return self.state == READY

    def start(self) -> None:
        """Start settling."""
        self._thread.start()

    def wake(self) -> None:
        """Announce a new message; safe from a callback."""
        self._wake.set()

    def stop(self) -> None:
        """Settle the rest of the inbox and stop."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:  # a start that failed before it has none to wait for
            self._thread.join(10.0)

    def _run(self) -> None:
        while True:
            stopping = self._stopping.is_set()
            done = self.drain()
            if stopping and (done or self._trouble):
                return
            self._wake.wait(POLL_S if done else RETRY_S)
            self._wake.clear()

    def drain(self) -> bool:
        """Settle the inbox on the caller's thread, before `start`; return whether all of it is."""
        try:
            for entry in self._fix.inbox_since(self._offset):
                if entry.offset == self._skip:
                    self._tools.forget(entry.offset)  # a crash may have come before this
                elif not self._take(entry):
                    self._tell_if_it_lasts()
                    return False
                self._offset, self._waits, self._told = entry.next_offset, None, False
        except Exception as error:  # noqa: BLE001 - the loop's top: a dead settler settles nothing
            trouble = f"stuck at {self._offset}: {type(error).__name__}{_way_on(error)}"
            if trouble != self._trouble:
                _log.critical("settling is %s; no new order is sent", trouble, exc_info=True)
            self._trouble = trouble
            return False
        self._trouble = ""
        return True

    def _take(self, entry: Entry) -> bool:
        """Settle one message; return False if the ledger did not take it."""
        if self._waits is None:
            self._waits = (entry.offset, self._monotonic())
        received = Received(offset=entry.offset, raw=entry.raw)
        try:
            with self._telemetry.span("settle"):
                settle(received, self._tools)
        except IdempotencyConflictError as error:
            if not self._on_record(received):
                raise  # another record has its key
            # an earlier try reached the ledger, at another market time
            _log.warning("report at %s is on record already: %s", entry.offset, error)
            self._tools.forget(entry.offset)
        except (DraftError, CanonicalError):
            raise  # waiting does not help; `settle` has tried to record it
        except (AuditError, GatewayError) as error:
            _log.error("report at %s waits for the ledger: %s", entry.offset, error)
            return False
        return True

    def _on_record(self, received: Received) -> bool:
        """Return whether a valid record has this message at its inbox offset."""
        stream, kinds = f"session/{self.session}", (Kind.FIX_INBOUND,)
        raw, _ = hide(received.raw, self._tools.persons, self._tools.public_tags)
        digest = sha256(raw.encode("latin-1", "replace")).hexdigest()
        found = self._reader.records(stream=stream, kinds=kinds, newest_first=True)
        return any(
            (one.offset, one.digest) == (received.offset, digest)
            for one in map(FixInbound.of, found)
        )

    def _tell_if_it_lasts(self) -> None:
        if not self.ready and not self._told:
            self._told = True
            _log.critical("settling is %s; no new order is sent", self.state)


def _way_on(error: Exception) -> str:
    if not isinstance(error, IdempotencyConflictError):
        return ""
    return f": {error}, no report of ours; stop the gateway and run `countersign fsck`"


def _resume(reader: LedgerReader, session: str) -> tuple[int, int]:
    """Return the offset to read from and the offset to skip: that of the last recorded message."""
    last = -1
    for record in reader.records(stream=f"session/{session}", kinds=(Kind.FIX_INBOUND,)):
        last = max(last, FixInbound.of(record).offset)
    return (0, -1) if last < 0 else (last, last)
