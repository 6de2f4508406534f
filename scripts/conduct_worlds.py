"""Made-up order flow for the patterns of conduct: honest agents, their twins, and planted episodes.

Owners and agents of planted episodes have names that begin with `planted`. Each pattern has a
benign twin in the honest flow: a market maker who reprices both sides, a ladder that rests, a desk
that trades both ways, a hedger at the close, a burst of repricing, two readers of the same
news, a worker
whose slices follow a moving price and who trades back minutes later.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductEvent, Deed, Indicator

HOUR_US: Final = 3_600 * SECOND_US
CLOSE_US: Final = HOUR_US
PLANTED: Final = "planted"
MID: Final = 10_000
LATE_US: Final = 600 * SECOND_US
BACKGROUND: Final = 4_000
"""What others trade in the closing window."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of whole numbers from which a parameter is drawn."""

    low: int
    high: int

    def draw(self, rng: random.Random) -> int:
        """Return one of the numbers."""
        return rng.randint(self.low, self.high)


Spans = Mapping[str, Span]
INSIDE: Final[Mapping[Indicator, Spans]] = {
    Indicator.SPOOFING: {
        "orders": Span(3, 6),
        "lots": Span(200, 400),
        "shown_pct": Span(50, 80),
        "rest_ms": Span(300, 1_200),
        "trade": Span(20, 60),
    },
    Indicator.LAYERING: {
        "levels": Span(4, 6),
        "build_ms": Span(1_000, 5_000),
        "cancel_ms": Span(500, 2_000),
    },
    Indicator.WASH: {"pairs": Span(4, 6), "gap_s": Span(1, 20), "apart_pct": Span(0, 4)},
    Indicator.CLOSING: {"share_pct": Span(30, 60), "trades": Span(4, 8)},
    Indicator.STUFFING: {"messages": Span(30, 60)},
    Indicator.COORDINATION: {"orders": Span(40, 60), "share_pct": Span(80, 100)},
    Indicator.IGNITION: {
        "trades": Span(5, 8),
        "ticks": Span(15, 30),
        "back_s": Span(5, 40),
        "back_pct": Span(70, 100),
    },
}
"""What the thresholds were chosen on."""
OUTSIDE: Final[Mapping[Indicator, Spans]] = {
    Indicator.SPOOFING: {
        "orders": Span(2, 3),
        "lots": Span(150, 200),
        "shown_pct": Span(30, 49),
        "rest_ms": Span(1_201, 1_800),
        "trade": Span(61, 90),
    },
    Indicator.LAYERING: {
        "levels": Span(3, 3),
        "build_ms": Span(5_001, 9_000),
        "cancel_ms": Span(2_001, 4_500),
    },
    Indicator.WASH: {"pairs": Span(3, 3), "gap_s": Span(21, 50), "apart_pct": Span(5, 8)},
    Indicator.CLOSING: {"share_pct": Span(23, 29), "trades": Span(3, 3)},
    Indicator.STUFFING: {"messages": Span(22, 29)},
    Indicator.COORDINATION: {"orders": Span(25, 39), "share_pct": Span(60, 79)},
    Indicator.IGNITION: {
        "trades": Span(4, 4),
        "ticks": Span(11, 14),
        "back_s": Span(41, 55),
        "back_pct": Span(55, 69),
    },
}
"""Ranges that were not used when the thresholds were chosen."""


