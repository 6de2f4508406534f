"""A state folder for a whole gateway, with what it started ended afterwards, and one that runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.launch.app import App
from gateway.launch.paper.play import open_session
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent
from tests.doubles.state_folder import state_folder


@pytest.fixture
def walk_state() -> Iterator[Path]:
    """A state folder that has been used for nothing yet."""
    with state_folder(with_database=True) as folder:
        yield folder


@pytest.fixture(scope="module")
def module_state() -> Iterator[Path]:
    """A state folder for one file of tests."""
    with state_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    """One running gateway with an open market, for a module."""
    with state_folder(with_database=True) as folder, live_desk.desk(folder) as running:
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
