"""Raw prices to coded series: cleaning, the codec's scale at every bar, the calendar split.

Rules of cleaning, each for a fault seen in these data:
    - A row without a positive finite price, and a weekend row of a currency, is dropped.
    - A jump in an unadjusted equity that matches a split ratio: the ratio is taken out.
    - A return too large for one bar is a bad print and is dropped.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.codec.bins import bin_of
from inference.codec.codec import MIN_BARS
from inference.scale.ewma import BURN_IN, Scale, first_scale
from inference.snapshot import AssetClass, Frequency
from inference.training.series import LARGEST_MOVE, Floats, Ints, without_split
from inference.training.sources import TRAIN_END_US
from scripts.research.sources import RawSeries

_DAY_US: Final = 86_400_000_000
_SATURDAY: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedSeries:
    """One series after the burn-in; index i is a return."""

    name: str
    asset_class: AssetClass
    frequency: Frequency
    returns: Floats
    bins: Ints
    scales: Floats
    """[n, 3]: fast, slow and long variance before each return."""
    last_close_us: Ints
    """Close of the bar before each return, for the clock token."""
    first_validation: int
    """Index of the first return that closes in 2016."""

    def scale(self, index: int) -> Scale:
        """Return the codec's state before a return."""
        fast, slow, long = (float(v) for v in self.scales[index])
        return Scale(fast=fast, slow=slow, long=long)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One source in the manifest."""

    name: str
    licence: str
    sha256: str
    rows: int
    train_returns: int
    validation_returns: int
    dropped: int


def code_all(raws: Iterable[RawSeries]) -> tuple[list[CodedSeries], list[SourceRow]]:
    """Return every series that is long enough, cleaned and coded, with its manifest row."""
    coded, rows = [], []
    for raw in raws:
        times, returns, dropped = clean(raw)
        if len(returns) < MIN_BARS:
            continue
        series = code(raw, times, returns)
        coded.append(series)
        rows.append(
            SourceRow(
                name=raw.name,
                licence=raw.licence,
                sha256=raw.sha256,
                rows=len(raw.closes),
                train_returns=series.first_validation,
                validation_returns=len(series.bins) - series.first_validation,
                dropped=dropped,
            )
        )
    return coded, rows


def clean(raw: RawSeries) -> tuple[list[int], list[float], int]:
    """Return close times (one more than returns), log returns and the number of dropped rows."""
    times: list[int] = []
    returns: list[float] = []
    dropped, previous = 0, math.nan
    limit = LARGEST_MOVE[raw.frequency]
    fx_daily = raw.asset_class is AssetClass.FX and raw.frequency is Frequency.DAILY
    for when, price in zip(raw.times_us, raw.closes, strict=True):
        weekday = (when // _DAY_US + 3) % 7
        if not (math.isfinite(price) and price > 0.0) or (fx_daily and weekday >= _SATURDAY):
            dropped += 1
            continue
        if math.isnan(previous):
            times.append(when)
            previous = price
            continue
        move = math.log(price / previous)
        previous = price
        if not raw.split_adjusted and raw.asset_class is not AssetClass.FX:
            move = without_split(move)
        if abs(move) > limit:
            dropped += 1
            continue
        times.append(when)
        returns.append(move)
    return times, returns, dropped


def code(raw: RawSeries, times: list[int], returns: list[float]) -> CodedSeries:
    """Return a cleaned series with its bins and scales."""
    bins, scales = trace(returns)
    closes = np.asarray(times, dtype=np.int64)
    ends = closes[BURN_IN + 1 :]
    return CodedSeries(
        name=raw.name,
        asset_class=raw.asset_class,
        frequency=raw.frequency,
        returns=np.asarray(returns[BURN_IN:], dtype=np.float64),
        bins=bins,
        scales=scales,
        last_close_us=closes[BURN_IN:-1],
        first_validation=int(np.searchsorted(ends, TRAIN_END_US)),
    )


def trace(returns: list[float]) -> tuple[Ints, Floats]:
    """Return bins and the scale before each return, after the burn-in."""
    scale = first_scale(returns[:BURN_IN])
    bins, scales = [], []
    for value in returns[BURN_IN:]:
        bins.append(bin_of(value / scale.sigma))
        scales.append((scale.fast, scale.slow, scale.long))
        scale = scale.after(value)
    return np.asarray(bins, dtype=np.int64), np.asarray(scales, dtype=np.float64)
