"""Counterfactual swaps at a whole gateway: recorded as the verb does, shown, exported, verified."""

from pathlib import Path
from typing import Any

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from gateway.errors import RequestError
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import load
from gateway.launch.commands.oversight.fairness import swaps_recorder
from gateway.walk.journal.control.oversight.swaps import SwapsTested
from inference.forecast.forecast import Forecast
from inference.forecast.swaps import bound_1e8, quartile_range
from tests.doubles.api_agent import ended
from tests.doubles.both_verifiers import both
from tests.doubles.live_desk import decide, desk, sessions
from tests.walk.test_walk_publications import http_of

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]


def report_of(decision_id: str, forecast: Forecast) -> dict[str, Any]:
    """Return what `countersign swaps` prints of a pair that stays just inside the bound."""
    effect: dict[str, Any] = {"distance_1e8": 0, "flips": False, "p_value": "1/1"}
    tested = {"attribute": "region", "terms": [["Turkey", "Norway"]], "result": "tested"}
    absent = {"attribute": "issuer", "terms": [["Acme", "Other"]], "result": "absent"}
    iqr = quartile_range(forecast)
    bound = bound_1e8(0, iqr)
    return {
        "decision_id": decision_id,
        "model": forecast.model_digest,
        "swaps_digest": "5" * 64,
        "paths": forecast.n_paths + forecast.n_dropped,
        "identity": effect,
        "placebo": {"result": "absent"},
        "floor_1e8": 0,
        "iqr_1e8": iqr,
        "bound_1e8": bound,
        "pairs": [
            tested | effect | {"distance_1e8": bound, "flagged": False, "significant": False},
            absent | {"flagged": False},
        ],
    }


def test_a_run_is_recorded_shown_and_neither_verifier_minds_it(
    walk_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=walk_state)
    with desk(walk_state) as app:
        days = sessions(2)
        first = decide(app, days[0])
        assert first.forecast is not None
        told = report_of(first.decision_id, first.forecast)
        seq = swaps_recorder(settings, "operator")(told)
        (record,) = app.reader.records(kinds=(Kind.SWAPS_TESTED,))
        assert (record.seq, record.actor) == (seq, "person:operator")
        assert SwapsTested.of(record).outside == 0
        with http_of(app, "auditor") as http:
            page = http.get("/justifications").raise_for_status().text
            assert "Turkey / Norway" in page
            assert "inside" in page
            assert "absent" in page
        later = decide(app, days[1]).decision_id
        ended(app, later)  # what the broker says of its order is on record before it is signed
        newest = app.reader.head().size
        wait_for(lambda: app.reader.checkpoint_after(newest - 1) is not None, 30.0, part="signed")
        bundle = tmp_path / "bundle.zip"
        bundle.write_bytes(build_bundle(app.reader, later))
        key = str(app.plan.keyring.folder / "ledger.key.pub")
        code, text = both(capsys, str(bundle), "--key", key, verdict=True)
        assert code == 0, text
    with pytest.raises(RequestError, match="no gateway runs"):
        swaps_recorder(settings, "operator")(told)
