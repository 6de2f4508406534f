"""A whole gateway and a broker of another make: at the end the book is the broker's.

Real: PostgreSQL, ledger, FIX child, TCP, HTTP; the broker's engine is not ours, in 4.4 not even
QuickFIX.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from fix.dialects.profile import Profile
from fix.session.link import SessionState
from fix.wire import messages
from gateway.evidence.replay.replay import replay
from gateway.installation.children.fix_profiles import profile_record
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.paper.play import open_session
from gateway.walk.projections.standing import Stage, Standing
from gateway.walk.reconciliation.asking import sent_fields
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent
from tests.doubles.outside_broker import BROKERS, OutsideBroker, outside_broker, plain

pytestmark = [pytest.mark.walk, pytest.mark.timeout(300)]

SCRIPT = ("fill", "half", "rest", "reject", "bust", "correct", "fill", "fill")
BACK_S = 60.0


@contextmanager
def trading(state: Path, profile: Profile) -> Iterator[App]:
    """Yield a gateway whose broker is outside."""
    plan = replace(live_desk.plan_for(state), simulator=None, profile=lambda _: profile)
    with running(plan, lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        yield app


class Trader:
    """Sends orders of one size after the other and waits for what the broker says."""

    def __init__(self, app: App, agent: Agent) -> None:
        self.app = app
        self._agent = agent
        self._exposure_bp = 0
        self._days = live_desk.sessions(3 * len(SCRIPT))
        self.decisions: list[str] = []

    def send(self) -> str:
        open_session(self.app, self._days.pop(0))  # a quote is too old after two seconds
        self._exposure_bp += 300 + 40 * len(self.decisions)
        told = self._agent.intent(f"order-{self._exposure_bp}", self._exposure_bp).json()
        assert told["result"] == "approved", json.dumps(told)
        self.decisions.append(told["decision_id"])
        return self.decisions[-1]

    def standing(self, decision_id: str) -> Standing:
        found = self.app.orders.get(decision_id)
        assert found is not None
        return found

    def comes(self, decision_id: str, done: Callable[[Standing], bool]) -> Standing:
        wait_for(lambda: done(self.standing(decision_id)), 20.0, part=f"reports of {decision_id}")
        return self.standing(decision_id)

    def filled(self) -> None:
        over = self.comes(self.send(), lambda s: s.sealed)
        assert over.order_state == "FILLED"


def brokers_lots(broker: OutsideBroker) -> dict[str, int]:
    """Return the position that the broker's own trades make, by symbol."""
    lots: dict[str, int] = {}
    for one in broker.orders().values():
        sign = 1 if one["side"] == "1" else -1
        done = sum(qty for qty, _ in one["trades"].values())
        lots[one["symbol"]] = lots.get(one["symbol"], 0) + sign * done
    return lots


@pytest.mark.parametrize("name", BROKERS)
def test_the_book_is_the_brokers_after_everything(
    name: str, walk_state: Path, tmp_path: Path
) -> None:
    with outside_broker(tmp_path / "broker", BROKERS[name], *SCRIPT) as broker:
        profile = plain(name.split(maxsplit=1)[0], broker.port, resets="by_broker")
        with trading(walk_state, profile) as app, Agent(app) as agent:
            assert app.fix.wait_for(SessionState.READY, BACK_S)
            trader = Trader(app, agent)
            trader.filled()
            half = trader.comes(trader.send(), lambda s: s.filled_lots > 0)
            assert (half.stage, half.order_state) == (Stage.SENT, "PARTIAL")
            resting = trader.comes(trader.send(), lambda s: s.order_state == "NEW")
            assert resting.sending is not None
            wish = messages.cancel(
                sent_fields(resting.sending), cancel_id="C" * 20, transact_time_us=1
            )
            assert app.fix.cancel(wish).outcome == "sent"
            over = trader.comes(resting.decision_id, lambda s: s.sealed)
            assert over.order_state == "CANCELED"
            refused = trader.comes(trader.send(), lambda s: s.sealed)
            assert refused.order_state == "REJECTED"
            bust = trader.comes(trader.send(), lambda s: s.trades != () and s.filled_lots == 0)
            assert bust.order_state == "NEW"
            right = trader.comes(
                trader.send(), lambda s: any(len(trade.exec_ids) > 1 for trade in s.trades)
            )
            assert right.order_state == "PARTIAL"

            logon = app.fix.logon_no
            broker.drop()
            wait_for(lambda: app.fix.logon_no > logon, BACK_S, part="a new logon")
            assert app.fix.wait_for(SessionState.READY, BACK_S)
            trader.filled()
            broker.restart_at_1()
            wait_for(lambda: app.fix.logon_no > logon + 1, BACK_S, part="a logon from 1")
            assert app.fix.wait_for(SessionState.READY, BACK_S), broker.log()
            trader.filled()

            account = f"{app.plan.tags.account}.agent"
            for symbol, lots in brokers_lots(broker).items():
                assert app.desk.own.section.book(account).lots(symbol) == lots
            assert app.book_check.run("run_end") == 0
            assert app.desk.parts()["book"] == "ready"
            sent = [one[11] for one in broker.wire("D")]
            assert len(sent) == len(set(sent)) == len(SCRIPT)
            assert broker.wire("3", "out") == []
            for decision_id in trader.decisions:
                replay(app.reader, app.desk.own.tools.table, decision_id)
            (run,) = app.reader.records(stream="control", kinds=(Kind.RUN_STARTED,))
            assert run.body["fix_profile"] == profile_record(profile)
