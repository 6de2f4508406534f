"""Busts, corrections and refused messages through a whole gateway: real child, TCP, PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from audit.evidence.bundle import NotYetSignedError, build_bundle
from audit.records.kinds import Kind
from audit.upkeep.dump import verify_database
from audit.verifier.verify import Outside, read_broker_files, verify_bundle
from fix.simulator.fills import write_fill_file
from gateway.clock import wall_us
from gateway.evidence.replay.replay import replay
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.paper.play import open_session
from gateway.walk.journal.standing import Stage, Standing
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent

pytestmark = [pytest.mark.walk, pytest.mark.timeout(240)]

SCRIPT = ("bust", "correct", "session_reject", "business_reject", "fill")


@contextmanager
def scripted(state: Path) -> Iterator[App]:
    """Yield a gateway whose broker takes fills back, corrects and refuses, in this order."""
    plan = live_desk.plan_for(state)
    assert plan.simulator is not None
    plan = replace(plan, simulator=replace(plan.simulator, script=SCRIPT))
    with running(plan, lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        yield app


def standing(app: App, decision_id: str) -> Standing:
    found = app.orders.get(decision_id)
    assert found is not None
    return found


def sent(agent: Agent) -> list[str]:
    """Send one order for each word of the script; returns their decisions."""
    told = [agent.intent(f"order-{bp}", bp).json() for bp in (500, 1_100, 1_800, 2_600, 3_500)]
    assert [one["result"] for one in told] == ["approved"] * len(SCRIPT), told
    return [one["decision_id"] for one in told]


def comes(app: App, name: str, done: Callable[[Standing], bool]) -> Standing:
    wait_for(lambda: done(standing(app, name)), 15.0, part=f"the reports of {name}")
    return standing(app, name)


def test_what_the_broker_takes_back_corrects_or_refuses_is_what_the_book_says(
    walk_state: Path, tmp_path: Path
) -> None:
    with scripted(walk_state) as app, Agent(app) as agent:
        open_session(app, live_desk.sessions(1)[0])
        busted, corrected, refused, rejected, filled = sent(agent)
        bust = comes(app, busted, lambda s: s.trades != () and s.filled_lots == 0)
        assert (bust.stage, bust.order_state, bust.sealed) == (Stage.SENT, "NEW", False)
        half = comes(app, corrected, lambda s: any(len(t.exec_ids) > 1 for t in s.trades))
        assert (half.stage, half.order_state) == (Stage.SENT, "PARTIAL")
        for name in (refused, rejected):
            over = comes(app, name, lambda s: s.sealed)
            assert (over.order_state, over.filled_lots) == ("REJECTED", 0)
        whole = comes(app, filled, lambda s: s.sealed)

        section, account = app.desk.own.section, f"{app.plan.tags.account}.agent"
        lots: dict[str, int] = {}
        for one in (half, whole):
            for trade in one.trades:
                assert trade.fill is not None
                symbol, sign = trade.fill.instrument, trade.fill.side.sign
                lots[symbol] = lots.get(symbol, 0) + sign * trade.lots
        for symbol in app.plan.instruments:
            assert section.book(account).lots(symbol) == lots.get(symbol, 0)
        reserved = {r.decision_id: r.open_lots for r in section.book(account).reservations}
        assert set(reserved) == {busted, corrected}
        assert app.book_check.run("run_end") == 0
        assert app.desk.parts()["book"] == "ready"
        for name in (busted, corrected, refused, rejected, filled):
            replay(app.reader, app.desk.own.tools.table, name)

        live = {order.cl_ord_id for order in app.fix.live_orders()}
        assert live == {bust.cl_ord_id, half.cl_ord_id}
        app.desk.kill_switch.press(actor="test", reason="busts are live")
        for name in (busted, corrected):
            assert comes(app, name, lambda s: s.sealed).order_state == "CANCELED"
        seals = app.reader.records(stream=f"decision/{busted}", kinds=(Kind.DECISION_SEALED,))
        assert [one.body["outcome"] for one in seals] == ["filled", "cancelled"]
        replay(app.reader, app.desk.own.tools.table, busted)
        assert section.book(account).reservations == ()
        witnessed(app, tmp_path / "fills.csv", whole.decision_id)


def witnessed(app: App, file: Path, filled: str) -> None:
    """Require that the broker's own file of fills bears out the ledger, and a spoiled one not."""
    assert app.plan.simulator is not None
    assert write_fill_file(app.plan.simulator.capture, file) >= 5  # three trades, G and H
    key = app.plan.state.ledger_vkey.read_text("ascii").strip()
    wait_for(lambda: signed_bundle(app, filled) is not None, 15.0, part="a checkpoint")
    bundle = signed_bundle(app, filled)
    assert bundle is not None
    for text, code in ((file.read_text(), 0), (file.read_text().replace(",SPXN,", ",X,"), 1)):
        fills = read_broker_files([("fills.csv", text.encode())])
        given = Outside(vkeys=[key], fills=fills)
        found = verify_database(app.dsn, (), now_us=wall_us(), outside=given)
        assert found.exit_code == code, found.lines
        judged = verify_bundle(bundle, (), (), given)
        assert judged.exit_code == code, judged.lines
        assert any("are of other decisions" in line for line in judged.lines)


def signed_bundle(app: App, decision_id: str) -> bytes | None:
    """Return a decision's bundle once a checkpoint covers it."""
    with suppress(NotYetSignedError):
        return build_bundle(app.reader, decision_id)
    return None
