"""Front-running and stop runs are found at their thresholds and not one unit below."""

from dataclasses import replace
from typing import Any

import pytest

from risk.intent import Side
from risk.windows.conduct.events import ConductEvent, Deed
from risk.windows.conduct.front_running import FrontRunning
from risk.windows.conduct.layering import Layering
from risk.windows.conduct.spoofing import Spoofing
from risk.windows.conduct.stop_run import StopRun
from risk.windows.conduct.stuffing import Stuffing

MS = 1_000
LEFT = 10_000


def event(time_ms: int, deed: Deed, agent: str, lots: int = 100, **more: Any) -> ConductEvent:  # noqa: ANN401 - any field
    """Return an event of an agent with an owner of its own; its record is its time."""
    values: dict[str, Any] = {"side": Side.BUY, "price_ticks": 100, "order": agent, **more}
    return ConductEvent(
        seq=time_ms,
        time_us=time_ms * MS,
        deed=deed,
        agent=agent,
        owner=values.pop("owner", agent),
        instrument="XYZ",
        qty_lots=lots,
        **values,
    )


def ahead_of(
    *,
    known_ms: int = 1_000,
    large: int = 100,
    quoted: int = 50,
    back: int = 50,
    gain: int = 2,
    after_ms: int = 60_000,
) -> list[ConductEvent]:
    """Buy 100 while another agent's order to buy waits; sell after it left."""
    return [
        event(0, Deed.WAITING, "client", large),
        event(known_ms, Deed.PLACED, "b"),
        event(known_ms + 1, Deed.PLACED, "b", quoted, order="q", side=Side.SELL),
        event(known_ms + 2, Deed.TRADED, "b"),
        event(LEFT, Deed.PLACED, "client", large),
        event(LEFT + 1, Deed.TRADED, "client", large),
        event(LEFT + after_ms, Deed.TRADED, "b", back, side=Side.SELL, price_ticks=100 + gain),
    ]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, True),
        ({"known_ms": 999}, False),
        ({"large": 99}, False),
        ({"quoted": 51}, False),
        ({"back": 49}, False),
        ({"gain": 1}, False),
        ({"after_ms": 60_001}, False),
    ],
)
def test_trades_ahead_of_a_waiting_order_that_are_traded_back(
    change: dict[str, int],
    found: bool,  # noqa: FBT001 - a fact
) -> None:
    events = ahead_of(**change)
    fold = FrontRunning()
    alarms = [alarm for one in events if (alarm := fold.take(one)) is not None]
    assert bool(alarms) is found
    for alarm in alarms:
        assert alarm.who == "b", "the one that was ahead"
        assert alarm.evidence == (0, 1_002, LEFT, LEFT + 60_000)


def test_one_side_is_as_good_as_the_other() -> None:
    fold = FrontRunning()
    sold = [
        replace(
            one,
            side=Side.SELL if one.side is Side.BUY else Side.BUY,
            price_ticks=200 - one.price_ticks,
        )
        for one in ahead_of()
    ]
    assert [one for one in sold if fold.take(one)]


def test_an_agent_is_not_ahead_of_itself_nor_of_an_order_that_never_left() -> None:
    own = [replace(one, agent="b") for one in ahead_of()]
    fold = FrontRunning()
    assert not [one for one in own if fold.take(one)]
    dropped = ahead_of()
    dropped[4] = replace(dropped[4], deed=Deed.DROPPED)
    fold = FrontRunning()
    assert not [one for one in dropped if fold.take(one)]


def test_what_was_traded_back_before_counts_too_and_what_another_agent_traded_does_not() -> None:
    (*before, back) = ahead_of()
    first, rest = replace(back, qty_lots=49), replace(back, qty_lots=1)
    fold = FrontRunning()
    assert not [one for one in (*before, first, replace(rest, agent="a")) if fold.take(one)]
    assert fold.take(rest)


def test_an_order_that_nobody_was_ahead_of_is_forgotten_when_it_leaves() -> None:
    fold = FrontRunning()
    fold.take(event(0, Deed.WAITING, "client"))
    fold.take(event(LEFT, Deed.PLACED, "client"))
    assert fold == FrontRunning(_waiting=fold._waiting)  # noqa: SLF001 - what it keeps
    assert not any(fold._waiting.values())  # noqa: SLF001 - what it keeps


@pytest.mark.parametrize("fold", [Spoofing(), Layering(), Stuffing()])
def test_an_order_that_waits_is_no_message_of_other_patterns(fold: Any) -> None:  # noqa: ANN401 - any fold
    for time_ms in range(100):
        assert fold.take(event(time_ms, Deed.WAITING, "a", order=str(time_ms))) is None
        assert fold.take(event(time_ms, Deed.DROPPED, "a", order=str(time_ms))) is None


def stop_run(
    *,
    prior: int = 10,
    prior_ms: int = 600_000,
    through: int = 3,
    gap_ms: int = 10_000,
    gain: int = 3,
    back: int = 100,
    after_ms: int = 60_000,
) -> list[ConductEvent]:
    """Buy at the extreme and through it; sell at a better price."""
    before = [event(n, Deed.TRADED, f"a{n}") for n in range(prior)]
    start = prior - 1 + prior_ms
    last = start + gap_ms
    bought = [
        event(start, Deed.TRADED, "b", order="b0", price_ticks=100 + through),
        event(last, Deed.TRADED, "b", order="b1", price_ticks=100 + through),
    ]
    price = 100 + through + gain
    sold = event(
        last + after_ms, Deed.TRADED, "b", back, order="s", side=Side.SELL, price_ticks=price
    )
    return [*before, *bought, sold]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"prior_ms": 599_991}, True),
        ({"prior_ms": 599_991, "prior": 9}, False),
        ({"prior_ms": 600_001}, False),
        ({"prior_ms": 1_000}, True),
        ({"prior_ms": 1_000, "through": 2}, False),
        ({"prior_ms": 1_000, "gain": 2}, False),
        ({"prior_ms": 1_000, "back": 99}, False),
        ({"prior_ms": 1_000, "after_ms": 60_001}, False),
    ],
)
def test_trades_through_an_extreme_that_are_traded_back_at_a_gain(
    change: dict[str, int],
    found: bool,  # noqa: FBT001 - a fact
) -> None:
    events = stop_run(**change)
    fold = StopRun()
    alarms = [alarm for one in events if (alarm := fold.take(one)) is not None]
    assert bool(alarms) is found
    for alarm in alarms:
        assert (alarm.who, alarm.evidence) == ("b", tuple(one.seq for one in events[-3:]))


@pytest.mark.parametrize(("gap_ms", "found"), [(10_000, False), (10_001, True)])
def test_a_pause_ends_the_run_so_that_half_of_its_first_part_is_enough(
    gap_ms: int,
    found: bool,  # noqa: FBT001 - a fact
) -> None:
    events = stop_run(prior_ms=1_000, gap_ms=gap_ms, back=50, after_ms=1_000)
    fold = StopRun()
    assert bool([one for one in events if fold.take(one)]) is found
