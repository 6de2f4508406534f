"""The broker's market data over real FIX: the real child, the simulator, the same market door."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.records.kinds import Kind
from fix.dialects.market_data import MarketData
from fix.dialects.profile import Profile, profile_document
from fix.session.link import Frame, encode, frames
from fix.simulator.acts import BrokerAct
from fix.simulator.play import play
from gateway.feeds.broker.line import BrokerLine, LineConfig
from gateway.feeds.live.items import QUOTES
from gateway.installation.children.child import ChildProcess
from tests.doubles.feeds import FedDesk, fed_desk
from tests.doubles.fix_world import Broker, broker_at, until
from tests.doubles.memory_desk import memory_desk
from tests.doubles.set_clock import SetClock
from tests.doubles.small_desk import INSTRUMENTS

US = "COUNTERSIGN-MD"
SYMBOL = "SPXN"
OTHER = next(name for name in INSTRUMENTS if name != SYMBOL)


SLOW_END = (
    "import os, sys, time; from fix.feed.main import main;"
    " code = main(sys.argv[1:]); time.sleep(1.5); os._exit(code)"
)


class Market:
    """The line, the broker and the market that it feeds."""

    def __init__(self, line: BrokerLine, broker: Broker, fed: FedDesk, profile: Profile) -> None:
        self.line, self.broker, self.fed, self.profile = line, broker, fed, profile

    def condition(self, instrument: str = SYMBOL) -> str:
        series = self.fed.market.lines(QUOTES, instrument)
        if not series:
            return "none"
        return self.fed.market.finding(QUOTES, instrument, "broker").condition.value

    def bid(self) -> int:
        series = self.fed.market.series(QUOTES, SYMBOL)
        return series.standing.bid_ticks if series and series.standing else 0

    def act(self, what: str) -> None:
        play(self.broker.config.control, BrokerAct(what, SYMBOL))

    def recorded(self) -> list[tuple[str, str]]:
        found = self.fed.desk.log.of_kind(Kind.FEED_CONDITION)
        return [(str(one.body["condition"]), str(one.body["detail"])) for one in found]

    def stands(self, condition: str, instrument: str = SYMBOL) -> bool:
        return until(lambda: self.condition(instrument) == condition, 60.0)

    def asked(self) -> list[str]:
        return [one[262] for one in self.broker.fields("V") if one[263] == "1"]


@contextmanager
def market_at(folder: Path, prices: list[tuple[str, str]]) -> Iterator[Market]:
    path = folder / "prices.jsonl"
    rows = [{"instrument": SYMBOL, "bid": bid, "ask": ask} for bid, ask in prices]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with broker_at(folder, market_target=US, prices=path, tick_ms=50) as broker:
        fed = fed_desk(memory_desk(folder, live=False), clock=SetClock())
        data = MarketData(sender_comp_id=US, target_comp_id="EMSSIM", port=broker.config.port)
        profile = broker.profile.model_copy(update={"market_data": data})
        config = LineConfig(
            profile=profile, folder=folder / "md", log_path=folder / "md.log", prefix="t"
        )
        line = BrokerLine(config, fed.feeding, INSTRUMENTS)
        line.start()
        try:
            yield Market(line, broker, fed, profile)
        finally:
            line.stop()


def test_quotes_of_the_broker_stand_like_posted_ones(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60"), ("269.55", "269.65")]) as market:
        assert market.stands("ok"), market.line.state
        assert until(lambda: market.bid() == 26955)
        tick = market.fed.market.tick(SYMBOL)
        assert (tick.quote.bid_ticks, tick.quote.ask_ticks) == (26955, 26965)
        assert market.line.state == "ready"
        assert until(lambda: {said for said, _ in market.recorded()} == {"ok", "refused"}, 60.0)


def test_a_symbol_that_the_broker_refuses_is_refused_with_its_reason(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("refused", OTHER)
        said = dict(market.recorded())["refused"]
        assert "281=0: unknown symbol" in said
        assert OTHER in said


def test_a_session_that_is_up_and_delivers_nothing_is_stale(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        market.act("quiet")
        assert market.stands("stale")
        assert market.line.state == "ready"
        market.act("loud")
        assert market.stands("ok")


def test_what_cannot_be_believed_is_asked_again(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        before = len(market.asked())
        market.act("unknown_entry")
        assert until(lambda: "incomplete" in dict(market.recorded()))
        assert (
            "deletion of an unknown entry 'SPXN-UNKNOWN'" in dict(market.recorded())["incomplete"]
        )
        assert market.stands("ok")
        assert len(market.asked()) > before


def test_crossed_and_one_sided_books_are_on_record(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        market.act("crossed")
        assert until(lambda: "crossed" in dict(market.recorded()))
        market.act("one_sided")
        assert until(lambda: ("incomplete", "no bid") in market.recorded())
        assert market.stands("ok")


def test_a_lost_session_is_down_and_is_asked_anew(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        before = set(market.asked())
        market.act("market_drop")
        assert until(lambda: "down" in dict(market.recorded()))
        assert market.stands("ok")
        assert set(market.asked()) > before


def test_a_child_that_is_told_to_stop_ends_well(tmp_path: Path) -> None:
    """What the engine's threads call was freed before the process had ended: it crashed.

    The moment between the two is made long here.
    """
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        market.line.stop()
        for number in range(2):
            child = ChildProcess((sys.executable, "-c", SLOW_END), tmp_path / "child.log")
            (tmp_path / f"md-{number}").mkdir()
            configure: Frame = {
                "op": "configure",
                "profile": profile_document(market.profile),
                "folder": str(tmp_path / f"md-{number}"),
                "symbols": [SYMBOL],
                "currencies": {SYMBOL: "USD"},
                "prefix": f"stop-{number}",
            }
            child.write(encode(configure), 5.0)
            assert any(one.get("state") == "READY" for one in frames(child.link))
            child.write(encode({"op": "stop"}), 5.0)
            assert child.process.wait(20.0) == 0
            child.link.close()


def test_a_killed_child_is_down_and_its_successor_asks_anew(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        before, last = set(market.asked()), market.line.pid
        sequence = market.fed.market.last_sequence(QUOTES, SYMBOL, "broker")
        os.kill(last, signal.SIGKILL)
        assert until(lambda: ("down", "its process ended") in market.recorded())
        assert market.stands("ok")
        assert market.line.pid != last
        assert set(market.asked()) > before
        assert market.fed.market.last_sequence(QUOTES, SYMBOL, "broker") > sequence


def test_the_order_session_never_sees_market_data(tmp_path: Path) -> None:
    with market_at(tmp_path, [("269.50", "269.60")]) as market:
        assert market.stands("ok")
        requests = market.broker.fields("V")
        assert requests
        assert {one[49] for one in requests} == {US}
