"""W9: whether orders of two agents came together more often than chance would have them.

Rules:
- An order counts if it was announced. Orders of one agent on one side within a second of each
  other are a burst, which counts as its first.
- Orders are together if they are of two agents, in one instrument on one day and side, at most a
  second apart. A pair of agents is compared where both have twenty.
- Chance: within instrument and day each agent's times are turned round as a whole, by an amount
  drawn from the log's root. Its own rhythm stays, so a burst is no surprise; what two agents have
  with each other goes.
- Each pair's count is centred and scaled by its own counts over all deals; the largest is compared
  with the largest of each deal, which accounts for the number of pairs.
- Only a count of at least 40 % of the smaller agent's orders weighs, in the log and in every deal:
  readers of the same news meet more often than by chance, and do not act as one.

A common cause, such as an hour at which both trade, brings orders together too: the row is a
question. Not here: the alarm while a gateway serves (`risk.windows.conduct.coordination`).

Source: Besag and Diggle (1977), simple Monte Carlo tests; toroidal shifts of point patterns.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import shake_256
from itertools import combinations, pairwise
from typing import Final

from risk.windows.fairness.cases import Fairness
from risk.windows.fairness.window import FairnessRow, text_of

NEAR_US: Final = 1_000_000
P_MAX: Final = Fraction(1, 100)
SHARE_PCT: Final = 40
ORDERS_MIN: Final = 20
NO_ORDERS: Final = "no order of the window was announced, or one agent sent them all"
TOO_FEW: Final = "fewer than 20 orders of an agent, or of all but one"
_SEED_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOrder:
    """One announced order.

    Attributes:
        stratum: What it is compared within: instrument and day.
        time_us: When it was announced, on the market's clock.
    """

    agent: str
    stratum: str
    side: str
    time_us: int


Times = dict[str, list[int]]
"""Times of one agent in one stratum by side, ascending."""


def together_row(orders: Sequence[AgentOrder], root: bytes, *, deals: int) -> FairnessRow:
    """Return W9 of a window, seeded from the root's first eight bytes."""
    row = FairnessRow(test="W9", subject="orders", attribute="agent", cases=len(orders))
    if len({one.agent for one in orders}) <= 1:
        return replace(row, because=NO_ORDERS)
    strata, sizes = _strata(orders)
    if len(sizes) <= 1:
        return replace(row, because=TOO_FEW, finding=Fairness.INSUFFICIENT.value)
    counts = {
        pair: [_count(strata, pair, root, n) for n in range(deals + 1)]
        for pair in combinations(sorted(sizes), 2)
    }
    scores = {pair: _scores(own, min(sizes[name] for name in pair)) for pair, own in counts.items()}
    largest = [max(own[n] for own in scores.values()) for n in range(deals + 1)]
    p_value = Fraction(sum(one >= largest[0] for one in largest), deals + 1)
    first, second = max(scores, key=lambda pair: (scores[pair][0], pair))
    return replace(
        row,
        group=f"{first} with {second}",
        observed=int(10_000 * p_value),
        limit=int(10_000 * P_MAX),
        unit=f"{counts[first, second][0]} together",
        p_value=text_of(p_value),
        finding=(Fairness.FLAGGED if p_value <= P_MAX else Fairness.NOT_FLAGGED).value,
    )


@dataclass(frozen=True, slots=True)
class _Session:
    """One instrument's day: when it began, how long it was, and every agent's place and times."""

    begin_us: int
    length_us: int
    places: dict[str, tuple[int, Times]]


def _strata(orders: Iterable[AgentOrder]) -> tuple[list[_Session], dict[str, int]]:
    """Return the strata, of a burst its first, and how many orders each agent with enough has."""
    found: dict[str, dict[str, Times]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for one in sorted(orders, key=lambda one: (one.stratum, one.agent, one.time_us)):
        found[one.stratum][one.agent][one.side].append(one.time_us)
    sizes: dict[str, int] = defaultdict(int)
    strata, place = list[_Session](), 0
    for _, agents in sorted(found.items()):
        every = [time for own in agents.values() for times in own.values() for time in times]
        places = {}
        for name, own in sorted(agents.items()):
            firsts = {side: _firsts(times) for side, times in sorted(own.items())}
            places[name] = (place, firsts)
            sizes[name] += sum(map(len, firsts.values()))
            place += 1
        strata.append(_Session(min(every), max(every) - min(every) + 1, places))
    return strata, {name: size for name, size in sizes.items() if size >= ORDERS_MIN}


def _firsts(times: list[int]) -> list[int]:
    return [times[0], *(after for before, after in pairwise(times) if after - before > NEAR_US)]


def _count(strata: Iterable[_Session], pair: tuple[str, str], root: bytes, deal: int) -> int:
    """Return how many orders of the first have one of the second near; deal 0 is what was."""
    hits = 0
    for one in strata:
        if not all(name in one.places for name in pair):
            continue
        (at, first), (of, second) = (one.places[name] for name in pair)
        turn = 0 if deal == 0 else _turn(root, deal, of) - _turn(root, deal, at)
        for side in first.keys() & second.keys():
            theirs = second[side]
            if turn:
                theirs = sorted((t - one.begin_us + turn) % one.length_us for t in theirs)
            else:
                theirs = [t - one.begin_us for t in theirs]
            for time in first[side]:
                near = bisect_left(theirs, time - one.begin_us - NEAR_US)
                hits += near < len(theirs) and theirs[near] <= time - one.begin_us + NEAR_US
    return hits


def _turn(root: bytes, deal: int, place: int) -> int:
    """Return by how much an agent's times in a stratum are turned round, microseconds."""
    said = root[:_SEED_BYTES] + deal.to_bytes(8, "big") + place.to_bytes(8, "big")
    return int.from_bytes(shake_256(said).digest(8), "big")


def _scores(counts: Sequence[int], smaller: int) -> list[Fraction]:
    """Return each count's distance from the mean of all, squared with its sign, over its variance.

    A count below the share of the `smaller` agent's orders scores nothing.
    """
    of, total = len(counts), sum(counts)
    spread = of * sum(one * one for one in counts) - total * total
    far = [of * one - total if one * 100 >= SHARE_PCT * smaller else 0 for one in counts]
    return [Fraction(one * abs(one), spread) if spread else Fraction(0) for one in far]
