"""A verdict that nobody heard is none: exit codes when standard output is lost."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typing_extensions import override

from gateway.telemetry.console import Progress, waiting
from tests.doubles.audit_log import SIGNER, dump_of, small_log

COMMAND = [sys.executable, "-m", "gateway.cli"]
NOT_TOLD = 3


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """What shows a sound log to be sound."""
    path = tmp_path / "dump"
    path.write_bytes(b"".join(dump_of(small_log())))
    return ["--dump", str(path), "--key", str(SIGNER.vkey)]


def ended(arguments: list[str], out: int = subprocess.DEVNULL, then: str = "") -> tuple[int, str]:
    """Run a command with its output redirected; return its exit code and what it said beside."""
    command = ["/bin/sh", "-c", f'exec "$@" {then}', "sh", *COMMAND, *arguments]
    done = subprocess.run(command, check=False, stdout=out, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


def test_what_could_not_be_told_is_never_a_verdict(given: list[str]) -> None:
    verify = ["verify", *given]
    assert ended(verify) == (0, "")
    with Path("/dev/full").open("wb") as full:
        code, said = ended(verify, full.fileno())
    assert (code, said) == (
        NOT_TOLD,
        "countersign: the output is lost: No space left on device\n",
    )
    code, said = ended(verify, then=">&-")
    assert (code, said) == (NOT_TOLD, "countersign: the output is lost: it is closed\n")


def test_a_closed_pipe_is_quiet_and_no_verdict(given: list[str]) -> None:
    for arguments in (["verify", *given], ["fsck", *given], ["settings"]):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            assert ended(arguments, writer) == (NOT_TOLD, "")
        finally:
            os.close(writer)


def test_a_lost_standard_error_loses_no_verdict(given: list[str], tmp_path: Path) -> None:
    for then in ("2>&-", "2>/dev/full"):
        with (tmp_path / "said").open("wb") as out:
            assert ended(["verify", *given], out.fileno(), then)[0] == 0
        assert (tmp_path / "said").read_bytes().splitlines()[-1].startswith(b"OK")


class Screen(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


def test_a_bar_says_how_fast_once_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen, now_us = Screen(), [0]
    bar = Progress(screen, lambda: now_us[0])
    for second in range(1, 4):
        now_us[0] = second * 1_000_000
        bar.show("records", second * 16_384, 131_072)
    bar.end()
    assert " 49,152/131,072  16,384/s, 5 s left" in screen.getvalue()
    assert screen.getvalue().endswith("\n\x1b[?25h"), "the cursor is back"


def test_no_code_of_a_terminal_goes_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    paper, now_us = io.StringIO(), iter(range(0, 10**9, 10**6))
    bar = Progress(paper, lambda: next(now_us))
    for done in range(1, 21):
        bar.show("engine")
        bar.tenth("decisions", done, 20, "filled")
    with waiting(paper, "erase"):
        bar.say("that is all")
    lines = paper.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[-2:] == ["decisions  [20/20]  filled", "that is all"]
