"""Paths of both series of a pair at one origin, joined in each way, and what they say.

The law is the shipped table's, which is the target's without words: one row for each class and
frequency, whatever came before, on the moving scale of codec 2. Draws of a row come from numpy's
generator in place of the product's seeds; all ways join the same sampled paths.

Ways:
    windows    the way before: whole paths, matched by windows of the past
    exchanged  draws exchanged by day, among paths in one state
    alike      the same, with states whose rows are equal counted as one
"""

import hashlib
from typing import Any, Final

import numpy as np

from inference.codec.bins import X_MAX, X_WIDTH, Z_SCALE
from inference.forecast.draws import CodecLaw, moves_of
from inference.forecast.joint import Member, exchanged
from inference.scale.correlation import correlation_of, factor_of
from inference.scale.law import VarianceLaw
from inference.scale.moving import RANGE_WEIGHT, VARIANCE_FLOOR, WINSOR_SIGMAS, MovingScale
from inference.scale.ranges import LARGEST_SURPRISE, MONTH, STILL, WEEK, RangeLaw
from inference.training.series import Floats, Ints
from scripts.research.joint.ground import STEPS, PairGround, scale_at, short
from scripts.research.joint.windows import matched
from scripts.research.scaled.history import ScaledSeries
from scripts.research.scaled.table import GROUP_STATES, group_of

PATHS: Final = 1_024
WAYS: Final = ("windows", "exchanged", "alike")
HORIZONS: Final = (1, 2, 5, 10)
TAIL: Final = 0.025
DRAWDOWN: Final = 0.03
_ENDS: Final = np.asarray(HORIZONS) - 1
_ONE: Final = 100_000_000
_ALONE: Final = 0
"""`without` of a pair with too little common past; no origin here has so little."""


class QuickLaw:
    """`CodecLaw` of one origin in numpy's `exp` and `log`: thirty times as quick, equal to 1e-12.

    The paths' own draws are known from sampling; they are not divided out again. `by_move` is as in
    `CodecLaw`.
    """

    def __init__(self, scale: MovingScale, drawn: Floats, *, by_move: bool) -> None:
        """Take a scale without a season, and draws of at most a month.

        Raises:
            ValueError: the scale has a season.
        """
        if scale.fit.season is not None:
            raise ValueError("expected daily bars")
        self._scale, self._drawn = scale, drawn
        self._states = CodecLaw(scale=scale, by_move=by_move)

    def draws(self, returns: Floats) -> Floats:
        """Return the draws that were sampled."""
        return self._drawn[: len(returns)]

    def returns(self, draws: Floats) -> Floats:
        """Multiply each draw by the volatility of its path."""
        fit, paths = self._scale.fit, len(draws)
        garch, gjr = np.full(paths, self._scale.garch), np.full(paths, self._scale.gjr)
        fall, new = np.full(paths, self._scale.fall), list[Floats]()
        found = np.empty_like(draws)
        for step, column in enumerate(draws.T):
            joined = 0.5 * np.log(garch * gjr)
            law = fit.ranges
            expected = joined if law is None else self._expected(law, new, fall)
            ranged = joined if law is None else expected + law.spread
            sigma = np.exp(0.5 * ((1.0 - RANGE_WEIGHT) * joined + RANGE_WEIGHT * ranged))
            found[:, step] = value = column * sigma
            held = np.clip(value, -WINSOR_SIGMAS * sigma, WINSOR_SIGMAS * sigma)
            if law is not None:
                surprise = law.still + law.moved * np.log(STILL + held * held / np.exp(ranged))
                new.append(expected + np.minimum(surprise, LARGEST_SURPRISE))
            fall = np.minimum(held, 0.0) / np.exp(0.5 * joined)
            garch, gjr = varied(fit.garch, garch, held), varied(fit.gjr, gjr, held)
        return found

    def _expected(self, law: RangeLaw, new: list[Floats], fall: Floats) -> Floats:
        """Return `RangeLaw.expected`; what lies before the origin is the same on all paths."""
        past, step = list(self._scale.ranges), len(new)
        week = (sum(past[step - WEEK :] if step < WEEK else []) + sum(new[-WEEK:])) / WEEK
        month = (sum(past[step:]) + sum(new)) / MONTH
        newest = new[-1] if new else past[-1]
        return law.level + law.day * newest + law.week * week + law.month * month + law.fall * fall

    def states(self, draws: Floats) -> Ints:
        """Return the state in which a draw leaves a path."""
        return self._states.states(draws)


def varied(law: VarianceLaw, variance: Floats, held: Floats) -> Floats:
    """Return `VarianceLaw.after` of many paths, not below the floor."""
    error = held - law.mean
    slope = np.where(error < 0.0, law.alpha + law.gamma, law.alpha)
    moved = law.omega + slope * error * error + law.beta * variance
    return np.asarray(np.maximum(moved, VARIANCE_FLOOR))


