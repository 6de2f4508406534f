"""A verdict that nobody heard is none: exit codes when standard output is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.telemetry.console import RateBar
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


def test_a_bar_says_how_fast_once_it_knows() -> None:
    bar = RateBar(sys.stderr, lambda: 0)
    bar.show("records", 16_384, 65_536)
    assert bar.text(16_384, 65_536, 1_000_000).endswith("] 16,384/65,536")
    assert bar.text(32_768, 65_536, 2_000_000).endswith("] 32,768/65,536  8,192/s, 4 s left")