@dataclass(slots=True)
class World:
    """Order flow of an hour that ends with the close, in one instrument."""

    rng: random.Random
    events: list[ConductEvent]
    orders: int = 0
    placed: dict[str, ConductEvent] = field(default_factory=dict)

    def place(self, time_us: int, owner: str, side: Side, lots: int, **more: int | str) -> str:
        """Place an order; return its name."""
        self.orders += 1
        name = f"{owner}-{self.orders}"
        agent = str(more.get("agent", owner))
        shown = int(more.get("level", lots * 10))
        price = int(more.get("price", MID))
        event = ConductEvent(
            seq=0,
            time_us=time_us,
            deed=Deed.PLACED,
            order=name,
            agent=agent,
            owner=owner,
            instrument="XYZ",
            side=side,
            qty_lots=lots,
            price_ticks=price,
            level_lots=shown,
            to_close_us=max(0, CLOSE_US - time_us),
        )
        self.events.append(event)
        self.placed[name] = event
        return name

    def ends(self, name: str, time_us: int, deed: Deed, *, aggressive: bool = False) -> None:
        """Cancel or trade an order."""
        placed = self.placed[name]
        self.events.append(
            replace(
                placed,
                time_us=time_us,
                deed=deed,
                to_close_us=max(0, CLOSE_US - time_us),
                aggressive=aggressive,
            )
        )

    def side(self) -> Side:
        """Return one of both sides."""
        return self.rng.choice(tuple(Side))

    def chance(self, pct: int) -> bool:
        """Return whether something happens that does in so many of a hundred cases."""
        return self.rng.randrange(100) < pct

    def closing_lots(self) -> int:
        """Return what the market will have traded in the closing window."""
        late = [e for e in self.events if e.deed is Deed.TRADED and (e.to_close_us or 0) <= LATE_US]
        return BACKGROUND + sum(e.qty_lots if e.aggressive else 4 * e.qty_lots for e in late)

    def done(self) -> list[ConductEvent]:
        """Return all events in order of time, numbered, with the market's volume at the close."""
        market, found = 0, []
        for seq, event in enumerate(sorted(self.events, key=lambda one: one.time_us)):
            left = event.to_close_us or 0
            if event.deed is Deed.TRADED and left <= LATE_US:
                market += 4 * event.qty_lots if not event.aggressive else event.qty_lots
            found.append(replace(event, seq=seq, market_lots=BACKGROUND + market))
        return found


def honest(seed: int) -> World:
    """Return an hour of honest flow, every benign twin in it."""
    world = World(random.Random(seed), [])  # noqa: S311 - made-up orders, not keys
    for number in range(2):
        _market_maker(world, f"maker{number}")
    _ladder(world)
    _both_ways(world)
    _at_the_close(world)
    _readers(world)
    for number in range(4):
        _independent(world, f"agent{number}")
    _worker(world)
    return world


def _market_maker(world: World, owner: str) -> None:
    """Reprice both sides every moment, at times in a burst; a share of the level may be large."""
    rng, now, middle = world.rng, rng_start(world), MID
    while now < HOUR_US:
        middle += rng.randint(-2, 2)
        pace = rng.randint(60_000, 200_000) if world.chance(2) else rng.randint(2, 14) * SECOND_US
        lots = rng.randint(10, 60)
        level = lots * 100 // rng.randint(5, 60)
        quotes = [
            world.place(now + n, owner, side, lots, level=level, price=middle - 2 * side.sign)
            for n, side in enumerate(Side)
        ]
        for name in quotes:
            traded = world.chance(12)
            deed = Deed.TRADED if traded else Deed.CANCELLED
            world.ends(name, now + pace - rng.randint(1, 1_000), deed)
        now += pace


def rng_start(world: World) -> int:
    """Return a time in the first seconds."""
    return world.rng.randint(0, 5 * SECOND_US)


def _ladder(world: World) -> None:
    """Rest at several levels for minutes; the other side trades; cancel without haste."""
    rng = world.rng
    for _ in range(12):
        start, side = rng.randint(0, HOUR_US - 400 * SECOND_US), world.side()
        names = [
            world.place(start + n * 1_000, "ladder", side, 40, price=MID - side.sign * (n + 1))
            for n in range(rng.randint(3, 6))
        ]
        opposite = Side.SELL if side is Side.BUY else Side.BUY
        hit = world.place(start + 4 * SECOND_US, "ladder", opposite, 40)
        world.ends(hit, start + rng.randint(5, 9) * SECOND_US, Deed.TRADED)
        for name in names:
            deed = Deed.TRADED if world.chance(50) else Deed.CANCELLED
            world.ends(name, start + rng.randint(30, 300) * SECOND_US, deed)


