"""What runs is registered and compared; modes are shown and signed; a year is assessed."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.errors import RequestError, StateInUseError
from gateway.evidence.publication.assessment import assess_year
from gateway.installation.keys.kept_signatures import kept_signatures
from gateway.installation.keys.officers import make_officer_key
from gateway.installation.keys.roles import SigningRole
from gateway.installation.place import attached
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from gateway.launch.commands.modes import show_mode, sign_mode
from gateway.launch.setup.register import check_registered, record_digests
from tests.doubles.live_desk import desk

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]


def test_digests_are_registered_while_stopped_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    settings = load(state=state)
    with desk(state), pytest.raises(StateInUseError):
        record_digests(settings, "ada", "the first")
    with pytest.raises(RequestError, match="nothing is registered"):
        check_registered(settings, as_json=False)
    with pytest.raises(RequestError, match="say what changed"):
        record_digests(settings, "ada", "")
    assert record_digests(settings, "ada", "the first") == 0
    assert check_registered(settings, as_json=False) == 0
    table = tmp_path / "instruments.toml"
    table.write_text("")
    changed = settings.model_copy(update={"instruments": table})
    capsys.readouterr()
    assert check_registered(changed, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["differs"] == ["instruments"]

    with attached(settings) as place:
        (registered,) = place.reader.records(kinds=(Kind.DIGESTS_REGISTERED,))
        year = datetime.fromtimestamp(registered.recorded_at_us // 1_000_000, UTC).year
        text = assess_year(place.reader, "countersign.local/dev", year)
        assert assess_year(place.reader, "countersign.local/dev", 1999).count("Not covered") == (
            text.count("## Art.")
        )
    assert "1 registrations of code, model, policy, dictionary, profile and instruments" in text
    assert f"records {registered.seq})" in text

    assert show_mode(settings, as_json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["mode"], shown["registered"]) == (None, True)
    missing = [one["what"] for one in shown["needs"]["live"] if not one["met"]]
    assert any("promotion record" in what for what in missing)

    key = tmp_path / "officer" / "risk.key"
    held = StateFolder.of(settings).keys / "risk.key"
    make_officer_key(StateFolder.of(settings), key, SigningRole.RISK, "", held)
    with pytest.raises(RequestError, match="needs no signature"):
        sign_mode(settings, "shadow", key)
    with pytest.raises(RequestError, match="no mode 'toy'"):
        sign_mode(settings, "toy", key)
    assert sign_mode(settings, "pilot", key) == 0
    assert set(kept_signatures(StateFolder.of(settings).keys)) == {"risk"}
    capsys.readouterr()
    assert show_mode(settings, as_json=False) == 0
    assert "2 officers' signatures, found 1" in capsys.readouterr().out
