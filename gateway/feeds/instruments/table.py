"""A table of instruments: bytes to typed listings, or every fault with its line and column.

Not here: whether a listing fits the policy (`fit`), its record (`walk/journal/run`).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from gateway import clock
from gateway.errors import InstrumentsError
from gateway.feeds.instruments.fields import FIELDS, shown
from gateway.feeds.instruments.places import (
    ROWS_MAX,
    TablePlace,
    TableRow,
    UnreadableTableError,
    csv_rows,
    toml_rows,
)
from gateway.feeds.live.calendars import strange_calendar
from gateway.walk.journal.run import Listing
from risk.forms.money import minor_digits
from risk.state.instrument import Instrument

PLAYED_TABLE: Final = Path(__file__).with_name("played.toml")
EXAMPLE: Final = Path(__file__).with_name("example.toml")
BYTES_MAX: Final = 16 * 1024 * 1024
_UNITS: Final = ("symbol", "asset_class", "currency", "tick", "lot", "multiplier", "min_qty")

_Fault = tuple[TablePlace, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentTable:
    """A table's listings in its order, its instruments by symbol, SHA-256 (hex) of its bytes."""

    listings: tuple[Listing, ...]
    instruments: dict[str, Instrument]
    digest: str


def read_table(path: Path) -> InstrumentTable:
    """Read a table of instruments; a file that ends in `.csv` is CSV, any other TOML.

    Raises:
        InstrumentsError: the file cannot be read, or has faults; all of them are named.
    """
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        why = f"cannot be read ({error.strerror}); name a file that exists and is readable"
        raise InstrumentsError(file=str(path), faults=(why,)) from None
    return parse_table(data, name=str(path), comma=path.suffix.lower() == ".csv")


def parse_table(data: bytes, *, name: str, comma: bool = False) -> InstrumentTable:
    """Parse the bytes of a table; `comma` says that they are CSV.

    Raises:
        InstrumentsError: the table has faults; all of them are named.
    """
    try:
        rows = _rows(data, comma=comma)
    except UnreadableTableError as error:
        raise InstrumentsError(file=name, faults=(_line(error.place, str(error)),)) from None
    faults: list[_Fault] = []
    found = [(row, _values(row, faults)) for row in rows]
    faults.extend(_doubles(found))
    faults.extend(_other_money(found))
    faults.extend(_strange_calendars(found))
    listings = [_listing(row, values, faults) for row, values in found]
    if faults:
        lines = tuple(_line(place, problem) for place, problem in sorted(faults))
        raise InstrumentsError(file=name, faults=lines)
    whole = tuple(one for one in listings if one is not None)
    return InstrumentTable(
        listings=whole,
        instruments={one.instrument.symbol: one.instrument for one in whole},
        digest=sha256(data).hexdigest(),
    )


def _rows(data: bytes, *, comma: bool) -> list[TableRow]:
    text = _decoded(data)
    rows = csv_rows(text) if comma else toml_rows(text)
    if not 0 < len(rows) <= ROWS_MAX:
        raise UnreadableTableError(1, 1, f"{len(rows)} instruments; list 1 to {ROWS_MAX}")
    return rows


def _decoded(data: bytes) -> str:
    if len(data) > BYTES_MAX:
        raise UnreadableTableError(1, 1, f"more than {BYTES_MAX} bytes; list fewer instruments")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise UnreadableTableError(line, column, "not UTF-8; save the file as UTF-8") from None


def _line(place: TablePlace, problem: str) -> str:
    return f"line {place.line}, column {place.column}: {problem}"


