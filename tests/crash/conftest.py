"""A state folder for a whole gateway, with what it started ended afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.state_folder import state_folder


@pytest.fixture
def walk_state() -> Iterator[Path]:
    """A fresh state folder."""
    with state_folder() as folder:
        yield folder
