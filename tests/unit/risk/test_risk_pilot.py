"""Each limit of pilot mode: at the limit an order passes, one above it is named."""

from dataclasses import replace

import pytest

from risk.intent import Side
from risk.state.pilot import PilotLimit, PilotLimits, PilotOrder, passed

LIMITS = PilotLimits(
    instruments=("AAA", "BBB"),
    price_max_minor=10_000,
    value_max_minor=1_000_000,
    orders_per_day=3,
    position_max_lots=100,
)
AT_LIMIT = PilotOrder(
    instrument="BBB",
    side=Side.BUY,
    qty_lots=60,
    price_minor=10_000,
    value_minor=1_000_000,
    earlier_orders=2,
    held_lots=30,
    pending_lots=10,
)


def test_an_order_at_every_limit_passes() -> None:
    assert passed(LIMITS, AT_LIMIT) == ""
    short = replace(AT_LIMIT, side=Side.SELL, held_lots=-30)
    assert passed(LIMITS, short) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instrument": "CCC"}, "pilot_instruments: CCC is not among them"),
        ({"price_minor": 10_001}, "pilot_price: 10001, at most 10000"),
        ({"value_minor": 1_000_001}, "pilot_value: 1000001, at most 1000000"),
        ({"earlier_orders": 3}, "pilot_orders: 4, at most 3"),
        ({"qty_lots": 61}, "pilot_position: 101, at most 100"),
        ({"pending_lots": 11}, "pilot_position: 101, at most 100"),
        ({"held_lots": 31}, "pilot_position: 101, at most 100"),
        ({"side": Side.SELL, "held_lots": -31}, "pilot_position: 101, at most 100"),
    ],
)
def test_one_above_a_limit_is_refused_with_its_name(changes: dict[str, object], said: str) -> None:
    assert passed(LIMITS, replace(AT_LIMIT, **changes)) == said  # type: ignore[arg-type]


def test_a_position_above_the_limit_may_be_reduced_but_not_turned_beyond_it() -> None:
    reducing = replace(AT_LIMIT, side=Side.SELL, held_lots=500, qty_lots=60, pending_lots=0)
    assert passed(LIMITS, reducing) == ""
    turning = replace(reducing, qty_lots=1001)
    assert passed(LIMITS, turning) == "pilot_position: 501, at most 100"


def test_without_limits_nothing_leaves() -> None:
    none = PilotLimits(
        instruments=(), price_max_minor=0, value_max_minor=0, orders_per_day=0, position_max_lots=0
    )
    assert passed(none, AT_LIMIT).startswith(PilotLimit.INSTRUMENTS)
    named = replace(none, instruments=("BBB",))
    assert passed(named, AT_LIMIT).startswith(PilotLimit.PRICE)