def _values(row: TableRow, faults: list[_Fault]) -> dict[str, Any]:
    """Return the values of a row that are right, and note what is wrong."""
    values: dict[str, Any] = {}
    for name, (value, place) in row.values.items():
        if name not in FIELDS:
            near = get_close_matches(name.lower(), FIELDS, 1)
            what = f"write {near[0]}" if near else f"the fields are {', '.join(FIELDS)}"
            faults.append((place, f"{shown(name)} is not a field; {what}"))
            continue
        try:
            values[name] = FIELDS[name].read(value)
        except ValueError as error:
            faults.append((place, f"{name}: {error}"))
    for name, field in FIELDS.items():
        if field.required and name not in row.values:
            problem = f"{name} is missing; write {name} = .. ({field.holds})"
            faults.append((row.place, problem))
    return values


def _strange_calendars(found: list[tuple[TableRow, dict[str, Any]]]) -> Iterator[_Fault]:
    """Yield the calendars whose hours do not load; each name is tried once."""
    now_us = clock.wall_us()
    names = {values["calendar"] for _, values in found if "calendar" in values}
    wrong = {name: said for name in names if (said := strange_calendar(name, now_us))}
    for row, values in found:
        if (name := values.get("calendar")) in wrong:
            yield row.values["calendar"][1], f"calendar: {wrong[name]}"


def _doubles(found: list[tuple[TableRow, dict[str, Any]]]) -> Iterator[_Fault]:
    """Yield what two instruments have in common and may not."""
    yield from _same(found, "symbol", lambda one: one.get("symbol"))
    yield from _same(found, "figi", lambda one: one.get("figi"))
    yield from _same(found, "isin", lambda one: "isin" in one and (one["isin"], one.get("mic")))


def _other_money(found: list[tuple[TableRow, dict[str, Any]]]) -> Iterator[_Fault]:
    """Yield the instruments in another currency than most, or than the first of them if even.

    One installation has one book, policy and broker's profile, and each has one currency.
    """
    counted = Counter(values["currency"] for _, values in found if "currency" in values)
    most = max(counted, key=counted.__getitem__, default="")
    for row, values in found:
        if values.get("currency", most) != most:
            own = values["currency"]
            said = f"{own}, but most of the table has {most}; a book has one currency"
            advice = f"remove it, or make an installation for {own}"
            yield row.values["currency"][1], f"currency: {said}: {advice}"


def _same(
    found: list[tuple[TableRow, dict[str, Any]]],
    name: str,
    key: Callable[[dict[str, Any]], object],
) -> Iterator[_Fault]:
    first: dict[object, int] = {}
    for row, values in found:
        if not (one := key(values)):
            continue
        if one in first:
            where = " on this venue" if name == "isin" else ""
            problem = f"{name}: {values[name]} is listed{where} in line {first[one]} already"
            yield row.values[name][1], f"{problem}; remove one of the two"
        else:
            first[one] = row.values[name][1].line


def _listing(row: TableRow, values: dict[str, Any], faults: list[_Fault]) -> Listing | None:
    """Return the listing of a row whose fields are all right, alone and together."""
    if values.get("min_qty", 0) > values.get("max_qty", values.get("min_qty", 0)):
        problem = f"max_qty: {values['max_qty']} is below min_qty, {values['min_qty']}"
        faults.append((row.values["max_qty"][1], f"{problem}; write at least that"))
    tick_minor = 0
    if "tick" in values and "currency" in values:
        digits = minor_digits(values["currency"])
        minor = Decimal(values["tick"]).scaleb(digits)
        if minor != int(minor):
            least = f"{Decimal(1).scaleb(-digits):f}"
            problem = (
                f"tick: {values['tick']} is not a whole number of {values['currency']} {least}"
            )
            advice = "; prices are kept in that unit: write a multiple of it"
            faults.append((row.values["tick"][1], problem + advice))
        tick_minor = int(minor)
    if any(field.required and name not in values for name, field in FIELDS.items()):
        return None
    units = {name: values[name] for name in _UNITS if name != "tick"}
    more = {name: value for name, value in values.items() if name not in _UNITS}
    return Listing(instrument=Instrument(**units, tick_minor=tick_minor), **more)
