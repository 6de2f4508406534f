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
from inference.snapshot import MAX_TICKS
from risk.forms.money import minor_digits
from risk.intent import Symbol
from risk.state.instrument import Instrument

BARS: Final = "bars"
QUOTES: Final = "quotes"
SHOWN_MAX: Final = 20
Source = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9._-]{1,32}$", description="who numbers the items, your name")
]
Sequence = Annotated[
    int, Field(ge=1, le=MAX_TICKS, description="rises by one for each item of source and symbol")
]
TimeUs = Annotated[int, Field(ge=0, le=MAX_TICKS, description="microseconds UTC since 1970")]
# a sign passes: a price that is not positive is a condition on record, not a malformed body
Price = Annotated[
    str, Field(pattern=r"^-?[0-9]{1,9}(\.[0-9]{1,4})?$", description="price, decimal text")
]


Size = Annotated[
    str, Field(pattern=r"^[0-9]{1,15}(\.[0-9]{1,8})?$", description="units offered, decimal text")
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
    currency: Annotated[
        str, Field(pattern=r"^$|^[A-Za-z]{3}$", description="of the prices, as the source has it")
    ] = ""
    bid_size: Size | None = None
    ask_size: Size | None = None
    firm: Annotated[
        bool, Field(description="false: indicative, closed or halted; nobody trades at it")
    ] = True


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
    """A quote in ticks; prices may be any integer, `volume` is the day's so far in units.

    `not_firm` and `other_currency` say why it is none to trade at; both are empty of a good one.
    """

    source: str
    instrument: str
    sequence: int
    event_us: int
    bid_ticks: int
    ask_ticks: int
    last_ticks: int | None = None
    volume: int | None = None
    not_firm: str = ""
    other_currency: str = ""


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
        not_firm=_not_firm(posted),
        other_currency=_other_currency(posted.currency, instrument),
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
        raise refused(error) from None
    instrument = instruments.get(posted.instrument)
    if instrument is None:
        problem = said_unknown(IntakeError.SEEN, instruments)
        raise IntakeError(where="instrument", problem=problem, seen=posted.instrument)
    if isinstance(posted, PostedBar):
        return bar_item(posted, instrument)
    return quote_item(posted, instrument)


def ticks_of(price: Decimal, instrument: Instrument) -> int | None:
    """Return a price in ticks, or None if it lies between two; it is never rounded."""
    minor = price * 10 ** minor_digits(instrument.currency)
    ticks, rest = divmod(minor, instrument.tick_minor)
    return None if rest else int(ticks)


def refused(error: ValidationError) -> IntakeError:
    """Return what pydantic found first; the name of a field that nothing has is data too."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return IntakeError(where=IntakeError.SEEN, problem=str(first["msg"]), seen=place)
    return IntakeError(where=place, problem=str(first["msg"]))


def said_unknown(symbol: str, known: Collection[str]) -> str:
    """Return what is wrong with a symbol that no instrument has, with the first known ones."""
    more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
    return f"unknown instrument {symbol}; known: {', '.join([*known][:SHOWN_MAX])}{more}"


def _not_firm(posted: PostedQuote) -> str:
    if not posted.firm:
        return "its source says that nobody trades at it"
    sizes = (("bid", posted.bid_size), ("ask", posted.ask_size))
    empty = [side for side, size in sizes if size is not None and not Decimal(size)]
    return f"nothing is offered at the {' and the '.join(empty)}" if empty else ""


def _other_currency(named: str, instrument: Instrument) -> str:
    """Return how a quote's currency differs; pence (GBX, GBp) are not pounds (GBP)."""
    if named in {"", instrument.currency}:
        return ""
    return f"quoted in {named}, {instrument.symbol} is listed in {instrument.currency}"


def _ticks(name: str, text: str, instrument: Instrument) -> int:
    ticks = ticks_of(Decimal(text), instrument)
    if ticks is None:
        tick = Decimal(instrument.tick_minor) / 10 ** minor_digits(instrument.currency)
        problem = f"{IntakeError.SEEN} is not a multiple of {instrument.symbol}'s tick {tick}"
        raise IntakeError(where=name, problem=problem, seen=text)
    return ticks
