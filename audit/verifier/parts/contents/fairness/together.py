"""The test W9, computed again: orders of two agents that came together more often than by chance.

Each agent's times in an instrument's day are turned round as a whole by an amount that follows
from the log's root; the largest standardised count of a pair is compared with the largest of each
deal. A count weighs if it is at least 40 % of the smaller agent's orders.

Not here: which orders were announced (`windows`).
"""

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from audit.verifier.parts.contents.fairness.tables import (
    FLAGGED,
    INSUFFICIENT,
    NO_TEST,
    NOT_FLAGGED,
    WHOLE_BP,
    Row,
    p_text,
    row_of,
)

Announced = tuple[str, str, str, int]
"""An order: agent, instrument and day, side, and the time in microseconds."""
_NEAR, _ENOUGH_ORDERS = 1_000_000, 20


def together_row(orders: Sequence[Announced], root: bytes, deals: int) -> Row:
    """W9: the pair of agents whose orders came together most, against turned times."""
    if len({agent for agent, *_ in orders}) <= 1:
        why = "no order of the window was announced, or one agent sent them all"
        return row_of("W9", "orders", "agent", NO_TEST, cases=len(orders), because=why)
    times = _bursts(orders)
    sizes: dict[str, int] = {}
    for (_, agent, _), own in times.items():
        sizes[agent] = sizes.get(agent, 0) + len(own)
    names = sorted(agent for agent, size in sizes.items() if size >= _ENOUGH_ORDERS)
    if len(names) <= 1:
        few = row_of("W9", "orders", "agent", INSUFFICIENT, cases=len(orders))
        return {**few, "because": "fewer than 20 orders of an agent, or of all but one"}
    spans: dict[str, tuple[int, int]] = {}
    for _, day, _, at_us in orders:
        low, high = spans.get(day, (at_us, at_us))
        spans[day] = min(low, at_us), max(high, at_us)
    places = {key: at for at, key in enumerate(sorted({(d, a) for d, a, _ in times}))}
    pairs = [*combinations(names, 2)]
    counts = [
        [_beside(times, spans, places, root, deal, pair) for pair in pairs]
        for deal in range(deals + 1)
    ]
    scores = [
        _standardised([row[at] for row in counts], min(sizes[one], sizes[other]))
        for at, (one, other) in enumerate(pairs)
    ]
    largest = [max(own[deal] for own in scores) for deal in range(deals + 1)]
    p_value = Fraction(sum(one >= largest[0] for one in largest), deals + 1)
    at = max(range(len(pairs)), key=lambda at: (scores[at][0], pairs[at]))
    return row_of(
        "W9",
        "orders",
        "agent",
        FLAGGED if p_value <= Fraction(1, 100) else NOT_FLAGGED,
        group=f"{pairs[at][0]} with {pairs[at][1]}",
        cases=len(orders),
        observed=int(WHOLE_BP * p_value),
        limit=100,
        unit=f"{counts[0][at]} together",
        p_value=p_text(p_value),
    )


def _bursts(orders: Sequence[Announced]) -> dict[tuple[str, str, str], list[int]]:
    """Return the times by day, agent and side; of a burst the first."""
    every: dict[tuple[str, str, str], list[int]] = {}
    for agent, day, side, at_us in orders:
        every.setdefault((day, agent, side), []).append(at_us)
    found: dict[tuple[str, str, str], list[int]] = {}
    for key, own in every.items():
        last = None
        for at_us in sorted(own):
            if last is None or at_us - last > _NEAR:
                found.setdefault(key, []).append(at_us)
            last = at_us
    return found


def _beside(
    times: Mapping[tuple[str, str, str], Sequence[int]],
    spans: Mapping[str, tuple[int, int]],
    places: Mapping[tuple[str, str], int],
    root: bytes,
    deal: int,
    pair: tuple[str, str],
) -> int:
    """Return how many orders of one agent have one of the other beside them, turned round."""
    one, other = pair
    hits = 0
    for (day, agent, side), own in times.items():
        theirs = times.get((day, other, side), ())
        if agent != one or not theirs:
            continue
        low, high = spans[day]
        if deal:
            turn = _drawn(root, deal, places[day, other]) - _drawn(root, deal, places[day, one])
            theirs = sorted(low + (at_us - low + turn) % (high - low + 1) for at_us in theirs)
        for at_us in own:
            at = bisect_left(theirs, at_us - _NEAR)
            hits += at < len(theirs) and theirs[at] <= at_us + _NEAR
    return hits


def _drawn(root: bytes, deal: int, place: int) -> int:
    """Return by how much the times of one agent in one day are turned, microseconds."""
    said = root[:8] + deal.to_bytes(8, "big") + place.to_bytes(8, "big")
    return int.from_bytes(hashlib.shake_256(said).digest(8), "big")


def _standardised(counts: Sequence[int], smaller: int) -> list[Fraction]:
    """Return each count's distance from the mean over the variance, squared, with its sign.

    It is nothing for a count below 40 % of the orders of the smaller agent.
    """
    n, total = len(counts), sum(counts)
    variance = n * sum(count * count for count in counts) - total**2
    if not variance:
        return [Fraction(0)] * n
    far = [n * count - total if 100 * count >= 40 * smaller else 0 for count in counts]
    return [Fraction(one * abs(one), variance) for one in far]
