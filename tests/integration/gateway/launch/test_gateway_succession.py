"""An officer's key follows another only when both officers sign it, on record."""

import shutil
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from audit.records.kinds import Kind
from gateway.cli.main import app as countersign
from gateway.errors import RequestError, SettingsError
from gateway.installation.settings import load
from gateway.launch.app import App, running
from gateway.launch.plan import serving_plan
from tests.doubles.beginning import activate, begin

PROGRAM = (sys.executable, "-m", "tests.doubles.scripted_engine", "well")
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]


def do(*words: object) -> Result:
    return CliRunner().invoke(countersign, [str(word) for word in words])


def done(*words: object) -> str:
    result = do(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def started(said: list[str]) -> AbstractContextManager[App]:
    """Start the gateway of the current folder."""
    return running(replace(serving_plan(load()), engine_program=PROGRAM), said.append)


def change(public: Path, risk: Path, compliance: Path) -> Result:
    how = ("--public", public, "--reason", "a new risk officer")
    keys = ("--risk-key", risk, "--compliance-key", compliance)
    return do("key", "replace-officer", "risk", *how, *keys)


def sign_next(name: str, *keys: Path) -> Path:
    """Return the bundle of a policy that follows the one in force, signed by these officers."""
    done("policy", "new", f"{name}.toml", "--from", "keys/policy.bundle.json")
    for key in keys:
        public = key.with_suffix(".pub")
        done("policy", "sign", f"{name}.toml", "--key", key, "--public", public)
    return Path(f"{name}.bundle.json")


def test_a_new_officer_follows_on_record_and_a_stranger_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = begin(tmp_path / "desk", "--broker", "127.0.0.1:1")
    monkeypatch.chdir(desk / "gateway")
    monkeypatch.setenv("COUNTERSIGN_API__PORT", "0")
    activate(desk)
    old, other = desk / "risk-officer/risk.key", desk / "compliance-officer/compliance.key"
    new, thief = tmp_path / "new/risk.key", tmp_path / "thief/compliance.key"
    done("officer-key", new, "--role", "risk", "--name", "second-risk")
    done("officer-key", thief, "--role", "compliance", "--name", "nobody")
    said: list[str] = []
    with started(said) as app:
        done("kill", "--reason", "a drill")
        done("release", "--reason", "over", "--risk-key", old, "--compliance-key", other)
        before = app.ledger.size

    # whoever may write the key folder puts two keys of his own there, and a policy that they signed
    shutil.copytree("keys", tmp_path / "kept")
    stolen = sign_next("stolen", new, thief)
    for public in (new.with_suffix(".pub"), thief.with_suffix(".pub")):
        shutil.copy(public, "keys")
    shutil.copy(stolen, "keys/policy.bundle.json")
    with pytest.raises(SettingsError, match="not those that signed the policy"), started(said):
        pass
    shutil.rmtree("keys")
    shutil.copytree(tmp_path / "kept", "keys")

    for keys in ((new, other), (old, thief)):
        refused = change(new.with_suffix(".pub"), *keys)
        assert isinstance(refused.exception, RequestError)
        assert "with their present keys" in str(refused.exception)
    same = change(old.with_suffix(".pub"), old, other)
    assert "is the key of risk already" in str(same.exception)
    assert "second-risk is the risk officer" in change(new.with_suffix(".pub"), old, other).output

    # a crash between the record and the file, and the command again
    kept = next(Path("keys").glob("retired-risk-*.pub"))
    shutil.copy(kept, "keys/risk.pub")
    with pytest.raises(SettingsError, match="is not the one on record"), started(said):
        pass
    assert change(new.with_suffix(".pub"), old, other).exit_code == 0

    with pytest.raises(SettingsError, match="risk:risk-officer WRONG"):
        serving_plan(load())
    done("policy", "activate", sign_next("next", new, other))
    said.clear()
    with started(said) as app:
        control = list(app.reader.records(stream="control", kinds=(Kind.OFFICER_KEY_CHANGED,)))
        assert [one.body["name"] for one in control] == ["second-risk"]
        assert control[0].seq >= before
        assert not any(line.startswith("kill ") for line in said), "released by the old officers"
        done("kill", "--reason", "another drill")
        late = do("release", "--reason", "r", "--risk-key", old, "--compliance-key", other)
        assert late.exit_code != 0, "the old officer releases nothing any more"
        done("release", "--reason", "over", "--risk-key", new, "--compliance-key", other)
    done("verify", "--key", "keys/ledger.key.pub")
