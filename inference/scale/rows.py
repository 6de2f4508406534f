"""The scale of many paths at once: the recursions of `moving.py` and `ewma.py`, an array a state.

Each number equals the scalar scale's of the same path, to the last bit, on every machine. So a
forecast may be decoded all paths together and replayed one by one, or the other way round.

Rules:
    - numpy only adds, multiplies, divides, compares and takes square roots, in the scalar's order:
      these are correctly rounded everywhere. Its `exp` and `log` differ by a last bit from `math`'s
      and by processor, so those are taken of each element with `math`.
    - Sums run left to right over arrays; `ndarray.sum` adds pairwise.
    - Where one path's scale is undefined, all are refused, with the scalar's kind of error.

Not here: the long-run volatility, which only a prompt needs, and bars that were recorded.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from inference.errors import ScaleError
from inference.scale import ewma
from inference.scale.fitted import ScaleFit
from inference.scale.law import VarianceLaw
from inference.scale.moving import RANGE_WEIGHT, VARIANCE_FLOOR, WINSOR_SIGMAS, MovingScale
from inference.scale.path import PathScale
from inference.scale.ranges import LARGEST_SURPRISE, MONTH, STILL, WEEK, RangeLaw

Doubles = NDArray[np.float64]


class ScaleRows(ABC):
    """The volatilities of n paths between two bars; immutable."""

    @classmethod
    def of(cls, scale: PathScale, n: int) -> "ScaleRows":
        """Return n paths that all begin at one scale, of codec 1 or 2.

        Raises:
            ScaleError: for another kind of scale.
        """
        if isinstance(scale, ewma.Scale):
            return _EwmaRows(fast=np.full(n, scale.fast), slow=np.full(n, scale.slow))
        if isinstance(scale, MovingScale):
            return _MovingRows(
                fit=scale.fit,
                garch=np.full(n, scale.garch),
                gjr=np.full(n, scale.gjr),
                ranges=tuple(np.full(n, value) for value in scale.ranges),
                fall=np.full(n, scale.fall),
                hour=scale.hour,
            )
        raise ScaleError(f"expected a scale of codec 1 or 2, was {type(scale).__name__}")

    @property
    @abstractmethod
    def sigma(self) -> Doubles:
        """Volatility of each path's next bar, [n].

        Raises:
            ArithmeticError, ValueError: where a path's scale is undefined.
        """

    @abstractmethod
    def after(self, log_returns: Doubles) -> "ScaleRows":
        """Return the state after one more sampled return of each path, [n].

        Raises:
            ArithmeticError, ValueError: where a path's scale is undefined.
        """


@dataclass(frozen=True, kw_only=True)
class _EwmaRows(ScaleRows):
    """Codec 1's scale, `ewma.py`."""

    fast: Doubles
    slow: Doubles

    @property
    @override
    def sigma(self) -> Doubles:
        return self._sigma

    @cached_property
    def _sigma(self) -> Doubles:
        with _quiet():
            return _root(ewma.FAST_WEIGHT * self.fast + (1.0 - ewma.FAST_WEIGHT) * self.slow)

    @override
    def after(self, log_returns: Doubles) -> ScaleRows:
        with _quiet():
            held = _least(np.abs(log_returns), ewma.WINSOR_SIGMAS * self._sigma)
            square = held * held
            fast = ewma.FAST * self.fast + (1.0 - ewma.FAST) * square
            slow = ewma.SLOW * self.slow + (1.0 - ewma.SLOW) * square
            return _EwmaRows(
                fast=_most(fast, ewma.VARIANCE_FLOOR), slow=_most(slow, ewma.VARIANCE_FLOOR)
            )


