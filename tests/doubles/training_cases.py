"""Raw series for tests of the training code: seeded walks, daily from 2012 on."""

import math
import random
from datetime import UTC, datetime

from inference.snapshot import AssetClass, Frequency
from scripts.research.sources import RawSeries

DAY_US = 86_400_000_000
START_US = int(datetime(2012, 1, 2, 21, tzinfo=UTC).timestamp()) * 1_000_000


def raw_of(closes: list[float], **changes: object) -> RawSeries:
    """A daily equity with these closes, one a day."""
    fields: dict[str, object] = {
        "name": "daily/case",
        "asset_class": AssetClass.EQUITY,
        "frequency": Frequency.DAILY,
        "split_adjusted": True,
        "times_us": tuple(START_US + index * DAY_US for index in range(len(closes))),
        "closes": tuple(closes),
        "licence": "made for a test",
        "sha256": "0" * 64,
        **changes,
    }
    return RawSeries(**fields)  # type: ignore[arg-type]


def raw_walk(name: str, count: int, seed: int) -> RawSeries:
    """A walk with changing volatility."""
    draw = random.Random(seed)  # noqa: S311 - a test's market
    level, closes = 4.0, []
    for index in range(count):
        closes.append(math.exp(level))
        level += draw.gauss(0.0, 0.01 if index // 100 % 2 else 0.02)
    return raw_of(closes, name=name)
