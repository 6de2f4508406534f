r"""Overwrites names in the logs of an installation while other processes append to them.

Our own logs carry no personal values, and `fix.durable.wire_log` overwrites the FIX engine's lines
after they were read. What remains are names that other code wrote; see decision 040.

Rules:

- A name is searched as bytes, in any case, composed or not: UTF-8, ISO 8859-1, JSON escapes, and
  UTF-8 read as ISO 8859-1, as FIX text is. Its words stand in their order, or begin with a later
  one ("Byron, Ada"). Names of fewer than three letters or six digits are too common and stay.
- Each byte is overwritten in place with a star: writers keep appending to the same file, owner and
  mode stay. A new file in its place would lose lines and leave the name in the old blocks.
- The places to overwrite are first noted durably, never the name (`cleaning.json`). A power cut
  within a name leaves half of it, which no search finds; the next run overwrites the noted places.
- Lines appended meanwhile are searched too; an unfinished line is waited for.
- Only bytes that were read are overwritten: a place that changed since is read again.
"""

import json
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from audit.files import appearing, sync_folder
from audit.privacy.names import is_telling, orders_of, plain_name

Ranges = list[tuple[int, int]]
Sought = tuple[bytes, re.Pattern[bytes]]
"""The longest run of plain letters and digits of a name, and the pattern of the name."""

WINDOW_BYTES = 1 << 16
OVERLAP_BYTES = 1 << 14
"""Longer than a name in any form with its context."""
LINE_WITHIN_S = 0.5
ROUNDS_MAX = 1000
_MARGIN_BYTES = 1 << 10
_POLL_S = 0.01
_EDGE = rb"(?!(?<=\w)\w)"
"""The end of a word of plain letters and digits."""
_START = rb"(?!(?<=\w)(?<!\\[nrtbf])(?<!\\u[0-9A-F]{4})\w)"
"""The start of a word, which may follow a JSON escape that ends in a letter or digit."""
_RUN = re.compile(rb"[a-z0-9]+")
_LATIN_MAX = "\xff"
_BLANKS = rb"[\s,]{1,40}"


def clean_logs(paths: Iterable[Path], names: Iterable[str], note: Path) -> None:
    """Overwrite names in files that may grow meanwhile; safe to repeat.

    The file `note` names the places before they are overwritten.

    Raises:
        OSError: a file could not be read or written; names may be left.
    """
    finish(note)
    if wanted := sought(names):
        for path in paths:
            _clean(path, wanted, note)


def finish(note: Path) -> None:
    """Overwrite the places that a crash left noted, if the file is still the same.

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
    """Return the patterns of these names; a name too short to tell has none."""
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
    """Return the pattern of a word, each of its characters in any case and form."""
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
    with path.open("r+b", buffering=0) as file:
        done, waited_s = 0, 0.0
        for _ in range(ROUNDS_MAX):
            size = os.fstat(file.fileno()).st_size
            if size < done:
                done = 0  # its writer truncated it
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
    last = os.pread(descriptor, 1, size - 1) if size else b"\n"
    return last != b"\n" and waited_s < LINE_WITHIN_S


def _clean_window(
    path: Path, descriptor: int, start: int, wanted: Sequence[Sought], note: Path
) -> bool:
    """Overwrite the names that begin in a window; return False if one changed meanwhile."""
    before = max(0, start - _MARGIN_BYTES)
    data = os.pread(descriptor, start - before + WINDOW_BYTES + OVERLAP_BYTES, before)
    hits = [(before + a, before + b) for a, b in places(data, wanted) if before + a >= start]
    same = [
        (a, b) for a, b in hits if os.pread(descriptor, b - a, a) == data[a - before : b - before]
    ]
    if same:
        said = {"path": str(path), "inode": os.fstat(descriptor).st_ino, "ranges": same}
        with appearing(note) as file:
            file.write(json.dumps(said).encode())
        _star(descriptor, same)
        note.unlink()
        sync_folder(note.parent)
    return len(same) == len(hits)


def places(data: bytes, wanted: Iterable[Sought]) -> Ranges:
    """Return the byte ranges of names."""
    lower = data.lower()
    found = [pattern.finditer(data) for run, pattern in wanted if run in lower]
    return sorted({match.span() for matches in found for match in matches})


def _star(descriptor: int, ranges: Iterable[Sequence[int]]) -> None:
    for start, end in ranges:
        os.pwrite(descriptor, b"*" * (end - start), start)
    os.fsync(descriptor)
