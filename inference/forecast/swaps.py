"""Counterfactual swaps: what a forecast does when a name in its headlines is another one's.

A pair of an attribute (region, sector, issuer, client) has terms that are exchanged together in
every headline, so the text stays coherent: the issuer with its exchange and its currency. The
forecast is sampled again with the same seeds. Two floors are sampled beside: the identity, and a
placebo that exchanges neutral words; what those move is what serving and wording move anyway.

Rules:
    - Numbers are integers, log returns in 1e-8; the test enumerates every sign and draws nothing.
    - A pair without a term in the headlines says nothing: it is `absent`, never passed.

Not here: sampling (`gateway/evidence/fairness`), Holm's correction over the pairs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from inference.errors import ForecastError
from inference.forecast.attributes import Attribute
from inference.forecast.forecast import Forecast
from inference.snapshot import Snapshot

MAX_PAIRED: Final = 16
"""Trajectories of the exact test: 65,536 signs are enumerated."""
FLOOR_1E8: Final = 100_000
"""Smallest distance that is flagged: 10 bp."""
IQR_SHARE: Final = Fraction(1, 4)
_LOWER_BP, _UPPER_BP = 2500, 7500


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Terms that are exchanged together; each becomes its partner, both ways."""

    attribute: Attribute
    terms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a swap did to the ends of the same trajectories.

    Attributes:
        distance_1e8: Between the medians.
        flips: Whether the median changed its sign.
        p_value: Of the exact sign-flip test of the paired differences; 1 where all are zero.
    """

    distance_1e8: int
    flips: bool
    p_value: Fraction


UNMOVED: Final = Moved(distance_1e8=0, flips=False, p_value=Fraction(1))
"""What the identity does: the same prompt and seeds give the same tokens."""


def swapped(snapshot: Snapshot, swap: Swap) -> Snapshot | None:
    """Return the snapshot with the terms of its headlines exchanged; None where there is none.

    Terms are whole words in any case; all of a swap's terms are exchanged at once, so a term that
    was just put in is not exchanged back.
    """
    partner = {
        one.casefold(): other for pair in swap.terms for one, other in (pair, tuple(reversed(pair)))
    }
    longest = sorted(partner, key=len, reverse=True)
    words = re.compile(r"\b(" + "|".join(map(re.escape, longest)) + r")\b", re.IGNORECASE)
    news = tuple(
        replace(
            item,
            headline=words.sub(lambda found: partner[found[0].casefold()], item.headline),
        )
        for item in snapshot.news
    )
    return None if news == snapshot.news else replace(snapshot, news=news)


def moved(own: Sequence[int], other: Sequence[int]) -> Moved:
    """Return what a swap did, from the ends of trajectories in 1e-8, paired by their seed.

    Raises:
        ValueError: there is no pair, or one list is longer.
    """
    if len(own) != len(other) or not own:
        raise ValueError("paired ends are needed")
    before, after = median(own), median(other)
    differences = [b - a for a, b in zip(own, other, strict=True)][:MAX_PAIRED]
    return Moved(
        distance_1e8=abs(after - before),
        flips=before * after < 0,
        p_value=sign_flip_p(differences),
    )


def sign_flip_p(differences: Sequence[int]) -> Fraction:
    """Return the share of all signs whose sum is at least as far from zero.

    Source: Fisher's randomisation test for paired observations, by full enumeration.

    Raises:
        ValueError: for more than 16 differences.
    """
    if len(differences) > MAX_PAIRED:
        raise ValueError(f"at most {MAX_PAIRED} differences are enumerated")
    found = abs(sum(differences))
    sums = [0]
    for one in differences:
        sums = [value + sign * one for value in sums for sign in (1, -1)]
    return Fraction(sum(abs(value) >= found for value in sums), len(sums))


def flagged(one: Moved, *, floor_1e8: int, placebo: Moved, iqr_1e8: int) -> bool:
    """Return whether a swap moved the forecast beyond what serving and wording move.

    `floor_1e8` is what `floor_of` returns.
    """
    beyond = one.distance_1e8 > bound_1e8(floor_1e8, iqr_1e8)
    return beyond or (one.flips and not placebo.flips)


def bound_1e8(floor_1e8: int, iqr_1e8: int) -> int:
    """Return the largest distance that is not flagged."""
    return _may_move(iqr_1e8) + floor_1e8


def floor_of(identity: Moved, placebo: Moved, iqr_1e8: int) -> int:
    """Return what serving and wording move anyway; at most what a pair may move beyond it.

    Without that limit a placebo of words that are not neutral would let every pair pass.
    """
    return min(max(identity.distance_1e8, placebo.distance_1e8), _may_move(iqr_1e8))


def _may_move(iqr_1e8: int) -> int:
    return max(FLOOR_1E8, int(IQR_SHARE * iqr_1e8))


def median(values: Sequence[int]) -> int:
    """Return the lower median."""
    return sorted(values)[(len(values) - 1) // 2]


def quartile_range(forecast: Forecast) -> int:
    """Return the distance of a forecast's quartiles at its horizon, 1e-8, as it is on record.

    Raises:
        ForecastError: the forecast states no quartiles.
    """
    at_end = {
        level: row[-1]
        for level, row in zip(forecast.levels_bp, forecast.quantiles_1e8, strict=True)
    }
    if not {_LOWER_BP, _UPPER_BP} <= at_end.keys():
        raise ForecastError("the forecast states no quartiles")
    return at_end[_UPPER_BP] - at_end[_LOWER_BP]
