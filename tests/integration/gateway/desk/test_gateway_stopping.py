"""Stops, cancel-all and a drill by their verbs, against a real child, broker and ledger."""

from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import load
from gateway.launch.app import App
from gateway.launch.commands import stops as verbs
from gateway.launch.commands.kill import report_kill
from gateway.walk.decision import Result
from risk.state.state import Stop
from tests.doubles.live_desk import capture_of, decide, desk, received, rest_one, sessions
from tests.doubles.verbs import typed

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
PATIENCE_S = 30.0


def recorded(app: App, kind: Kind) -> list[Record]:
    return list(app.reader.records(stream="control", kinds=(kind,)))


def test_stops_cancel_all_and_a_drill_reach_the_child_the_broker_and_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=tmp_path / "state")
    with desk(tmp_path / "state") as app:
        order = rest_one(app)
        assert verbs.drill_kill(settings, "monthly") == 0
        assert "1 live orders would have been cancelled" in capsys.readouterr().out
        (drilled,) = recorded(app, Kind.KILL_DRILLED)
        assert drilled.body["confirmed"] is True
        assert received(capture_of(app), "F", "q") == [], "a drill cancels nothing"

        assert verbs.begin(settings, Stop.PAUSE, "a test") == 0
        assert typed(tmp_path / "state", "stops")[0] == 1
        ready = httpx.get(f"{app.server.address}/readyz", trust_env=False)
        assert (ready.status_code, ready.json()["parts"]["stops"][:14]) == (503, "pause in force")
        sent = len(received(capture_of(app), "D"))
        decision = decide(app, sessions(8)[-1])
        assert decision.result is Result.REJECTED

        assert typed(tmp_path / "state", "cancel-all", "--reason", "a test")[0] == 0
        wait_for(
            lambda: bool(recorded(app, Kind.CANCEL_ALL_OUTCOME)), PATIENCE_S, part="cancel-all"
        )
        (outcome,) = recorded(app, Kind.CANCEL_ALL_OUTCOME)
        assert outcome.body["confirmed"] == [order]
        assert not app.desk.own.word.read().killed
        assert len(received(capture_of(app), "D")) == sent, "nothing new left"

        assert verbs.resume(settings, "", "over", {}) == 0
        assert typed(tmp_path / "state", "stops", "--json")[0] == 0
        capsys.readouterr()
        assert report_kill(settings) == 0
        assert "drill of" in capsys.readouterr().out


def test_a_stop_goes_on_record_without_a_gateway_and_the_next_start_knows_it(
    tmp_path: Path,
) -> None:
    settings = load(state=tmp_path / "state")
    with desk(tmp_path / "state"):
        pass
    assert verbs.begin(settings, Stop.REDUCE_ONLY, "before the start") == 0
    with desk(tmp_path / "state") as app:
        assert app.desk.own.section.stops.in_force() == (Stop.REDUCE_ONLY,)
        assert verbs.resume(settings, "reduce-only", "over", {}) == 0
        assert app.desk.own.section.stops.in_force() == ()
