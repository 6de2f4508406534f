"""The load of `make bench-load`: what is planned, said of the answers, and delivered."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.feeds.instruments.table import parse_table
from gateway.feeds.live.items import BARS, QUOTES, BarItem, parse
from gateway.installation.keys.scopes import KeyScope
from gateway.installation.policies.policy import POLICIES
from gateway.launch.setup.agent_scope import make_scope
from risk.policy.policy import parse_policy
from risk.policy.text import parse_policy_text, policy_text
from scripts.load import market
from scripts.load.figures import Answer, at, by_answer, reasons, shares, table
from scripts.load.lifted import LIFTED, key_scope, lifted_policy
from scripts.load.page import ABOUT, replaced, titled
from scripts.load.plan import HIGH_BP, LEG_TURNS, Scenario, wishes
from scripts.load.watching import Sampled, grown

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


def test_no_order_of_an_instrument_repeats_within_a_second_and_a_position_goes_back() -> None:
    scenario = Scenario(name="steady", agents=1, rate=20.0, seconds=60.0)
    plan = [
        one for one in wishes(scenario, ["a"], ["X", "Y"], "run") if one.body["instrument"] == "X"
    ]
    for number, one in enumerate(plan):
        near = [other for other in plan[number + 1 :] if other.at_s - one.at_s < 0.6]
        assert all(other.body["max_qty_lots"] != one.body["max_qty_lots"] for other in near)
    targets = [one.body["target_exposure_bp"] for one in plan]
    assert all(one > HIGH_BP // 2 for one in targets[: 2 * LEG_TURNS]), "built up first"
    legs = [targets[at] < HIGH_BP // 2 for at in range(2 * LEG_TURNS, len(plan), LEG_TURNS)]
    assert all(one != other for one, other in pairwise(legs)), "then back and forth"


def test_a_lifted_policy_is_named_and_only_its_rates_are_not_armed() -> None:
    shipped = policy_text(parse_policy(POLICIES["desk"].read_bytes()))
    policy = parse_policy_text(lifted_policy(shipped))
    assert policy.name == "bench"
    was = parse_policy_text(shipped)
    for section, before in zip(policy.classes, was.classes, strict=True):
        armed = {one.rule.name for one in before.arming if one.armed}
        assert {one.rule.name for one in section.arming if one.armed} == armed - {*LIFTED}
    with pytest.raises(SystemExit, match="does not arm R13"):
        lifted_policy(lifted_policy(shipped))


def test_a_further_agent_has_the_scope_of_init_in_an_account_of_its_own(tmp_path: Path) -> None:
    policy = parse_policy(POLICIES["desk"].read_bytes())
    file, _ = make_scope(tmp_path, policy)
    own, further = KeyScope.read(file, "agent"), tmp_path / "further.toml"
    for lifted in (False, True):
        further.write_text(key_scope(file.read_text(), lifted=lifted))
        scope = KeyScope.read(further, "agent-2")
        assert scope.account == "agent-2"
        assert scope.intents_per_minute == own.intents_per_minute, "a key keeps its pace"
        assert (scope.day_max(2) > own.day_max(2)) is lifted


def test_memory_is_compared_from_the_fifth_minute_on() -> None:
    samples = [
        Sampled(
            at_s=60.0 * minute, mib=100.0 if minute < 5 else 200.0 + minute, decided=minute * 600
        )
        for minute in range(1, 11)
    ]
    assert grown(samples, 300.0) == (
        "+1.75 kB a decision, from 205 to 210 MiB over 3000 decisions, minute 5 to 10"
    )
    assert "not known" in grown(samples[:5], 300.0)
    assert "not known" in grown([], 300.0)


def test_a_section_of_the_page_is_replaced_and_the_others_stay() -> None:
    first, second = titled(lifted=False, cold=False, busy=False, memory=False), "Other"
    page = replaced(replaced("", first, "one"), second, "two\n\n| a |")
    again = replaced(page, first, "three")
    assert again.count("## ") == 2
    assert "one" not in again.partition("## ")[2]
    assert again.index("three") < again.index("two\n\n| a |")
    assert again.startswith(ABOUT)
    assert titled(lifted=True, cold=True, busy=True, memory=True) == (
        "Bench policy, rates lifted, memory, no forecasts ready, a busy loop on each core"
    )
