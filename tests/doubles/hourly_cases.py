"""Made hourly series with a known size of each hour, for sessions, currencies and crypto."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from inference.scale.fitted import data_digest, default_fit
from inference.scale.season import fit_season, flattened
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot

HOUR_US = 3_600_000_000
UTC = ZoneInfo("UTC")
NEW_YORK = ZoneInfo("America/New_York")
LONDON = ZoneInfo("Europe/London")
Opens = Callable[[datetime], bool]
"""Whether a bar of this local close exists."""
Size = Callable[[datetime], float]


def session(at: datetime) -> bool:
    """Seven bars on working days, closing at 10 to 16."""
    return at.weekday() < 5 and 10 <= at.hour <= 16


def shape(at: datetime) -> float:
    """Large at the open, small at noon."""
    return (2.0, 1.2, 0.9, 0.7, 0.6, 0.7, 0.9)[at.hour - 10]


def hourly(
    count: int,
    zone: ZoneInfo,
    opens: Opens,
    size: Size,
    first: datetime = datetime(2014, 3, 3, tzinfo=UTC),
    seed: int = 3,
) -> tuple[list[int], list[float]]:
    """Return `count` + 1 close times and `count` returns of 0.2 % times the size of their hour."""
    draw = random.Random(seed)  # noqa: S311 - a test's market
    times: list[int] = []
    returns: list[float] = []
    at = first
    while len(returns) < count:
        local = at.astimezone(zone)
        if opens(local):
            if times:
                returns.append(draw.gauss(0.0, 0.002) * size(local))
            times.append(int(at.timestamp()) * 1_000_000)
        at += timedelta(hours=1)
    return times, returns


def hourly_snapshot(count: int = 420, shown: int = 180) -> Snapshot:
    """Return an hourly snapshot of New York's session with default laws and its season."""
    times, returns = hourly(count, NEW_YORK, session, shape)
    closes, level = [1_000_000], math.log(1_000_000)
    for value in returns:
        level += value
        closes.append(round(math.exp(level)))
    bars = tuple(
        Bar(close_time_us=at, open_ticks=c, high_ticks=c, low_ticks=c, close_ticks=c)
        for at, c in zip(times, closes, strict=True)
    )[-shown:]
    season = fit_season(times[1:], returns)
    assert season is not None
    none: list[float | None] = [None] * count
    flat, _ = flattened(season, times[1:], returns, none)
    digest = data_digest(times[1:], returns, none)
    fit = default_fit(flat, fitted_us=bars[0].close_time_us, digest=digest)
    return Snapshot(
        instrument="HOUR",
        asset_class=AssetClass.EQUITY,
        frequency=Frequency.HOURLY,
        as_of_us=times[-1],
        bars=bars,
        scale=replace(fit, season=season),
    )
