import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from gateway.errors import SettingsError
from gateway.installation.keys.keyring import Keyring, digest_of, officers_of, role_key
from gateway.installation.keys.log_keys import load_signers
from gateway.installation.keys.roles import Role
from gateway.installation.settings import load
from gateway.installation.state import StateFolder

ORIGIN = "log.test"


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "keys")


def test_a_file_without_a_signing_key_is_named_and_nothing_of_it_shown(ring: Keyring) -> None:
    text = ring.folder / "risk.key"
    for content in ("notes of a meeting", "ab" * 31, "\ud7ff"):
        text.write_text(content)
        with pytest.raises(SettingsError, match=f"{text} holds no signing key") as refused:
            ring.signing_key("risk")
        assert content not in str(refused.value)


@pytest.mark.parametrize("verb", ["kill", "release"])
def test_a_folder_in_which_nothing_ran_has_no_kill_word(tmp_path: Path, verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--reason", "r", "--state", str(tmp_path)])
    assert isinstance(result.exception, SettingsError)
    assert f"no kill word in {tmp_path}: name the folder" in str(result.exception)


def test_a_token_names_its_holder_and_only_whole(ring: Keyring) -> None:
    token = ring.issue("desk-agent", Role.AGENT)
    caller = ring.authenticate(token)
    assert caller is not None
    assert (caller.name, caller.role) == ("desk-agent", Role.AGENT)
    for wrong in ("", token[:-1], token + "x", token.upper(), " " + token, "\ud7ff"):
        assert ring.authenticate(wrong) is None


def test_a_new_token_ends_the_old_one(ring: Keyring) -> None:
    old = ring.issue("desk-agent", Role.AGENT)
    ring.issue("desk-agent", Role.AUDITOR)
    assert ring.authenticate(old) is None


def test_a_taken_name_keeps_its_key_unless_it_is_to_be_replaced(ring: Keyring) -> None:
    token = ring.issue("desk-agent", Role.OPERATOR)
    with pytest.raises(SettingsError, match="role operator: --replace"):
        ring.issue("desk-agent", Role.AGENT, replace=False)
    caller = ring.authenticate(token)
    assert caller is not None
    assert caller.role is Role.OPERATOR


def test_the_key_file_holds_no_token(ring: Keyring) -> None:
    token = ring.issue("desk-agent", Role.AGENT)
    assert token not in (ring.folder / "bearer.json").read_text()
    for path in ring.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert stat.S_IMODE(ring.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["", "A", "a", "../x", "a/b", "a b", "1ab", "x" * 33, "ab\n"])
def test_a_name_that_is_no_plain_word_is_refused(ring: Keyring, name: str) -> None:
    with pytest.raises(SettingsError):
        ring.issue(name, Role.AGENT)


def test_a_key_asked_for_is_the_only_one_made(tmp_path: Path) -> None:
    keys = tmp_path / "state" / "keys"
    keygen = ["keygen", "--state", str(keys.parent), "--name"]
    assert CliRunner().invoke(app, [*keygen, "No Name"]).exit_code != 0
    assert not keys.parent.exists()
    made = CliRunner().invoke(app, [*keygen, "regulator", "--role", "auditor"])
    assert made.exit_code == 0, made.output
    assert sorted(path.name for path in keys.iterdir()) == ["bearer.json", "regulator.token"]
    caller = Keyring(keys).authenticate(made.output.strip())
    assert caller is not None
    assert (caller.name, caller.role) == ("regulator", Role.AUDITOR)
    assert "operator" in (Keyring.create(keys).folder / "bearer.json").read_text()


def test_making_a_keyring_again_keeps_its_keys(ring: Keyring) -> None:
    before = {p.name: p.read_bytes() for p in ring.folder.iterdir()}
    again = Keyring.create(ring.folder)
    assert {p.name: p.read_bytes() for p in again.folder.iterdir()} == before


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        Keyring(tmp_path / "none")


def test_a_missing_log_key_is_said_with_its_folder(tmp_path: Path) -> None:
    settings = load(state=tmp_path)
    state = StateFolder.of(settings)
    with pytest.raises(SettingsError, match="no ledger") as refused:
        load_signers(state, settings.ledger, create=False)
    assert f"in {state.keys}: bring" in str(refused.value)


def test_a_signing_roles_key_is_that_of_the_file_named_or_of_the_folder(
    ring: Keyring, tmp_path: Path
) -> None:
    own = role_key(ring, "risk", None)
    assert own.private_bytes_raw() == ring.signing_key("risk").private_bytes_raw()
    elsewhere = tmp_path / "another.key"
    elsewhere.write_text("ab" * 32 + "\n")
    assert role_key(ring, "risk", elsewhere).private_bytes_raw() == bytes.fromhex("ab" * 32)
    for bad, text in ((tmp_path / "none", "cannot read"), (ring.folder / "bearer.json", "no sign")):
        with pytest.raises(SettingsError, match=text) as refused:
            role_key(ring, "compliance", bad)
        assert "--compliance-key" in str(refused.value)


def test_officers_are_those_of_a_folder_with_both_keys(ring: Keyring) -> None:
    assert officers_of(ring.folder) == ring.public_keys()
    assert set(ring.public_keys()) == {"risk", "compliance"}
    (ring.folder / "risk.key").unlink()
    assert officers_of(ring.folder) == {}


def test_a_digest_is_that_of_the_token_now(ring: Keyring) -> None:
    token = ring.issue("desk-agent", Role.AGENT)
    assert ring.digest("desk-agent") == digest_of(token)
    assert ring.digest("nobody") is None
    assert ring.token("desk-agent") == token


@pytest.mark.parametrize("at", [0, 7, 8, 32, 63])
def test_a_digest_that_differs_in_one_place_is_nobodys(ring: Keyring, at: int) -> None:
    digest = ring.digest("operator") or ""
    other = digest[:at] + ("0" if digest[at] != "0" else "1") + digest[at + 1 :]
    assert ring.holder(digest) is not None
    for wrong in (other, digest[:at], f"{digest}0"):
        assert ring.holder(wrong) is None
