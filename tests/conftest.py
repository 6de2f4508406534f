"""What every test shares: a clean environment, repeatable examples, golden files."""

import gc
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import psycopg
import pytest

from audit.store.tables import migrate
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.doubles.memory_folder import make_temporary_folders_in_memory
from tests.doubles.open_postgres import OpenPostgres
from tests.doubles.programs import use_first_parts

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
    """Take the caller's own settings away: a test's result must not depend on his shell.

    Almost every test forecasts with the scripted engine, whose rows are pair v1's.
    A shell also starts what it puts into the background with Ctrl-C ignored, for all its children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in set(os.environ) - KEPT_SETTINGS:
        if name.startswith("COUNTERSIGN_"):
            del os.environ[name]
    use_first_parts()
    make_temporary_folders_in_memory()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Look for no garbage while tests are collected: what is imported meanwhile stays."""
    if isinstance(collector, pytest.Session):
        gc.disable()


def pytest_collection_finish() -> None:
    """Give Python Ctrl-C back: quickfix, which some test module has loaded by now, takes it.

    From now on garbage is looked for among what tests make: an eighth of a worker's time went into
    looking through every module and every collected test again and again.
    """
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    gc.freeze()
    gc.enable()


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """One embedded PostgreSQL for the whole session, in a folder that its user can reach."""
    state = Path(tempfile.mkdtemp(prefix="countersign-tests-"))
    state.chmod(0o711)
    server = OpenPostgres(state)
    try:
        dsn = server.start()
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("CREATE DATABASE migrated")
        migrate(dsn_of(dsn, "migrated"))
        yield server
    finally:
        server.stop()
        shutil.rmtree(state, ignore_errors=True)


@pytest.fixture(scope="session")
def database_names() -> Iterator[int]:
    """Numbers for the databases of one session."""
    return itertools.count()


@pytest.fixture
def postgres_dsn(postgres: EmbeddedPostgres, database_names: Iterator[int]) -> Iterator[str]:
    """A fresh, migrated database for one test, as its superuser; cheap (a copied template)."""
    admin = postgres.start()
    name = f"test_{next(database_names)}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE migrated".encode())
    yield dsn_of(admin, name)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def dsn_of(dsn: str, database: str) -> str:
    """Return the DSN of another database on the same server."""
    server, _, options = dsn.partition("?")
    return f"{server.rpartition('/')[0]}/{database}?{options}"
