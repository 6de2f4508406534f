"""Whether the database would take an append now.

A server can accept sessions and yet block every append, or the other way round. So a beat asks for
all that an append needs: the sequencer's session, a new session, and the locks.
"""

from audit.sequencer.ledger import Ledger
from audit.store.tables import WRITER_ROLE, connect
from audit.store.watchdog import Watchdog

_LOCKED_SQL = "SELECT FROM ledger.head WHERE id = 1 FOR UPDATE"
_TABLES_SQL = "LOCK TABLE ledger.entry, ledger.checkpoint IN ROW EXCLUSIVE MODE"


class Liveness:
    """Asks one database, one beat at a time."""

    def __init__(self, ledger: Ledger, dsn: str) -> None:
        self._ledger = ledger
        self._dsn = dsn
        self._watchdog = Watchdog()
        self._size = -1

    def beat(self, timeout_s: float) -> None:
        """Return once an append would be taken; in a log that grows, only a new session is tried.

        Nothing is written. The locks are taken one after the other and released at once.

        Raises:
            LedgerError: the sequencer does not answer.
            DatabaseError: the server accepts no session, or a lock is held.
        """
        grown = self._size != self._ledger.size
        self._size = self._ledger.size
        if not grown:
            self._ledger.resolve("control", "liveness", timeout_s)
        session = connect(self._dsn, role=WRITER_ROLE, name="countersign-liveness")
        try:
            with self._watchdog.within(session, timeout_s):
                if grown:
                    session.execute("SELECT 1")
                    return
                session.execute(f"SET lock_timeout = {int(timeout_s * 1000)}".encode())
                for query in (_TABLES_SQL, _LOCKED_SQL):
                    with session.transaction(force_rollback=True):
                        session.execute(query)
        finally:
            session.close()

    def close(self) -> None:
        """Stop the watchdog."""
        self._watchdog.close()
