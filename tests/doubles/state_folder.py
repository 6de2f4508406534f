"""A state folder for a whole gateway, with what it started ended afterwards."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.installation.children.postgres import EmbeddedPostgres


@contextmanager
def state_folder() -> Iterator[Path]:
    """Yield a state folder that the database's user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="countersign-walk-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        pid_file = folder / "ems" / "pid"
        with suppress(OSError, ValueError, IndexError):
            os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        if (folder / "pg").exists():
            server = EmbeddedPostgres(folder)
            server.start()
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
