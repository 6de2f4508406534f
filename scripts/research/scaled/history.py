"""Series until 2015 with the scale before every return, fitted quarter by quarter on their past.

Rows of 2016 and later are dropped before anything is computed. Fits are kept in a file, by digest
of their data, so an interrupted run continues where it was.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from typing_extensions import override

from inference.codec.bins import bin_of
from inference.codec.codec import scale_tokens
from inference.errors import ScaleError
from inference.scale.fitted import ScaleFit, fit_document, fit_from_document
from inference.scale.fitting import Fits
from inference.scale.moving import scales_of
from inference.scale.ranges import MONTH, range_variance
from inference.scale.schedule import BURN_IN, FIT_MIN, quarter_start_us
from inference.snapshot import AssetClass, Frequency
from inference.training.series import Floats, Ints
from inference.training.sources import TRAIN_END_US
from scripts.research.series import clean
from scripts.research.sources import RawSeries

SERVED_RETURNS: Final = 299
"""Returns of a served snapshot: the recursions start so far back, also here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledSeries:
    """One series; index i is a return, and arrays hold what was known before it."""

    name: str
    asset_class: AssetClass
    frequency: Frequency
    returns: Floats
    closes_us: Ints
    """[n + 1]: return i ends at `closes_us[i + 1]`."""
    first: int
    """First return with a scale."""
    fits: tuple[ScaleFit, ...]
    fit_of: Ints
    """[n]: which fit is in force before a return."""
    garch: Floats
    gjr: Floats
    long: Floats
    sigmas: Floats
    """[n]: the joined volatility before each return."""
    ranges: Floats
    """[n, 22]: log range variances, zero where the fit has no range law."""
    falls: Floats
    bins: Ints
    ratios: Ints
    """[n]: the prompt's ratio token."""
    hours: Ints
    """[n]: hour of the week in which the bar before a return ended; 0 without a season.

    With a season, `garch`, `gjr`, `long`, `ranges` and `falls` are without the sizes of the hours.
    """

    def between(self, start_us: int, end_us: int) -> Ints:
        """Return the returns that end in start <= t < end and have a scale."""
        ends = self.closes_us[1:]
        low, high = np.searchsorted(ends, [start_us, end_us])
        return np.arange(max(int(low), self.first), int(high))


class FitShelf(Fits):
    """Fits that are also kept in a file of JSON lines; without a path in memory."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        for line in lines:
            try:
                super().keep(fit_from_document(json.loads(line)))
            except (ValueError, ScaleError):
                continue  # the line that a kill cut short
        self._path = path

    @override
    def keep(self, fit: ScaleFit) -> None:
        super().keep(fit)
        if self._path is not None:
            with self._path.open("a") as lines:
                lines.write("\n" + json.dumps(fit_document(fit)))


def known_until(raw: RawSeries, end_us: int) -> RawSeries:
    """Return the rows that close before `end_us`; the digest stays that of the whole file."""
    count = bisect_left(raw.times_us, end_us)
    return replace(
        raw, times_us=raw.times_us[:count], closes=raw.closes[:count], bars=raw.bars[:count]
    )


def ranges_in(raw: RawSeries, times: Sequence[int], returns: Sequence[float]) -> list[float | None]:
    """Return the range variance of each cleaned return's bar, None where it has none."""
    bars = dict(zip(raw.times_us, raw.bars, strict=True)) if raw.bars else {}
    found: list[float | None] = []
    for when, value in zip(times[1:], returns, strict=True):
        bar = bars.get(when, (math.nan,) * 4)
        known = all(math.isfinite(price) for price in bar)
        found.append(range_variance(value, *bar) if known else None)
    return found


def scaled_all(
    raws: Iterable[RawSeries], shelf: FitShelf, say: Callable[[str], None]
) -> list[ScaledSeries]:
    """Return every series that is long enough, cut at the end of 2015, cleaned and scaled."""
    found = []
    for whole in raws:
        raw = known_until(whole, TRAIN_END_US)
        times, returns, _ = clean(raw)
        if len(returns) < FIT_MIN + BURN_IN:
            continue
        found.append(scaled(raw, times, returns, shelf))
        say(f"scaled {raw.name}: {len(returns)} returns, {len(found[-1].fits)} fits")
    return found


def scaled(
    raw: RawSeries,
    times: Sequence[int],
    returns: Sequence[float],
    shelf: FitShelf,
    from_us: int = 0,
    *,
    seasonal: bool = False,
) -> ScaledSeries:
    """Return a cleaned series with the scale before each return from the first fit on.

    No fit is made before the first bar that closes at or after `from_us`. `seasonal` gives hours of
    the week their sizes.
    """
    count = len(returns)
    state = {name: np.full(count, np.nan) for name in ("garch", "gjr", "long", "sigmas")}
    ranges, falls = np.zeros((count, MONTH)), np.zeros(count)
    fit_of, bins, ratios, hours = (np.zeros(count, dtype=np.int64) for _ in range(4))
    fits: list[ScaleFit] = []
    found = ranges_in(raw, times, returns)
    for start, stop in segments(times, max(FIT_MIN, bisect_left(times, from_us))):
        fit = shelf.before(times, returns, found, start, seasonal=seasonal)
        fits.append(fit)
        begin = max(0, start - SERVED_RETURNS)
        closes = times[begin + 1 : stop + 1]
        scales = scales_of(fit, returns[begin:stop], found[begin:stop], closes)
        for index in range(max(start, begin + BURN_IN), stop):
            scale = scales[index - begin - BURN_IN]
            state["garch"][index], state["gjr"][index] = scale.garch, scale.gjr
            state["long"][index], state["sigmas"][index] = scale.long, scale.sigma
            if scale.ranges:
                ranges[index], falls[index] = scale.ranges, scale.fall
            fit_of[index], hours[index] = len(fits) - 1, scale.hour
            bins[index] = bin_of(returns[index] / scale.sigma)
            ratios[index] = scale_tokens(scale)[0]
    known = np.flatnonzero(np.isfinite(state["gjr"]))
    return ScaledSeries(
        name=raw.name,
        asset_class=raw.asset_class,
        frequency=raw.frequency,
        returns=np.asarray(returns, dtype=np.float64),
        closes_us=np.asarray(times, dtype=np.int64),
        first=int(known[0]) if len(known) else count,
        fits=tuple(fits),
        fit_of=fit_of,
        bins=bins,
        ratios=ratios,
        hours=hours,
        ranges=ranges,
        falls=falls,
        **state,
    )


def segments(closes_us: Sequence[int], first: int) -> list[tuple[int, int]]:
    """Return the returns [start, stop) of each quarter from return `first` on.

    Return i follows bar i, so the quarter of bar i decides which fit is in force before it.
    """
    quarters = [quarter_start_us(at) for at in closes_us[:-1]]
    cuts = [i for i in range(first + 1, len(quarters)) if quarters[i] != quarters[i - 1]]
    edges = [first, *cuts, len(quarters)]
    return [(a, b) for a, b in pairwise(edges) if a < b]
