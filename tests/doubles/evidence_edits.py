"""Golden evidence as a few bases and a table of edits: most of it differs by a few bytes.

The table `spoiled.json` says of each file which pieces it is put together from: `[base, start,
stop]` is a slice of a base, a string is base64 of bytes of its own. Whoever asks the verifiers
works in a folder in which every file is written out (`laid_out`).
"""

import atexit
import base64
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

TABLE: Final = "spoiled.json"
_WINDOW: Final = 12
_OWN_MAX: Final = 400
"""Bytes of its own that a file in the table may have; one with more is a base."""

Piece = list[str | int] | str
"""A slice of a base, or bytes of its own in base64."""


class Bases:
    """The files that are kept whole, and where each run of their bytes stands first."""

    def __init__(self) -> None:
        """Begin without any."""
        self.files: dict[str, bytes] = {}
        self._places: dict[bytes, tuple[str, int]] = {}

    def add(self, name: str, data: bytes) -> None:
        """Keep one more file whole."""
        self.files[name] = data
        for at in range(len(data) - _WINDOW + 1):
            self._places.setdefault(data[at : at + _WINDOW], (name, at))

    def pieces(self, data: bytes) -> list[Piece]:
        """Return what a file is put together from, by the first run found at each place."""
        found: list[Piece] = []
        own, at = bytearray(), 0
        while at < len(data):
            place = self._places.get(data[at : at + _WINDOW])
            if place is None:
                own.append(data[at])
                at += 1
                continue
            if own:
                found.append(base64.b64encode(own).decode())
                own.clear()
            name, start = place
            base, stop = self.files[name], start
            while at < len(data) and stop < len(base) and base[stop] == data[at]:
                stop, at = stop + 1, at + 1
            found.append([name, start, stop])
        if own:
            found.append(base64.b64encode(own).decode())
        return found


def told_apart(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], dict[str, list[Piece]]]:
    """Return which files are kept whole, and of all others what they are put together from."""
    bases, edits = Bases(), dict[str, list[Piece]]()
    for name, data in files.items():
        pieces = bases.pieces(data)
        own = sum(len(base64.b64decode(one)) for one in pieces if isinstance(one, str))
        if own <= _OWN_MAX and any(not isinstance(one, str) for one in pieces):
            edits[name] = pieces
        else:
            bases.add(name, data)
    return bases.files, edits


def table(edits: Mapping[str, Sequence[Piece]]) -> bytes:
    """Return the table of edits as it is kept, one file on a line."""
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(edits[name])}" for name in edits)
    return f"{{\n{rows}\n}}\n".encode()


def put_together(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the evidence that a folder keeps."""
    bases = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != TABLE
    }
    yield from bases.items()
    kept = folder / TABLE
    for name, pieces in json.loads(kept.read_bytes()).items() if kept.is_file() else ():
        yield (
            name,
            b"".join(
                base64.b64decode(one) if isinstance(one, str) else bases[one[0]][one[1] : one[2]]
                for one in pieces
            ),
        )


def laid_out(folder: Path) -> Path:
    """Return a folder in which every file is written out; it goes with this process."""
    there = Path(tempfile.mkdtemp(prefix="countersign-evidence-"))
    atexit.register(shutil.rmtree, there, ignore_errors=True)
    for name, data in put_together(folder):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(data)
    return there
