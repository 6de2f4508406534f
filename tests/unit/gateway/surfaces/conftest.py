"""What tests of surfaces share: one desk."""

from pathlib import Path

import pytest

from tests.doubles.memory_desk import MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """Return a desk in memory with an open market."""
    return memory_desk(tmp_path / "desk")
