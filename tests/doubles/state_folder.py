"""A state folder for a whole gateway, with what it started ended afterwards."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.installation.children.own_process import Started, is_running
from gateway.installation.children.postgres import EmbeddedPostgres


@contextmanager
def state_folder() -> Iterator[Path]:
    """Yield a state folder that the database's user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="countersign-walk-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        with suppress(OSError, ValueError):
            end_simulator(folder / "ems" / "pid")
        if (folder / "pg").exists():
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
