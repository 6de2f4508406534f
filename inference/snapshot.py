"""The forecast's input: bars and news of one instrument as of one time.

Not here: fetching and parsing outside formats (`gateway/feeds/intake.py`), tokens (`codec.py`).

Rules:
    - Prices are positive integers in ticks, so that every log return exists.
    - Bars ascend strictly by close time.
    - No bar and no news item lies after `as_of_us`: the constructor refuses it.
    - A fitted scale, which codec 2 needs, used no bar after the snapshot's last.
    - Times are microseconds UTC since the epoch.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from inference.errors import ScaleError, SnapshotError
from inference.scale.fitted import ScaleFit, fit_document, fit_from_document

MAX_TICKS = 2**53 - 1
"""Largest price in ticks that survives JSON readers with float numbers."""


class AssetClass(StrEnum):
    """Asset class; the order is part of the codec."""

    EQUITY = "equity"
    INDEX = "index"
    FX = "fx"
    COMMODITY = "commodity"
    CRYPTO = "crypto"
    RATES = "rates"
    VOLATILITY = "volatility"
    OTHER = "other"


class Frequency(StrEnum):
    """Bar length; the order is part of the codec."""

    DAILY = "daily"
    HOURLY = "hourly"


BAR_US: Final = {Frequency.DAILY: 86_400_000_000, Frequency.HOURLY: 3_600_000_000}
"""Length of a bar in microseconds."""


class EventType(StrEnum):
    """Closed list of news event types; the order is part of the codec.

    `ECHO` describes a move that already happened; it is never a signal.
    """

    EARNINGS = "earnings"
    GUIDANCE = "guidance"
    MNA = "mna"
    RATING = "rating"
    REGULATORY = "regulatory"
    LEGAL = "legal"
    MACRO = "macro"
    SUPPLY = "supply"
    OPS_INCIDENT = "ops_incident"
    CAPITAL = "capital"
    MGMT = "mgmt"
    ECHO = "echo"
    NONE = "none"


class Direction(StrEnum):
    """Expected direction of an event's effect on the instrument."""

    NEGATIVE = "negative"
    NEUTRAL = "neutral"
    POSITIVE = "positive"


class Strength(StrEnum):
    """Weight of an event."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One finished bar; prices in ticks."""

    close_time_us: int
    open_ticks: int
    high_ticks: int
    low_ticks: int
    close_ticks: int

    def __post_init__(self) -> None:
        """Raise `SnapshotError` for a price outside 1..2^53-1 or outside low..high."""
        low, high = self.low_ticks, self.high_ticks
        if not 0 < low <= high <= MAX_TICKS:
            raise SnapshotError(f"expected 0 < low <= high, was low {low}, high {high}")
        for name, ticks in (("open", self.open_ticks), ("close", self.close_ticks)):
            if not low <= ticks <= high:
                raise SnapshotError(f"expected {name} in {low}..{high}, was {ticks}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsItem:
    """One classified event; `published_us` is its first publication, never a reprint."""

    event_id: str
    published_us: int
    event_type: EventType
    direction: Direction
    strength: Strength
    source_tier: int
    headline: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything a forecast may depend on."""

    instrument: str
    asset_class: AssetClass
    frequency: Frequency
    as_of_us: int
    bars: tuple[Bar, ...]
    news: tuple[NewsItem, ...] = ()
    scale: ScaleFit | None = None

    def __post_init__(self) -> None:
        """Raise `SnapshotError` without bars, out of order, or for anything after `as_of_us`."""
        if not self.bars:
            raise SnapshotError("expected at least one bar, was none")
        previous = -1
        for bar in self.bars:
            if bar.close_time_us <= previous:
                raise SnapshotError(
                    f"expected a bar closing after {previous}, was {bar.close_time_us}"
                )
            previous = bar.close_time_us
        if previous > self.as_of_us:
            raise SnapshotError(f"expected bars up to {self.as_of_us}, was {previous}")
        for item in self.news:
            if item.published_us > self.as_of_us:
                raise SnapshotError(
                    f"expected news up to {self.as_of_us}, was {item.event_id!r} at "
                    f"{item.published_us}"
                )
        if self.scale is not None and self.scale.fitted_us > previous:
            raise SnapshotError(
                f"expected a scale fitted up to {previous}, was {self.scale.fitted_us}"
            )


def snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    """Return the snapshot as JSON values without floats; `scale` only where there is one."""
    scale = {} if snapshot.scale is None else {"scale": fit_document(snapshot.scale)}
    return {
        "instrument": snapshot.instrument,
        "asset_class": snapshot.asset_class.value,
        "frequency": snapshot.frequency.value,
        "as_of_us": snapshot.as_of_us,
        "bars": [
            [b.close_time_us, b.open_ticks, b.high_ticks, b.low_ticks, b.close_ticks]
            for b in snapshot.bars
        ],
        "news": [
            {
                "event_id": n.event_id,
                "published_us": n.published_us,
                "event_type": n.event_type.value,
                "direction": n.direction.value,
                "strength": n.strength.value,
                "source_tier": n.source_tier,
                "headline": n.headline,
                "source": n.source,
            }
            for n in snapshot.news
        ],
        **scale,
    }


def snapshot_from_document(document: dict[str, Any]) -> Snapshot:
    """Read what `snapshot_document` returned.

    Raises:
        SnapshotError: when a field is missing, of another type, or breaks a rule.
    """
    try:
        return Snapshot(
            instrument=text(document["instrument"]),
            asset_class=AssetClass(document["asset_class"]),
            frequency=Frequency(document["frequency"]),
            as_of_us=whole(document["as_of_us"]),
            bars=tuple(_bar(row) for row in document["bars"]),
            news=tuple(_news(row) for row in document["news"]),
            scale=fit_from_document(document["scale"]) if "scale" in document else None,
        )
    except (KeyError, TypeError, ValueError, ScaleError) as error:
        raise SnapshotError(f"expected a snapshot document, was {error!r}") from error


def _bar(row: list[Any]) -> Bar:
    close_time, *prices = (whole(value) for value in row)
    open_ticks, high, low, close = prices
    return Bar(
        close_time_us=close_time,
        open_ticks=open_ticks,
        high_ticks=high,
        low_ticks=low,
        close_ticks=close,
    )


def _news(row: dict[str, Any]) -> NewsItem:
    return NewsItem(
        event_id=text(row["event_id"]),
        published_us=whole(row["published_us"]),
        event_type=EventType(row["event_type"]),
        direction=Direction(row["direction"]),
        strength=Strength(row["strength"]),
        source_tier=whole(row["source_tier"]),
        headline=text(row["headline"]),
        source=text(row["source"]),
    )


def whole(value: object) -> int:
    """Return an integer, or raise `TypeError`: neither a bool nor a float is a time or a price."""
    if type(value) is not int:
        raise TypeError(f"expected an integer, was {value!r}")
    return value


def text(value: object) -> str:
    """Return text, or raise `TypeError`."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, was {value!r}")
    return value
