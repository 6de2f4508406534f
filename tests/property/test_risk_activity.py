"""An account's recent past: what is folded step by step is what a slow count finds."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from risk.intent import Side
from risk.state.activity import BURST_SIZES, SECOND_US, WINDOW_US, ActivityFold
from risk.state.book import DayStarted, Filled, MessageSent, OrderClosed, Released, Reserved
from risk.state.busts import FoldEvent

NAMES = ("SPXN", "NDXN")


@st.composite
def histories(draw: st.DrawFn) -> list[FoldEvent]:
    """Orders, their ends, fills and days, in the order of their times."""
    now, events, asked = 0, [], 0
    for step in draw(st.lists(st.sampled_from("rmmfdxc"), max_size=60)):
        now += draw(st.sampled_from((0, 1, 200_000, 999_999, 1_000_000, 20_000_000)))
        name = draw(st.sampled_from(NAMES))
        decision = f"d-{draw(st.integers(0, max(asked, 1)))}"
        made: dict[str, FoldEvent] = {
            "r": Reserved(
                decision_id=f"d-{asked}",
                instrument=name,
                side=Side.BUY,
                qty_lots=draw(st.integers(1, 99)),
                limit_ticks=100,
                unit_minor=1,
                time_us=now,
            ),
            "m": MessageSent(decision_id=decision, time_us=now),
            "f": _fill(name, now, draw(st.sampled_from((None, decision)))),
            "c": OrderClosed(decision_id=decision, time_us=now),
            "d": DayStarted(day=str(now), time_us=now),
            "x": Released(decision_id=decision, time_us=now),
        }
        asked += step == "r"
        events.append(made[step])
    return events


def _fill(name: str, now: int, decision: str | None) -> Filled:
    return Filled(
        decision_id=decision,
        instrument=name,
        side=Side.BUY,
        qty_lots=1,
        price_ticks=1,
        unit_minor=1,
        fee_minor=0,
        time_us=now,
    )


def slow(events: list[Any], symbol: str, now: int) -> dict[str, Any]:
    """Count the same from the whole history."""
    days = [n for n, one in enumerate(events) if isinstance(one, DayStarted)]
    today = events[days[-1] + 1 :] if days else events
    open_orders: dict[str, Reserved] = {}
    sent: list[tuple[int, Reserved]] = []
    live: dict[str, tuple[int, Reserved]] = {}
    own: list[int] = []
    ended: list[tuple[int, Reserved, int, int]] = []
    for place, one in enumerate(events):
        if isinstance(one, Reserved):
            open_orders[one.decision_id] = one
        elif isinstance(one, Released):
            open_orders.pop(one.decision_id, None)
        elif isinstance(one, OrderClosed):
            open_orders.pop(one.decision_id, None)
            if one.decision_id in live:
                since, order = live.pop(one.decision_id)
                done = _executed(events[since:place], one.decision_id)
                rest = one.time_us - events[since].time_us
                if done < order.qty_lots:
                    ended.append((place, order, order.qty_lots - done, rest))
        elif isinstance(one, MessageSent) and one.decision_id is not None:
            if one.decision_id in open_orders:
                order = open_orders.pop(one.decision_id)
                sent.append((place, order))
                live[one.decision_id] = (place, order)
            if one.decision_id in live and live[one.decision_id][1].instrument == symbol:
                own.append(one.time_us)
    start = days[-1] if days else -1
    times = [one.time_us for one in events if isinstance(one, MessageSent)]
    return {
        "lots": [o.qty_lots for _, o in sent if o.instrument == symbol][-50:],
        "day_lots": sum(o.qty_lots for p, o in sent if o.instrument == symbol and p > start),
        "second": sum(t > now - SECOND_US for t in times),
        "window": sum(t > now - WINDOW_US for t in times),
        "fills": sum(isinstance(o, Filled) and o.time_us > now - WINDOW_US for o in events),
        "day": sum(isinstance(one, MessageSent) for one in today),
        "fills_day": sum(isinstance(one, Filled) for one in today),
        "orders_day": sum(p > start for p, _ in sent),
        "brief_day": sum(
            p > start and lots == order.qty_lots and rest <= SECOND_US
            for p, order, lots, rest in ended
        ),
        "own_second": sum(t > now - SECOND_US for t in own),
        "withdrawn": [
            lots
            for p, order, lots, _ in ended
            if order.instrument == symbol and events[p].time_us > now - WINDOW_US
        ],
        "bursts": tuple(_bursts(events, start, size) for size in BURST_SIZES),
    }


def _executed(events: list[Any], decision: str) -> int:
    return sum(
        one.qty_lots for one in events if isinstance(one, Filled) and one.decision_id == decision
    )


def _bursts(events: list[FoldEvent], start: int, size: int) -> int:
    """Take the earliest so many messages within a second, then go on after them."""
    times = [(p, one.time_us) for p, one in enumerate(events) if isinstance(one, MessageSent)]
    count = begin = end = 0
    while (end := end + 1) <= len(times):
        if end - begin >= size and times[end - 1][1] - times[end - size][1] < SECOND_US:
            count += times[end - 1][0] > start
            begin = end
    return count


@given(histories(), st.sampled_from(NAMES))
def test_the_fold_agrees_with_a_slow_count_at_every_prefix(
    events: list[FoldEvent], symbol: str
) -> None:
    fold = ActivityFold()
    for number, event in enumerate(events, start=1):
        fold.take(event)
        now = event.time_us if hasattr(event, "time_us") else 0
        found, expected = fold.activity(symbol, now), slow(events[:number], symbol, now)
        assert {
            "lots": [one.lots for one in found.orders],
            "day_lots": found.day_lots,
            "second": found.messages_second,
            "window": found.messages_window,
            "fills": found.fills_window,
            "day": found.messages_day,
            "fills_day": found.fills_day,
            "orders_day": found.orders_day,
            "brief_day": found.brief_day,
            "own_second": found.own_messages_second,
            "withdrawn": [one.lots for one in found.withdrawn],
            "bursts": found.bursts_day,
        } == expected