def row_of(table: Floats, series: ScaledSeries) -> Floats:
    """Return the one row of a series' class and frequency.

    Raises:
        ValueError: its states differ, so that "alike" is not said of this table.
    """
    first = 1 + group_of(series) * GROUP_STATES
    rows = table[first : first + GROUP_STATES].astype(np.float64)
    if (rows != rows[0]).any():
        raise ValueError(f"{series.name}: rows of its states differ")
    return np.asarray(rows[0] / rows[0].sum())


def drawn(row: Floats, rng: np.random.Generator, paths: int = PATHS) -> Floats:
    """Return standardised draws of a row, places inside bins included, [paths, STEPS]."""
    sums = np.cumsum(row)
    pick = rng.random((paths, STEPS)) * sums[-1]
    bins = np.minimum(np.searchsorted(sums, pick, side="right"), len(row) - 1)
    return np.asarray(Z_SCALE * np.sinh(-X_MAX + (bins + rng.random(bins.shape)) * X_WIDTH))


def origin(pair: PairGround, rows: tuple[Floats, Floats], at: int) -> dict[str, Any]:
    """Return what each way says at an origin, and what was asked of it."""
    names = [short(m) for m in pair.members]
    label = f"{pair.name}/{int(pair.days[at])}"
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(label.encode()).digest()[:8]))
    pasts = [pair.past(at, k) for k in (0, 1)]
    asked = correlation_of(pasts[0], pasts[1], _ALONE)
    factor = factor_of([asked], 2)
    laws, alike, moves = [], [], []
    for k, (series, row) in enumerate(zip(pair.members, rows, strict=True)):
        scale, own = scale_at(series, int(pair.where[at, k])), drawn(row, rng)
        laws.append(QuickLaw(scale, own, by_move=True))
        alike.append(QuickLaw(scale, own, by_move=False))
        moves.append(moves_of(laws[-1].returns(own)))
    seed = hashlib.sha256(b"countersign/research/joint/" + label.encode()).digest()
    ways = {
        "windows": matched(moves, pasts),
        "exchanged": exchanged(_members(names, moves, laws), factor, seed),
        "alike": exchanged(_members(names, moves, alike), factor, seed),
    }
    truth = np.stack([m.returns[int(i) + np.arange(STEPS)] for m, i in _placed(pair, at)])
    return {"asked": asked / 1e6} | {name: said(joint, truth) for name, joint in ways.items()}


def said(joint: tuple[Ints, ...], truth: Floats) -> dict[str, Floats]:
    """Return what joint paths say beside what happened, for each horizon.

    `truth` has log returns, [2, STEPS]. `over` is the share of paths that end at or below the
    truth: of each member and of the half-and-half book, [3, 4].
    """
    own = np.stack(joint) / _ONE
    seen = np.expm1(np.cumsum(truth, axis=1))
    book, fact = own.mean(axis=0), seen.mean(axis=0)
    logs = np.log1p(own)[:, :, _ENDS]
    ends, facts = book[:, _ENDS], fact[_ENDS]
    cut = max(1, round(TAIL * len(book)))
    worst = np.sort(ends, axis=0)[:cut]
    all_ends = np.concatenate((own[:, :, _ENDS], ends[None]))
    all_facts = np.concatenate((seen[:, _ENDS], facts[None]))
    centred = logs - logs.mean(axis=1, keepdims=True)
    steps = np.diff(np.log1p(own), axis=2, prepend=0.0)
    return {
        "cov": (centred[0] * centred[1]).mean(axis=0),
        "var": (centred**2).mean(axis=1),
        "mean": logs.mean(axis=1),
        "step_var": steps.var(axis=1),
        "shortfall": -worst.mean(axis=0),
        "loss": -facts,
        "over": (all_ends <= all_facts[:, None]).mean(axis=1),
        "trip": np.asarray([_falls(paths).mean() for paths in (*own, book)]),
        "tripped": np.asarray([_falls(path[None]).mean() for path in (*seen, fact)]),
    }


def _falls(moves: Floats) -> Floats:
    """Return whether each path [paths, STEPS] falls by `DRAWDOWN` from its peak, start included."""
    value = 1.0 + np.concatenate((np.zeros((len(moves), 1)), moves), axis=1)
    peak = np.maximum.accumulate(value, axis=1)
    return np.asarray((value <= (1.0 - DRAWDOWN) * peak).any(axis=1), dtype=np.float64)


def _members(names: list[str], moves: list[Ints], laws: list[QuickLaw]) -> list[Member]:
    return [
        Member(symbol=name, moves_1e8=own, law=law)
        for name, own, law in zip(names, moves, laws, strict=True)
    ]


def _placed(pair: PairGround, at: int) -> list[tuple[ScaledSeries, int]]:
    return [(m, int(pair.where[at, k])) for k, m in enumerate(pair.members)]
