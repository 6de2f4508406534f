"""Bearer keys are given, replaced and taken away by name."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.errors import SettingsError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import EXAMPLE


@pytest.fixture
def state(tmp_path: Path) -> Path:
    assert do(tmp_path, "add", "desk-1").exit_code == 0
    return tmp_path


def do(state: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["key", *words, "--state", str(state)])


def ring(state: Path) -> Keyring:
    return Keyring(state / "keys")


def test_a_key_is_given_once_and_a_taken_name_is_refused(state: Path) -> None:
    given = do(state, "add", "risk-desk", "--role", "approver").stdout.strip()
    caller = ring(state).authenticate(given)
    assert caller is not None
    assert (caller.name, caller.role) == ("risk-desk", Role.APPROVER)
    assert isinstance(do(state, "add", "risk-desk").exception, SettingsError)
    assert do(state, "list").stdout.split() == ["desk-1", "agent", "risk-desk", "approver"]


def test_a_replaced_key_ends_and_its_role_stays(state: Path) -> None:
    before = ring(state).token("desk-1")
    after = do(state, "replace", "desk-1").stdout.strip()
    assert ring(state).authenticate(before) is None
    caller = ring(state).authenticate(after)
    assert caller is not None
    assert caller.role is Role.AGENT


def test_a_replaced_key_keeps_its_scope(state: Path) -> None:
    scope = state / "narrow.toml"
    scope.write_text(EXAMPLE)
    assert do(state, "add", "narrow", "--scope", str(scope)).exit_code == 0
    before = ring(state).scope("narrow")
    assert before is not None
    assert do(state, "replace", "narrow").exit_code == 0
    assert ring(state).scope("narrow") == before


def test_a_revoked_key_opens_nothing_and_its_file_is_gone(state: Path) -> None:
    token = ring(state).token("desk-1")
    assert do(state, "revoke", "desk-1").exit_code == 0
    assert ring(state).authenticate(token) is None
    assert not (state / "keys" / "desk-1.token").exists()
    assert do(state, "list").stdout.strip() == ""


@pytest.mark.parametrize("verb", ["replace", "revoke"])
def test_who_has_no_key_is_named(state: Path, verb: str) -> None:
    done = do(state, verb, "desk-9")
    assert isinstance(done.exception, SettingsError)
    assert "countersign key list" in str(done.exception)
