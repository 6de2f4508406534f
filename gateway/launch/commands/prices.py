"""The prices by which a draft policy scales its limits: from an option, bars or the table.

Rules:
- `--price SYMBOL=PRICE` goes before the last close in `--bars`, and that before the table's
  `reference_price`. A price says where it is from.
- Nothing is guessed: an instrument without any has none.

Not here: what the draft does with a price (`installation/policies/sections`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from gateway.errors import RequestError
from gateway.feeds.files.sources import plain_source
from gateway.feeds.instruments.fields import shown
from gateway.feeds.instruments.table import InstrumentTable
from gateway.feeds.live.items import BARS, PostedBar
from gateway.installation.policies.traded import UNSCALED, DraftScale, TradedInstrument
from gateway.launch.commands.backfill import file_items
from gateway.walk.journal.run import Listing
from risk.forms.money import minor_digits

_PRICE_MAX: Final = Decimal(10**9)
_STATED: Final = ("sector", "adv_lots", "margin_bp")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    price: Decimal
    source: str


def traded_of(table: InstrumentTable, scale: DraftScale = UNSCALED) -> tuple[TradedInstrument, ...]:
    """Return what a draft needs of a table's instruments, each with its price if there is one.

    Raises:
        RequestError: a price is none, is of an instrument that the table does not have, or is below
            one tick; the file of bars cannot be read.
    """
    given = _from_table(table) | _from_bars(scale.bars) | _from_options(table, scale.prices)
    return tuple(_traded(one, given.get(one.instrument.symbol)) for one in table.listings)


def _traded(listing: Listing, given: _Given | None) -> TradedInstrument:
    units = listing.instrument
    ticks, said = None, ""
    if given is not None:
        minor = given.price.scaleb(minor_digits(units.currency))
        ticks = round(minor / units.tick_minor)
        said = f"{given.price.normalize():f} {units.currency} ({given.source})"
        if ticks < 1:
            problem = f"{units.symbol}: a price of {said} is below one tick; write it in the units"
            raise RequestError(problem=f"{problem} of the table's tick")
    return TradedInstrument(
        symbol=units.symbol,
        asset_class=units.asset_class,
        currency=units.currency,
        min_qty=units.min_qty,
        max_qty=listing.max_qty,
        unit_minor=units.unit_minor,
        calendar=listing.calendar,
        price_ticks=ticks,
        price_said=said,
        stated=frozenset(name for name in _STATED if _says(listing, name)),
    )


def _says(listing: Listing, name: str) -> bool:
    """Return whether the table says something that a rule can measure: no volume of zero."""
    value = getattr(listing, name)
    return value is not None and not (name == "adv_lots" and value == 0)


def _from_table(table: InstrumentTable) -> dict[str, _Given]:
    return {
        one.instrument.symbol: _Given(
            price=Decimal(one.reference_price), source="the table's reference_price"
        )
        for one in table.listings
        if one.reference_price is not None
    }


def _from_bars(path: Path | None) -> dict[str, _Given]:
    """Return the newest close of each instrument in a file of bars, whatever its source."""
    if path is None:
        return {}
    newest: dict[str, PostedBar] = {}
    line = 0
    try:
        for item in file_items(plain_source("", BARS, path), path):
            line = item.line
            bar = PostedBar.model_validate({**item.value, "source": "any"})
            if bar.instrument not in newest or (
                bar.close_time_us >= newest[bar.instrument].close_time_us
            ):
                newest[bar.instrument] = bar
    except OSError as error:
        raise RequestError(problem=f"cannot read {path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise RequestError(problem=f"{path} line {line}: {field}: {first['msg']}") from None
    return {symbol: _closing(bar, path) for symbol, bar in newest.items()}


def _closing(bar: PostedBar, path: Path) -> _Given:
    day = datetime.fromtimestamp(bar.close_time_us / 1_000_000, tz=UTC)
    return _Given(
        price=Decimal(bar.close), source=f"the close of {day:%Y-%m-%d} in {shown(path.name)}"
    )


def _from_options(table: InstrumentTable, words: Sequence[str]) -> dict[str, _Given]:
    found: dict[str, _Given] = {}
    for word in words:
        symbol, _, text = word.partition("=")
        try:
            price = Decimal(text)
        except InvalidOperation:
            price = Decimal(0)
        if not (price.is_finite() and 0 < price < _PRICE_MAX):
            raise RequestError(
                problem=f"--price {word}: write SYMBOL=PRICE, such as --price AAPL=268.35"
            )
        if symbol not in table.instruments:
            raise RequestError(
                problem=f"--price {word}: the table has no {symbol or 'such instrument'}; it has"
                f" {', '.join(list(table.instruments)[:5])}"
            )
        found[symbol] = _Given(price=price, source="--price")
    return found
