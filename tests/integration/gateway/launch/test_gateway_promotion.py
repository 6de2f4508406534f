"""The promotion gate over a real ledger and a real engine: judged, signed by both, on record."""

import json
import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.records.kinds import Kind
from gateway.errors import RequestError, StateInUseError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.officers import make_officer_key
from gateway.installation.keys.roles import SigningRole
from gateway.installation.keys.rotation import open_ledger, stopped
from gateway.installation.place import attached
from gateway.installation.settings import Settings, load
from gateway.installation.state import StateFolder
from gateway.launch.commands.modes import show_mode
from gateway.launch.setup.pairs.promotion import (
    GateAsked,
    record_promotion,
    run_gate,
    show_promotion,
    sign_promotion,
)
from gateway.walk.journal.control.modes import ModelPromoted, PromotionTested, promotion_tested
from inference.weights.promotion import GATE
from inference.weights.registry import load_pair
from tests.doubles.live_desk import desk

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.broker,
    pytest.mark.engine,
    pytest.mark.timeout(400),
]

MODELS = Path(__file__).parents[4] / "inference" / "models"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of a stopped installation, whose gateway refused the gate as it ran."""
    state = tmp_path_factory.mktemp("promotion") / "state"
    base = load(state=state)
    engine = base.engine.model_copy(update={"model": MODELS / "pair_v3"})
    found = base.model_copy(update={"engine": engine})
    # A module's fixture is made before the house's restores the environment after each test.
    before = dict(os.environ)
    try:
        with desk(state), pytest.raises(StateInUseError):
            run_gate(found, asked(state))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return found


def asked(folder: Path) -> GateAsked:
    return GateAsked(
        data=folder,
        first=date(2017, 6, 1),
        last=None,
        series=(),
        every=40,
        actor="ada",
        reason="a test",
    )


def prices(folder: Path) -> Path:
    """Write three series of made-up daily closes, too few forecasts for the gate."""
    folder.mkdir()
    first = datetime(2016, 1, 4, 21, tzinfo=UTC)
    for seed in range(3):
        moves = np.random.default_rng(seed).standard_normal(640) * 0.01
        closes = 100.0 * np.exp(np.cumsum(moves))
        lines = [f"{first + timedelta(days=d):%Y-%m-%d},{c:.4f}" for d, c in enumerate(closes)]
        (folder / f"made-{seed}.csv").write_text("\n".join(["date,close", *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def keys(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return each officer's key file, outside of the gateway's folders."""
    state, folder = StateFolder.of(settings), tmp_path_factory.mktemp("officers")
    found = {}
    for role in SIGNING_ROLES:
        found[role] = folder / role / f"{role}.key"
        make_officer_key(state, found[role], SigningRole(role), "", state.keys / f"{role}.key")
    return found


def test_a_report_that_refuses_is_on_record_and_nobody_signs_it(
    settings: Settings,
    keys: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(RequestError, match="was not judged"):
        sign_promotion(settings, keys["risk"])
    with pytest.raises(RequestError, match="say why"):
        run_gate(settings, replace(asked(tmp_path), reason=""))
    assert run_gate(settings, asked(prices(tmp_path / "prices"))) == 1
    said = capsys.readouterr().out
    assert "FAILED  daily: enough" in said
    for passed in ("no leakage", "engine's self-test", "stress: crash widens"):
        assert f"passed  {passed}" in said
    with attached(settings) as place:
        (record,) = place.reader.records(kinds=(Kind.PROMOTION_TESTED,))
        report = place.reader.blob(str(record.body["report_blob"]))
    tested = PromotionTested.of(record)
    assert (tested.passed, tested.gate) == (False, GATE)
    assert "daily: enough" in tested.failed
    document: dict[str, Any] = json.loads(report or b"")
    assert document["model"]["manifest"] == load_pair(settings.engine.model).manifest_digest
    assert {one["name"] for one in document["checks"] if not one["passed"]} == set(tested.failed)
    assert "objective" in document["card"]
    with pytest.raises(RequestError, match="refuses pair_v3: daily: enough"):
        sign_promotion(settings, keys["risk"])
    assert show_promotion(settings, as_json=False) == 1
    assert "not promoted" in capsys.readouterr().out


def test_both_officers_promote_the_pair_that_the_report_is_about(
    settings: Settings, keys: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pair = load_pair(settings.engine.model)
    with stopped(settings) as place, open_ledger(place) as ledger:
        draft = promotion_tested(
            model_id=pair.model_id,
            model_digest=pair.manifest_digest,
            gate=GATE,
            failed=(),
            report_blob=ledger.put_blob(b"{}\n"),
            actor="ada",
            reason="passed",
            number=1,
        )
        (record,) = ledger.append(draft)
    sign_promotion(settings, keys["risk"])
    with pytest.raises(RequestError, match="not signed by compliance"):
        record_promotion(settings)
    sign_promotion(settings, keys["compliance"])
    assert record_promotion(settings) == 0
    with attached(settings) as place:
        (promoted,) = place.reader.records(kinds=(Kind.MODEL_PROMOTED,))
    found = ModelPromoted.of(promoted)
    assert (found.model_digest, found.tested_seq) == (pair.manifest_digest, record.seq)
    assert set(found.signatures) == set(SIGNING_ROLES)
    assert show_promotion(settings, as_json=False) == 0
    capsys.readouterr()
    assert show_mode(settings, as_json=True) == 0
    needs = json.loads(capsys.readouterr().out)["needs"]["live"]
    met = {one["what"].partition(" (")[0].partition(" of ")[0]: one["met"] for one in needs}
    assert met["a promotion record"]
    assert met["a green `countersign doctor`"] is None
    with stopped(settings) as place, open_ledger(place) as ledger:
        later = promotion_tested(
            model_id=pair.model_id,
            model_digest=pair.manifest_digest,
            gate=GATE,
            failed=("daily: enough",),
            report_blob=ledger.put_blob(b"{}\n"),
            actor="ada",
            reason="refused later",
            number=2,
        )
        ledger.append(later)
    with pytest.raises(RequestError, match="the newest report"):
        record_promotion(settings)
