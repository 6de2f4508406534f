"""R53: at its limits, one above them, without input; a renewed order counts once."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.intent import Side
from risk.state.activity import LAST
from risk.state.inputs.activity import OwnFill, Withdrawn
from risk.state.inputs.firm import OwnOrder
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import FULL, INPUTS, full_state, inputs_with
from tests.doubles.risk_cases import INTENT, NOW_US, found

PRICE, LOTS = INTENT.limit_ticks, INTENT.qty_lots
SECOND_US = 1_000_000
SHORT = Withdrawn(decision_id="d", side="BUY", lots=5, rest_us=1, time_us=NOW_US)
BOUGHT = OwnFill(decision_id="d", side="BUY", lots=1, price_ticks=PRICE, time_us=NOW_US)


def standing(*levels: tuple[int, int], side: str = "BUY") -> tuple[OwnOrder, ...]:
    """Open orders of another account, each as (ticks above the intent's limit, lots)."""
    return tuple(
        OwnOrder(
            account="run-2",
            decision_id=f"o-{place}",
            instrument=INTENT.instrument,
            side=side,
            open_lots=lots,
            limit_ticks=PRICE + above,
        )
        for place, (above, lots) in enumerate(levels)
    )


def shape(check: str, *orders: OwnOrder, past: Any = None, **changes: Any) -> RuleResult:  # noqa: ANN401 - any field
    assert INPUTS.firm is not None
    assert INPUTS.activity is not None
    inputs = inputs_with(
        firm=replace(INPUTS.firm, orders=orders), activity=replace(INPUTS.activity, **(past or {}))
    )
    return found(evaluate(FULL, full_state(inputs=inputs, **changes), INTENT), "R53", check)


@pytest.mark.parametrize(
    ("levels", "side", "observed", "action"),
    [
        ((), "BUY", 1, Action.ALLOW),
        ((-1, -2), "BUY", 3, Action.ALLOW),
        ((-1, -2, -2, 0), "BUY", 3, Action.ALLOW),
        ((-1, -2, -3), "BUY", 4, Action.REJECT),
        ((-1, 2, 3), "BUY", 4, Action.REJECT),
        ((1, 2, 3), "SELL", 1, Action.ALLOW),
    ],
)
def test_a_fourth_level_of_one_side_is_refused(
    levels: tuple[int, ...], side: str, observed: int, action: Action
) -> None:
    result = shape("ladder", *standing(*((one, 1) for one in levels), side=side))
    assert (result.observed, result.action) == (observed, action)


@pytest.mark.parametrize(
    ("levels", "observed", "action"),
    [
        (((-1, LOTS + 1),), 2, Action.ALLOW),
        (((-1, LOTS + 1), (-2, LOTS + 2)), 3, Action.REJECT),
        (((-1, LOTS + 1), (-2, LOTS + 1)), 2, Action.ALLOW),
        (((1, LOTS - 1), (-1, LOTS + 1)), 3, Action.REJECT),
        (((1, LOTS + 1), (2, LOTS + 2)), 1, Action.ALLOW),
    ],
)
def test_sizes_that_grow_behind_the_touch_are_refused(
    levels: tuple[tuple[int, int], ...], observed: int, action: Action
) -> None:
    result = shape("growing", *standing(*levels))
    assert (result.observed, result.action) == (observed, action)


@pytest.mark.parametrize(
    ("withdrawn", "action"),
    [
        ((SHORT, SHORT), Action.ALLOW),
        ((SHORT, SHORT, SHORT), Action.REJECT),
        ((SHORT, SHORT, replace(SHORT, side="SELL")), Action.ALLOW),
        ((SHORT, SHORT, replace(SHORT, rest_us=2 * SECOND_US)), Action.ALLOW),
    ],
)
def test_a_quote_after_quotes_that_were_withdrawn_is_refused(
    withdrawn: tuple[Withdrawn, ...], action: Action
) -> None:
    assert shape("quoted", past={"withdrawn": withdrawn}).action is action
    traded = shape("quoted", past={"withdrawn": withdrawn, "own_fills": (BOUGHT,)})
    assert traded.reason is Reason.EXECUTED
    sold = replace(BOUGHT, side="SELL")
    assert shape("quoted", past={"withdrawn": withdrawn, "own_fills": (sold,)}).action is action


def test_a_renewal_and_a_replace_leave_their_own_reservation_out() -> None:
    orders = standing((-1, 1), (-2, 1), (-3, 1))
    mine = replace(orders[0], decision_id=INTENT.decision_id)
    assert shape("ladder", mine, *orders[1:]).observed == 4
    assert shape("ladder", mine, *orders[1:], renewal=True).observed == 3


def test_what_is_forgotten_or_absent_is_refused() -> None:
    assert shape("quoted", past={"withdrawn": (SHORT,) * LAST}).reason is Reason.OUT_OF_RANGE
    for source in ("firm", "activity"):
        state = full_state(inputs=inputs_with(**{source: None}))
        result = found(evaluate(FULL, state, INTENT), "R53", "ladder")
        assert (result.outcome, result.action) == (Outcome.REFUSED, Action.REJECT)


@pytest.mark.parametrize("change", [{"open_lots": 0}, {"limit_ticks": None}, {"side": "UP"}])
def test_an_open_order_that_is_none_is_refused(change: dict[str, Any]) -> None:
    (one,) = standing((-1, 1))
    assert shape("ladder", replace(one, **change)).outcome is Outcome.REFUSED
    assert INTENT.side is Side.BUY
