"""fsck tells how far it is, for tiles too, and at Ctrl-C only what is true."""

import io
import itertools
import shutil
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner
from typing_extensions import override

from audit.upkeep.fsck import dump as fsck_dump
from audit.verifier.verify import NOT_CHECKABLE, OK
from gateway.cli.main import app
from gateway.evidence.integrity import INTERRUPTED, Given, fsck_dump_file, fsck_tiles
from gateway.telemetry.console import Progress
from tests.doubles.audit_log import SIGNER
from tests.doubles.evidence_collection import FOLDER

EVIDENCE = FOLDER
TILES, DUMP = EVIDENCE / "tiles-wide", EVIDENCE / "dump.jsonl"
KEY = str(SIGNER.vkey)
GIVEN = Given(keys=[KEY])


class Screen(io.StringIO):
    """A terminal that can be read back."""

    @override
    def isatty(self) -> bool:
        return True


def slow_bar(screen: Screen) -> Progress:
    """Return a bar to which a second passes whenever it is asked to show something."""
    seconds = itertools.count()
    return Progress(screen, lambda: next(seconds) * 1_000_000)


class Stopping(Progress):
    """A bar at which somebody presses Ctrl-C."""

    @override
    def show(self, stage: str, done: int = 0, total: int | None = None) -> None:
        signal.raise_signal(signal.SIGINT)


def stopping_bar() -> Progress:
    return Stopping(Screen(), lambda: 0)


def again(*arguments: str) -> tuple[int, str]:
    """Do what was said: give the same command with --resume."""
    done = CliRunner().invoke(app, ["fsck", *arguments, "--key", KEY, "--resume"])
    return done.exit_code, done.output


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return Path(shutil.copy(DUMP, tmp_path))


def test_a_check_of_tiles_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    assert fsck_tiles(TILES, GIVEN, slow_bar(screen)) == OK
    for said in ("tiles ", " 1/2", " 2/2", "\x1b[?25h"):
        assert said in screen.getvalue()
    paper = io.StringIO()
    assert fsck_tiles(TILES, GIVEN, Progress(paper)) == OK
    assert paper.getvalue() == ""


def test_a_stopped_check_of_tiles_does_not_promise_to_resume(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fsck_tiles(TILES, GIVEN, stopping_bar()) == INTERRUPTED
    assert capsys.readouterr().out == "stopped; the same command starts again\n"
    assert again("--tiles", str(TILES))[0] == NOT_CHECKABLE, "it is refused"


def test_a_check_that_was_stopped_before_its_first_save_begins_anew(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bar = stopping_bar()
    assert fsck_dump_file(dump, GIVEN, resume=False, bar=bar) == INTERRUPTED
    assert capsys.readouterr().out == "stopped; the same command starts again\n"
    code, said = again("--dump", str(dump))
    assert code == NOT_CHECKABLE
    assert "nothing to resume" in said


def test_a_check_that_was_saved_goes_on(
    dump: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fsck_dump, "SAVE_BYTES", 1)
    bar = stopping_bar()
    assert fsck_dump_file(dump, GIVEN, resume=False, bar=bar) == INTERRUPTED
    said = "stopped; the same command with --resume continues from the saved state\n"
    assert capsys.readouterr().out == said
    assert again("--dump", str(dump))[0] == OK
