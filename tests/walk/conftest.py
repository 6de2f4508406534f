"""A state folder for a whole gateway, with what it started ended afterwards, and one that runs."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gateway.app import App
from gateway.postgres import EmbeddedPostgres
from gateway.runner import open_session
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent


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


@pytest.fixture
def walk_state() -> Iterator[Path]:
    """A fresh state folder."""
    with state_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    """One running gateway with an open market, for a module."""
    with state_folder() as folder, live_desk.desk(folder) as running:
        for session in live_desk.sessions(2):
            open_session(running, session)
        yield running


@pytest.fixture
def agent(app: App) -> Iterator[Agent]:
    """The agent."""
    with Agent(app) as one:
        yield one


@pytest.fixture
def approver(app: App) -> Iterator[Agent]:
    """The approver."""
    with Agent(app, "approver") as one:
        yield one


@pytest.fixture
def operator(app: App) -> Iterator[Agent]:
    """The operator."""
    with Agent(app, "operator") as one:
        yield one
