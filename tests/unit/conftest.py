"""What unit tests share: a desk in memory."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.doubles.memory_desk import MemoryDesk


@pytest.fixture
def desk(tmp_path: Path) -> "MemoryDesk":
    """Return a desk in memory with an open market."""
    from tests.doubles.memory_desk import memory_desk  # noqa: PLC0415 - seconds; pure tests need none

    return memory_desk(tmp_path)
