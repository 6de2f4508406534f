"""A served gateway takes the next policy over without a restart; SIGKILL leaves one of the two."""

import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from audit.records.kinds import Kind
from gateway.cli.main import app as countersign
from gateway.errors import RequestError, SettingsError
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import load
from gateway.launch.app import App, running
from gateway.launch.plan import serving_plan
from gateway.walk import failpoints
from risk.policy.policy import policy_digest
from tests.doubles.beginning import activate, begin

PROGRAM = (sys.executable, "-m", "tests.doubles.scripted_engine", "well")
COMPLIANCE = "compliance-officer/compliance.key"
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = begin(tmp_path / "desk", "--broker", "127.0.0.1:1")
    monkeypatch.chdir(made / "gateway")
    monkeypatch.setenv("COUNTERSIGN_API__PORT", "0")
    activate(made)
    return made


def do(*words: object) -> Result:
    return CliRunner().invoke(countersign, [str(word) for word in words])


def signed(desk: Path, before: str = "", after: str = "") -> Path:
    """Return the bundle of a policy that follows the one in force, with a text replaced."""
    draft, bundle = Path("next.toml"), Path("next.bundle.json")
    draft.unlink(missing_ok=True)
    bundle.unlink(missing_ok=True)
    assert do("policy", "new", draft, "--from", "keys/policy.bundle.json").exit_code == 0
    draft.write_text(draft.read_text().replace(before, after) if before else draft.read_text())
    for file, key in ((draft, "risk-officer/risk.key"), (bundle, COMPLIANCE)):
        done = do("policy", "sign", file, "--key", desk / key)
        assert done.exit_code == 0, (done.output, done.exception)
    return bundle


def activations(app: App) -> list[dict[str, Any]]:
    return [dict(one.body) for one in app.reader.records(kinds=(Kind.POLICY_ACTIVATED,))]


def serving() -> AbstractContextManager[App]:
    return running(replace(serving_plan(load()), engine_program=PROGRAM), lambda _: None)


def test_the_next_policy_is_in_force_while_the_gateway_serves(desk: Path) -> None:
    bundle = signed(desk)
    with serving() as app:
        before = policy_digest(app.desk.own.section.policy)
        kept = Path("keys/policy.bundle.json").read_bytes()
        stray = do("policy", "activate", "keys/policy.bundle.json")
        assert "is in force already" in stray.output
        done = do("policy", "activate", bundle, "--reason", "review of March")
        assert done.exit_code == 0, (done.output, done.exception)
        assert "version 2 is in force from record" in done.output
        (first, second) = activations(app)
        assert (first["policy_digest"], second["policy"]["parent"]) == (before, before)
        assert (second["reason"], second["detail"]) == (
            "review of March",
            "while serving, by operator",
        )
        assert policy_digest(app.desk.own.section.policy) == second["policy_digest"]
        Path("again.json").write_bytes(kept)
        refused = do("policy", "activate", "again.json")
        assert refused.exit_code, "an earlier one does not come back"
    with serving() as app:
        assert app.desk.own.section.policy.version == 2


def test_a_looser_policy_waits_for_its_announcement_whatever_starts(desk: Path) -> None:
    waiting = signed(
        desk, "signatures_min = 2", "signatures_min = 2\nloosening_wait_us = 600000000"
    )
    with serving():
        assert do("policy", "activate", waiting).exit_code == 0
        kept = Path("keys/policy.bundle.json").read_bytes()
    looser = signed(desk, "loosening_wait_us = 600000000", "loosening_wait_us = 0")
    alone = do("policy", "activate", looser)
    assert isinstance(alone.exception, RequestError)
    assert "start the gateway" in str(alone.exception)
    with serving() as app:
        for _ in range(2):
            early = do("policy", "activate", looser)
            assert early.exit_code
            assert "600 s after record" in str(early.exception), early.output
        assert len(list(app.reader.records(kinds=(Kind.POLICY_ANNOUNCED,)))) == 1
        assert app.desk.own.section.policy.version == 2
    assert Path("keys/policy.bundle.json").read_bytes() == kept
    Path("keys/policy.bundle.json").write_bytes(looser.read_bytes())
    with pytest.raises(SettingsError, match="600 s after record"), serving():
        pass


@pytest.mark.parametrize("point", ["policy.checked", "policy.recorded"])
def test_a_kill_in_the_middle_leaves_one_policy(desk: Path, tmp_path: Path, point: str) -> None:
    assert point in failpoints.NAMES
    bundle, log = signed(desk), tmp_path / "gateway.log"
    with log.open("w") as written:
        gateway = subprocess.Popen(
            [sys.executable, "-c", SERVE, f"{point}:kill@1", *PROGRAM], stdout=written
        )
    try:
        wait_for(lambda: "ready" in log.read_text(), 120.0, part="the gateway")
        done = do("policy", "activate", bundle)
        assert done.exit_code, "nobody answered"
        assert gateway.wait(60) == -signal.SIGKILL
    finally:
        gateway.kill()
        gateway.wait()
    with serving() as app:
        found = activations(app)
        assert [one["policy"]["version"] for one in found] == (
            [1, 2] if point == "policy.checked" else [1, 2, 2]
        )
        assert policy_digest(app.desk.own.section.policy) == found[-1]["policy_digest"]


SERVE = """
import sys, threading
from dataclasses import replace
from gateway.installation.settings import load
from gateway.launch.app import running
from gateway.launch.plan import serving_plan
from gateway.walk import failpoints

with running(replace(serving_plan(load()), engine_program=tuple(sys.argv[2:])), lambda _: None):
    failpoints.arm(sys.argv[1])
    print("ready", flush=True)
    threading.Event().wait()
"""
"""A gateway as `serve` starts it, with a failpoint, which `serve` itself refuses."""
