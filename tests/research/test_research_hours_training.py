"""Hourly series for pair v4: nothing of 2016, the cloud is the moving scale, hours help."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from inference.errors import TrainingDataError
from inference.scale.moving import MovingScale
from inference.snapshot import AssetClass, Frequency
from inference.training.sources import TRAIN_END_US
from scripts.research.hours.figures import hourly_rows
from scripts.research.hours.ground import HourSeries, hour_series
from scripts.research.scaled.choice import compare, exact, midnight_us, table_rows
from scripts.research.scaled.cloud import ScaleCloud
from scripts.research.scaled.history import FitShelf
from scripts.research.sources import RawSeries
from tests.doubles.hourly_cases import NEW_YORK, hourly, session, shape


def raw(count: int = 4200, frequency: Frequency = Frequency.HOURLY) -> RawSeries:
    """A made hourly series from March 2014 into 2016."""
    times, returns = hourly(count, NEW_YORK, session, shape)
    levels = np.exp(np.cumsum([math.log(100.0), *returns]))
    return RawSeries(
        name="hourly/made",
        asset_class=AssetClass.EQUITY,
        frequency=frequency,
        split_adjusted=True,
        times_us=tuple(times),
        closes=tuple(float(v) for v in levels),
        licence="made",
        sha256="0" * 64,
    )


@cache
def ground() -> HourSeries:
    (one,) = hour_series([raw()], FitShelf(), lambda _: None)
    return one


def test_nothing_of_2016_and_later_is_read() -> None:
    assert raw().times_us[-1] > TRAIN_END_US
    assert ground().seasonal.closes_us.max() < TRAIN_END_US
    assert all(fit.fitted_us < TRAIN_END_US for fit in ground().seasonal.fits)


def test_daily_series_are_left_out() -> None:
    def daily_only() -> Iterator[RawSeries]:
        yield raw(frequency=Frequency.DAILY)

    with pytest.raises(TrainingDataError, match="expected an hourly series"):
        hour_series(daily_only(), FitShelf(), lambda _: None)


def test_the_cloud_is_the_moving_scale_with_the_size_of_each_hour() -> None:
    one = ground().seasonal
    where = np.asarray([len(one.returns) - 20])
    cloud = ScaleCloud(one, where, 1)
    fit = one.fits[int(one.fit_of[where[0]])]
    assert fit.season is not None
    state = MovingScale(
        fit=fit,
        garch=float(one.garch[where[0]]),
        gjr=float(one.gjr[where[0]]),
        long=float(one.long[where[0]]),
        hour=int(one.hours[where[0]]),
    )
    assert cloud.sigma()[0, 0] == pytest.approx(one.sigmas[where[0]], rel=1e-12)
    seen = set()
    for value in (-0.03, 0.001, 0.02, 0.0, -0.011, 0.004, 0.001, -0.002, 0.5):
        cloud.move(np.asarray([[value]]))
        state = state.after(value)
        seen.add(state.hour)
        assert cloud.sigma()[0, 0] == pytest.approx(state.sigma, rel=1e-9)
    assert len(seen) == 9


def test_sizes_of_hours_forecast_planted_hours_better_and_cover() -> None:
    span = midnight_us(2015), midnight_us(2016)
    before, after = (
        exact([one], table_rows(hourly_rows([one], 2015)), *span)
        for one in (ground().plain, ground().seasonal)
    )
    assert compare(after["crps"], before["crps"])["interval_90"][1] < 0.98
    assert 0.87 < float(np.mean(after["inside_90"].scores[0])) < 0.93


def test_later_returns_change_no_size() -> None:
    whole, cut = raw(), 2500
    closes = tuple(c if i < cut else c * 1.02 ** (i % 2) for i, c in enumerate(whole.closes))
    bent = replace(whole, closes=closes)
    (other,) = hour_series([bent], FitShelf(), lambda _: None)
    np.testing.assert_array_equal(
        other.seasonal.sigmas[: cut - 1], ground().seasonal.sigmas[: cut - 1]
    )
