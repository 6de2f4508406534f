"""R21, R28, R30, R43, R45, R46, R49: at the limit, one above it, and without input."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.intent import Intent, Side
from risk.policy.policy import Policy
from risk.rules.catalogue import CONDUCT
from risk.state.inputs.activity import OwnAct
from risk.state.inputs.firm import ModelGross, OwnOrder
from risk.state.inputs.market import MarketStress, SeenBars
from risk.verdict import Action, Outcome, Reason, RuleId, RuleResult
from tests.doubles.full_policy import FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import (
    FORECAST,
    HOUR_US,
    INTENT,
    NOW_US,
    bought,
    fold,
    found,
    intent_with,
)

ORDER_MINOR = INTENT.qty_lots * INTENT.limit_ticks
DAY_US = 24 * HOUR_US
REDUCES: dict[str, Any] = {
    "intent": intent_with(side=Side.SELL, qty_lots=1, limit_ticks=26_950),
    "book": fold(bought(700)),
}


def judged(
    rule: str,
    check: str,
    policy: Policy = FULL,
    *,
    intent: Intent = INTENT,
    book: Any = None,  # noqa: ANN401 - a book
    **sources: Any,  # noqa: ANN401 - any source
) -> RuleResult:
    changes = {} if book is None else {"book": book}
    state = full_state(policy, inputs=inputs_with(**sources), **changes)
    return found(evaluate(policy, state, intent), rule, check)


def part(source: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return {source: replace(getattr(INPUTS, source), **changes)}


@pytest.mark.parametrize(("less", "action"), [(0, Action.ALLOW), (1, Action.REJECT)])
def test_a_basket_counts_as_one_order(less: int, action: Action) -> None:
    policy = full_policy(families__account__basket_max=ORDER_MINOR + 5_000 - less)
    result = judged("R21", "basket", policy, **part("basket", group="g", others_minor=5_000))
    assert (result.observed, result.action) == (ORDER_MINOR + 5_000, action)


def test_a_basket_of_sales_counts_too() -> None:
    policy = full_policy(families__account__basket_max=1)
    assert judged("R21", "basket", policy, **REDUCES).action is Action.REJECT


def stress(*closes: tuple[int, ...], age_us: int = HOUR_US) -> dict[str, Any]:
    """Bars of the intent's instrument first, then of others."""
    names = (INTENT.instrument, "A", "B", "C", "D", "E")
    return {
        "stress": MarketStress(
            instruments=tuple(
                SeenBars(symbol=name, as_of_us=NOW_US - age_us, closes_ticks=one)
                for name, one in zip(names, closes, strict=False)
            )
        )
    }


CALM, UP, DOWN = (10_000, 10_000), (10_000, 10_251), (10_000, 9_700)


@pytest.mark.parametrize(
    ("limit", "action"), [(2_000, Action.ALLOW), (1_999, Action.HALT)], ids=["at", "above"]
)
def test_a_share_of_unusual_markets_stops_new_risk(limit: int, action: Action) -> None:
    """With two bars half of 500 bp is the limit of a move: 251 bp is unusual."""
    policy = full_policy(families__liquidity__stress_share_max=limit)
    result = judged("R28", "stressed", policy, **stress(CALM, UP, CALM, CALM, CALM))
    assert (result.observed, result.action) == (2_000, action)


def test_a_move_of_the_limit_is_not_unusual() -> None:
    at_limit = (10_000, 10_250)
    assert judged("R28", "stressed", **stress(at_limit, at_limit)).observed == 0


