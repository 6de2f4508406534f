"""Made-up order flow for the patterns of conduct: honest agents, a twin for every pattern.

Each pattern has a benign twin: a market maker who reprices both sides, a ladder that rests, a desk
that trades both ways, a hedger at the close, a burst of repricing, two readers of the same news, a
worker whose slices follow a moving price and who trades back minutes later, a colleague who buys
while a large order waits for a person and keeps most of it or ends with a loss, and a trader who
follows a price through its extreme and takes the loss at once or the gain minutes later.

Not here: planted episodes (`scripts.conduct_plants`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Final

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductEvent, Deed, other

HOUR_US: Final = 3_600 * SECOND_US
MID: Final = 10_000


@dataclass(slots=True)
class World:
    """Order flow of an hour, in one instrument."""

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
        )
        self.events.append(event)
        self.placed[name] = event
        return name

    def waits(self, name: str, time_us: int) -> None:
        """Let a placed order have waited since then for a person."""
        self.events.append(replace(self.placed[name], time_us=time_us, deed=Deed.WAITING))

    def trades(self, owner: str, side: Side, lots: int, price: int, time_us: int) -> None:
        """Place an order that trades at once."""
        self.ends(self.place(time_us, owner, side, lots, price=price), time_us + 1_000, Deed.TRADED)

    def extreme(self, time_us: int, side: Side, span_us: int) -> int:
        """Return the highest price traded in a time before (lowest, for sales)."""
        since = time_us - span_us
        prices = [
            one.price_ticks
            for one in self.events
            if one.deed is Deed.TRADED and since <= one.time_us < time_us
        ]
        return (max if side is Side.BUY else min)(prices, default=MID)

    def ends(self, name: str, time_us: int, deed: Deed) -> None:
        """Cancel or trade an order."""
        self.events.append(replace(self.placed[name], time_us=time_us, deed=deed))

    def side(self) -> Side:
        """Return one of both sides."""
        return self.rng.choice(tuple(Side))

    def chance(self, pct: int) -> bool:
        """Return whether something happens that does in so many of a hundred cases."""
        return self.rng.randrange(100) < pct

    def done(self) -> list[ConductEvent]:
        """Return all events in order of time, numbered."""
        ordered = sorted(self.events, key=lambda one: one.time_us)
        return [replace(event, seq=seq) for seq, event in enumerate(ordered)]


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
    _waiters(world)
    _breakouts(world)
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
    """Finish a hedge in the last minutes of the hour."""
    start = HOUR_US - 550 * SECOND_US
    for number in range(6):
        at = start + number * 80 * SECOND_US
        name = world.place(at, "hedger", Side.BUY, world.rng.randint(40, 90))
        world.ends(name, at + SECOND_US, Deed.TRADED)


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


def _waiters(world: World) -> None:
    """Let large orders wait for a person while a colleague, who knows nothing, trades too."""
    rng = world.rng
    for number in range(6):
        start, side = (number * 580 + rng.randint(10, 100)) * SECOND_US, world.side()
        left = start + rng.randint(3, 90) * SECOND_US
        lots = rng.randint(200, 600)
        world.waits(large := world.place(left, "client", side, lots), start)
        world.ends(large, left + rng.randint(1, 5) * SECOND_US, Deed.TRADED)
        at = start + rng.randint(1, (left - start) // SECOND_US) * SECOND_US - 500_000
        own = rng.randint(50, 200)
        world.trades("colleague", side, own, MID, at)
        later, some, gain = rng.choice(
            (
                (rng.randint(80, 300), own, 12),  # the day's end of a position, minutes later
                (rng.randint(5, 50), own * 2 // 5, 8),  # a part, at a gain
                (rng.randint(5, 50), own, -rng.randint(1, 9)),  # an error, ended at a loss
            )
        )
        price = MID + side.sign * gain
        world.trades("colleague", other(side), some, price, left + later * SECOND_US)


def _breakouts(world: World) -> None:
    """Follow a price through the extreme of ten minutes; lose at once, or gain minutes later."""
    rng = world.rng
    for number in range(5):
        at, side = (610 + number * 550 + rng.randint(0, 100)) * SECOND_US, world.side()
        level, lots = world.extreme(at, side, 600 * SECOND_US), rng.randint(30, 120)
        price = level + side.sign * rng.randint(1, 8)
        world.trades("breakout", side, lots, price, at)
        later, some, gain = rng.choice(
            (
                (rng.randint(2, 50), lots, -rng.randint(1, 12)),
                (rng.randint(2, 50), lots * 2 // 5, rng.randint(3, 12)),
                (rng.randint(75, 200), lots, rng.randint(3, 20)),
            )
        )
        back = price + side.sign * gain
        world.trades("breakout", other(side), some, back, at + later * SECOND_US)
