"""Quotes and bars as a feed posts them: strict bodies, and the same in ticks.

Not here: whether an item is sound (`conditions`), what stands (`board`).

Rules:

- A price is decimal text, never a float, and lies on the instrument's tick: it is never rounded.
- A bar is posted when it has closed; its close time is its event time.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import IntakeError
from gateway.feeds.instruments.codes import minor_digits
from gateway.feeds.instruments.fields import SYMBOL
from inference.snapshot import MAX_TICKS
from risk.state.instrument import Instrument

BARS: Final = "bars"
QUOTES: Final = "quotes"
SHOWN_MAX: Final = 20
Source = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9._-]{1,32}$", description="who numbers the items, your name")
]
Symbol = Annotated[str, Field(pattern=f"^{SYMBOL}$", description="instrument symbol")]
Sequence = Annotated[
    int, Field(ge=1, le=MAX_TICKS, description="rises by one for each item of source and symbol")
]
TimeUs = Annotated[int, Field(ge=0, le=MAX_TICKS, description="microseconds UTC since 1970")]
# a sign passes: a price that is not positive is a condition on record, not a malformed body
Price = Annotated[
    str, Field(pattern=r"^-?[0-9]{1,9}(\.[0-9]{1,4})?$", description="price, decimal text")
]


class _Posted(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PostedQuote(_Posted):
    """A quote as posted."""

    source: Source
    instrument: Symbol
    sequence: Sequence
    event_time_us: TimeUs
    bid: Price
    ask: Price
    last: Price | None = None
    volume: Annotated[
        int | None,
        Field(ge=0, le=MAX_TICKS, description="units that all participants traded today so far"),
    ] = None


class PostedBar(_Posted):
    """A closed daily bar as posted."""

    source: Source
    instrument: Symbol
    sequence: Sequence
    close_time_us: TimeUs
    open: Price
    high: Price
    low: Price
    close: Price


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteItem:
    """A quote in ticks; prices may be any integer, `volume` is the day's so far in units."""

    source: str
    instrument: str
    sequence: int
    event_us: int
    bid_ticks: int
    ask_ticks: int
    last_ticks: int | None = None
    volume: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BarItem:
    """A bar in ticks; prices may be any integer, `event_us` is its close."""

    source: str
    instrument: str
    sequence: int
    event_us: int
    open_ticks: int
    high_ticks: int
    low_ticks: int
    close_ticks: int


def quote_item(posted: PostedQuote, instrument: Instrument) -> QuoteItem:
    """Return a quote in ticks.

    Raises:
        IntakeError: a price is between two ticks.
    """
    return QuoteItem(
        source=posted.source,
        instrument=posted.instrument,
        sequence=posted.sequence,
        event_us=posted.event_time_us,
        bid_ticks=_ticks("bid", posted.bid, instrument),
        ask_ticks=_ticks("ask", posted.ask, instrument),
        last_ticks=None if posted.last is None else _ticks("last", posted.last, instrument),
        volume=posted.volume,
    )


def bar_item(posted: PostedBar, instrument: Instrument) -> BarItem:
    """Return a bar in ticks.

    Raises:
        IntakeError: a price is between two ticks.
    """
    return BarItem(
        source=posted.source,
        instrument=posted.instrument,
        sequence=posted.sequence,
        event_us=posted.close_time_us,
        open_ticks=_ticks("open", posted.open, instrument),
        high_ticks=_ticks("high", posted.high, instrument),
        low_ticks=_ticks("low", posted.low, instrument),
        close_ticks=_ticks("close", posted.close, instrument),
    )


def parse(feed: str, value: object, instruments: Mapping[str, Instrument]) -> QuoteItem | BarItem:
    """Return an item of a feed from a JSON value.

    Raises:
        IntakeError: the value is malformed, or names an instrument that is not listed; `where` is
            the field.
    """
    model: type[PostedQuote | PostedBar] = PostedBar if feed == BARS else PostedQuote
    try:
        posted = model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise IntakeError(where=place, problem=str(first["msg"])) from None
    instrument = instruments.get(posted.instrument)
    if instrument is None:
        problem = said_unknown(posted.instrument, instruments)
        raise IntakeError(where="instrument", problem=problem)
    if isinstance(posted, PostedBar):
        return bar_item(posted, instrument)
    return quote_item(posted, instrument)


def ticks_of(price: Decimal, instrument: Instrument) -> int | None:
    """Return a price in ticks, or None if it lies between two; it is never rounded."""
    minor = price * 10 ** minor_digits(instrument.currency)
    ticks, rest = divmod(minor, instrument.tick_minor)
    return None if rest else int(ticks)


def said_unknown(symbol: str, known: Collection[str]) -> str:
    """Return what is wrong with a symbol that no instrument has, with the first known ones."""
    more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
    return f"unknown instrument {symbol}; known: {', '.join([*known][:SHOWN_MAX])}{more}"


def _ticks(name: str, text: str, instrument: Instrument) -> int:
    ticks = ticks_of(Decimal(text), instrument)
    if ticks is None:
        tick = Decimal(instrument.tick_minor) / 10 ** minor_digits(instrument.currency)
        raise IntakeError(
            where=name, problem=f"{text} is not a multiple of {instrument.symbol}'s tick {tick}"
        )
    return ticks
