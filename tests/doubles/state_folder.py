"""A state folder for a whole gateway, with what it started ended afterwards."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from gateway.installation import settings
from gateway.installation.children.own_process import Started, is_running
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.children.postmaster import live_postmaster
from gateway.installation.database import enter
from gateway.installation.keys.log_keys import make_log_key
from gateway.installation.state import StateFolder


@contextmanager
def state_folder(*, with_database: bool = False) -> Iterator[Path]:
    """Yield a state folder that the database's user can reach.

    `with_database` gives it the log's key and an empty ledger, as a first start leaves them.
    """
    folder = Path(tempfile.mkdtemp(prefix="countersign-walk-"))
    folder.chmod(0o711)
    try:
        if with_database:
            own = settings.load(state=folder)
            make_log_key(StateFolder.of(own), own.ledger)  # none starts with a log and without
            subprocess.run(["cp", "-a", str(_database()), str(folder / "pg")], check=True)
        yield folder
    finally:
        with suppress(OSError, ValueError):
            end_simulator(folder / "ems" / "pid")
        if live_postmaster(folder / "pg" / "data") is not None:
            server = EmbeddedPostgres(folder)
            server.start()
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def end_simulator(noted: Path) -> None:
    """SIGKILL the simulator that this file names, unless its process id is another's by now."""
    pid, began, _ = noted.read_text().split()
    simulator = Started(int(pid), int(began))
    if is_running(simulator):
        os.kill(simulator.pid, signal.SIGKILL)


@cache
def _database() -> Path:
    """Return the folder of a migrated cluster that a gateway would make; made once a process.

    Its login has no password, and its rules name no path, so a copy serves another state folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="countersign-cluster-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o711)
    with ExitStack() as stack:
        enter(settings.load(state=folder).ledger, folder, stack)
    return folder / "pg"