@pytest.mark.parametrize(("usual", "unusual"), [(10, 0), (9, 10_000)])
def test_with_enough_bars_a_move_is_compared_with_the_usual_ones(usual: int, unusual: int) -> None:
    """Twenty moves of `usual` bp, then one of 100 bp, at ten times the usual."""
    calm = [100_000 + usual * 10 * (place % 2) for place in range(21)]
    market = stress((*calm, calm[-1] * 10_100 // 10_000))
    assert judged("R28", "stressed", **market).observed == unusual


@pytest.mark.parametrize(
    ("limit", "action"), [(150, Action.ALLOW), (149, Action.HALT)], ids=["at", "above"]
)
def test_a_mean_fall_stops_new_risk(limit: int, action: Action) -> None:
    policy = full_policy(families__liquidity__stress_fall_max=limit)
    result = judged("R28", "fall", policy, **stress(CALM, DOWN))
    assert (result.observed, result.action) == (150, action)
    assert judged("R28", "fall", policy, **stress(CALM, UP)).observed == 0


def test_bars_too_old_do_not_count_and_the_own_ones_must_be_there() -> None:
    age = FULL.families.liquidity.bars_age_max.value if FULL.families else 0
    old = stress(CALM, UP, age_us=age + 1)["stress"].instruments
    own = stress(CALM, age_us=age)["stress"].instruments
    mixed = MarketStress(instruments=(*own, old[1]))
    assert judged("R28", "stressed", stress=mixed).observed == 0
    for instruments in (old, (), (old[1],)):
        result = judged("R28", "stressed", stress=MarketStress(instruments=instruments))
        assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)


@pytest.mark.parametrize(
    ("check", "field", "value", "action"),
    [
        ("evidence", "evidence_milli", 100_000, Action.ALLOW),
        ("evidence", "evidence_milli", 100_001, Action.HALT),
        ("shift", "shift_bp", 2_500, Action.ALLOW),
        ("shift", "shift_bp", 2_501, Action.HALT),
    ],
)
def test_forecasts_that_drifted_stop_new_risk(
    check: str, field: str, value: int, action: Action
) -> None:
    assert judged("R30", check, **part("scores", **{field: value})).action is action


def test_with_few_scores_only_the_evidence_speaks() -> None:
    few = part("scores", scored=99, shift_bp=9_999, evidence_milli=100_001)
    assert judged("R30", "shift", **few).reason is Reason.TOO_FEW_SCORES
    assert judged("R30", "evidence", **few).action is Action.HALT


def test_scores_of_another_model_say_nothing() -> None:
    result = judged("R30", "evidence", **part("scores", model_digest="another"))
    assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)


CLOSE = {"to_close_us": 600_000_000, "market_lots": 4 * INTENT.qty_lots, "own_lots": 100}


@pytest.mark.parametrize(("own", "action"), [(100, Action.ALLOW), (101, Action.REJECT)])
def test_a_share_of_the_close_is_bounded(own: int, action: Action) -> None:
    """With this order 800 of 4,000 lots are a fifth."""
    result = judged(
        "R43", "share", **part("session", **CLOSE | {"own_lots": own, "market_lots": 4_000})
    )
    assert (result.limit, result.action) == (2_000, action)


@pytest.mark.parametrize(
    ("changes", "intent", "reason"),
    [
        ({"to_close_us": 600_000_001}, INTENT, Reason.OUTSIDE_THE_WINDOW),
        ({}, INTENT, Reason.SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM),
        ({}, intent_with(limit_ticks=26_959), Reason.SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM),
        ({}, intent_with(limit_ticks=26_958), Reason.NOT_AGGRESSIVE),
        (
            {},
            intent_with(side=Side.SELL, limit_ticks=26_957),
            Reason.SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM,
        ),
        ({}, intent_with(side=Side.SELL, limit_ticks=26_958), Reason.NOT_AGGRESSIVE),
        (
            {"to_close_us": HOUR_US, "since_open_us": 600_000_000},
            INTENT,
            Reason.SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM,
        ),
    ],
)
def test_the_close_binds_aggressive_orders_in_its_window(
    changes: dict[str, int], intent: Intent, reason: Reason
) -> None:
    found_now = judged("R43", "share", intent=intent, **part("session", **CLOSE | changes))
    assert found_now.reason is reason


def test_where_nobody_else_trades_all_of_it_is_ours() -> None:
    result = judged("R43", "share", **part("session", **CLOSE | {"market_lots": 0}))
    assert result.observed == 10_000


@pytest.mark.parametrize(("two_way", "action"), [(5_500, Action.ALLOW), (5_499, Action.WARN)])
def test_a_presence_below_the_mandate_warns(two_way: int, action: Action) -> None:
    quoting = part("quoting", continuous_us=10_000, two_way_us=two_way)
    assert judged("R45", "presence", **quoting).action is action


