"""`countersign restore`: the whole ledger, or nothing at all, not even the folder."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from audit.errors import BackupError, LedgerUnsafeError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.upkeep.backup.backup import backup
from audit.upkeep.backup.form import TABLES
from audit.verifier.verify import NOT_CHECKABLE, OK, TAMPERED
from gateway.errors import NoLedgerError, SettingsError, StateInUseError
from gateway.evidence import backup as backups
from gateway.evidence.backup import bring_back
from gateway.evidence.integrity import Given
from gateway.feeds.sessions import load_playback
from gateway.installation import settings as settings_module
from gateway.installation.children import postgres
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.children.postmaster import uninterrupted
from gateway.installation.place import attached
from gateway.installation.settings import LedgerSettings, Settings
from gateway.installation.state import StateFolder
from gateway.launch.parts import start_database
from gateway.launch.plan import development_plan
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import arm, disarm, fill, silent
from tests.doubles.backup_world import KEY, content, empty_ledger, lines_of, packed, untouched
from tests.doubles.programs import ROOT
from tests.doubles.state_folder import state_folder

pytestmark = pytest.mark.postgres


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder in which a state folder is made, and what runs there is ended."""
    with state_folder() as folder:
        yield folder


@pytest.fixture
def whole(postgres_dsn: str, tmp_path: Path) -> Path:
    fill(postgres_dsn)
    backup(postgres_dsn, tmp_path / "backup.gz", TIME_US, silent)
    return tmp_path / "backup.gz"


def restored(state: Path, path: Path, key: str | None = KEY, *, accept_older: bool = False) -> int:
    settings = settings_module.load(state=state)
    return bring_back(
        settings,
        path,
        Given(keys=() if key is None else (key,)),
        accept_older=accept_older,
        reason="test",
    )


def spoiled(path: Path) -> Path:
    """Write a backup with another actor in one record."""
    lines = lines_of(path)
    next(row for kind, row in lines if kind == "entry" and row["seq"] == 9)["actor"] = "x"
    path.with_name("spoiled.gz").write_bytes(packed(lines))
    return path.with_name("spoiled.gz")


def test_a_refused_restore_leaves_no_folder(home: Path, whole: Path, tmp_path: Path) -> None:
    state = home / ("deep" * 12) / "new"
    socket = postgres.socket_folder(state / "pg")
    assert not socket.is_relative_to(home), "too long a path for a socket"
    (tmp_path / "garbage.gz").write_bytes(b"garbage")
    for path in (tmp_path / "garbage.gz", tmp_path / "missing.gz", tmp_path):
        with pytest.raises(BackupError):
            restored(state, path)
    assert restored(state, whole, str(tmp_path / "missing.pub")) == NOT_CHECKABLE
    assert list(home.iterdir()) == []
    assert restored(state, spoiled(whole)) == TAMPERED
    assert list(home.iterdir()) == []
    assert not socket.exists()
    state.mkdir(parents=True)
    (state / "keys").mkdir()
    (state / "keys" / "mine").write_text("kept")
    assert restored(state, whole, str(OTHER_SIGNER.vkey)) == TAMPERED
    assert sorted(entry.name for entry in state.iterdir()) == ["keys", "lock"]
    assert (state / "keys" / "mine").read_text() == "kept"


