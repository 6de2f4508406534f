"""A trader's order on our session, and a cancel-all whose child dies, with a real child and broker.

The broker is the simulator: it enters the trader's order by hand, and its capture shows what left.
"""

import os
import signal
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.simulator.acts import BrokerAct
from fix.simulator.play import play
from gateway.clock import pause
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import load
from gateway.launch.app import App
from gateway.launch.commands.orders import list_orders
from tests.doubles.live_desk import capture_of, desk, received, rest_one
from tests.doubles.verbs import typed

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
PATIENCE_S = 60.0


def recorded(app: App, kind: Kind) -> list[Record]:
    return list(app.reader.records(kinds=(kind,)))


def mass_statuses(app: App) -> list[str]:
    """Return how each logon's mass status request ended."""
    found = recorded(app, Kind.SESSION_EVENT)
    return [str(one.body["detail"]) for one in found if one.body["event"] == "mass_status"]


def by_broker(app: App, *acts: BrokerAct) -> None:
    for act in acts:
        play(app.plan.state.root / "ems" / "control.json", act)


def test_a_traders_order_is_shown_outlives_the_kill_and_changes_no_book(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=tmp_path / "state")
    with desk(tmp_path / "state") as app:
        assert mass_statuses(app) == ["answered: 0 orders"]
        order = rest_one(app)
        by_broker(app, BrokerAct("stranger", "SPXN", 7, "10.00"))
        wait_for(lambda: bool(recorded(app, Kind.FOREIGN_REPORTED)), PATIENCE_S, part="stranger")
        by_broker(app, BrokerAct("fill", "TRADER-1", 3, "10.00"))
        wait_for(
            lambda: (
                [str(one.body["filled"]) for one in recorded(app, Kind.FOREIGN_REPORTED)][-1:]
                == ["3"]
            ),
            PATIENCE_S,
            part="the trader's fill",
        )
        assert list_orders(settings, all_of_them=False, as_json=False) == 0
        said = capsys.readouterr().out
        assert order in said
        assert "not ours: S" in said
        assert "BUY 7 SPXN @ 10.00: 3 filled; ClOrdID TRADER-1" in said
        ready = httpx.get(f"{app.server.address}/readyz", trust_env=False).json()
        assert ready["parts"]["book"] == "ready"
        assert ready["session"]["foreign_orders"] == 1
        assert app.book_check.run("run_end") == 0

        app.desk.kill_switch.press(actor="ada", reason="a test")
        wait_for(lambda: not app.orders.live(), PATIENCE_S, part="the kill's cancels")
        assert received(capture_of(app), "q") == [], "a mass cancel would take the trader's along"
        cancelled = received(capture_of(app), "F")
        assert cancelled
        assert all(f"41={order}" in raw for raw in cancelled)
        assert [one.works for one in app.desk.own.foreign.listed()] == [True]  # type: ignore[union-attr]


def test_a_cancel_all_goes_on_in_the_next_child(tmp_path: Path) -> None:
    with desk(tmp_path / "state", sweep_timeout_s=60) as app:
        order = rest_one(app)
        by_broker(app, BrokerAct("silent"))
        pause(0.2)
        assert typed(tmp_path / "state", "cancel-all", "--reason", "end of the day")[0] == 0
        wait_for(
            lambda: bool(received(capture_of(app), "F", "q")), PATIENCE_S, part="the first cancels"
        )
        assert recorded(app, Kind.CANCEL_ALL_OUTCOME) == []
        first = app.fix.pid
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: app.fix.pid not in {0, first}, PATIENCE_S, part="the next child")
        by_broker(app, BrokerAct("speak"))
        wait_for(
            lambda: bool(recorded(app, Kind.CANCEL_ALL_OUTCOME)), PATIENCE_S, part="cancel-all"
        )
        (outcome,) = recorded(app, Kind.CANCEL_ALL_OUTCOME)
        assert outcome.body["unknown"] == outcome.body["open"] == []
        wait_for(lambda: not app.orders.live(), PATIENCE_S, part="the cancelled order")
        assert app.orders.by_cl_ord_id(order).order_state == "CANCELED"  # type: ignore[union-attr]
