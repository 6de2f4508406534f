"""Cancels of the FIX child, copied from its journal into the ledger.

A child that cancels cannot wait for the ledger: its journal has each cancel on disk before the
bytes leave. The gateway records them as they are noted, and at a start before anything connects,
with those of an earlier child.
"""

import threading
from collections.abc import Callable, Iterable

from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from audit.store.reader import LedgerReader
from fix.durable.journal import CancelNote
from gateway.walk.journal.control.kill import CancelSent, cancel_sent
from gateway.walk.ports import LedgerPort

AT_ONCE = 100


class CancelRecords:
    """Copies cancels that the ledger lacks; safe from any thread."""

    def __init__(
        self,
        ledger: LedgerPort,
        reader: LedgerReader,
        session: str,
        noted: Callable[[], Iterable[CancelNote]],
    ) -> None:
        """Prepare; `noted` reads the journal, and nothing is read before `take`."""
        self._ledger = ledger
        self._reader = reader
        self._session = session
        self._noted = noted
        self._recorded: set[str] | None = None
        self._lock = threading.Lock()

    def take(self) -> int:
        """Record every cancel that is not on record yet; return how many.

        Raises:
            AuditError: when the ledger takes none or cannot be read; ask again.
        """
        with self._lock:
            if self._recorded is None:
                self._recorded = self._on_record()
            known = self._recorded
            lacking = [note for note in self._noted() if note.cancel_id not in known]
            for start in range(0, len(lacking), AT_ONCE):
                some = lacking[start : start + AT_ONCE]
                drafts = [cancel_sent(note, self._session) for note in some]
                self._ledger.append(*drafts, lane=Lane.URGENT)
                known.update(note.cancel_id for note in some)
            return len(lacking)

    def __contains__(self, cancel_id: object) -> bool:
        """Return whether a cancel is on record; all that were noted are, after `take`."""
        with self._lock:
            return cancel_id in (self._recorded or ())

    def _on_record(self) -> set[str]:
        stream = f"session/{self._session}"
        found = self._reader.records(stream=stream, kinds=(Kind.CANCEL_SENT,))
        return {CancelSent.of(record).cl_ord_id for record in found}
