"""Each pattern is found at its threshold and not one unit below."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from risk.intent import Side
from risk.windows.conduct.coordination import (
    CoordinationLimits,
    coordinated,
    pairs,
    tail,
)
from risk.windows.conduct.events import ConductEvent, Deed, Indicator
from risk.windows.conduct.ignition import Ignition
from risk.windows.conduct.layering import Layering
from risk.windows.conduct.rolling import Rolling
from risk.windows.conduct.spoofing import Spoofing
from risk.windows.conduct.stuffing import Stuffing
from risk.windows.conduct.wash import Wash
from scripts.bench_conduct import LIMITS, alarms, measure
from scripts.conduct_plants import PLANTED, planted
from scripts.conduct_spans import INSIDE, OUTSIDE
from scripts.conduct_worlds import honest

BUY, SELL = Side.BUY, Side.SELL
MS = 1_000


def event(time_ms: int, deed: Deed, order: str, side: Side = BUY, **more: Any) -> ConductEvent:  # noqa: ANN401 - any field
    """Return an event of one owner; its record is its time."""
    values: dict[str, Any] = {"qty_lots": 100, "price_ticks": 100, "level_lots": 500, **more}
    owner = values.pop("owner", "desk")
    return ConductEvent(
        seq=time_ms,
        time_us=time_ms * MS,
        deed=deed,
        order=order,
        agent=values.pop("agent", owner),
        owner=owner,
        instrument="XYZ",
        side=side,
        **values,
    )


def spoof(*, traded: int = 66, shown: int = 500, rest_ms: int = 1_999) -> list[ConductEvent]:
    """Place two orders that rest for a moment, around a trade of the other side."""
    last = 3_000 + rest_ms
    return [
        event(0, Deed.PLACED, "s", SELL, qty_lots=traded),
        event(100, Deed.PLACED, "a", level_lots=shown),
        event(200, Deed.TRADED, "s", SELL, qty_lots=traded),
        event(100 + rest_ms, Deed.CANCELLED, "a"),
        event(3_000, Deed.PLACED, "b", level_lots=shown),
        event(last, Deed.CANCELLED, "b"),
    ]


def said(fold: Any, events: Sequence[ConductEvent]) -> list[tuple[int, ...]]:  # noqa: ANN401 - any
    return [found.evidence for one in events if (found := fold.take(one)) is not None]


def test_spoofing_is_found_at_its_thresholds() -> None:
    assert said(Spoofing(), spoof()) == [(200, 2_099, 4_999)]
    assert said(Spoofing(), spoof(traded=67)) == [], "200 is less than three times 67"
    assert said(Spoofing(), spoof(shown=501)) == [], "not a fifth of the level"
    assert said(Spoofing(), spoof(rest_ms=2_000)) == [], "rested for two seconds"


def test_who_cancels_on_both_sides_is_no_spoofer() -> None:
    both = [
        event(50, Deed.PLACED, "o", SELL, qty_lots=101),
        event(60, Deed.CANCELLED, "o", SELL, qty_lots=101),
        *spoof(),
    ]
    assert said(Spoofing(), both) == []


def layers(
    *, levels: int = 3, cancel_ms: int = 10_000, built_ms: int = 9_000
) -> list[ConductEvent]:
    return [
        *(event(n, Deed.PLACED, f"l{n}", SELL, price_ticks=101 + n) for n in range(levels)),
        event(50, Deed.PLACED, "b"),
        event(built_ms, Deed.TRADED, "b"),
        *(event(cancel_ms + n, Deed.CANCELLED, f"l{n}", SELL) for n in range(levels)),
    ]


def test_layering_is_found_at_its_thresholds() -> None:
    assert said(Layering(), layers()) == [(0, 1, 2, 9_000, 10_000, 10_001, 10_002)]
    assert said(Layering(), layers(levels=2)) == []
    assert said(Layering(), layers(cancel_ms=14_001)) == [], "they went later"
    assert said(Layering(), layers(built_ms=10_001)) == [], "they were there before"
    assert said(Layering(), layers(levels=5)[:-1]) != [], "four of five are 80 %"
    assert said(Layering(), layers(levels=5)[:-2]) == []
    same = [replace(one, price_ticks=100) for one in layers()]
    assert said(Layering(), same) == [], "one level"


def washed(pairs_: int = 3, *, gap_ms: int = 60_000, ticks: int = 1, less: int = 0) -> Any:  # noqa: ANN401 - a list
    found = []
    for n in range(pairs_):
        at = n * 100_000
        found.append(event(at, Deed.TRADED, f"b{n}"))
        lots, price = 100 - less, 100 + ticks
        sold = event(at + gap_ms, Deed.TRADED, f"s{n}", SELL, qty_lots=lots, price_ticks=price)
        found.append(sold)
    return found


def test_wash_is_found_at_its_thresholds() -> None:
    assert len(said(Wash(), washed())) == 1
    assert said(Wash(), washed(2)) == []
    assert said(Wash(), washed(gap_ms=60_001)) == []
    assert said(Wash(), washed(ticks=2)) == []
    assert len(said(Wash(), washed(less=9))) == 1
    assert said(Wash(), washed(less=10)) == [], "the position changes by more than 5 %"


def test_other_trades_between_the_pairs_are_a_reason_of_their_own() -> None:
    trades = [event(n * 100_000 + 500, Deed.TRADED, f"o{n}", price_ticks=150) for n in range(3)]
    back = [event(n * 100_000 + 600, Deed.TRADED, f"p{n}", SELL, price_ticks=170) for n in range(3)]
    mixed = sorted([*washed(), *trades, *back], key=lambda one: one.time_us)
    assert said(Wash(), mixed) == []


def stuffed(messages: int) -> list[ConductEvent]:
    return [event(n, Deed.PLACED, f"q{n}") for n in range(messages)]


def test_stuffing_is_found_at_its_thresholds() -> None:
    assert len(said(Stuffing(), stuffed(21))) == 1
    assert said(Stuffing(), stuffed(20)) == []
    traded = [event(0, Deed.TRADED, "t"), *stuffed(40)]
    assert said(Stuffing(), traded) == []


def test_two_agents_that_come_together_are_found_and_two_that_do_not_are_not() -> None:
    def made(later_ms: int) -> list[ConductEvent]:
        times = [n * 50_000 + (n * 7_919) % 20_000 for n in range(20)]
        first = [event(at, Deed.PLACED, f"a{at}", agent="a") for at in times]
        second = [event(at + later_ms, Deed.PLACED, f"b{at}", agent="b") for at in times]
        return sorted([*first, *second], key=lambda one: one.time_us)

    (alarm,) = coordinated(made(999))
    assert (alarm.who, len(alarm.evidence)) == ("a b", 40)
    assert coordinated(made(15_000)) == ()
    (apart,) = pairs(made(15_000), CoordinationLimits())
    assert (apart.orders, apart.together, apart.p_value) == (20, 0, Fraction(1))


def test_a_binomial_tail_is_exact_and_rounded_up() -> None:
    assert tail(0, 5, Fraction(1, 2)) == 1
    assert tail(3, 3, Fraction(1, 2)) == Fraction(1, 8)
    assert tail(2, 3, Fraction(1, 2)) == Fraction(1, 2)
    assert tail(20, 20, Fraction(1, 100)) == Fraction(1, 10**9), "never zero"


def test_what_is_older_than_the_span_leaves_the_sum() -> None:
    rolling = Rolling(10)
    rolling.add(0, 5, 1)
    rolling.add(10, 7, 2)
    assert (rolling.total, rolling.count, rolling.seqs) == (12, 2, (1, 2))
    rolling.forget(11)
    assert (rolling.total, rolling.count, rolling.seqs) == (7, 1, (2,))


@pytest.mark.parametrize("pattern", list(Indicator))
@pytest.mark.parametrize("spans", [INSIDE, OUTSIDE])
def test_a_planted_episode_is_found_in_an_honest_hour(pattern: Indicator, spans: Any) -> None:  # noqa: ANN401 - ranges
    base = honest(1)
    events = planted(base, 1, pattern, spans[pattern])
    found = [one.who for one in alarms(pattern, LIMITS[pattern], events)]
    assert [who for who in found if who.startswith(PLANTED)]
    assert not alarms(pattern, LIMITS[pattern], base.done())


def test_the_measure_counts_what_it_says() -> None:
    found, bent = measure(1, 1)
    assert set(found) == set(Indicator)
    assert all(one.episodes == 1 and one.orders > 1_000 for one in found.values())
    assert {name.split(" ")[0] for pattern, name, _ in bent if pattern is Indicator.STUFFING} == {
        "span_us",
        "messages",
        "quiet_us",
    }


def ignite(
    *, moved: int = 10, back: int = 200, back_ms: int = 60_000, trades: int = 4
) -> list[ConductEvent]:
    """Buy in a row at rising prices, then sell some of it."""
    last = trades - 1
    bought = [
        event(1_000 * n, Deed.TRADED, f"b{n}", BUY, price_ticks=100 + moved * n // last)
        for n in range(trades)
    ]
    sold = event(1_000 * last + back_ms, Deed.TRADED, "s", SELL, qty_lots=back)
    return [*bought, sold]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, True),
        ({"moved": 9}, False),
        ({"back": 199}, False),
        ({"back_ms": 60_001}, False),
        ({"trades": 3}, False),
    ],
)
def test_trades_that_move_the_price_and_are_traded_back(
    change: dict[str, int],
    found: bool,  # noqa: FBT001 - a fact
) -> None:
    events = ignite(**change)
    (*before, last) = events
    fold = Ignition()
    assert [fold.take(one) for one in before] == [None] * len(before)
    alarm = fold.take(last)
    assert (alarm is not None) is found
    if alarm is not None:
        assert alarm.evidence == tuple(one.seq for one in events)


def test_a_trade_of_the_other_side_ends_the_run() -> None:
    first, second, *rest = ignite()
    against = replace(second, side=SELL)
    assert not alarms(Indicator.IGNITION, LIMITS[Indicator.IGNITION], [first, against, *rest])