def test_what_is_restored_stays_and_is_never_replaced(
    home: Path, whole: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = home / "new"
    with monkeypatch.context() as end:
        end.setattr(backups, "_say", interrupt)
        with pytest.raises(KeyboardInterrupt):
            restored(state, whole)
    before = sorted(state.iterdir())
    assert state / "pg" in before
    with StateFolder.of(settings_module.load(state=state)).lock(), pytest.raises(StateInUseError):
        restored(state, whole)
    with pytest.raises(LedgerUnsafeError, match="not empty"):
        restored(state, spoiled(whole))
    assert sorted(state.iterdir()) == before
    with attached(settings_module.load(state=state)) as place:
        assert content(place.dsn) == content(postgres_dsn)
    assert not (state / "pg" / "data" / "postmaster.pid").exists()


def interrupt(*_: object) -> None:
    """Be Ctrl-C at a chosen place."""
    signal.raise_signal(signal.SIGINT)


def working_folders() -> Iterator[Path]:
    """Yield where processes work, as far as they may be asked."""
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            yield entry.readlink()


def test_ctrl_c_while_the_server_starts_leaves_neither_folder_nor_server(
    home: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "wait_until_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        restored(home / "new", whole)
    assert list(home.iterdir()) == []
    assert not any(folder.is_relative_to(home) for folder in working_folders())


def test_ctrl_c_waits_until_a_child_has_a_name() -> None:
    done = []

    def start() -> None:
        with uninterrupted():
            interrupt()
            done.append("named")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["named"]
    with pytest.raises(KeyboardInterrupt):
        interrupt()


WORKER = """
import os, sys
import audit.upkeep.backup.restore
from gateway.evidence.backup import Progress
from gateway.cli.main import main
audit.upkeep.backup.restore._SHOWN_EVERY = 4
def show(self, stage, done, total):
    os.write(1, b"at\\n")
    sys.stdin.readline()
Progress.show = show
main()
"""


def test_ctrl_c_takes_back_what_was_made(home: Path, whole: Path) -> None:
    state = home / "new"
    command = [sys.executable, "-c", WORKER, "restore", str(whole), "--key", KEY]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "COUNTERSIGN_STATE": str(state)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"at\n"
        assert (state / "pg" / "data" / "postmaster.pid").exists()
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1].decode()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert not state.exists()


LATE = """
import os, signal
import gateway.evidence.backup as backups
from gateway.cli.main import main
say = backups._say
def interrupted(result):
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
    say(result)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
backups._say = interrupted
main()
"""


def test_ctrl_c_when_it_is_done_changes_nothing(home: Path, whole: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE, "restore", str(whole), "--key", KEY],
        cwd=ROOT,
        env={**os.environ, "COUNTERSIGN_STATE": str(home / "new")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "restored" in done.stdout) == (0, True), done
    assert "keys/, vault/ and fix/" in done.stdout
    assert (home / "new" / "pg").is_dir()


def test_a_restored_folder_without_its_key_gets_no_new_one(home: Path, whole: Path) -> None:
    state = home / "new"
    assert restored(state, whole) == OK
    for _ in range(2):
        with pytest.raises(SettingsError, match=r"not its key: copy keys/"):
            development_plan(settings_module.load(state=state), load_playback())
        assert not (state / "keys").exists()
    half = state / "keys"  # a handing over that was cut off: the key is there
    half.mkdir()
    for name in ("ledger.key.next", "ledger.key.old"):
        FileSigner.generate(half / name, settings_module.load(state=state).ledger.origin)
    assert development_plan(settings_module.load(state=state), load_playback()).origin


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_older_ledger_does_not_run_before_that_is_on_record(
    postgres: EmbeddedPostgres, postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with empty_ledger(postgres) as old:
        fill(old)
        backup(old, tmp_path / "backup.gz", TIME_US, silent)
        with Ledger.open(LedgerConfig(dsn=old), SIGNER, lambda: TIME_US) as ledger:
            ledger.append(note("lost"))
            kept = ledger.checkpoint_now()
    assert kept is not None
    (tmp_path / "kept").write_bytes(kept.note)
    monkeypatch.setattr(backups, "load_signers", lambda *_, **__: (SIGNER,))
    settings = Settings(state=tmp_path / "new", ledger=LedgerSettings(dsn=postgres_dsn))

    def restoring() -> int:
        given = Given(keys=(KEY,), checkpoints=(tmp_path / "kept",))
        path = tmp_path / "backup.gz"
        return bring_back(settings, path, given, accept_older=True, reason="test")

    child = os.fork()
    if child == 0:
        setattr(backups, "_record", _die)  # noqa: B010 - in this process only
        with contextlib.suppress(BaseException):
            restoring()
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert not untouched(postgres_dsn), "the ledger is there"
    with (
        pytest.raises(NoLedgerError, match="interrupted before it was recorded"),
        attached(settings),
    ):
        pass
    with pytest.raises(LedgerUnsafeError, match="not empty"):
        restoring()
    with pytest.raises(NoLedgerError, match="interrupted before"), ExitStack() as stack:
        start_database(development_plan(settings, load_playback()), stack, lambda _: None)
    with psycopg.connect(postgres_dsn) as admin:
        disarm(postgres_dsn)
        for table in TABLES:
            admin.execute(f"DELETE FROM ledger.{table}".encode())  # noqa: S608 - constants
        admin.commit()
        arm(postgres_dsn)
    monkeypatch.setattr(backups, "_record", lambda *_: None)
    assert restoring() == OK
    with attached(settings) as place:
        assert place.reader.head().size > 0
