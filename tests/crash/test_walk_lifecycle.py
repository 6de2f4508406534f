"""Runs that follow one another in one state folder: after Ctrl-C, after kill -9, after a kill.

Every run and every verb is a process of its own; only the model is scripted.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from audit.upkeep.dump import verify_database
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.children.simulator import wait_for
from tests.doubles.programs import WITHIN_S, play, start_play, verb
from tests.doubles.walk_oracle import faults

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]
MANY = 300


@pytest.fixture
def state(walk_state: Path) -> Path:
    """A fresh state folder."""
    return walk_state


def until(process: subprocess.Popen[str], text: str) -> str:
    """Read what a program prints until a text stands in it."""
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if text in line:
            return printed
    pytest.fail(f"it ended without {text!r}:\n{printed}")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; returns exit code and what was printed since."""
    printed, _ = process.communicate(timeout=WITHIN_S)
    return process.returncode, printed


def summaries(state: Path) -> list[dict[str, Any]]:
    """Return the runs' summaries, oldest first."""
    return [json.loads(p.read_text()) for p in sorted((state / "runs").glob("summary-*.json"))]


def assert_sound(state: Path) -> None:
    """The ledger verifies and agrees with the broker."""
    server = EmbeddedPostgres(state)
    dsn = server.start()
    reader = LedgerReader(dsn)
    try:
        key = (state / "keys" / "ledger.key.pub").read_text().strip()
        report = verify_database(dsn, (key,))
        assert report.exit_code == 0, report.lines
        assert faults(state / "ems" / "capture.jsonl", reader) == []
    finally:
        reader.close()
        server.stop()


def records(state: Path, *kinds: Kind) -> Iterator[dict[str, Any]]:
    """Yield the bodies of a stopped gateway's records."""
    server = EmbeddedPostgres(state)
    reader = LedgerReader(server.start())
    try:
        yield from [r.body for r in reader.records(kinds=kinds)]
    finally:
        reader.close()
        server.stop()


def test_runs_follow_a_ctrl_c_a_kill_minus_9_and_a_pressed_kill(state: Path) -> None:
    with start_play(state, MANY) as first:
        until(first, "decisions  [")
        os.killpg(first.pid, signal.SIGINT)  # a terminal sends it to the whole group
        code, printed = ended(first)
    assert code == 0, printed
    assert summaries(state)[-1]["complete"] is False
    assert summaries(state)[-1]["verified"] is True
    assert_sound(state)

    with start_play(state, MANY) as second:
        until(second, "decisions  [")
        second.kill()
        ended(second)
    code, printed = play(state, 3)
    assert code == 0, printed
    assert summaries(state)[-1]["forecasts"] == 3
    assert_sound(state)

    pressed = verb(state, "kill", "--reason", "a test")
    assert pressed.returncode == 0, pressed.stderr
    assert "countersign release" in pressed.stdout
    assert "no running gateway" in pressed.stdout
    code, printed = play(state, 3)
    assert code == 0, printed
    assert "KILLED" in printed
    assert "countersign release" in printed
    stopped = summaries(state)[-1]
    assert (stopped["forecasts"], stopped["orders"], stopped["halted"]) == (3, 0, True)
    assert stopped["verdicts"] == {"rejected": 3}
    assert len(list(records(state, Kind.KILL_PRESSED))) == 1

    assert verb(state, "release", "--reason", "tested").returncode == 0
    again = verb(state, "release", "--reason", "tested")
    assert (again.returncode, again.stderr) == (2, "countersign: no kill is in force\n")
    code, printed = play(state, 3)
    assert code == 0, printed
    assert "KILLED" not in printed
    assert summaries(state)[-1]["orders"] > 0
    assert_sound(state)


def test_verbs_work_beside_a_running_gateway(state: Path, tmp_path: Path) -> None:
    with start_play(state, MANY) as running:
        until(running, "decisions  [")
        second = play(state, 1)
        assert second[0] == 2
        assert f"is in use by process {running.pid}" in second[1]
        assert "Traceback" not in second[1]

        key = str(state / "keys" / "ledger.key.pub")
        verified = verb(state, "verify", "--key", key)
        assert verified.returncode == 0, verified.stdout + verified.stderr
        newest = newest_decision(state)
        out = tmp_path / "bundle.zip"
        exported = verb(state, "export", "--decision", newest, "--out", str(out))
        assert exported.returncode == 0, exported.stderr
        assert running.poll() is None, "a verb ended the gateway"

        pressed = verb(state, "kill", "--reason", "in the middle of a run")
        assert "confirmed by the FIX child: True, on record: True" in pressed.stdout
        released = verb(state, "release", "--reason", "go on")
        assert released.returncode == 0, released.stderr
        running.send_signal(signal.SIGTERM)
        code, printed = ended(running)
    assert code == 0, printed
    assert_sound(state)
    bodies = list(records(state, Kind.KILL_PRESSED, Kind.KILL_RELEASED))
    assert any("released_by" in body for body in bodies)


def newest_decision(state: Path) -> str:
    """Return a decision of the running gateway that is sealed."""
    server = EmbeddedPostgres(state)
    reader = LedgerReader(server.start())
    try:
        sealed: list[str] = []

        def any_sealed() -> bool:
            sealed[:] = [r.stream for r in reader.records(kinds=(Kind.DECISION_SEALED,))]
            return bool(sealed)

        wait_for(any_sealed, 20.0, part="a sealed decision")
        return sealed[-1].removeprefix("decision/")
    finally:
        reader.close()
        server.stop()


def test_a_second_ctrl_c_or_a_broken_pipe_leaves_a_folder_that_runs_again(state: Path) -> None:
    with start_play(state, MANY) as first:
        until(first, "database")
        os.killpg(first.pid, signal.SIGINT)
        os.killpg(first.pid, signal.SIGINT)
        ended(first)
    code, printed = play(state, 2)
    assert code == 0, printed
    assert_sound(state)
