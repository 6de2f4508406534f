"""Where each value of a table stands, so that an error can name its line and column.

TOML's reader of the standard library keeps no places. A table of instruments, or of the files that
are followed, is plain: a `[[instrument]]` header for each, below it one `name = value` a line.
`toml_rows` finds them by lines and refuses what it and the TOML reader see differently. Not here:
what a value may be.
"""

import csv
import io
import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from gateway.feeds.instruments.fields import FIELDS

SECTION: Final = "instrument"
_HEADER: Final = r"[ \t]*\[\[[ \t]*%s[ \t]*\]\]"
_NAME: Final = re.compile(r"[ \t]*([\"']?)([A-Za-z0-9_-]+)\1[ \t]*=[ \t]*")
_AT: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
ROWS_MAX: Final = 20_000


@dataclass(frozen=True, slots=True, order=True)
class TablePlace:
    """A line and a column, both from 1; in CSV the column is the field's number."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One instrument as it is written: its place, and each value with its own."""

    place: TablePlace
    values: dict[str, tuple[object, TablePlace]]


class UnreadableTableError(ValueError):
    """The bytes are no table; `place` says where, the message why and what to write."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        """Keep the place."""
        super().__init__(problem)
        self.place = TablePlace(line, column)


def toml_rows(text: str, section: str = SECTION) -> list[TableRow]:
    """Return the `[[instrument]]` sections of a TOML text, or those of another name.

    Raises:
        UnreadableTableError: it is not TOML, or holds something else.
    """
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        found = _AT.fullmatch(str(error))
        line, column = (found[2], found[3]) if found and found[2] else (1 + text.count("\n"), 1)
        why = found[1] if found else str(error) or type(error).__name__
        problem = f"not TOML ({why}); write one name = value a line, texts in quotes"
        raise UnreadableTableError(int(line), int(column), problem) from None
    listed = document.get(section, [])
    rows = _placed(text, section)
    others = sorted(name for name in document if name != section)
    if others or not isinstance(listed, list) or not all(type(one) is dict for one in listed):
        what = others[0] if others else section
        line = next((n for n, one in enumerate(text.split("\n"), 1) if what in one), 1)
        problem = f"{what} does not belong here; write a [[{section}]] section for each {section}"
        raise UnreadableTableError(line, 1, problem)
    if [list(places) for _, places in rows] != [list(values) for values in listed]:
        problem = "write each value on a line of its own: name = value, without inline sections"
        raise UnreadableTableError(_first_other(rows, listed), 1, problem)
    return [
        TableRow(place=place, values={name: (value, places[name]) for name, value in one.items()})
        for (place, places), one in zip(rows, listed, strict=True)
    ]


def _placed(text: str, section: str) -> list[tuple[TablePlace, dict[str, TablePlace]]]:
    """Return the place of each section, with those of its values."""
    rows: list[tuple[TablePlace, dict[str, TablePlace]]] = []
    begins = re.compile(_HEADER % re.escape(section))
    for number, line in enumerate(text.split("\n"), 1):
        if header := begins.match(line):
            rows.append((TablePlace(number, header.end() - len(header[0].lstrip()) + 1), {}))
        elif rows and (found := _NAME.match(line)):
            rows[-1][1][found[2]] = TablePlace(number, found.end() + 1)
    return rows


def _first_other(
    rows: list[tuple[TablePlace, dict[str, TablePlace]]], listed: list[dict[str, Any]]
) -> int:
    """Return the line of the first section that is written in another way."""
    for at, (place, places) in enumerate(rows):
        if at >= len(listed) or list(places) != list(listed[at]):
            return place.line
    return 1


def csv_rows(text: str) -> list[TableRow]:
    """Return the rows of a CSV text; its first line names the fields, an empty cell says nothing.

    Raises:
        UnreadableTableError: a row does not fit the first line.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[TableRow] = []
    names: list[str] | None = None
    try:
        for cells in reader:
            line = reader.line_num
            if any("\n" in cell or "\r" in cell for cell in cells):
                raise UnreadableTableError(line, 1, "a cell has a line break; write it in one line")
            if names is None:
                names = _header(cells)
            elif any(cells):
                rows.append(_csv_row(names, cells, line))
    except csv.Error as error:
        problem = f"not CSV ({error}); write commas between cells and quotes around commas"
        raise UnreadableTableError(max(1, reader.line_num), 1, problem) from None
    return rows


def _header(cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    for at, name in enumerate(names):
        if not name or name in names[:at]:
            problem = f"field {name!r} is empty or twice in the first line; name each field once"
            raise UnreadableTableError(1, at + 1, problem)
    return names


def _csv_row(names: list[str], cells: list[str], line: int) -> TableRow:
    if len(cells) != len(names):
        problem = f"{len(cells)} cells, but the first line names {len(names)}; write one for each"
        raise UnreadableTableError(line, min(len(cells), len(names)), problem)
    values = {
        name: (_typed(name, cell.strip()), TablePlace(line, at))
        for at, (name, cell) in enumerate(zip(names, cells, strict=True), 1)
        if cell.strip()
    }
    return TableRow(place=TablePlace(line, 1), values=values)


def _typed(name: str, cell: str) -> object:
    whole = name in FIELDS and FIELDS[name].whole and _WHOLE.fullmatch(cell)
    return int(cell) if whole else cell
