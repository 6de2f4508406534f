"""The door to Parquet: rows of a whole file, each cell as the text that CSV would have.

A Parquet file does not grow: its last bytes say where everything is, so a file that is not whole
yet cannot be read at all. Not here: what a cell means (`rows`), where a source stands.

Rules:

- Nothing is rounded: a float is its shortest decimal text, a decimal all its digits. Nanoseconds
  are cut to microseconds. A time without a zone stays one, and is refused where it is read.
- The library is loaded with the first file: it costs 60 MB that only those who use Parquet need.
- Whatever the library raises over a file's bytes is an `IntakeError`.
"""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO, Final

from gateway.errors import IntakeError

COLUMNS_MAX: Final = 1000
GROUP_BYTES_MAX: Final = 256 * 1024 * 1024
"""Of one row group, not compressed: so much is in memory at once."""
_BROKEN: Final = (
    "not a whole Parquet file ({said}): write it under another name and rename it when it is"
    " whole; if it is, it is damaged"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetRows:
    """Rows of a file: the names of its columns, cells as text, how many rows the file has."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    count: int


def read_rows(file: BinaryIO, wanted: Collection[str], begin: int, count: int) -> ParquetRows:
    """Read `count` rows from row `begin` (from 0); cells of columns not in `wanted` are empty.

    Raises:
        IntakeError: the file is not whole, damaged, too large, or a wanted column holds no text,
            number or time.
    """
    from pyarrow import ArrowException

    try:
        return _read(file, wanted, begin, count)
    except (ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise IntakeError(where="the file", problem=_BROKEN.format(said=said)) from None


def _read(file: BinaryIO, wanted: Collection[str], begin: int, count: int) -> ParquetRows:
    from pyarrow import parquet

    with parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True) as found:
        names = tuple(found.schema_arrow.names)
        if len(names) > COLUMNS_MAX:
            problem = f"{len(names)} columns; write at most {COLUMNS_MAX}"
            raise IntakeError(where="the file", problem=problem)
        if len(set(names)) != len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            raise IntakeError(where="the file", problem=f"two columns have the name {twice!r}")
        facts = found.metadata
        grouped = sum(facts.row_group(at).num_rows for at in range(facts.num_row_groups))
        if facts.num_rows != grouped:
            raise ValueError(f"{facts.num_rows} rows, but its groups have {grouped}")
        mine = [name for name in names if name in wanted]
        texts = {name: _text_of(found.schema_arrow.field(name), names) for name in mine}
        rows = tuple(
            tuple(texts[name](row[name]) if name in texts else "" for name in names)
            for row in _raw_rows(found, mine, begin, count)
        )
        return ParquetRows(names=names, rows=rows, count=facts.num_rows)


def _raw_rows(found: Any, mine: list[str], begin: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield rows as Python values; row groups before the first are not decoded."""
    first = 0
    for at in range(found.num_row_groups):
        group = found.metadata.row_group(at)
        if group.total_byte_size > GROUP_BYTES_MAX:
            problem = (
                f"row group {at + 1} has {group.total_byte_size} bytes; write row groups of at most"
                f" {GROUP_BYTES_MAX}"
            )
            raise IntakeError(where="the file", problem=problem)
        here = range(max(begin, first), min(begin + count, first + group.num_rows))
        if here:
            rows = _rows_of_group(found, at, mine)
            yield from islice(rows, here.start - first, here.stop - first)
        first += group.num_rows


def _rows_of_group(found: Any, at: int, mine: list[str]) -> Iterator[dict[str, Any]]:
    from pyarrow import timestamp, types

    decoded = 0
    for batch in found.iter_batches(row_groups=[at], columns=mine, use_threads=False):
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            micros = column
            if types.is_timestamp(column.type) and column.type.unit == "ns":
                micros = column.cast(timestamp("us", tz=column.type.tz), safe=False)
            columns.append((name, micros.to_pylist()))
        decoded += batch.num_rows
        for row in range(batch.num_rows):
            yield {name: values[row] for name, values in columns}
    if decoded != (expected := found.metadata.row_group(at).num_rows):
        # the library ends a column quietly at a page whose header is damaged
        raise ValueError(f"row group {at + 1} has {decoded} of {expected} rows")


def _text_of(field: Any, names: tuple[str, ...]) -> Callable[[object], str]:
    """Return what makes text of a column's values.

    Raises:
        IntakeError: they are of a kind that no field of an item has.
    """
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    several = types.is_list(kind) or types.is_large_list(kind)
    word = kind.value_type if several else kind
    strings = types.is_string(word) or types.is_large_string(word)
    plain = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    times = (types.is_timestamp, types.is_date)
    if strings or (not several and any(is_kind(kind) for is_kind in (*plain, *times))):
        return _text
    where = f"column {names.index(field.name) + 1} ({field.name[:40]})"
    problem = f"holds {str(kind)[:60]}; write numbers, text, dates, times or lists of text"
    raise IntakeError(where=where, problem=problem)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if math.isfinite(value):
            return format(Decimal(repr(value)), "f")
        case Decimal():
            return format(value, "f")
        case datetime() | date():
            return value.isoformat()
        case list():
            return " ".join(_text(one) for one in value)
        case _:
            return str(value)