def other_side(lots: int, ticks: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    order = OwnOrder(
        account=INTENT.account,
        decision_id="d-8",
        instrument=INTENT.instrument,
        side="SELL",
        open_lots=lots,
        limit_ticks=ticks,
    )
    return part("firm", orders=(replace(order, **changes),))


@pytest.mark.parametrize(
    ("check", "lots", "ticks", "observed", "action"),
    [
        ("sizes", 1_050, 27_000, 15_000, Action.ALLOW),
        ("sizes", 1_051, 27_000, 15_015, Action.HOLD),
        ("sizes", 467, 27_000, 14_990, Action.ALLOW),
        ("sizes", 466, 27_000, 15_022, Action.HOLD),
        ("spread", 700, 27_238, 100, Action.ALLOW),
        ("spread", 700, 27_239, 101, Action.HOLD),
    ],
)
def test_quotes_of_a_mandate_are_alike_and_near(
    check: str, lots: int, ticks: int, observed: int, action: Action
) -> None:
    result = judged("R45", check, **other_side(lots, ticks))
    assert (result.observed, result.action) == (observed, action)


def test_a_mandate_binds_its_instrument_and_both_sides_of_one_account() -> None:
    assert FULL.families is not None
    authority = FULL.families.authority.model_copy(update={"mandates": ()})
    families = FULL.families.model_copy(update={"authority": authority})
    without = FULL.model_copy(update={"families": families})
    for check in ("presence", "sizes", "spread"):
        assert judged("R45", check, without, quoting=None).reason is Reason.NO_MANDATE
        assert judged("R45", check, quoting=None).outcome is Outcome.REFUSED
    assert judged("R45", "sizes").reason is Reason.ONE_SIDED
    another = other_side(9_999, 27_000, account="run-2")
    assert judged("R45", "sizes", **another).reason is Reason.ONE_SIDED


@pytest.mark.parametrize(
    ("limit", "action"), [(5_000, Action.ALLOW), (4_999, Action.HOLD)], ids=["at", "above"]
)
def test_one_model_decides_a_share_of_the_firm_at_most(limit: int, action: Action) -> None:
    """The other model's positions are worth as much as this order."""
    other = ModelGross(model_digest="other", gross_minor=ORDER_MINOR)
    policy = full_policy(families__account__model_share_max=limit)
    result = judged("R46", "model_share", policy, **part("crowd", models=(other,)))
    assert (result.observed, result.action) == (5_000, action)
    own = replace(other, model_digest=FORECAST.model_digest)
    assert judged("R46", "model_share", **part("crowd", models=(own,))).observed == 10_000


@pytest.mark.parametrize(("agreeing", "action"), [(4, Action.ALLOW), (5, Action.HOLD)])
def test_strategies_of_one_mind_ask_a_person(agreeing: int, action: Action) -> None:
    crowd = part("crowd", pairs=5, agreeing=agreeing)
    assert judged("R46", "agreement", **crowd).action is action


@pytest.mark.parametrize(
    ("age", "instrument", "action"),
    [
        (DAY_US, "SPXN", Action.ALLOW),
        (DAY_US - 1, "SPXN", Action.REJECT),
        (DAY_US - 1, "", Action.REJECT),
        (DAY_US - 1, "NDXN", Action.ALLOW),
        (-1, "SPXN", Action.REJECT),
    ],
)
def test_after_own_words_in_public_nothing_is_traded_for_a_day(
    age: int, instrument: str, action: Action
) -> None:
    act = OwnAct(instrument=instrument, seq=3, time_us=NOW_US - age)
    assert judged("R49", "acts", **part("publications", acts=(act,))).action is action


@pytest.mark.parametrize(
    ("rule", "check", "source"),
    [
        ("R21", "basket", "basket"),
        ("R28", "stressed", "stress"),
        ("R30", "evidence", "scores"),
        ("R43", "share", "session"),
        ("R45", "presence", "quoting"),
        ("R46", "model_share", "crowd"),
        ("R49", "acts", "publications"),
    ],
)
def test_without_its_input_a_rule_refuses(rule: str, check: str, source: str) -> None:
    absent: dict[str, Any] = {source: None}
    result = judged(rule, check, **absent)
    assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)


@pytest.mark.parametrize(
    ("rule", "check", "sources"),
    [
        ("R27", "move", part("market", closes_ticks=(20_000,) * 22)),
        ("R27", "usual", part("market", closes_ticks=(20_000,) * 22)),
        ("R28", "fall", stress(DOWN, DOWN)),
        ("R30", "evidence", part("scores", evidence_milli=999_000)),
        ("R46", "agreement", part("crowd", pairs=1, agreeing=1)),
    ],
)
def test_what_only_reduces_is_let_through(rule: str, check: str, sources: dict[str, Any]) -> None:
    policy = full_policy(families__liquidity__stress_fall_max=100)
    assert judged(rule, check, policy, **sources).action > Action.WARN
    assert judged(rule, check, policy, **REDUCES, **sources).reason is Reason.REDUCES_RISK


def test_who_submits_is_not_told_which_rule_about_conduct_refused() -> None:
    assert {RuleId.R43, RuleId.R49} <= CONDUCT
