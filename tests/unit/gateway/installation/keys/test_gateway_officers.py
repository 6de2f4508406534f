"""An officer's private key stays with the officer; the gateway reads public keys only."""

import shutil
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.errors import SettingsError
from gateway.installation.keys.keyring import Keyring, officers_of, role_key
from gateway.installation.keys.officers import read_officer, read_public, refuse_officers_keys
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from tests.doubles.officers import part_with_officers


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder.of(load(state=tmp_path / "state"))
    folder.keys.mkdir(parents=True, mode=0o700)
    return folder


def make(state: StateFolder, file: Path, *more: str, role: str = "risk") -> Result:
    words = ["officer-key", str(file), "--role", role, "--state", str(state.root), *more]
    return CliRunner().invoke(app, words)


def test_an_officer_gets_a_pair_and_the_gateway_only_its_public_half(
    state: StateFolder, tmp_path: Path
) -> None:
    for role in ("risk", "compliance"):
        private = tmp_path / role / f"{role}.key"
        made = make(state, private, "--name", f"{role}-7", role=role)
        assert made.exit_code == 0, made.output
        key, public = read_officer(private, "--key"), read_public(private.with_suffix(".pub"), "")
        assert (key.role, key.name) == (public.role, public.name) == (role, f"{role}-7")
        assert key.key.public_key().public_bytes_raw() == public.raw
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
        assert public.raw.hex() in made.output
        assert key.key.private_bytes_raw().hex() not in made.output
        assert str(state.keys / f"{role}.pub") in made.output
        shutil.copy(private.with_suffix(".pub"), state.keys)
    ring = Keyring(state.keys)
    found = {role: read_public(state.keys / f"{role}.pub", "").raw for role in ring.public_keys()}
    assert ring.public_keys() == officers_of(state.keys) == found
    refuse_officers_keys(state)
    with pytest.raises(SettingsError, match="name the officer's key file with --risk-key"):
        role_key(ring, "risk", None)
    given = role_key(ring, "risk", tmp_path / "risk" / "risk.key")
    assert given.public_key().public_bytes_raw() == found["risk"]


@pytest.mark.parametrize("place", ["state/risk.key", "state/keys/deep/risk.key", "link/risk.key"])
def test_no_private_key_is_made_in_a_folder_of_the_gateway(
    state: StateFolder, tmp_path: Path, place: str
) -> None:
    (tmp_path / "link").symlink_to(state.keys)
    refused = make(state, tmp_path / place)
    assert isinstance(refused.exception, SettingsError)
    assert "which the gateway reads" in str(refused.exception)
    assert list(state.keys.iterdir()) == []


