r"""Names overwritten in the logs of an installation, while others go on writing them.

Our own logs carry no personal values, and the FIX engine's lines are overwritten as soon as they
were read (`fix.durable.wire_log`). This is for what is left: a name that other code wrote.

Rules:

- A name is searched as bytes, in any case, composed or not: UTF-8, ISO 8859-1, JSON escapes, and
  UTF-8 taken for ISO 8859-1, as FIX text is. Its words stand in their order, or begin with a later
  one ("Byron, Ada"). A name of fewer than three letters or six digits could be any word: it stays.
- In place, star for byte: whoever holds the file open goes on appending to it, so no line is lost
  or displaced, owner and mode stay, and it is the old bytes that are overwritten. A new file put in
  the old one's place would lose lines, and leave the name in the blocks of the old one.
- Whole or made whole: what will be overwritten is noted first, durably, by place and never by name
  (`cleaning.json`). A power cut in the middle of a name leaves half of it, which no search finds;
  the next try overwrites the noted places before it searches.
- To the end: what is appended meanwhile is searched too, and the rest of a line is waited for.
- Only what was read is overwritten: a place that changed since is looked at again.
"""

import json
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from audit.files import sync_folder
from audit.privacy.names import is_telling, orders_of, plain_name

Ranges = list[tuple[int, int]]
Sought = tuple[bytes, re.Pattern[bytes]]
"""The longest run of plain letters and digits of a name, and what finds the name."""

WINDOW_BYTES = 1 << 16
OVERLAP_BYTES = 1 << 14
"""Longer than a name in any form, with what stands before it."""
LINE_WITHIN_S = 0.5
ROUNDS_MAX = 1000
_MARGIN_BYTES = 1 << 10
_POLL_S = 0.01
_EDGE = rb"(?!(?<=\w)\w)"
"""Not within a word of plain letters and digits."""
_START = rb"(?!(?<=\w)(?<!\\[nrtbf])(?<!\\u[0-9A-F]{4})\w)"
"""The same, but the letter or digit in which an escape of JSON ends is no word's."""
_RUN = re.compile(rb"[a-z0-9]+")
_LATIN_MAX = "\xff"
_BLANKS = rb"[\s,]{1,40}"


def clean_logs(paths: Iterable[Path], names: Iterable[str], note: Path) -> None:
    """Overwrite names in some files; safe to repeat, and beside those who append to them.

    Args:
        paths: the files.
        names: of the person who is forgotten.
        note: where the places are noted that are about to be overwritten.

    Raises:
        OSError: a file could not be read or written; names may be left.
    """
    finish(note)
    if wanted := sought(names):
        for path in paths:
            _clean(path, wanted, note)


def finish(note: Path) -> None:
    """Overwrite what a crash left noted, in the files that are still the same.

    Raises:
        OSError: a file could not be written.
    """
    if not note.exists():
        return
    noted = json.loads(note.read_bytes())
    path = Path(noted["path"])
    if path.exists():
        with path.open("r+b", buffering=0) as file:
            there = os.fstat(file.fileno())
            if there.st_ino == noted["inode"]:
                _star(file.fileno(), [r for r in noted["ranges"] if r[1] <= there.st_size])
    note.unlink()
    sync_folder(note.parent)


def sought(names: Iterable[str]) -> tuple[Sought, ...]:
    """Return what finds these names in bytes; nothing of one that could be any other word."""
    plain = [name for name in map(plain_name, names) if is_telling(name)]
    return tuple(
        (
            max(_RUN.findall(name.encode().lower()), key=len, default=b""),
            re.compile(_START + _BLANKS.join(map(_word, order)) + _EDGE, re.IGNORECASE),
        )
        for name in plain
        for order in orders_of(name)
    )


def _word(word: str) -> bytes:
    """Return what finds a word, each of its characters in any case and form."""
    return b"".join(b"(?:" + b"|".join(sorted(_forms(char))) + b")" for char in word)


def _forms(char: str) -> Iterator[bytes]:
    """Yield the bytes of a character, as parts of a regular expression."""
    cased = {char, char.lower(), char.upper(), char.casefold()}
    for text in {unicodedata.normalize(how, one) for how in ("NFC", "NFD") for one in cased}:
        raw = text.encode(errors="surrogatepass")
        for meant, written in (
            (text, raw),
            (raw.decode("latin-1"), raw.decode("latin-1").encode()),
        ):
            yield re.escape(written)
            yield re.escape(json.dumps(meant)[1:-1].encode()).replace(rb"\\", rb"\\+")
        if max(text) <= _LATIN_MAX:
            yield re.escape(text.encode("latin-1"))


def _clean(path: Path, wanted: Sequence[Sought], note: Path) -> None:
    """Search a file to its end, which may move."""
    with path.open("r+b", buffering=0) as file:
        done, waited_s = 0, 0.0
        for _ in range(ROUNDS_MAX):
            size = os.fstat(file.fileno()).st_size
            if size < done:
                done = 0  # begun anew by its writer
            elif size == done and not _is_cut(file.fileno(), size, waited_s):
                return
            elif size == done:
                waited_s += _POLL_S
                time.sleep(_POLL_S)
                continue
            start = max(0, done - OVERLAP_BYTES)
            while start < size:
                if _clean_window(path, file.fileno(), start, wanted, note):
                    start += WINDOW_BYTES
            done = size


def _is_cut(descriptor: int, size: int, waited_s: float) -> bool:
    """Say whether the rest of a line may still be on its way."""
    last = os.pread(descriptor, 1, size - 1) if size else b"\n"
    return last != b"\n" and waited_s < LINE_WITHIN_S


def _clean_window(
    path: Path, descriptor: int, start: int, wanted: Sequence[Sought], note: Path
) -> bool:
    """Overwrite the names that begin within a window; False if one changed under our eyes."""
    before = max(0, start - _MARGIN_BYTES)
    data = os.pread(descriptor, start - before + WINDOW_BYTES + OVERLAP_BYTES, before)
    hits = [(before + a, before + b) for a, b in places(data, wanted) if before + a >= start]
    same = [r for r in hits if os.pread(descriptor, r[1] - r[0], r[0]) == _cut(data, before, r)]
    if same:
        _note(note, path, os.fstat(descriptor).st_ino, same)
        _star(descriptor, same)
        note.unlink()
        sync_folder(note.parent)
    return len(same) == len(hits)


def places(data: bytes, wanted: Iterable[Sought]) -> Ranges:
    """Return the ranges of bytes that are a name."""
    lower = data.lower()
    found = [pattern.finditer(data) for run, pattern in wanted if run in lower]
    return sorted({match.span() for matches in found for match in matches})


def _cut(data: bytes, before: int, place: tuple[int, int]) -> bytes:
    return data[place[0] - before : place[1] - before]


def _star(descriptor: int, ranges: Iterable[Sequence[int]]) -> None:
    """Overwrite ranges of a file, durably."""
    for start, end in ranges:
        os.pwrite(descriptor, b"*" * (end - start), start)
    os.fsync(descriptor)


def _note(note: Path, path: Path, inode: int, ranges: Ranges) -> None:
    """Write down what is about to be overwritten, durable on return."""
    said = json.dumps({"path": str(path), "inode": inode, "ranges": ranges})
    scratch = note.with_suffix(".new")
    with scratch.open("w", encoding="utf-8") as file:
        file.write(said)
        file.flush()
        os.fsync(file.fileno())
    scratch.rename(note)
    sync_folder(note.parent)
