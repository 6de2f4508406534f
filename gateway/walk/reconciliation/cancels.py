"""The cancels of a sweep, on record: taken from the FIX child's journal, where they stand first.

A child that cancels cannot wait for a ledger. Its journal has each cancel on disk before the bytes
leave; this puts them into the ledger: while the gateway runs as it is told of them, and at a start
before anything connects, with what an earlier child did on its own.
"""

import threading
from collections.abc import Callable, Iterable

from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from audit.store.reader import LedgerReader
from fix.durable.journal import CancelNote
from gateway.walk.journal.kill import CancelSent, cancel_sent
from gateway.walk.ports import LedgerPort

AT_ONCE = 100


class CancelRecords:
    """What the journal notes and the ledger lacks; safe from any thread."""

    def __init__(
        self,
        ledger: LedgerPort,
        reader: LedgerReader,
        session: str,
        noted: Callable[[], Iterable[CancelNote]],
    ) -> None:
        """Prepare; nothing is read before `take`.

        Args:
            ledger: takes the records.
            reader: knows which are there.
            session: whose journal it is.
            noted: reads the journal.
        """
        self._ledger = ledger
        self._reader = reader
        self._session = session
        self._noted = noted
        self._recorded: set[str] | None = None
        self._lock = threading.Lock()

    def take(self) -> int:
        """Put every cancel on record that is not there yet; returns how many.

        Raises:
            AuditError: the ledger does not take them, or cannot be read; ask again.
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

    def _on_record(self) -> set[str]:
        stream = f"session/{self._session}"
        found = self._reader.records(stream=stream, kinds=(Kind.CANCEL_SENT,))
        return {CancelSent.of(record).cl_ord_id for record in found}
