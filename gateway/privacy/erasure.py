"""Erasure, holds and disclosure in one installation: its vault, its files, its years.

Not here: what an erasure is (`audit.privacy.erasure`), who may ask (`api`), and the verbs
(`commands`).

A subject's name stands in clear in the vault only. In the files of the FIX engine names are
overwritten as soon as they are on record; before a key goes, the logs are searched once more for
the names that it holds. The simulator's files are the broker's: out of our reach, as any broker's.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

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
    """Return the privacy of an installation over an open ledger.

    Args:
        settings: name the log, and say for how many years values are kept.
        state: its folders.
        dsn: of the database.
        ledger: appends records.
        reader: reads them.
        vault: holds the keys.
        on_read: called while an erasure reads the log: how many records of how many.
        on_search: called likewise while it looks for the name in words.
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
    """Finish at a start what a crash cut off of erasures.

    Where a file does not allow it, or its record was altered, the operator is told and the start
    goes on: the key stays, and the same command again, or the next start, tries once more.
    """
    try:
        if privacy.complete():
            say(
                "privacy    an erasure that was cut off is complete; words were not searched for it"
            )
    except (VaultError, ErasureRefusedError) as error:
        say(f"privacy    an erasure is on record and NOT complete: {error}; ask for it again")


def years_of(settings: RetentionSettings) -> Years:
    """Return years by class of personal field."""
    return {
        Retention.ORDER.value: settings.order_years,
        Retention.COMMUNICATION.value: settings.communication_years,
        Retention.SUPERVISION.value: settings.supervision_years,
        Retention.NONE.value: 0,
    }


def clean_names(state: StateFolder, names: tuple[str, ...]) -> None:
    """Overwrite names in the logs of this installation, in place; safe to repeat.

    Raises:
        VaultError: a file could not be written; the key must not be destroyed yet.
    """
    try:
        files = tuple(_logs(state))
        for path in files:
            if path.name.endswith("messages.current.log"):
                scrub_log(path)
        clean_logs(files, names, state.cleaning)
    except OSError as error:
        raise VaultError(f"names are left in a log: {error.strerror}") from error


def _logs(state: StateFolder) -> Iterator[Path]:
    for folder in (state.fix_logs, state.logs, state.engine_logs):
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file())
