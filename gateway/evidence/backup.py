"""`backup` and `restore`.

A restored ledger that is older than what was published goes on only with `--accept-older`, and its
first record says so: `ledger_restored` names the restored size and root, the published size, and
how many records are lost. The log then signs other trees at sizes that witnesses have cosigned.
They refuse to cosign it until their operators, who can read that record, decide about it.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from audit.errors import BackupError
from audit.files import STDOUT, beside, named
from audit.privacy.vault import Vault
from audit.upkeep.backup.backup import backup
from audit.upkeep.backup.form import read_backup
from audit.upkeep.backup.restore import Restored, restore
from audit.verifier.verify import NOT_CHECKABLE, OK, WORDS, Bad
from gateway.clock import wall_us
from gateway.evidence.integrity import Given
from gateway.installation.keys.log_keys import load_signers
from gateway.installation.keys.rotation import open_ledger
from gateway.installation.keys.row_keys import RowKeys, permit_restored
from gateway.installation.place import Place, attached
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.installation.trial import begin_unfinished, end_unfinished, on_trial
from gateway.telemetry.console import Progress
from gateway.walk.journal.run import LedgerRestored

ACTOR = "operator"


def back_up(place: Place, path: Path) -> None:
    """Write a backup of the whole ledger while the gateway may run.

    Every row's MAC is checked first. Backups carry no row key, so every restored row counts.

    Raises:
        BackupError: when this state folder has no row key for the ledger, or a row is not ours.
        SettingsError: when the key folder has no row key.
    """
    row_key = RowKeys(place.state, place.settings.ledger.origin).found
    if row_key is None:
        raise BackupError(
            f"{place.state.root} has no row key of this ledger, so rows that the gateway did not"
            " write would be backed up too: use the gateway's own state folder, after its first"
            " start with a row key"
        )
    bar = Progress(sys.stderr)
    try:
        about = backup(place.dsn, path, wall_us(), bar.show, row_key=row_key)
    finally:
        bar.end()
    long = "" if path == STDOUT else f", {path.stat().st_size:,} bytes"
    file = named(path)
    beside(path).write(
        f"{about.size} records of {about.origin} in {file}{long}\n"
        "subject keys are not in it; back up the log's keys apart from it\n"
        f"bring back with: countersign restore {file} --state NEW --key KEY --checkpoint KEPT\n"
    )


def bring_back(
    settings: Settings,
    path: Path,
    given: Given,
    *,
    accept_older: bool,
    reason: str,
    on_done: Callable[[], None] = lambda: None,
) -> int:
    """Restore a backup into an empty state folder; return the verifier's exit code.

    Unless everything was restored and recorded, what was made is removed. `on_done` is called just
    before the result stays; from there on the code is 0.
    """
    state = StateFolder.of(settings)
    _begins_as_one(path)
    if accept_older:  # before hours of loading: recording it needs the key
        load_signers(state, settings.ledger, create=False)
    bar = Progress(sys.stderr)
    try:
        outside = given.read()
    except (Bad, OSError) as error:
        return _not_checkable(error)
    try:
        vault = Vault(state.vault) if state.vault.is_dir() else None
        with on_trial(state) as keep:
            with attached(settings, create=True) as place:
                if accept_older and not any(place.reader.records(limit=1)):
                    begin_unfinished(state.root)
                # a crash from here to `end_unfinished` leaves a mark: this ledger does not start,
                # and the operator is told to restore again
                result = restore(
                    *(place.dsn, path, outside, bar.show), accept_older=accept_older, vault=vault
                )
                if result.report.exit_code == OK and result.lost:
                    permit_restored(state, result.size, result.root)
                    _record(place, result, path, reason)
            if result.report.exit_code == OK:
                if not result.lost:  # or it was opened already
                    # a crash here leaves rows that the next start accepts as older than its key
                    permit_restored(state, result.size, result.root)
                on_done()
                end_unfinished(state.root)
                keep()
    except Bad as error:
        return _not_checkable(error)
    except OSError as error:
        raise BackupError(f"not restored: {error}") from error
    finally:
        bar.end()
    _say(result)
    return result.report.exit_code


def _not_checkable(error: Exception) -> int:
    sys.stdout.write(f"{WORDS[NOT_CHECKABLE]}: {error}\n")
    return NOT_CHECKABLE


def _begins_as_one(path: Path) -> None:
    """Check a file's first line before anything is made for it.

    Raises:
        BackupError: when it is no backup.
    """
    try:
        with path.open("rb") as file:
            next(read_backup(file))
    except OSError as error:
        raise BackupError(f"cannot read {path}: {error.strerror}") from error


def _say(result: Restored) -> None:
    for line in result.report.lines:
        sys.stdout.write(f"{line}\n")
    if result.report.exit_code != OK:
        sys.stdout.write(f"{WORDS[result.report.exit_code]}: nothing was restored\n")
        return
    sys.stdout.write(f"restored {result.size} records, root {result.root.hex()}\n")
    sys.stdout.write(
        "before it runs, bring keys/, vault/ and fix/ of the old state folder; if fix/ is lost,"
        " start once with --new-fix-session REASON\n"
    )
    if result.lost:
        sys.stdout.write(
            f"{result.lost} records that were published once are lost; witnesses that saw them"
            " will refuse this log until their operators decide about it\n"
        )


def _record(place: Place, result: Restored, path: Path, reason: str) -> None:
    """Record that the log goes on from an older state."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with open_ledger(place) as ledger:
        ledger.append(
            LedgerRestored(
                size=result.size,
                root=result.root.hex(),
                known_size=result.known_size,
                lost=result.lost,
                reason=reason,
                backup_sha256=digest,
            ).draft(actor=ACTOR)
        )
