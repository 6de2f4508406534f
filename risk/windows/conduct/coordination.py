"""Coordination: two agents whose orders come together, on one side, more often than by chance.

Each order of an agent in an instrument has, or has not, an order of the other on the same side
shortly before or after; a burst of orders counts as its first. If both went their own ways, the
chance of that would be the share of time that the other's orders cover. The alarm is a binomial
tail in whole numbers, corrected for the number of pairs. A common cause makes orders come together
too: the alarm is a question.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Final

from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator

ALARM_P: Final = Fraction(1, 10_000)
_SCALE: Final = 1_000_000
_UNIT: Final = 10**30


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinationLimits:
    """The thresholds.

    Attributes:
        near_us: How far apart two orders come together at most.
        orders: Orders of an agent, at least.
        share_pct: Share of its orders that came together, at least, percent.
    """

    near_us: int = SECOND_US
    orders: int = 20
    share_pct: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Two agents in one instrument: how many of the first's orders came with one of the second.

    The p value is 1, not computed, where the share is below the threshold.
    """

    agents: tuple[str, str]
    instrument: str
    orders: int
    together: int
    p_value: Fraction
    evidence: tuple[int, ...]


def coordinated(
    events: Iterable[ConductEvent], limits: CoordinationLimits | None = None
) -> tuple[ConductAlarm, ...]:
    """Return an alarm for each pair of agents whose orders came together too often."""
    limits = limits or CoordinationLimits()
    return tuple(
        ConductAlarm(
            indicator=Indicator.COORDINATION,
            who=" ".join(one.agents),
            instrument=one.instrument,
            time_us=0,
            evidence=one.evidence,
        )
        for one in pairs(events, limits)
        if one.together * 100 >= limits.share_pct * one.orders and one.p_value <= ALARM_P
    )


def pairs(events: Iterable[ConductEvent], limits: CoordinationLimits) -> tuple[Together, ...]:
    """Return every pair of agents with enough orders; p values are corrected for their number."""
    placed: dict[str, dict[str, list[ConductEvent]]] = defaultdict(lambda: defaultdict(list))
    last: dict[tuple[str, str, str], int] = {}
    for event in events:
        if event.deed is not Deed.PLACED:
            continue
        key = (event.instrument, event.agent, event.side.value)
        if key not in last or event.time_us - last[key] > limits.near_us:
            placed[event.instrument][event.agent].append(event)
        last[key] = event.time_us
    found = [
        _together(instrument, (one, other), agents, limits)
        for instrument, agents in sorted(placed.items())
        for one, other in combinations(sorted(agents), 2)
        if min(len(agents[one]), len(agents[other])) >= limits.orders
    ]
    return tuple(
        Together(
            agents=one.agents,
            instrument=one.instrument,
            orders=one.orders,
            together=one.together,
            p_value=min(Fraction(1), one.p_value * len(found)),
            evidence=one.evidence,
        )
        for one in found
    )


def _together(
    instrument: str,
    names: tuple[str, str],
    agents: dict[str, list[ConductEvent]],
    limits: CoordinationLimits,
) -> Together:
    first, second = agents[names[0]], agents[names[1]]
    begin = min(first[0].time_us, second[0].time_us)
    length = max(first[-1].time_us, second[-1].time_us) - begin + 1
    hits, evidence, expected = 0, list[int](), Fraction(0)
    for side in {one.side for one in first}:
        theirs = [one for one in second if one.side is side]
        times = [one.time_us for one in theirs]
        covered = Fraction(_covered(times, limits.near_us), length)
        for one in (event for event in first if event.side is side):
            expected += min(Fraction(1), covered)
            at = bisect_left(times, one.time_us - limits.near_us)
            if at < len(times) and times[at] <= one.time_us + limits.near_us:
                hits += 1
                evidence += [one.seq, theirs[at].seq]
    often = hits * 100 >= limits.share_pct * len(first)
    return Together(
        agents=names,
        instrument=instrument,
        orders=len(first),
        together=hits,
        p_value=tail(hits, len(first), expected / len(first)) if often else Fraction(1),
        evidence=tuple(sorted(set(evidence))),
    )


def _covered(times: list[int], near_us: int) -> int:
    """Return how much time lies within `near_us` of any of these times."""
    total, end = 0, 0
    for time in times:
        start = max(time - near_us, end)
        total += max(0, time + near_us + 1 - start)
        end = max(end, time + near_us + 1)
    return total


def tail(hits: int, of: int, chance: Fraction) -> Fraction:
    """Return the probability of at least so many hits, a binomial tail, rounded up to 1e-9.

    The first term is exact; each next one follows from it in units of 1e-30, rounded up.
    """
    up = -(-chance.numerator * _SCALE // chance.denominator)
    down = _SCALE - up
    if down <= 0 or hits == 0:
        return Fraction(1)
    term = -(-comb(of, hits) * up**hits * down ** (of - hits) * _UNIT // _SCALE**of)
    total = 0
    for k in range(hits, of + 1):
        total += term
        term = -(-term * (of - k) * up // ((k + 1) * down))
    return min(Fraction(1), Fraction(-(-total * 10**9 // _UNIT), 10**9))