def _both_ways(world: World) -> None:
    """Trade for several funds of one owner, both ways, each for a reason of its own."""
    for _ in range(60):
        start = world.rng.randint(0, HOUR_US - 60 * SECOND_US)
        name = world.place(
            start,
            "funds",
            world.side(),
            world.rng.randint(5, 200),
            price=MID + world.rng.randint(-9, 9),
        )
        world.ends(name, start + world.rng.randint(1, 30) * SECOND_US, Deed.TRADED)


def _at_the_close(world: World) -> None:
    """Finish a hedge before the close: some aggressive, a small share."""
    start = CLOSE_US - 550 * SECOND_US
    for number in range(6):
        at = start + number * 80 * SECOND_US
        name = world.place(at, "hedger", Side.BUY, world.rng.randint(40, 90))
        world.ends(name, at + SECOND_US, Deed.TRADED, aggressive=number % 2 == 0)


def _readers(world: World) -> None:
    """Two agents act on the same news, each at its own pace."""
    for _ in range(40):
        news, side = world.rng.randint(0, HOUR_US - 60 * SECOND_US), world.side()
        for owner in ("reader0", "reader1"):
            at = news + world.rng.randint(2 * SECOND_US, 25 * SECOND_US)
            name = world.place(at, owner, side, world.rng.randint(5, 40))
            world.ends(name, at + world.rng.randint(1, 20) * SECOND_US, Deed.TRADED)


def _independent(world: World, owner: str) -> None:
    for _ in range(50):
        at = world.rng.randint(0, HOUR_US - 60 * SECOND_US)
        name = world.place(at, owner, world.side(), world.rng.randint(5, 80))
        deed = Deed.TRADED if world.chance(60) else Deed.CANCELLED
        world.ends(name, at + world.rng.randint(1, 50) * SECOND_US, deed)


def _worker(world: World) -> None:
    """Work an order in slices while the price runs away; trade some of it back minutes later."""
    rng = world.rng
    for number in range(6):
        at, side = (number * 600 + rng.randint(0, 150)) * SECOND_US, world.side()
        opposite = Side.SELL if side is Side.BUY else Side.BUY
        price = MID
        for _ in range(rng.randint(3, 8)):
            name = world.place(at, "worker", side, 30, price=price)
            world.ends(name, at + 1_000, Deed.TRADED)
            at += rng.randint(1, 5) * SECOND_US
            price += side.sign * rng.randint(0, 6)
        at += rng.randint(70, 300) * SECOND_US
        name = world.place(at, "worker", opposite, rng.randint(30, 120), price=price)
        world.ends(name, at + 1_000, Deed.TRADED)


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


def _mark(world: World, owner: str, spans: Spans) -> None:
    rng, side = world.rng, world.side()
    trades, share = spans["trades"].draw(rng), spans["share_pct"].draw(rng)
    total = world.closing_lots() * share // (100 - share)
    for number in range(trades):
        at = CLOSE_US - 300 * SECOND_US + number * 250 * SECOND_US // trades
        name = world.place(at, owner, side, total // trades)
        world.ends(name, at + 1_000, Deed.TRADED, aggressive=True)


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


PLANTS: Final[Mapping[Indicator, Callable[[World, str, Spans], None]]] = {
    Indicator.SPOOFING: _spoof,
    Indicator.LAYERING: _layer,
    Indicator.WASH: _wash,
    Indicator.CLOSING: _mark,
    Indicator.STUFFING: _stuff,
    Indicator.COORDINATION: _coordinate,
    Indicator.IGNITION: _ignite,
}


def planted(base: World, seed: int, pattern: Indicator, spans: Spans) -> list[ConductEvent]:
    """Return an hour of honest flow with one episode of the pattern in it."""
    rng = random.Random(f"{seed} {pattern}")  # noqa: S311 - made-up orders, not keys
    world = World(rng, [*base.events], base.orders)
    PLANTS[pattern](world, PLANTED, spans)
    return world.done()