@pytest.mark.parametrize("taken", ["risk.key", "risk.pub"])
def test_no_file_is_overwritten(state: StateFolder, tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    refused = make(state, tmp_path / "risk.key")
    assert f"{tmp_path / taken} exists" in str(refused.exception)
    assert (tmp_path / taken).read_text() == "mine"
    assert len(list(tmp_path.glob("risk*"))) == 1


@pytest.mark.parametrize(
    ("file", "more", "said"),
    [
        ("risk.key", ["--name", "Jane Doe"], "--name"),
        ("risk.pub", [], "would be the public half"),
        ("risk.key", ["--from", "nowhere"], "cannot read nowhere"),
    ],
)
def test_what_cannot_be_made_is_named(
    state: StateFolder, tmp_path: Path, file: str, more: list[str], said: str
) -> None:
    refused = make(state, tmp_path / file, *more)
    assert said in str(refused.exception)
    assert not (tmp_path / file).exists()


def test_there_are_two_roles_only(state: StateFolder, tmp_path: Path) -> None:
    assert make(state, tmp_path / "x.key", role="operator").exit_code == 2


def test_a_key_of_an_earlier_version_is_carried_over(state: StateFolder, tmp_path: Path) -> None:
    ring = Keyring.create(state.keys)
    before = ring.public_keys()
    files = part_with_officers(state.keys, tmp_path)
    assert ring.public_keys() == before
    assert (
        role_key(ring, "compliance", files["compliance"]).public_key().public_bytes_raw()
        == (before["compliance"])
    )
    refuse_officers_keys(state)


def test_the_other_officers_key_is_refused_by_name(state: StateFolder, tmp_path: Path) -> None:
    ring = Keyring.create(state.keys)
    files = part_with_officers(state.keys, tmp_path)
    with pytest.raises(SettingsError, match=r"key of risk:dev-risk.*role compliance") as refused:
        role_key(ring, "compliance", files["risk"])
    assert refused.value.name == "--compliance-key"
    with pytest.raises(SettingsError, match="holds a public key"):
        role_key(ring, "risk", files["risk"].with_suffix(".pub"))
    shutil.copy(state.keys / "risk.pub", state.keys / "compliance.pub")
    with pytest.raises(SettingsError, match=r"key of risk:dev-risk.*role compliance"):
        ring.public_keys()


def test_one_key_for_both_roles_is_refused(state: StateFolder, tmp_path: Path) -> None:
    make(state, tmp_path / "risk.key")
    make(
        state, tmp_path / "compliance.key", "--from", str(tmp_path / "risk.key"), role="compliance"
    )
    for role in ("risk", "compliance"):
        shutil.copy(tmp_path / f"{role}.pub", state.keys)
    with pytest.raises(SettingsError, match="both roles have the same key"):
        Keyring(state.keys).public_keys()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1 is not"),
        ("ab" * 32, "line 1 is not"),
        ("\ud7ff", "line 1 is not"),
        (f"countersign-officer-public agent one {'ab' * 32}", "line 1 is not"),
        (f"countersign-officer-public risk one {'ab' * 31}", "line 1 is not"),
        (f"countersign-officer-private risk one {'ab' * 32}", "holds a PRIVATE key"),
    ],
)
def test_a_file_that_is_no_public_key_is_named(state: StateFolder, text: str, said: str) -> None:
    Keyring.create(state.keys)
    (state.keys / "risk.pub").write_text(text)
    with pytest.raises(SettingsError, match=said) as refused:
        Keyring(state.keys).public_keys()
    assert str(state.keys / "risk.pub") in str(refused.value)
    assert "ab" * 31 not in str(refused.value)


def test_halves_of_different_keys_are_refused(state: StateFolder, tmp_path: Path) -> None:
    Keyring.create(state.keys)
    make(state, tmp_path / "risk.key")
    shutil.copy(tmp_path / "risk.pub", state.keys)
    with pytest.raises(SettingsError, match="of different keys"):
        Keyring(state.keys).public_keys()


@pytest.mark.parametrize("name", ["keys/risk.key", "keys/notes.txt", "compliance.key"])
def test_an_officers_private_key_in_the_gateways_folders_is_found_under_any_name(
    state: StateFolder, tmp_path: Path, name: str
) -> None:
    make(state, tmp_path / "risk.key")
    refuse_officers_keys(state)
    shutil.copy(tmp_path / "risk.key", state.root / name)
    with pytest.raises(SettingsError, match="officer's private key") as refused:
        refuse_officers_keys(state)
    assert f"--role risk --from {state.root / name}" in str(refused.value)


def test_run_does_not_mix_its_keys_with_those_of_officers(
    state: StateFolder, tmp_path: Path
) -> None:
    make(state, tmp_path / "risk.key")
    shutil.copy(tmp_path / "risk.pub", state.keys)
    with pytest.raises(SettingsError, match="another state folder"):
        Keyring.create(state.keys)
    assert not (state.keys / "risk.key").exists()


def test_the_logs_key_is_made_once(state: StateFolder) -> None:
    words = ["log-key", "--state", str(state.root)]
    first, second = (CliRunner().invoke(app, words) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert first.output == second.output == state.ledger_vkey.read_text()
    assert stat.S_IMODE(state.ledger_key.stat().st_mode) == 0o600
