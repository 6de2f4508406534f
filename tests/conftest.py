"""What every test shares: a clean environment, repeatable examples, golden files."""

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

GOLDEN = Path(__file__).resolve().parent / "golden"
KEPT_SETTINGS = frozenset({"COUNTERSIGN_CACHE"})

# The same examples on every machine: a red run is a red run for the next person too.
hypothesis.settings.register_profile(
    "gate", derandomize=True, deadline=None, print_blob=True, database=None
)
hypothesis.settings.load_profile("gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rewrite-golden`, which `make golden` gives."""
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write the golden files instead of comparing with them; the diff is the review",
    )


def pytest_configure() -> None:
    """Take the caller's own settings away: a test's result must not depend on his shell."""
    for name in set(os.environ) - KEPT_SETTINGS:
        if name.startswith("COUNTERSIGN_"):
            del os.environ[name]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, bytes], None]:
    """Compare bytes with a file under tests/golden that was fixed once, for ever."""
    rewrite: bool = request.config.getoption("--rewrite-golden")

    def compare(name: str, data: bytes) -> None:
        path = GOLDEN / name
        if rewrite:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            return
        assert path.is_file(), f"{path.name} does not exist: `make golden`, then review the diff"
        assert data == path.read_bytes(), f"{name} changed: `make golden` shows the diff"

    return compare
