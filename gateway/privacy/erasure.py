"""Erasure, holds and disclosure over one installation's vault and files.

A subject's name is in clear text in the vault only. Before a key is destroyed, the logs are
searched for the names that it holds. The simulator's files are the broker's and stay untouched.

Not here: what an erasure is (`audit.privacy.erasure`), who may ask (`surfaces`).
"""

from collections.abc import Callable

from audit.errors import ErasureRefusedError, VaultError
from audit.privacy.disclosures import Disclosures
from audit.privacy.erasure import AppendPort, Privacy
from audit.privacy.retention import Retention, Years
from audit.privacy.vault import Vault
from audit.store.reader import LedgerReader
from fix.durable.wire_log import scrub_log
from gateway import clock
from gateway.installation.settings import RetentionSettings, Settings
from gateway.installation.state import StateFolder
from gateway.privacy.logs import clean_logs


def make_privacy(  # noqa: PLR0913 - what an erasure touches
    settings: Settings,
    state: StateFolder,
    *,
    dsn: str,
    ledger: AppendPort,
    reader: LedgerReader,
    vault: Vault,
    on_read: Callable[[int, int], None] = lambda *_: None,
    on_search: Callable[[int, int], None] = lambda *_: None,
) -> Privacy:
    """Return the privacy functions of an installation over an open ledger.

    `on_read` is called with (done, total) while an erasure reads records, `on_search` while it
    searches free text for the name.
    """
    return Privacy(
        log=settings.ledger.origin,
        ledger=ledger,
        reader=reader,
        vault=vault,
        disclosures=Disclosures(dsn, on_read, on_search, row_key=reader.row_key),
        years=years_of(settings.retention),
        now_us=clock.wall_us,
        clean=lambda names: clean_names(state, names),
    )


def complete(privacy: Privacy, say: Callable[[str], None]) -> None:
    """Finish the erasures that a crash interrupted.

    If a file does not allow it, or the record was altered, the operator is told and the start goes
    on. The key stays until the same command, or the next start, succeeds.
    """
    try:
        if privacy.complete():
            say("privacy    an interrupted erasure is complete; free text was not searched for it")
    except (VaultError, ErasureRefusedError) as error:
        say(f"privacy    an erasure is on record and NOT complete: {error}; repeat it")


def years_of(settings: RetentionSettings) -> Years:
    """Return retention years by class of personal field."""
    return {
        Retention.ORDER.value: settings.order_years,
        Retention.COMMUNICATION.value: settings.communication_years,
        Retention.SUPERVISION.value: settings.supervision_years,
        Retention.NONE.value: 0,
    }


def clean_names(state: StateFolder, names: tuple[str, ...]) -> None:
    """Overwrite names in the logs of this installation; safe to repeat.

    Raises:
        VaultError: a file could not be written; do not destroy the key yet.
    """
    try:
        folders = (*(one / "log" for one in state.fix_stores), state.logs, state.engine_logs)
        files = [path for top in folders for path in sorted(top.rglob("*")) if path.is_file()]
        for path in files:
            if path.name.endswith("messages.current.log"):
                scrub_log(path)
        clean_logs(files, names, state.cleaning)
    except OSError as error:
        raise VaultError(f"names are left in a log: {error.strerror}") from error
