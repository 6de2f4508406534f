"""Access of a verb to an existing ledger; an embedded database that is down is started."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from audit.store.reader import LedgerReader
from audit.store.tables import has_schema
from gateway.errors import NoLedgerError
from gateway.installation.database import enter
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.installation.trial import holds_database, refuse_unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A ledger that can be read."""

    dsn: str
    reader: LedgerReader
    state: StateFolder
    settings: Settings


@contextmanager
def attached(settings: Settings, *, create: bool = False) -> Iterator[Place]:
    """Yield the ledger of a state folder; stop a database that this call started.

    With `create`, for a restore, a missing database is made.

    Raises:
        NoLedgerError: there is no ledger; nothing was made.
    """
    state = StateFolder.of(settings)
    if not create:
        require_ledger(settings)
    with ExitStack() as stack:
        dsn, unsafe = enter(settings.ledger, state.root, stack)
        if unsafe:
            sys.stderr.write(f"countersign: warning: {unsafe}\n")
        reader = LedgerReader(dsn)
        stack.callback(reader.close)
        yield Place(dsn=dsn, reader=reader, state=state, settings=settings)


def require_ledger(settings: Settings) -> None:
    """Check that there is a ledger, without changing anything.

    Raises:
        NoLedgerError: there is none.
    """
    root, dsn = StateFolder.of(settings).root, settings.ledger.dsn
    refuse_unfinished(root)
    if dsn is None and not holds_database(root):
        raise NoLedgerError(
            where=str(root),
            advice="name its folder with --state or COUNTERSIGN_STATE; `countersign run` makes one",
        )
    if dsn is not None and not has_schema(dsn):
        raise NoLedgerError(
            where="the database that COUNTERSIGN_LEDGER__DSN names",
            advice="`countersign migrate` makes its tables",
        )
