"""A state folder for a whole gateway, with what it started ended afterwards."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.postgres import EmbeddedPostgres


@pytest.fixture
def walk_state() -> Iterator[Path]:
    """A state folder for one test."""
    yield from state_folder()


@pytest.fixture(scope="module")
def module_state() -> Iterator[Path]:
    """A state folder for one file of tests."""
    yield from state_folder()


def state_folder() -> Iterator[Path]:
    """Yield a folder that the database's user can reach; end what was started in it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="countersign-walk-"))
    folder.chmod(0o711)
    yield folder
    pid_file = folder / "ems" / "pid"
    with suppress(OSError, ValueError, IndexError):
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
    server = EmbeddedPostgres(folder)
    server.start()
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)
