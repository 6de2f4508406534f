"""What of a session was heard before: a message that is sent again may be older than the book.

The ledger has every message as it came in, and nothing is read of it before one is sent again. Not
here: what an old word is (`fix.wire.resends`), and what becomes of it (`settlement`, `quarantine`).
"""

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.wire.resends import Heard, word_of
from gateway.walk.journal.session import FixInbound


class Resends:
    """The messages of one session that are on record; for one thread, the settler's."""

    def __init__(self, reader: LedgerReader, session: str) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._session = session
        self._heard = Heard()
        self._seq = -1

    def has_heard(self, raw: str) -> bool:
        """Return whether a message is sent again, and it or a later one of its order is on record.

        Raises:
            AuditError: the ledger cannot be read; ask again.
        """
        word = word_of(raw)
        if word is None or not word.resent:
            return False
        size = self._reader.head().size
        for record in self._reader.records(
            stream=f"session/{self._session}",
            kinds=(Kind.FIX_INBOUND,),
            after_seq=self._seq,
            before_seq=size,
        ):
            self._heard.take(word_of(FixInbound.of(record).raw))
        self._seq = size - 1
        return self._heard.is_old(word)
