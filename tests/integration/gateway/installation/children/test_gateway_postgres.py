"""The embedded PostgreSQL: first start, adoption after a crash, many users, private folders."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gateway.installation.children import postgres
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.conftest import dsn_of
from tests.doubles.open_postgres import OpenPostgres

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).resolve().parents[5]


@pytest.fixture
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="countersign-pg-"))
    folder.chmod(0o711)
    yield folder / "state"
    EmbeddedPostgres(folder / "state").stop()
    shutil.rmtree(folder, ignore_errors=True)


def shown(dsn: str, *names: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        rows = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
    return [str(row[0]) for row in rows if row is not None]


def test_a_server_is_safe_private_and_comes_back(state: Path) -> None:
    server = OpenPostgres(state, settings={"fsync": "off", "work_mem": "8MB"})
    dsn = server.start()
    try:
        assert shown(dsn, "fsync", "full_page_writes", "synchronous_commit") == ["on"] * 3
        assert shown(dsn, "data_checksums", "server_encoding", "work_mem") == ["on", "UTF8", "8MB"]
        with psycopg.connect(dsn) as connection:
            collations = connection.execute("SELECT DISTINCT datcollate FROM pg_database")
            assert collations.fetchall() == [("C",)]
        assert shown(dsn, "listen_addresses") == [""]
        assert server.start() == dsn
    finally:
        assert server.stop()
    assert server.pid is None
    again = OpenPostgres(state)
    assert again.start() == dsn
    assert again.stop()


def test_folders_that_were_opened_are_closed_at_the_next_start(state: Path) -> None:
    server = EmbeddedPostgres(state)
    server.start()
    server.stop()
    private = [state / "pg", state / "pg" / "socket"]
    for folder in private:
        folder.chmod(0o755)
    server.start()
    assert server.stop()
    assert [folder.stat().st_mode & 0o777 for folder in private] == [0o700, 0o700]


@pytest.mark.parametrize("name", ["my state % a&b#c", "a,b"])
def test_a_folder_may_have_any_name(state: Path, name: str) -> None:
    server = OpenPostgres(state.with_name(name))
    dsn = server.start()
    try:
        assert shown(dsn, "fsync") == ["on"]
        assert dsn_of(dsn, "postgres") != dsn
        assert shown(dsn_of(dsn, "postgres"), "fsync") == ["on"]
    finally:
        assert server.stop()


def test_a_server_that_outlived_its_gateway_is_adopted(state: Path) -> None:
    code = (
        "import os, sys, signal, pathlib;"
        "from gateway.installation.children.postgres import EmbeddedPostgres;"
        "EmbeddedPostgres(pathlib.Path(sys.argv[1])).start(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(state)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    server = OpenPostgres(state)
    dsn = server.start()
    assert server.adopted
    assert shown(dsn, "fsync") == ["on"]
    assert server.stop()


def test_a_killed_server_recovers(state: Path) -> None:
    server = OpenPostgres(state)
    dsn = server.start()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while server.pid is not None:
        time.sleep(0.02)
    again = OpenPostgres(state)
    with psycopg.connect(again.start()) as connection:
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)
    assert not again.adopted
    assert not server.stop()
    assert again.stop()


def test_the_last_user_shuts_the_server_down(state: Path) -> None:
    first, second = OpenPostgres(state), OpenPostgres(state)
    dsn = first.start()
    assert second.start() == dsn
    assert second.adopted
    assert not second.stop()
    assert shown(dsn, "fsync") == ["on"]
    assert first.stop()


def test_of_two_that_copy_the_programs_at_once_the_first_copy_stands(tmp_path: Path) -> None:
    copy = tmp_path / "postgresql"
    for name in ("first", "second"):
        scratch = tmp_path / name
        scratch.mkdir()
        (scratch / "who").write_text(name)
        postgres.put_once(scratch, copy)
    assert (copy / "who").read_text() == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["postgresql"]
    with pytest.raises(FileNotFoundError):
        postgres.put_once(tmp_path / "absent", tmp_path / "elsewhere")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_a_folder_that_nobody_reaches_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = Path(tempfile.mkdtemp(prefix="countersign-var-"))
    other.chmod(0o711)
    monkeypatch.setattr(postgres, "FALLBACK_ROOT", other)
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    server = OpenPostgres(private / "state")
    try:
        assert shown(server.start(), "fsync") == ["on"]
        assert private.stat().st_mode & 0o777 == 0o700
        assert (private / "state" / "pg.location").read_text().startswith(str(other))
    finally:
        assert server.stop()
        shutil.rmtree(other)
