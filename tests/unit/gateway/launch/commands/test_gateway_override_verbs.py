"""`override`: a draft goes from officer to officer; what can act is listed, and withdrawn."""

from pathlib import Path
from typing import Any

import pytest

from gateway.desk.bodies.governing import OverrideRequest
from gateway.desk.controls.statements import all_signed
from gateway.desk.officers.governing.overrides import override_statement
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.settings import Settings
from gateway.launch.commands.oversight import overrides
from tests.doubles.officers import part_with_officers
from tests.doubles.verbs import DoorNotes, typed

GIVEN: dict[str, Any] = {
    "account": "desk",
    "instrument": "SPXN",
    "side": "BUY",
    "rule": "R06",
    "check": "position",
    "qty_max_lots": 900,
    "notional_max_minor": 25_000_000,
    "reason": "index rebalancing",
}
FOUND: dict[str, Any] = {
    "log_id": "log#00",
    "policy_digest": "0" * 64,
    "accounts": ["desk", "desk.agent"],
    "instruments": ["NDXN", "SPXN"],
    "limits": ["R06 position"],
    "overrides": [],
}


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> DoorNotes:
    made = DoorNotes()
    made.found = FOUND
    made.stand_in(monkeypatch, overrides)
    return made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    Keyring.create(tmp_path / "state" / "keys")
    return Settings(state=tmp_path / "state")


def test_a_draft_is_signed_by_each_officer_apart_and_then_granted(
    settings: Settings, gateway: DoorNotes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keyring = Keyring(settings.state / "keys")
    keys, token = keyring.public_keys(), keyring.token("operator")
    officers = part_with_officers(settings.state / "keys", tmp_path / "home")
    file = tmp_path / "big.json"
    assert overrides.draft(settings, file, GIVEN, 60) == 0
    said = capsys.readouterr().out
    assert "limit R06 position\nat most 900 lots" in said
    assert (
        "for 60 minutes from now: one order of at most 900 lots, worth at most 25,000,000 minor"
        in said
    )
    with pytest.raises(RequestError, match="not signed by risk and compliance"):
        overrides.grant(settings, file)
    overrides.sign(file, officers["risk"])
    assert "compliance signs next" in capsys.readouterr().out
    overrides.sign(file, officers["compliance"])
    gateway.done = {"override_id": "ab", "seq": 7, "again": False}
    assert overrides.grant(settings, file) == 0
    path, with_token, body = gateway.sent[-1]
    assert (path, with_token) == ("/v1/overrides", token)
    request = OverrideRequest.model_validate(body)
    assert request.expires_us - request.not_before_us == 3_600_000_000
    signatures = {str(role): text for role, text in request.signatures.items()}
    assert all_signed(override_statement("log#00", request), signatures, keys)


def test_a_draft_is_not_overwritten_and_names_what_can_be_lifted(
    settings: Settings, gateway: DoorNotes, tmp_path: Path
) -> None:
    file = tmp_path / "big.json"
    assert gateway.sent == []
    overrides.draft(settings, file, GIVEN, 60)
    with pytest.raises(RequestError, match="exists"):
        overrides.draft(settings, file, GIVEN, 60)
    with pytest.raises(RequestError, match="no override lifts R18 restricted"):
        overrides.draft(
            settings, tmp_path / "other.json", {**GIVEN, "rule": "R18", "check": "restricted"}, 60
        )
    with pytest.raises(RequestError, match="side"):
        overrides.draft(settings, tmp_path / "other.json", {**GIVEN, "side": "buy"}, 60)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"account": "dsek"}, "no account dsek here; known: desk, desk.agent"),
        ({"instrument": "SPX"}, "no instrument SPX here; known: NDXN, SPXN"),
    ],
)
def test_a_draft_names_an_account_and_an_instrument_that_are_there(
    settings: Settings, gateway: DoorNotes, tmp_path: Path, change: dict[str, str], why: str
) -> None:
    assert gateway.sent == []
    with pytest.raises(RequestError, match=why):
        overrides.draft(settings, tmp_path / "big.json", {**GIVEN, **change}, 60)
    assert not (tmp_path / "big.json").exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"log_id": "x", "terms": {}, "signatures": {}}'])
def test_a_file_that_is_no_draft_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "draft.json"
    file.write_text(text)
    with pytest.raises(RequestError):
        overrides.sign(file, tmp_path / "key")


def test_a_key_without_a_role_signs_nothing(
    settings: Settings, gateway: DoorNotes, tmp_path: Path
) -> None:
    file, key = tmp_path / "big.json", tmp_path / "old.key"
    key.write_text("11" * 32)
    overrides.draft(settings, file, GIVEN, 60)
    assert gateway.sent[0][0] == "/v1/overrides"
    with pytest.raises(SettingsError, match="does not name its officer's role"):
        overrides.sign(file, key)


def test_the_list_says_which_decision_used_each(settings: Settings, gateway: DoorNotes) -> None:
    one = {**GIVEN, "override_id": "ab", "rule_id": "R06", "seq": 7, "state": "used"}
    gateway.found = {**FOUND, "overrides": [one | {"used_by": "d-1"}], "open": []}
    code, said = typed(settings.state, "override", "list")
    assert code == 0
    assert said.startswith("ab  used  R06 position: BUY at most 900 lots of SPXN in desk;")
    assert said.endswith("(record 7); used by d-1\n")
    gateway.found = {**FOUND, "overrides": [one | {"state": "open"}], "open": ["ab"]}
    assert typed(settings.state, "override", "list", "--json")[0] == 1
    gateway.done = {"seq": 8}
    code, said = typed(settings.state, "override", "withdraw", "ab", "--reason", "called off")
    assert (code, said) == (0, "override ab is withdrawn: record 8\n")
    assert gateway.sent[-1][0] == "/v1/overrides/ab/withdraw"
