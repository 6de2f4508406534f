"""The door to Parquet: rows of a whole file, each cell as the text that CSV would have.

A Parquet file does not grow: its last bytes say where everything is, so a file that is not whole
yet cannot be read at all. Not here: what a cell means (`rows`), where a source stands.

Rules:

- Nothing is rounded: a float is its shortest decimal text, a decimal all its digits. Nanoseconds
  are cut to microseconds. A time without a zone stays one, and is refused where it is read.
- The library is loaded with the first file: it costs 60 MB that only those who use Parquet need.
- Whatever the library raises over a file's bytes is an `IntakeError`, which quotes none of them.
- A few bytes can stand for many rows or long cells, so what is decoded is bounded (`Decoded`): rows
  of a file and of a row group, bytes of a batch and of a file, and time. Text columns stay
  dictionaries until the bytes of a batch are counted. Rows are decoded once, batch by batch.
"""

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, BinaryIO, Final

from gateway import clock
from gateway.errors import IntakeError

COLUMNS_MAX: Final = 1000
ROWS_MAX: Final = 2_000_000
"""Of a file; a year of minutes of twenty instruments."""
GROUP_ROWS_MAX: Final = 1_048_576
"""Of a row group: pyarrow's own default. What lies before a position in its group is decoded."""
GROUP_BYTES_MAX: Final = 256 * 1024 * 1024
"""Of one row group, not compressed, as the file says."""
BATCH_ROWS: Final = 4_096
BATCH_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of the cells of a batch as text: so much is in memory at once."""
BYTES_MAX: Final = 1024 * 1024 * 1024
"""Of all cells that are decoded in one look."""
LOOK_US_MAX: Final = 120_000_000
_BROKEN: Final = (
    "not a whole Parquet file (or a damaged one): write it under another name and rename it when it"
    " is whole"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetRows:
    """Rows of a file: the names of its columns, cells as text, how many rows the file has."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    count: int


@dataclass(slots=True)
class Decoded:
    """What one look at a file has decoded so far, and may decode."""

    rows: int = 0
    cell_bytes: int = 0
    began_us: int = field(default_factory=lambda: clock.monotonic_us())  # noqa: PLW0108 - a test sets it

    def add(self, rows: int, cell_bytes: int) -> None:
        """Count a batch.

        Raises:
            IntakeError: it is too large, or all together are, or take too long.
        """
        self.rows += rows
        self.cell_bytes += cell_bytes
        if cell_bytes > BATCH_BYTES_MAX:
            raise _too_large(f"{rows} rows with more than {BATCH_BYTES_MAX} bytes in their cells")
        if self.rows > ROWS_MAX:
            raise _too_large(f"more than {ROWS_MAX} rows")
        if self.cell_bytes > BYTES_MAX:
            raise _too_large(f"more than {BYTES_MAX} bytes in its cells")
        if clock.monotonic_us() - self.began_us > LOOK_US_MAX:
            raise _too_large(f"to be read for more than {LOOK_US_MAX // 1_000_000} seconds")


def _too_large(what: str) -> IntakeError:
    return IntakeError(where="the file", problem=f"has {what}; write several smaller files")


def read_rows(file: BinaryIO, wanted: Collection[str], begin: int, count: int) -> ParquetRows:
    """Read `count` rows from row `begin` (from 0); cells of columns not in `wanted` are empty.

    Raises:
        IntakeError: the file is not whole, damaged, too large, or a wanted column holds no text,
            number or time.
    """
    with _opened(file, wanted) as (found, names, texts):
        rows: list[tuple[str, ...]] = []
        for row in _raw_rows(found, [*texts], begin, Decoded()):
            if len(rows) >= count:
                break
            rows.append(_cells_of(row, names, texts))
        return ParquetRows(names=names, rows=tuple(rows), count=found.metadata.num_rows)


