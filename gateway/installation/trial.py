"""A state folder on trial: what a verb made in it stays only when the verb says so.

Whatever was there before stays as it is. Everything happens under the folder's lock, so that what
is new is this process's own; a database server that still runs there keeps its folder.

Not a folder beside it, renamed in the end: the keys that put an older ledger on record are in it
already, and a database's socket and files name the path that they were made under.
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
    """Hold a state folder, made if it is missing; yield what to call once its content may stay.

    Raises:
        StateInUseError: another process has it; nothing is touched.
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
                with contextlib.suppress(OSError):  # somebody put something there meanwhile
                    for folder in made:
                        folder.rmdir()


def holds_database(root: Path) -> bool:
    """Say whether an embedded database was made for a folder, whether it runs or not."""
    homes = [root / HOME]
    if (root / LOCATION).is_file():
        homes.append(Path((root / LOCATION).read_text(encoding="utf-8").strip()))
    return any((home / "data").is_dir() for home in homes)


def begin_unfinished(root: Path) -> None:
    """Note durably that what is restored here may not run until that it is older is on record.

    Raises:
        OSError: it cannot be written.
    """
    with appearing(root / UNFINISHED) as file:
        file.write(b"restore --accept-older\n")


def end_unfinished(root: Path) -> None:
    """Take it back: it is on record, or nothing is older.

    Raises:
        OSError: the disk refused.
    """
    (root / UNFINISHED).unlink(missing_ok=True)
    sync_folder(root)


def refuse_unfinished(root: Path) -> None:
    """Refuse a folder whose ledger would go on older than what was published, with no record of it.

    Raises:
        NoLedgerError: it is one.
    """
    if (root / UNFINISHED).exists():
        raise NoLedgerError(
            where=str(root),
            advice="`countersign restore --accept-older` was cut off before that was on record:"
            " remove the folder (and empty a database of your own), and restore again",
        )


def _removed(root: Path, before: set[Path]) -> bool:
    """Remove what is new in a folder; say whether nothing was kept back."""
    new = [entry for entry in root.iterdir() if entry not in before]
    home = root / HOME
    if root / LOCATION in new:
        home = Path((root / LOCATION).read_text(encoding="utf-8").strip())
    if root / LOCATION in new or home in new:
        # what an interruption left behind ends by itself; somebody else's server goes on
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
