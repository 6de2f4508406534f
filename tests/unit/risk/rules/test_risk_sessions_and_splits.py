"""R27 and R28: bars age by sessions, and a split of another instrument is no fall of the market."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.rules.market.moves import SPLIT_RATIOS, Moves, split_like
from risk.state.inputs.market import LastBars, MarketStress, SeenBars
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import HOUR_US, INTENT, NOW_US, found

LIMIT_US = 120 * HOUR_US
CALM = (10_000, 10_000)


def judged(rule: str, check: str, **sources: Any) -> RuleResult:  # noqa: ANN401 - any source
    return found(
        evaluate(FULL, full_state(FULL, inputs=inputs_with(**sources)), INTENT), rule, check
    )


def bars(age_us: int, due_us: int | None) -> LastBars:
    assert INPUTS.market is not None
    return replace(INPUTS.market, as_of_us=NOW_US - age_us, due_us=due_us)


def seen(*closes: tuple[int, ...], age_us: int = HOUR_US, due_us: int | None = None) -> Any:  # noqa: ANN401
    names = (INTENT.instrument, "A", "B", "C", "D", "E")
    return MarketStress(
        instruments=tuple(
            SeenBars(symbol=name, as_of_us=NOW_US - age_us, closes_ticks=one, due_us=due_us)
            for name, one in zip(names, closes, strict=False)
        )
    )


@pytest.mark.parametrize(
    ("age_us", "opened_ago_us", "action"),
    [
        (136 * HOUR_US, HOUR_US, Action.ALLOW),  # a long holiday
        (136 * HOUR_US, -HOUR_US, Action.ALLOW),  # and before it ends
        (136 * HOUR_US, None, Action.REJECT),
        (400 * HOUR_US, LIMIT_US, Action.ALLOW),
        (400 * HOUR_US, LIMIT_US + 1, Action.REJECT),
    ],
)
def test_bars_age_from_the_opening_of_the_next_session(
    age_us: int, opened_ago_us: int | None, action: Action
) -> None:
    """Repro r14: the policy's limit refused the day after a holiday too."""
    due_us = None if opened_ago_us is None else NOW_US - opened_ago_us
    assert judged("R27", "bars_age", market=bars(age_us, due_us)).action is action
    result = judged("R28", "fall", stress=seen(CALM, age_us=age_us, due_us=due_us))
    refused = (Outcome.REFUSED, Reason.INPUT_MISSING)
    assert (result.outcome is not Outcome.REFUSED) == (action is Action.ALLOW)
    assert action is Action.ALLOW or (result.outcome, result.reason) == refused


def test_an_opening_hides_no_bar_of_the_future_and_none_before_its_close() -> None:
    ahead = judged("R27", "bars_ahead", market=bars(-1, NOW_US))
    assert ahead.action is Action.REJECT
    wrong = judged("R27", "bars_age", market=bars(HOUR_US, NOW_US - 2 * HOUR_US))
    assert (wrong.outcome, wrong.reason) == (Outcome.REFUSED, Reason.UNKNOWN_VALUE)


@pytest.mark.parametrize(("new", "old"), [(2, 1), (3, 2), (4, 1), (10, 1), (50, 1)])
def test_a_split_of_another_instrument_stops_nobody(new: int, old: int) -> None:
    """Repro r17: a fall of 50 % of one stopped orders on every other instrument."""
    split = (30_000, 30_000 * old // new)
    found_ = judged("R28", "fall", stress=seen(CALM, CALM, split))
    assert (found_.observed, found_.action) == (0, Action.ALLOW)
    assert judged("R28", "stressed", stress=seen(CALM, CALM, split)).observed == 0


def test_a_fall_that_is_no_split_or_a_second_one_or_the_own_counts() -> None:
    half, fall = (20_000, 10_000), (20_000, 14_000)
    policy_limit = full_policy().families
    assert policy_limit is not None
    assert judged("R28", "fall", stress=seen(CALM, CALM, fall)).action is Action.HALT
    assert judged("R28", "fall", stress=seen(CALM, half, half)).action is Action.HALT
    assert judged("R28", "fall", stress=seen(half, CALM, CALM)).action is Action.HALT


@pytest.mark.parametrize(
    ("before", "last", "like"),
    [
        (20_000, 10_000, True),
        (20_000, 10_204, True),
        (20_000, 10_205, False),
        (20_000, 9_803, False),
        (20_000, 9_804, True),
        (10_000, 20_000, True),  # a consolidation
        (10_000, 10_000, False),
        (10_000, 8_000, False),  # 5:4 may be a fall
        (15_000, 10_000, True),
    ],
)
def test_what_is_like_a_split(before: int, last: int, like: bool) -> None:  # noqa: FBT001 - a column
    assert split_like(Moves(last=last, before=before, now=None, usual=None)) is like
    assert (5, 4) not in SPLIT_RATIOS