@dataclass(frozen=True, kw_only=True)
class _MovingRows(ScaleRows):
    """Codec 2's scale, `moving.py`; the hour of the week is the same on all paths."""

    fit: ScaleFit
    garch: Doubles
    gjr: Doubles
    ranges: tuple[Doubles, ...]
    """Last 22 log range variances, each [n], the newest last; empty without a range law."""
    fall: Doubles
    hour: int

    @property
    @override
    def sigma(self) -> Doubles:
        season = self.fit.season
        if season is None:
            return self._flat_sigma
        with _quiet():
            return self._flat_sigma * season.spread(season.next(self.hour))

    @cached_property
    def _joined(self) -> Doubles:
        return _root(self.garch * self.gjr)

    @cached_property
    def _flat_sigma(self) -> Doubles:
        with _quiet():
            law = self.fit.ranges
            if law is None:
                return _root(self._joined)
            ranged = _expected(law, self.ranges, self.fall) + law.spread
            logs = _each(math.log, self._joined)
            return _each(math.exp, 0.5 * ((1.0 - RANGE_WEIGHT) * logs + RANGE_WEIGHT * ranged))

    @override
    def after(self, log_returns: Doubles) -> ScaleRows:
        season, law = self.fit.season, self.fit.ranges
        hour = self.hour if season is None else season.next(self.hour)
        with _quiet():
            flat = log_returns / (1.0 if season is None else season.size(hour))
            limit = WINSOR_SIGMAS * self._flat_sigma
            held = _least(_most(flat, -limit), limit)
            ranges, fall = self.ranges, np.zeros_like(held)
            if law is not None:
                ranges = (*ranges[1:], _seen(law, _expected(law, ranges, self.fall), held))
                fall = _quotient(_least(held, 0.0), _root(self._joined))
            return _MovingRows(
                fit=self.fit,
                garch=_varied(self.fit.garch, self.garch, held),
                gjr=_varied(self.fit.gjr, self.gjr, held),
                ranges=ranges,
                fall=fall,
                hour=hour,
            )


def _quiet() -> np.errstate:
    """Let arrays reach infinity and NaN without a word, as Python's floats do."""
    return np.errstate(over="ignore", invalid="ignore")


def _varied(law: VarianceLaw, variance: Doubles, held: Doubles) -> Doubles:
    """Return `VarianceLaw.after`, not below the floor."""
    error = held - law.mean
    slope = np.where(error < 0.0, law.alpha + law.gamma, law.alpha)
    return _most(law.omega + slope * error * error + law.beta * variance, VARIANCE_FLOOR)


def _expected(law: RangeLaw, history: tuple[Doubles, ...], fall: Doubles) -> Doubles:
    """Return `RangeLaw.expected`."""
    week, month = np.zeros_like(fall), np.zeros_like(fall)
    for value in history[-WEEK:]:
        week = week + value
    for value in history:
        month = month + value
    return (
        law.level
        + law.day * history[-1]
        + law.week * (week / WEEK)
        + law.month * (month / MONTH)
        + law.fall * fall
    )


def _seen(law: RangeLaw, expected: Doubles, held: Doubles) -> Doubles:
    """Return `RangeLaw.seen` of bars without a range."""
    square = _quotient(held * held, _each(math.exp, expected + law.spread))
    value = expected + law.still + law.moved * _each(math.log, STILL + square)
    return _least(value, expected + LARGEST_SURPRISE)


def _each(function: Callable[[float], float], values: Doubles) -> Doubles:
    return np.fromiter(map(function, values.tolist()), np.float64, len(values))


def _root(values: Doubles) -> Doubles:
    if (values < 0.0).any():
        raise ValueError("math domain error")  # what math.sqrt says
    return np.sqrt(values)


def _quotient(one: Doubles, other: Doubles) -> Doubles:
    if (other == 0.0).any():
        raise ZeroDivisionError("float division by zero")
    return one / other


def _least(one: Doubles, other: Doubles | float) -> Doubles:
    """Return Python's `min` of each pair: the first unless the second is less, so NaN stays."""
    return np.where(other < one, other, one)


def _most(one: Doubles, other: Doubles | float) -> Doubles:
    return np.where(other > one, other, one)
