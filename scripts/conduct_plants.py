"""Planted episodes of the patterns of conduct, by owners whose names begin with `planted`.

Not here: the honest flow around them (`scripts.conduct_worlds`), ranges (`scripts.conduct_spans`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductEvent, Deed, Indicator, other
from scripts.conduct_spans import Spans
from scripts.conduct_worlds import HOUR_US, MID, World

PLANTED: Final = "planted"


def _spoof(world: World, owner: str, spans: Spans) -> None:
    rng, side = world.rng, world.side()
    start = rng.randint(0, HOUR_US - 60 * SECOND_US)
    opposite = Side.SELL if side is Side.BUY else Side.BUY
    trade = world.place(start, owner, opposite, spans["trade"].draw(rng))
    at = start + 1_000
    for number in range(spans["orders"].draw(rng)):
        lots, rest = spans["lots"].draw(rng), spans["rest_ms"].draw(rng) * 1_000
        level = lots * 100 // spans["shown_pct"].draw(rng)
        name = world.place(at, owner, side, lots, level=level, price=MID - side.sign)
        world.ends(name, at + rest, Deed.CANCELLED)
        if number == 0:
            world.ends(trade, at + rest // 2, Deed.TRADED)
        at += rest + rng.randint(100_000, 900_000)


def _layer(world: World, owner: str, spans: Spans) -> None:
    rng, side = world.rng, world.side()
    start, build = rng.randint(0, HOUR_US - 60 * SECOND_US), spans["build_ms"].draw(rng) * 1_000
    opposite = Side.SELL if side is Side.BUY else Side.BUY
    levels = spans["levels"].draw(rng)
    names = [
        world.place(
            start + n * build // levels,
            owner,
            side,
            rng.randint(50, 150),
            price=MID - side.sign * (n + 1),
        )
        for n in range(levels)
    ]
    trade = world.place(start, owner, opposite, 50)
    world.ends(trade, start + build, Deed.TRADED)
    for name in names:
        cancelled = start + build + spans["cancel_ms"].draw(rng) * 1_000
        world.ends(name, cancelled, Deed.CANCELLED)


def _wash(world: World, owner: str, spans: Spans) -> None:
    rng, at = world.rng, world.rng.randint(0, HOUR_US - 600 * SECOND_US)
    for _ in range(spans["pairs"].draw(rng)):
        lots, gap = rng.randint(100, 300), spans["gap_s"].draw(rng) * SECOND_US
        less = lots - lots * spans["apart_pct"].draw(rng) // 100
        for side, size, when in ((Side.BUY, lots, at), (Side.SELL, less, at + gap)):
            name = world.place(when, owner, side, size, price=MID + rng.randint(0, 1))
            world.ends(name, when + 1_000, Deed.TRADED)
        at += gap + rng.randint(5, 60) * SECOND_US


def _stuff(world: World, owner: str, spans: Spans) -> None:
    rng = world.rng
    start, messages = rng.randint(0, HOUR_US - 60 * SECOND_US), spans["messages"].draw(rng)
    for number in range(messages // 2):
        at = start + number * 900_000 * 2 // messages
        name = world.place(at, owner, Side.BUY, 10)
        world.ends(name, at + 10_000, Deed.CANCELLED)


def _coordinate(world: World, owner: str, spans: Spans) -> None:
    rng, share = world.rng, spans["share_pct"].draw(world.rng)
    for _ in range(spans["orders"].draw(rng)):
        at, side = rng.randint(0, HOUR_US - 60 * SECOND_US), world.side()
        together = rng.randint(1, 100) <= share
        later = rng.randint(50_000, 800_000) if together else rng.randint(30, 50) * SECOND_US
        for agent, when in ((f"{owner}-a", at), (f"{owner}-b", at + later)):
            name = world.place(when, agent, side, rng.randint(5, 60))
            world.ends(name, when + rng.randint(2, 20) * SECOND_US, Deed.TRADED)


def _ignite(world: World, owner: str, spans: Spans) -> None:
    rng, side = world.rng, world.side()
    at, trades = rng.randint(0, HOUR_US - 200 * SECOND_US), spans["trades"].draw(rng)
    opposite = Side.SELL if side is Side.BUY else Side.BUY
    ticks, lots = spans["ticks"].draw(rng), rng.randint(20, 80)
    for number in range(trades):
        price = MID + side.sign * (ticks * number // (trades - 1))
        name = world.place(at, owner, side, lots, price=price)
        world.ends(name, at + 1_000, Deed.TRADED)
        at += 20 * SECOND_US // trades
    at += spans["back_s"].draw(rng) * SECOND_US - 20 * SECOND_US // trades
    back = -(-trades * lots * spans["back_pct"].draw(rng) // 100)
    name = world.place(at, owner, opposite, back, price=MID + side.sign * ticks)
    world.ends(name, at + 1_000, Deed.TRADED)


def _front_run(world: World, owner: str, spans: Spans) -> None:
    rng, side = world.rng, world.side()
    start, wait = rng.randint(0, HOUR_US - 200 * SECOND_US), spans["wait_s"].draw(rng) * SECOND_US
    lots, left = rng.randint(200, 600), start + wait
    world.waits(large := world.place(left, "client", side, lots), start)
    world.ends(large, left + SECOND_US, Deed.TRADED)
    ahead = lots * spans["ahead_pct"].draw(rng) // 100
    world.trades(owner, side, ahead, MID, start + spans["ahead_s"].draw(rng) * SECOND_US)
    back = -(-ahead * spans["back_pct"].draw(rng) // 100)
    price, later = MID + side.sign * spans["gain"].draw(rng), spans["back_s"].draw(rng) * SECOND_US
    world.trades(owner, other(side), back, price, left + later)


def _run_stops(world: World, owner: str, spans: Spans) -> None:
    rng, side = world.rng, world.side()
    at = rng.randint(600 * SECOND_US, HOUR_US - 200 * SECOND_US)
    trades, lots = spans["trades"].draw(rng), rng.randint(20, 80)
    end = at + trades * SECOND_US
    level = world.extreme(end, side, 700 * SECOND_US)
    price = level + side.sign * spans["through"].draw(rng)
    for number in range(trades):
        world.trades(owner, side, lots, price - side.sign * (trades - 1 - number), at)
        at += SECOND_US
    back = -(-trades * lots * spans["back_pct"].draw(rng) // 100)
    price += side.sign * spans["gain"].draw(rng)
    world.trades(owner, other(side), back, price, at + spans["back_s"].draw(rng) * SECOND_US)


PLANTS: Final[Mapping[Indicator, Callable[[World, str, Spans], None]]] = {
    Indicator.SPOOFING: _spoof,
    Indicator.LAYERING: _layer,
    Indicator.WASH: _wash,
    Indicator.STUFFING: _stuff,
    Indicator.COORDINATION: _coordinate,
    Indicator.IGNITION: _ignite,
    Indicator.FRONT_RUNNING: _front_run,
    Indicator.STOP_RUN: _run_stops,
}


def planted(base: World, seed: int, pattern: Indicator, spans: Spans) -> list[ConductEvent]:
    """Return an hour of honest flow with one episode of the pattern in it."""
    rng = random.Random(f"{seed} {pattern}")  # noqa: S311 - made-up orders, not keys
    world = World(rng, [*base.events], base.orders)
    PLANTS[pattern](world, PLANTED, spans)
    return world.done()
