"""Complete lines of a growing file behind a position, and whether it is the same file still.

A row of Parquet is a line whose cells are there already; the first of them has the columns' names.

Rules:

- A line counts once its newline is there; what follows the last newline stays for later.
- A file is the same while the bytes around its read part are: the first 4 KiB and the last 4 KiB
  before the offset. Anything else was replaced or truncated, and is read from its start.
- Only regular files are read (`dropped`), in pieces of at most 256 KiB, or 10,000 rows of Parquet.
- A Parquet file is the same while its size, its first 4 KiB and its last 64 KiB are.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from gateway.feeds.files.dropped import is_folder, open_dropped
from gateway.feeds.files.parquet import every_row, read_rows
from gateway.feeds.files.state import FilePosition

PIECE: Final = 256 * 1024
LINE_MAX: Final = 64 * 1024
AROUND: Final = 4096
FOOTER: Final = 64 * 1024
ROWS: Final = 10_000
PARQUET: Final = ".parquet"
JSON_LINES: Final = frozenset({".ndjson", ".jsonl"})
SUFFIXES: Final = frozenset({".csv", PARQUET, *JSON_LINES})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLine:
    """One line: its number from 1, the offset behind it, what it holds; None if it is too long.

    Of Parquet: the row's number, which is the offset too, and its cells.
    """

    number: int
    end: int
    content: bytes | tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePiece:
    """What a look at a file found.

    Attributes:
        position: where the lines begin; the file's start if it is another file now.
        changed: `replaced`, `truncated` or empty.
        lines: complete lines.
        unread: bytes behind the position.
        rest: bytes of a line that has no newline yet, if everything else is in `lines`.
        mark: of the whole file, where it is marked as one; else empty.
    """

    position: FilePosition
    changed: str
    lines: tuple[FileLine, ...]
    unread: int
    rest: int
    mark: str = ""


def read_piece(
    path: Path, position: FilePosition, columns: Collection[str] = (), *, whole: bool = False
) -> FilePiece:
    """Read complete lines behind a position; `whole` says that nobody adds to the file any more.

    Args:
        path: the file.
        position: where to begin.
        columns: those of Parquet to read.
        whole: the last line needs no newline.

    Raises:
        OSError: the file is not there, is none that is read here, or cannot be read.
        IntakeError: it is Parquet, and not whole or damaged.
    """
    with open_dropped(path) as file:
        found = os.fstat(file.fileno())
        if is_parquet(path):
            return _rows_piece(file, found.st_size, position, columns)
        size, changed = found.st_size, ""
        if size < position.offset:
            changed = "truncated"
        elif mark_of(file.fileno(), position.offset) != position.mark and position.offset:
            changed = "replaced"
        start = position.again() if changed else position
        piece = os.pread(file.fileno(), PIECE, start.offset)
        at_end = start.offset + len(piece) >= size
        lines = tuple(_lines(file.fileno(), piece, start, size, last=whole and at_end))
        end = lines[-1].end if lines else start.offset
        return FilePiece(
            position=start,
            changed=changed,
            lines=lines,
            unread=size - start.offset,
            rest=start.offset + len(piece) - end if at_end else 0,
        )


def is_parquet(path: Path) -> bool:
    """Return whether a file is taken whole, row by row."""
    return path.suffix.lower() == PARQUET


def unit_of(path: Path) -> str:
    """Return what the items of a file are numbered by."""
    return "row" if is_parquet(path) else "line"


def all_lines(path: Path, columns: Collection[str]) -> Iterator[FileLine]:
    """Yield every line of a file, or the names of the columns (row 0) and every row.

    Raises:
        OSError: the file cannot be read.
        IntakeError: it is Parquet, and not whole or damaged.
    """
    if is_parquet(path):
        with open_dropped(path) as file:
            for number, cells in enumerate(every_row(file, columns)):
                content = _short(cells) if number else cells
                yield FileLine(number=number, end=number, content=content)
        return
    position = FilePosition(name=path.name)
    while lines := read_piece(path, position, columns, whole=True).lines:
        yield from lines
        end = lines[-1].end
        position = position.model_copy(
            update={"offset": end, "line": lines[-1].number, "mark": marked(path, end)}
        )


def _rows_piece(
    file: BinaryIO, size: int, position: FilePosition, columns: Collection[str]
) -> FilePiece:
    head = os.pread(file.fileno(), AROUND, 0)
    tail = os.pread(file.fileno(), FOOTER, max(0, size - FOOTER))
    mark = sha256(b"%d " % size + head + tail).hexdigest()
    changed = "replaced" if position.mark not in {"", mark} else ""
    start = position.again() if changed else position
    found = read_rows(file, columns, start.offset, ROWS)
    rows = [
        FileLine(number=number, end=number, content=_short(cells))
        for number, cells in enumerate(found.rows, start=start.offset + 1)
    ]
    if not start.header:
        rows.insert(0, FileLine(number=start.offset, end=start.offset, content=found.names))
    unread = found.count - start.offset
    return FilePiece(
        position=start, changed=changed, lines=tuple(rows), unread=unread, rest=0, mark=mark
    )


def _short(cells: tuple[str, ...]) -> tuple[str, ...] | None:
    return cells if sum(map(len, cells)) <= LINE_MAX else None


def marked(path: Path, offset: int) -> str:
    """Return the mark of a file's part before an offset.

    Raises:
        OSError: the file cannot be read.
    """
    with open_dropped(path) as file:
        return mark_of(file.fileno(), offset)


def mark_of(handle: int, offset: int) -> str:
    """Return SHA-256 (hex) of the first and the last bytes before an offset; empty at the start."""
    if not offset:
        return ""
    head = os.pread(handle, min(AROUND, offset), 0)
    tail = os.pread(handle, min(AROUND, offset), max(0, offset - AROUND))
    return sha256(b"%d %d " % (offset, len(head)) + head + tail).hexdigest()


def _lines(
    handle: int, piece: bytes, start: FilePosition, size: int, *, last: bool
) -> Iterator[FileLine]:
    number, begin = start.line, 0
    while (end := piece.find(b"\n", begin)) >= 0:
        number += 1
        content = piece[begin:end]
        yield FileLine(
            number=number,
            end=start.offset + end + 1,
            content=content if len(content) <= LINE_MAX else None,
        )
        begin = end + 1
    rest = len(piece) - begin
    if rest > LINE_MAX and begin == 0:
        behind = _behind_newline(handle, start.offset + len(piece), size)
        if behind or last:
            yield FileLine(number=number + 1, end=behind or size, content=None)
    elif last and rest:
        yield FileLine(
            number=number + 1,
            end=start.offset + len(piece),
            content=piece[begin:] if rest <= LINE_MAX else None,
        )


def _behind_newline(handle: int, offset: int, size: int) -> int:
    """Return the offset behind the next newline, 0 if there is none yet."""
    while offset < size:
        piece = os.pread(handle, PIECE, offset)
        if not piece:
            return 0
        if (end := piece.find(b"\n")) >= 0:
            return offset + end + 1
        offset += len(piece)
    return 0


def files_of(path: Path) -> list[str]:
    """Return the names of the files to follow: the file itself, or a folder's by name.

    Raises:
        OSError: there is nothing under this name, or it cannot be listed.
    """
    return (
        [path.name] if not is_folder(path) else [name for name, is_file in _named(path) if is_file]
    )


def not_followed(path: Path) -> str:
    """Return the first name in a folder that is no regular file, such as a link; or nothing.

    Raises:
        OSError: the folder cannot be listed.
    """
    return next((name for name, is_file in _named(path) if not is_file), "")


def _named(path: Path) -> list[tuple[str, bool]]:
    """Return the names with a suffix that is read, and whether each is a regular file."""
    with os.scandir(path) as found:
        return sorted(
            (one.name, one.is_file(follow_symlinks=False))
            for one in found
            if Path(one.name).suffix.lower() in SUFFIXES and not one.name.startswith(".")
        )
