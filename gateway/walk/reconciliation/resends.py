"""Which messages of a session are on record: a resent one may be older than the book.

Not here: when a message is old (`fix.wire.resends`), and what becomes of it (`settlement`).
"""

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.wire.resends import Heard, word_of
from gateway.walk.journal.session import FixInbound


class Resends:
    """The recorded messages of one session; for one thread, the settler's."""

    def __init__(self, reader: LedgerReader, session: str) -> None:
        """Start with nothing read; the ledger is read when the first resend comes."""
        self._reader = reader
        self._session = session
        self._heard = Heard()
        self._seq = -1

    def has_heard(self, raw: str) -> bool:
        """Return whether a message is a resend, and it or a later one of its order is on record.

        Raises:
            AuditError: when the ledger cannot be read; ask again.
        """
        word = word_of(raw)
        if word is None or not word.resent:
            return False
        size = self._reader.log_size()
        for record in self._reader.records(
            stream=f"session/{self._session}",
            kinds=(Kind.FIX_INBOUND,),
            after_seq=self._seq,
            before_seq=size,
        ):
            self._heard.take(word_of(FixInbound.of(record).raw))
        self._seq = size - 1
        return self._heard.is_old(word)
