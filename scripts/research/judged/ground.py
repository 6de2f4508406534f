"""One series per company with the scale of codec 2 before every return, and what the judge adds.

Fits are made from `FROM` on, on each series' own past; nothing that closes after `end_us` is read.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.scale.ranges import MONTH
from inference.scale.schedule import BURN_IN, FIT_MIN
from inference.training.series import Floats
from scripts.research.scaled.choice import midnight_us, one_per_company
from scripts.research.scaled.history import (
    FitShelf,
    ScaledSeries,
    known_until,
    ranges_in,
    scaled,
)
from scripts.research.series import clean
from scripts.research.sources import RawSeries

FROM_US: Final = midnight_us(2013)
"""First fit; the residuals of codec-alone begin here."""
LEAST_AFTER: Final = 120
"""Returns since `FROM_US` without which a series has too few residuals of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries:
    """A scaled series and the variance proxy of every return [n]."""

    scaled: ScaledSeries
    proxy: Floats
    """Range variance where the bar has one, scaled to squared returns; else the squared return."""
    ranged: bool


def judged_series(
    raws: Iterable[RawSeries], shelf: FitShelf, end_us: int, say: Callable[[str], None]
) -> list[JudgedSeries]:
    """Return one series per symbol and frequency, cleaned and scaled until `end_us`."""
    found = {}
    for whole in raws:
        raw = known_until(whole, end_us)
        times, returns, _ = clean(raw)
        after = sum(at >= FROM_US for at in times)
        if len(returns) < FIT_MIN + BURN_IN or after < LEAST_AFTER:
            continue
        series = scaled(raw, times, returns, shelf, FROM_US)
        ranges = ranges_in(raw, times, returns)
        found[raw.name] = _with_proxy(series, ranges)
        say(f"scaled {raw.name}: {len(returns)} returns, {len(series.fits)} fits")
    chosen = one_per_company([one.scaled for one in found.values()])
    return [found[one.name] for one in chosen]


def _with_proxy(series: ScaledSeries, ranges: list[float | None]) -> JudgedSeries:
    squares = series.returns**2
    known = np.asarray([value is not None for value in ranges])
    values = np.asarray([0.0 if value is None else value for value in ranges])
    past = np.arange(len(squares)) < series.first
    pool = past & known if (past & known).sum() > MONTH else known
    if series.fits[-1].ranges is None or not pool.any():
        return JudgedSeries(scaled=series, proxy=squares, ranged=False)
    gain = squares[pool].sum() / values[pool].sum()
    return JudgedSeries(scaled=series, proxy=np.where(known, gain * values, squares), ranged=True)


def ground_digest(raws: Iterable[RawSeries]) -> str:
    """Return the SHA-256, hex, of the names and digests of the files."""
    rows = sorted((raw.name, raw.sha256) for raw in raws)
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
