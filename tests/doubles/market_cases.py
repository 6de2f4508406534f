"""Small snapshots for tests: a seeded walk in ticks, daily bars on working days."""

import math
import random
from collections.abc import Sequence

from inference.snapshot import (
    AssetClass,
    Bar,
    Direction,
    EventType,
    Frequency,
    NewsItem,
    Snapshot,
    Strength,
)

DAY_US = 86_400_000_000
FIRST_CLOSE_US = 1_420_232_400_000_000  # Friday 2015-01-02 21:00 UTC


def bars_of(closes: Sequence[int]) -> tuple[Bar, ...]:
    """Bars that know only their close, a day apart."""
    return tuple(
        Bar(
            close_time_us=FIRST_CLOSE_US + index * DAY_US,
            open_ticks=close,
            high_ticks=close,
            low_ticks=close,
            close_ticks=close,
        )
        for index, close in enumerate(closes)
    )


def walk_closes(count: int, seed: int = 7, sd: float = 0.01, start: int = 200_000) -> list[int]:
    """A random walk of prices in ticks."""
    draw = random.Random(seed)  # noqa: S311 - a test's market
    closes, level = [], math.log(start)
    for _ in range(count):
        closes.append(max(1, round(math.exp(level))))
        level += draw.gauss(0.0, sd)
    return closes


def snapshot_of(closes: Sequence[int], news: Sequence[NewsItem] = ()) -> Snapshot:
    """A daily index snapshot as of its last close."""
    bars = bars_of(closes)
    return Snapshot(
        instrument="SPXN",
        asset_class=AssetClass.INDEX,
        frequency=Frequency.DAILY,
        as_of_us=bars[-1].close_time_us,
        bars=bars,
        news=tuple(news),
    )


def news_at(published_us: int, event_id: str = "e1", **changes: object) -> NewsItem:
    """A strong neutral macro event."""
    fields: dict[str, object] = {
        "event_type": EventType.MACRO,
        "direction": Direction.NEUTRAL,
        "strength": Strength.STRONG,
        "source_tier": 1,
        "headline": "Rate decision",
        "source": "central bank",
        **changes,
    }
    return NewsItem(event_id=event_id, published_us=published_us, **fields)  # type: ignore[arg-type]
