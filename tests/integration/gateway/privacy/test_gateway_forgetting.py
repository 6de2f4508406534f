"""`countersign erase` without a gateway: cut off, and given again."""

from pathlib import Path

import pytest

from audit.errors import VaultError
from audit.privacy.vault import Vault
from audit.store.reader import LedgerReader
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.log_keys import load_signers
from gateway.installation.keys.roles import Role
from gateway.installation.keys.rotation import open_ledger
from gateway.installation.keys.row_keys import make_secret
from gateway.installation.place import Place
from gateway.installation.settings import LedgerSettings, Settings
from gateway.installation.state import StateFolder
from gateway.privacy import commands as forgetting
from gateway.privacy import erasure as privacy
from tests.doubles.audit_log import note
from tests.doubles.privacy_world import NAME, OTHER, about

pytestmark = pytest.mark.postgres


@pytest.fixture
def settings(postgres_dsn: str, tmp_path: Path) -> Settings:
    """An installation that knows two persons; words that name one were recorded before."""
    made = Settings(state=tmp_path, ledger=LedgerSettings(dsn=postgres_dsn))
    state = StateFolder.of(made)
    state.create()
    Keyring.create(state.keys).issue("operator", Role.OPERATOR)
    load_signers(state, made.ledger, create=True)
    make_secret(state.keys)
    vault, reader = Vault(state.vault), LedgerReader(postgres_dsn)
    place = Place(dsn=postgres_dsn, reader=reader, state=state, settings=made)
    with open_ledger(place, vault) as ledger:
        ledger.append(note(f"{NAME} called"))
        ledger.append(about(vault.subject(NAME), NAME), about(vault.subject(OTHER), OTHER))
    reader.close()
    return made


def full(*_: object) -> None:
    raise VaultError("names are left in a log: No space left on device")


@pytest.fixture
def cut_off(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The installation after an erasure that a full disk has stopped."""
    with monkeypatch.context() as disk:
        disk.setattr(privacy, "clean_names", full)
        with pytest.raises(VaultError, match="No space left"):
            forgetting.erase(settings, "operator", [NAME], "law")
    return settings


def test_an_erasure_that_was_cut_off_goes_on_and_says_what_it_did(
    cut_off: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forgetting.erase(cut_off, "operator", [NAME], "law") == 2
    said = capsys.readouterr().out
    assert "1 of 1 keys destroyed" in said
    assert "1 records hold the name in words" in said


def test_an_erasure_that_was_cut_off_is_completed_by_the_next_verb(
    cut_off: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forgetting.erase(cut_off, "operator", [OTHER], "law") == 0
    assert "1 interrupted erasures are complete now" in capsys.readouterr().err
    assert Vault(StateFolder.of(cut_off).vault).subjects() == frozenset()