def every_row(file: BinaryIO, wanted: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names of the columns, then the cells of every row as `read_rows` has them.

    Raises:
        IntakeError: as `read_rows`.
    """
    with _opened(file, wanted) as (found, names, texts):
        yield names
        for row in _raw_rows(found, [*texts], 0, Decoded()):
            yield _cells_of(row, names, texts)


_Texts = dict[str, Callable[[object], str]]


def _cells_of(row: dict[str, Any], names: tuple[str, ...], texts: _Texts) -> tuple[str, ...]:
    return tuple(texts[name](row[name]) if name in texts else "" for name in names)


@contextmanager
def _opened(
    file: BinaryIO, wanted: Collection[str]
) -> Iterator[tuple[Any, tuple[str, ...], _Texts]]:
    """Open a file; give what decodes it, the names of its columns and how wanted ones are text."""
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(file) as first:
            names = _names_of(first)
            mine = [name for name in names if name in wanted]
            texts = {name: _text_of(first.schema_arrow.field(name), names) for name in mine}
            leaves = [first.schema.column(at) for at in range(len(first.schema))]
            coded = [
                one.path
                for one in leaves
                if one.path.partition(".")[0] in texts and one.physical_type == "BYTE_ARRAY"
            ]
            facts = first.metadata
            found = parquet.ParquetFile(
                file,
                metadata=facts,
                read_dictionary=coded,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            yield found, names, texts
    except (ArrowException, OSError, ValueError, OverflowError, MemoryError):
        raise IntakeError(where="the file", problem=_BROKEN) from None


def _names_of(found: Any) -> tuple[str, ...]:
    """Return the names of the columns of a file whose facts agree and are within bounds."""
    facts, names = found.metadata, tuple(found.schema_arrow.names)
    if len(names) > COLUMNS_MAX:
        raise IntakeError(
            where="the file", problem=f"{len(names)} columns; write at most {COLUMNS_MAX}"
        )
    if len(set(names)) != len(names):
        raise IntakeError(where="the file", problem="two columns have the same name")
    if facts.num_rows > ROWS_MAX:
        raise _too_large(f"{facts.num_rows} rows, more than {ROWS_MAX}")
    groups = [facts.row_group(at) for at in range(facts.num_row_groups)]
    for number, group in enumerate(groups, start=1):
        for unit, value, most in (
            ("bytes", group.total_byte_size, GROUP_BYTES_MAX),
            ("rows", group.num_rows, GROUP_ROWS_MAX),
        ):
            if value > most:
                problem = f"row group {number} has {value} {unit}; write row groups of at most"
                raise IntakeError(where="the file", problem=f"{problem} {most}")
    if facts.num_rows != (grouped := sum(group.num_rows for group in groups)):
        raise ValueError(f"{facts.num_rows} rows, but its groups have {grouped}")
    return names


def _raw_rows(
    found: Any, mine: list[str], begin: int, decoded: Decoded
) -> Iterator[dict[str, Any]]:
    """Yield rows from `begin` as Python values; row groups before it are not decoded."""
    first = 0
    for at in range(found.num_row_groups):
        rows = found.metadata.row_group(at).num_rows
        if begin < first + rows:
            yield from _rows_of_group(found, at, mine, max(0, begin - first), decoded)
        first += rows


def _rows_of_group(
    found: Any, at: int, mine: list[str], skip: int, decoded: Decoded
) -> Iterator[dict[str, Any]]:
    from pyarrow import timestamp, types

    done, expected = 0, found.metadata.row_group(at).num_rows
    batches = found.iter_batches(
        batch_size=BATCH_ROWS, row_groups=[at], columns=mine, use_threads=False
    )
    for whole in batches:
        decoded.add(whole.num_rows, sum(map(_bytes_of, whole.columns)))
        batch = whole.slice(min(whole.num_rows, max(0, skip - done)))
        done += whole.num_rows
        if done > expected:
            break
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            micros = column
            if types.is_timestamp(column.type) and column.type.unit == "ns":
                micros = column.cast(timestamp("us", tz=column.type.tz), safe=False)
            columns.append((name, micros.to_pylist()))
        for row in range(batch.num_rows):
            yield {name: values[row] for name, values in columns}
    if done != expected:
        # the library ends a column quietly at a page whose header is damaged
        raise ValueError(f"row group {at + 1} has {done} of {expected} rows")


def _bytes_of(column: Any) -> int:
    """Return how many bytes the cells of a column take as text, before they are decoded."""
    from pyarrow import compute, types

    if types.is_list(column.type) or types.is_large_list(column.type):
        return len(column) + _bytes_of(column.flatten())
    if not types.is_dictionary(column.type):
        return int(column.nbytes)
    words = column.dictionary
    if not (types.is_string(words.type) or types.is_large_string(words.type)):
        return int(column.nbytes)
    return int(compute.sum(compute.binary_length(words).take(column.indices)).as_py() or 0)


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
    problem = (
        f"holds {str(kind).partition('<')[0]}; write numbers, text, dates, times or lists of text"
    )
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
