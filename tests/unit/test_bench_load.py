"""The load of `make bench-load`: what is planned, said of the answers, and delivered."""

import json
from itertools import pairwise

import pytest

from gateway.feeds.instruments.table import parse_table
from gateway.feeds.live.items import BARS, QUOTES, BarItem, parse
from scripts.load import market
from scripts.load.figures import Answer, at, by_answer, reasons, shares, table
from scripts.load.plan import Scenario, wishes

NOW_US = 1_795_836_000_000_000


def answer(took_s: float, word: str = "approved", caller: str = "a", why: str = "") -> Answer:
    status = 503 if word == "busy" else 200
    return Answer(caller=caller, status=status, word=word, took_s=took_s, why=why)


def test_a_plan_is_open_and_every_caller_asks_for_every_instrument() -> None:
    scenario = Scenario(name="shared", agents=2, rate=4.0, seconds=4.0)
    plan = wishes(scenario, ["a", "b", "c"], ["X", "Y"], "run")
    assert [one.at_s for one in plan] == [number / 4 for number in range(16)]
    assert [one.caller for one in plan] == ["a", "b"] * 8
    assert {(one.caller, one.body["instrument"]) for one in plan} == {
        (caller, symbol) for caller in "ab" for symbol in "XY"
    }
    assert len({one.body["client_key"] for one in plan}) == len(plan)
    assert all(json.loads(one.bytes) == one.body for one in plan)


def test_a_target_of_an_instrument_changes_from_turn_to_turn() -> None:
    scenario = Scenario(name="steady", agents=1, rate=10.0, seconds=1.0)
    plan = wishes(scenario, ["a"], ["X", "Y"], "run")
    targets = [one.body["target_exposure_bp"] for one in plan if one.body["instrument"] == "X"]
    assert all(one != other for one, other in pairwise(targets))


@pytest.mark.parametrize(
    ("level", "value"), [(0.0, 1.0), (0.5, 51.0), (0.99, 100.0), (0.999, 100.0), (1.0, 100.0)]
)
def test_a_quantile_is_a_measured_value(level: float, value: float) -> None:
    assert at([float(number) for number in range(1, 101)], level) == value


def test_answers_are_counted_apart_with_times_in_milliseconds() -> None:
    answers = [answer(0.2), answer(0.1), answer(0.3), answer(0.001, "busy")]
    assert by_answer(answers) == [
        ["200 approved", "3", "200.0", "300.0", "300.0", "300.0"],
        ["503 busy", "1", "1.0", "1.0", "1.0", "1.0"],
    ]


def test_shares_count_decisions_and_who_got_none() -> None:
    answers = [answer(0.1), answer(0.1, "rejected"), answer(0.1, caller="b")]
    assert shares(answers) == "1 to 2 of 2 callers, 66.7% of the mean apart"
    assert shares([*answers[:1], answer(0.1, "busy", "c")]).startswith("0 to 1 of 2 callers")


def test_reasons_name_the_rules_of_decisions_alone() -> None:
    refused = [answer(0.1, "rejected", why="R16.order: DUPLICATE_ORDER: more")] * 2
    answers = [*refused, answer(0.1), answer(0.1, "busy", why="full")]
    assert reasons(answers) == "R16.order: DUPLICATE_ORDER 2"
    assert reasons([]) == "nothing"


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_what_the_feed_delivers_is_what_the_gateway_takes() -> None:
    bars = market.stretches(3)
    assert [*bars] == market.symbols(3) == ["SPX1", "NDX1", "SPX2"]
    assert bars["SPX1"] != bars["SPX2"], "another stretch of the same series"
    listed = parse_table(market.table_text(bars).encode(), name="bench").instruments
    for symbol, rows in bars.items():
        lines = [
            json.loads(line)
            for body in market.bar_lines(symbol, rows, NOW_US)
            for line in body.splitlines()
        ]
        items = [parse(BARS, line, listed) for line in lines]
        assert all(isinstance(one, BarItem) for one in items)
        assert [one.sequence for one in items] == [*range(1, len(rows) + 1)]
        assert items[-1].event_us == NOW_US - market.HOUR_US, "or they have no common past"
    quotes = [parse(QUOTES, one, listed) for one in market.quotes_of(bars, 7, NOW_US)]
    assert {one.instrument for one in quotes} == {*bars}


def test_a_resting_limit_is_below_the_brokers_bid() -> None:
    bars = market.stretches(2)
    bids = {
        line["instrument"]: float(line["bid"])
        for line in map(json.loads, market.broker_quotes(bars).splitlines())
    }
    for symbol, rows in bars.items():
        limit = float(market.resting_price(rows))
        assert bids[symbol] * 0.97 < limit < bids[symbol], "inside the draft's collar"
