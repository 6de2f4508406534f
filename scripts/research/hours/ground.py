"""Hourly series until 2015, each scaled with and without the sizes of its hours.

Fits begin with the series, each quarter on its own past; rows of 2016 and later are dropped before
anything is computed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from inference.errors import TrainingDataError
from inference.scale.schedule import BURN_IN, FIT_MIN
from inference.snapshot import Frequency
from inference.training.series import Floats
from inference.training.sources import TRAIN_END_US
from scripts.research.scaled.history import (
    FitShelf,
    ScaledSeries,
    known_until,
    ranges_in,
    scaled,
)
from scripts.research.series import clean
from scripts.research.sources import RawSeries

FITS: Final = "fits.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class HourSeries:
    """One hourly series: the scale as it was, the scale with hours, and variance proxies."""

    plain: ScaledSeries
    seasonal: ScaledSeries
    ranged: Floats
    """[n]: range variance of each return's bar, NaN where it has none."""
    source: dict[str, Any]

    def proxy_from(self, first: int) -> Floats:
        """Return variance proxies [n]: ranges scaled to the squared returns before `first`."""
        squares = self.plain.returns**2
        known = np.isfinite(self.ranged)
        past = known & (np.arange(len(squares)) < first)
        if not past.any():
            return squares
        gain = squares[past].sum() / self.ranged[past].sum()
        return np.where(known, gain * np.where(known, self.ranged, 0.0), squares)


def hour_series(
    raws: Iterable[RawSeries], shelf: FitShelf, say: Callable[[str], None]
) -> list[HourSeries]:
    """Return every hourly series that is long enough, cut at the end of 2015.

    Raises:
        TrainingDataError: when there is none.
    """
    found = []
    for whole in raws:
        if whole.frequency is not Frequency.HOURLY:
            continue
        raw = known_until(whole, TRAIN_END_US)
        times, returns, _ = clean(raw)
        if len(returns) < FIT_MIN + BURN_IN:
            continue
        plain = scaled(raw, times, returns, shelf)
        seasonal = scaled(raw, times, returns, shelf, seasonal=True)
        ranges = ranges_in(raw, times, returns)
        source = {
            "name": raw.name,
            "licence": raw.licence,
            "sha256": raw.sha256,
            "returns": len(returns),
            "fits": len(seasonal.fits),
            "clocks": sorted({f.season.clock.value for f in seasonal.fits if f.season}),
        }
        values = [np.nan if value is None else value for value in ranges]
        found.append(
            HourSeries(plain=plain, seasonal=seasonal, ranged=np.asarray(values), source=source)
        )
        say(f"scaled {raw.name}: {len(returns)} returns, {len(seasonal.fits)} fits")
    if not found:
        raise TrainingDataError(f"expected an hourly series of {FIT_MIN + BURN_IN} returns to 2015")
    return found
