"""Paths of several instruments that move together, day by day.

On each step the draws of an instrument are exchanged between its paths so that they stand in the
order of scores that are correlated as the instruments are. What is exchanged is the draw, not the
return: the volatility of each path runs on from what it got.

Rules:
- Draws of one step and one state are exchanged, which are draws of one law (`draws`): each
  instrument keeps the model's law, and its sampled draws of every step and state.
- Scores are normal, in 1e-6, shuffled by SHAKE-256 of the set's seed, the instrument and the step,
  and joined by the integer factor of the correlation. Ties stand in the order of their paths.
- One instrument alone is unchanged.
- A model without a known state has whole paths, which are ordered by where they end.

Source: Iman and Conover (1982), Communications in Statistics B 11(3), for inducing rank
correlation by scores.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from inference.forecast.draws import Floats, Integers, PathLaw, moves_of, returns_of
from inference.scale.correlation import ONE, CorrelationFactor

_TAG: Final = b"countersign/joint/1"
_SCORES: Final = b"countersign/joint-scores/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One instrument's sampled paths.

    Attributes:
        moves_1e8: Relative moves since the as-of, shape [paths, steps].
        law: What draws and returns of its paths have to do with each other; None if unknown.
    """

    symbol: str
    moves_1e8: Integers
    law: PathLaw | None


def joint_seed(seeds: Sequence[bytes]) -> bytes:
    """Return the seed of a set from the seeds of its forecasts, in the members' order."""
    return hashlib.sha256(_TAG + b"".join(seeds)).digest()


def exchanged(
    members: Sequence[Member], factor: CorrelationFactor, seed: bytes
) -> tuple[Integers, ...]:
    """Return every member's moves so that path j of all happens together, [paths, steps] each.

    Of a member with more paths than another the first ones count: each is a draw by itself.

    Raises:
        ValueError: the members differ in steps, or a price of a path is zero.
        OverflowError: a new path leaves the numbers.
    """
    if len({one.moves_1e8.shape[1] for one in members}) != 1:
        raise ValueError("paths differ in length")
    paths = min(len(one.moves_1e8) for one in members)
    firsts = [one.moves_1e8[:paths] for one in members]
    if len(members) == 1:
        return (firsts[0],)
    names = [one.symbol for one in members]
    steps = firsts[0].shape[1]
    scores = [_scores(factor, names, seed, step, paths) for step in range(steps)]
    return tuple(
        _whole(moves, scores[-1][k])
        if one.law is None
        else moves_of(one.law.returns(_exchanged(one.law, moves, [row[k] for row in scores])))
        for k, (one, moves) in enumerate(zip(members, firsts, strict=True))
    )


def _exchanged(law: PathLaw, moves: Integers, scores: Sequence[Integers]) -> Floats:
    """Return the draws of new paths: of each step and state, the draws by rank of the scores."""
    draws = law.draws(returns_of(moves))
    found = np.empty_like(draws)
    before = after = np.zeros(len(draws), dtype=np.int64)
    for step, own in enumerate(scores):
        drawn = draws[:, step]
        from_paths, to_paths = np.lexsort((drawn, before)), np.lexsort((own, after))
        found[to_paths, step] = drawn[from_paths]
        before, after = law.states(drawn), law.states(found[:, step])
    return found


def _whole(moves: Integers, scores: Integers) -> Integers:
    found = np.empty_like(moves)
    found[np.argsort(scores, kind="stable")] = moves[np.argsort(moves[:, -1], kind="stable")]
    return found


def _scores(
    factor: CorrelationFactor, names: Sequence[str], seed: bytes, step: int, paths: int
) -> tuple[Integers, ...]:
    """Return the correlated scores of one step, [paths] for each member, in 1e-6."""
    plain = [_shuffled(seed, name, step, paths) for name in names]
    return tuple(
        sum((weight * one for weight, one in zip(row, plain, strict=False)), start=_zeros(paths))
        // ONE
        for row in factor.rows
    )


def _shuffled(seed: bytes, name: str, step: int, paths: int) -> Integers:
    """Return normal scores in the order of as many 64-bit numbers of one SHAKE-256."""
    label = b"%b\n%b\n%b\n%d" % (_SCORES, seed, name.encode(), step)
    keys = np.frombuffer(hashlib.shake_256(label).digest(8 * paths), dtype=">u8")
    found = np.empty(paths, dtype=np.int64)
    found[np.argsort(keys, kind="stable")] = _normal_scores(paths)
    return found


@lru_cache(maxsize=16)
def _normal_scores(paths: int) -> Integers:
    """Return the normal quantiles of (rank + 1/2) / paths in 1e-6, ascending."""
    law = NormalDist()
    return np.array(
        [round(law.inv_cdf((rank + 0.5) / paths) * ONE) for rank in range(paths)], dtype=np.int64
    )


def _zeros(paths: int) -> Integers:
    return np.zeros(paths, dtype=np.int64)
