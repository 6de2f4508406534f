"""A state folder whose new content is removed unless the verb succeeds.

Content that was there before stays. The folder is locked, so new content is this process's own; a
database server that still runs keeps its folder.

A second folder that is renamed in the end would not do: the keys that record an older ledger are in
this one already, and a database's socket and files name the path that they were made under.
"""

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from audit.files import appearing, sync_folder
from gateway.errors import NoLedgerError
from gateway.installation.children.postgres import socket_folder
from gateway.installation.children.postmaster import left_alone
from gateway.installation.state import StateFolder

LOCATION, HOME = "pg.location", "pg"
UNFINISHED = "restore.unfinished"


@contextlib.contextmanager
def on_trial(state: StateFolder) -> Iterator[Callable[[], None]]:
    """Lock a state folder, made if it is missing; yield a function that keeps its new content.

    Raises:
        StateInUseError: another process holds it; nothing was changed.
    """
    root = state.root
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    root.mkdir(parents=True, exist_ok=True, mode=0o711)
    with state.lock():
        before = set(root.iterdir())
        kept: list[bool] = []
        try:
            state.create()
            yield lambda: kept.append(True)
        finally:
            if not kept and _removed(root, before) and made:
                (root / "lock").unlink()
                with contextlib.suppress(OSError):  # no longer empty
                    for folder in made:
                        folder.rmdir()


def holds_database(root: Path) -> bool:
    """Return whether a state folder has an embedded database, running or not."""
    return any((home / "data").is_dir() for home in database_homes(root))


def database_homes(root: Path) -> list[Path]:
    """Return the folders where a state folder's embedded database may be."""
    homes = [root / HOME]
    if (root / LOCATION).is_file():
        homes.append(Path((root / LOCATION).read_text(encoding="utf-8").strip()))
    return homes


def begin_unfinished(root: Path) -> None:
    """Mark the folder so that nothing runs in it before `ledger_restored` has been recorded.

    Raises:
        OSError: it cannot be written.
    """
    with appearing(root / UNFINISHED) as file:
        file.write(b"restore --accept-older\n")


def end_unfinished(root: Path) -> None:
    """Remove the mark: the restore is recorded, or nothing is older.

    Raises:
        OSError: the disk refused.
    """
    (root / UNFINISHED).unlink(missing_ok=True)
    sync_folder(root)


def refuse_unfinished(root: Path) -> None:
    """Refuse a folder that was restored to an older state without a record of it.

    Raises:
        NoLedgerError: the folder is marked.
    """
    if (root / UNFINISHED).exists():
        raise NoLedgerError(
            where=str(root),
            advice="`countersign restore --accept-older` was interrupted before it was recorded:"
            " remove the folder (and empty a database of your own), and restore again",
        )


def _removed(root: Path, before: set[Path]) -> bool:
    """Remove what is new in a folder; return whether all of it is gone."""
    new = [entry for entry in root.iterdir() if entry not in before]
    home = root / HOME
    if root / LOCATION in new:
        home = Path((root / LOCATION).read_text(encoding="utf-8").strip())
    if root / LOCATION in new or home in new:
        # processes of an interrupted start end by themselves; another's server goes on
        if not (left_alone(home / "data") and left_alone(home / "data.new")):
            sys.stderr.write(f"{root} is left as it is: its database server is in use\n")
            return False
        new += [home, socket_folder(home)]
    for entry in new:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
    return True
