"""Scales of codec 1 and 2 as hypothesis draws them: any lawful fit in any state."""

import random

from hypothesis import strategies as st

from inference.scale.ewma import Scale
from inference.scale.fitted import ScaleFit
from inference.scale.law import VarianceLaw
from inference.scale.moving import MovingScale
from inference.scale.ranges import MONTH, RangeLaw
from inference.scale.season import WEEK_HOURS, Clock, Season

VARIANCES = st.floats(1e-12, 1e-1)
SHARES = st.floats(0.0, 1.0)


@st.composite
def laws(draw: st.DrawFn) -> VarianceLaw:
    """Any law whose variance stays finite."""
    alpha = draw(st.floats(0.0, 0.4))
    gamma = draw(st.floats(-alpha, 0.5))
    beta = draw(SHARES) * max(0.0, 1.0 - alpha - 0.5 * gamma)
    return VarianceLaw(
        mean=draw(st.floats(-0.01, 0.01)),
        omega=draw(st.floats(0.0, 1e-3)),
        alpha=alpha,
        gamma=gamma,
        beta=beta,
        nu=6.0,
    )


@st.composite
def range_laws(draw: st.DrawFn) -> RangeLaw:
    """Any log-HAR that does not explode."""
    pulls = draw(st.tuples(*[st.floats(-1.0, 1.0)] * 3))
    size = max(1.0, sum(map(abs, pulls)) / 1.19)
    day, week, month = (pull / size for pull in pulls)
    return RangeLaw(
        level=draw(st.floats(-5.0, 2.0)),
        day=day,
        week=week,
        month=month,
        fall=draw(st.floats(-1.0, 1.0)),
        spread=draw(st.floats(-2.0, 2.0)),
        still=draw(st.floats(-1.0, 1.0)),
        moved=draw(st.floats(-1.0, 1.0)),
    )


@st.composite
def seasons(draw: st.DrawFn) -> Season:
    """Any sizes of hours, some of which are usual."""
    few = draw(st.lists(st.integers(1, 60_000), min_size=1, max_size=9))
    return Season(
        clock=draw(st.sampled_from(Clock)),
        sizes_1e4=tuple(few[hour % len(few)] for hour in range(WEEK_HOURS)),
        usual=tuple(sorted(draw(st.sets(st.integers(0, WEEK_HOURS - 1), min_size=1, max_size=40)))),
        spread_1e4=draw(st.integers(1, 40_000)),
    )


@st.composite
def moving_scales(draw: st.DrawFn) -> MovingScale:
    """A state of codec 2's recursions, with ranges and a season or without."""
    fit = ScaleFit(
        fitter="drawn",
        fitted_us=1,
        n_returns=252,
        data_digest="d",
        garch=draw(laws()),
        gjr=draw(laws()),
        ranges=draw(st.none() | range_laws()),
        season=draw(st.none() | seasons()),
    )
    level, wide = draw(st.floats(-25.0, -2.0)), draw(st.floats(0.0, 4.0))
    noise = random.Random(draw(st.integers(0, 1 << 32)))  # noqa: S311 - a test's market
    logs = tuple(noise.gauss(level, wide) for _ in range(MONTH))
    return MovingScale(
        fit=fit,
        garch=draw(VARIANCES),
        gjr=draw(VARIANCES),
        long=draw(VARIANCES),
        ranges=() if fit.ranges is None else logs,
        fall=0.0 if fit.ranges is None else -draw(st.floats(0.0, 8.0)),
        hour=0 if fit.season is None else draw(st.integers(0, WEEK_HOURS - 1)),
    )


ewma_scales: st.SearchStrategy[Scale] = st.builds(
    Scale, fast=VARIANCES, slow=VARIANCES, long=VARIANCES
)
scales: st.SearchStrategy[Scale | MovingScale] = ewma_scales | moving_scales()
