"""A line of a followed file to an item as a feed would post it. Pure.

CSV: the first line names the columns; one item a line, without line breaks in cells. Parquet: the
cells of a row as text. NDJSON: each line is what the API takes. Not here: what an item may hold
(`gateway.feeds.live.items`).
"""

import csv
import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from gateway.errors import IntakeError
from gateway.feeds.files.sources import (
    FLAGS,
    LISTS,
    OPTIONAL,
    PRICES,
    TIME_NAMES,
    WHOLE,
    FollowedSource,
    TimeForm,
)

CONSTANT: Final = "="
_SCALE: Final = {TimeForm.S: 1_000_000, TimeForm.MS: 1_000, TimeForm.US: 1}
_NANO: Final = 1_000
_WHOLE: Final = re.compile(r"[0-9]{1,19}")
_PRICE: Final = re.compile(r"(-?[0-9]+)\.([0-9]+)")
_YES_NO: Final = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def wanted_in(source: FollowedSource) -> frozenset[str]:
    """Return the columns that a source reads."""
    return frozenset(one for one in source.columns.values() if not one.startswith(CONSTANT))


def columns_in(source: FollowedSource, line: bytes | tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns, from a file's first line or from Parquet.

    Raises:
        IntakeError: the line names no columns, one twice, or not those that the source needs.
    """
    first = line.removeprefix(b"\xef\xbb\xbf") if isinstance(line, bytes) else line
    names = tuple(cell.strip() for cell in _cells(source, first))
    for at, name in enumerate(names, start=1):
        if not name or name in names[: at - 1]:
            problem = "the first line names " + ("this column twice" if name else "nothing here")
            raise IntakeError(where=f"column {at}", problem=problem)
    for field, column in source.columns.items():
        if column.startswith(CONSTANT) or column in names or _may_lack(source, field):
            continue
        problem = f"{field} has no column {column} in the first line, which names {len(names)}"
        raise IntakeError(where="column 1", problem=problem)
    return names


def item_in(
    source: FollowedSource, names: tuple[str, ...], line: bytes | tuple[str, ...]
) -> dict[str, Any]:
    """Return the item of a CSV line or a row, as posted, without a `sequence` that nothing says.

    Raises:
        IntakeError: a cell does not hold what it should; names the column.
    """
    cells = _cells(source, line)
    if len(cells) != len(names):
        problem = f"{len(cells)} cells, but the first line names {len(names)}"
        raise IntakeError(where=f"column {min(len(cells), len(names)) or 1}", problem=problem)
    by_name = dict(zip(names, cells, strict=True))
    item: dict[str, Any] = {"source": source.name}
    for field, column in source.columns.items():
        given = column.startswith(CONSTANT)
        text = column[1:] if given else by_name.get(column, "").strip()
        if not text and field in OPTIONAL:
            continue
        try:
            item[TIME_NAMES[source.feed] if field == "time" else field] = _value(
                source, field, text
            )
        except ValueError as error:
            at = 1 if given else names.index(column) + 1
            raise IntakeError(where=f"column {at} ({column})", problem=str(error)) from None
    return item


def object_in(source: FollowedSource, line: bytes) -> dict[str, Any]:
    """Return the item of an NDJSON line, with this source's name; a source without one takes any.

    Raises:
        IntakeError: the line is no JSON object, or is of another source.
    """
    try:
        value = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise IntakeError(where="column 1", problem=f"not JSON ({_fault(error)})") from None
    if not isinstance(value, dict):
        raise IntakeError(where="column 1", problem="not a JSON object; write one item a line")
    if value.setdefault("source", source.name) != source.name and source.name:
        problem = f"another source than {source.name}; leave it out, or describe that source"
        raise IntakeError(where="source", problem=problem)
    return value


def said_place(source: FollowedSource, names: tuple[str, ...], where: str) -> str:
    """Return the column of a field that an item's check found wrong."""
    field = "time" if where == TIME_NAMES[source.feed] else where.partition(".")[0]
    column = source.columns.get(field, "") if names else ""
    return f"column {names.index(column) + 1} ({column})" if column in names else where


def _may_lack(source: FollowedSource, field: str) -> bool:
    return field in OPTIONAL and source.columns[field] == field


def _cells(source: FollowedSource, line: bytes | tuple[str, ...]) -> list[str]:
    if isinstance(line, tuple):
        if any("\0" in cell or "\r" in cell for cell in line):
            raise IntakeError(where="a cell", problem="has a NUL or a carriage return")
        return list(line)
    try:
        text = line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise IntakeError(where=f"byte {error.start + 1}", problem="not UTF-8") from None
    if "\0" in text or "\r" in text:
        raise IntakeError(where="column 1", problem="a NUL or a carriage return inside the line")
    try:
        rows = list(csv.reader([text], strict=True, delimiter=source.separator))
    except csv.Error as error:
        raise IntakeError(where="column 1", problem=f"not CSV ({error})") from None
    return rows[0] if rows else []


def _value(source: FollowedSource, field: str, text: str) -> object:
    if field == "time":
        return _time_us(source, text)
    if field in WHOLE:
        if not _WHOLE.fullmatch(text):
            raise ValueError("no whole number")
        return int(text)
    if field in FLAGS:
        if text.lower() not in _YES_NO:
            raise ValueError("neither true nor false")
        return _YES_NO[text.lower()]
    if field in LISTS:
        return text.replace(";", " ").split()
    return _plain(text) if field in PRICES else text


def _plain(text: str) -> str:
    """Return a price without zeros behind its last digit, which say nothing; never rounded."""
    found = _PRICE.fullmatch(text)
    if not found:
        return text
    rest = found[2].rstrip("0")
    return f"{found[1]}.{rest}" if rest else found[1]


def _time_us(source: FollowedSource, text: str) -> int:
    form = source.time_form
    if form in _SCALE or form is TimeForm.NS:
        if not _WHOLE.fullmatch(text):
            raise ValueError(f"no time in {form}; time_form says what it is")
        return int(text) // _NANO if form is TimeForm.NS else int(text) * _SCALE[form]
    try:
        if form is TimeForm.DATE:
            day = datetime.combine(date.fromisoformat(text), datetime.min.time(), tzinfo=UTC)
            return round(day.timestamp()) * 1_000_000 + source.close_at_us
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"no time as {form}; time_form says what it is") from None
    if found.tzinfo is None:
        raise ValueError("has no time zone; write Z or an offset behind it")
    whole = found.replace(microsecond=0)
    return round(whole.timestamp()) * 1_000_000 + found.microsecond


def _fault(error: ValueError | RecursionError) -> str:
    """Return what is wrong with JSON, without a word of it."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    return "a key twice, a number too long or too many levels"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: Mapping[str, Any] = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(found)
