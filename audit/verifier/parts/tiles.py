"""A folder of C2SP tlog-tiles: a log's hashes and headers."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from audit.verifier.parts.canonical import ENTRY_MAX
from audit.verifier.parts.records import Streams, known, read_header, say_unread
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Bad, Report, Unknown, judging
from audit.verifier.parts.tree import Tree, leaf_hash, node_hash
from audit.verifier.parts.trust.checkpoint import Outside, judge_head
from audit.verifier.parts.trust.keys import Trust
from audit.verifier.parts.trust.note import Head

TILE_WIDTH = 256


def read_within(path: Path) -> bytes | None:
    """Return a file's bytes, cut off beyond the longest valid tile; None if there is no file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(TILE_WIDTH * (ENTRY_MAX + 2) + 1)


class Tiles:
    """A folder of tiles, compared level by level with the tree that its entries make."""

    def __init__(self, report: Report, folder: Path, head: Head) -> None:
        self._report = report
        self._folder = folder
        self._head = head
        self._tree = Tree()
        self._above: list[list[bytes]] = []
        self._counts: list[int] = []
        self._streams = Streams()
        self._unread: Counter[tuple[str, int]] = Counter()
        self._foreign = 0

    def run(self, over: Callable[[range], Iterable[int]] = iter) -> None:
        """Judge every tile and entry; `over` may report progress."""
        size, report = self._head.size, self._report
        for n in over(range(-(-size // TILE_WIDTH))):
            width = min(TILE_WIDTH, size - n * TILE_WIDTH)
            hashes = self._hashes(0, n, width)
            entries = self._entries(n, width)
            if hashes is None and entries is None:
                return
            leaves = hashes or [leaf_hash(entry) for entry in entries or ()]
            for at, leaf in enumerate(leaves):
                self._tree.append(leaf)
                if entries is not None:
                    self._entry(n * TILE_WIDTH + at, entries[at], leaf)
            self._raise(0, leaves)
        for level, hashes in enumerate(self._above, 1):
            if hashes:
                self._hold(level, hashes)
        if self._tree.root() != self._head.root:
            report.find(TAMPERED, f"the tiles' tree of {size} is not the one signed")
        unread = f", {self._foreign} entries are not records: bytes only" if self._foreign else ""
        say_unread(report, self._unread)
        report.say(f"{size} entries, {len(self._streams.heads)} streams{unread}")

    def _raise(self, level: int, hashes: Sequence[bytes]) -> None:
        if len(hashes) < TILE_WIDTH:
            return
        if len(self._above) == level:
            self._above.append([])
            self._counts.append(0)
        row = list(hashes)
        while len(row) > 1:
            row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
        self._above[level].append(row[0])
        if len(self._above[level]) == TILE_WIDTH:
            full, self._above[level] = self._above[level], []
            self._hold(level + 1, full)
            self._counts[level] += 1
            self._raise(level + 1, full)

    def _hold(self, level: int, hashes: Sequence[bytes]) -> None:
        """Compare a stored tile above level 0 with the tiles below it."""
        n = self._counts[level - 1]
        stored = self._hashes(level, n, len(hashes))
        if stored is not None and stored != list(hashes):
            self._report.find(TAMPERED, f"tile {level}/{n} is not what the tiles below it make")

    def _hashes(self, level: int, n: int, width: int) -> list[bytes] | None:
        data = self._file(str(level), n, width)
        if data is None:
            return None
        if len(data) % 32 or len(data) // 32 not in {width, TILE_WIDTH}:
            raise Bad(f"tile {level}/{n} has {len(data)} bytes, not those of {width} hashes")
        return [data[i : i + 32] for i in range(0, 32 * width, 32)]

    def _entries(self, n: int, width: int) -> list[bytes] | None:
        data, at = self._file("entries", n, width), 0
        entries: list[bytes] = []
        if data is None:
            return None
        while at < len(data) and len(entries) <= TILE_WIDTH:
            start = at + 2
            at = start + int.from_bytes(data[at:start], "big")
            entries.append(data[start:at])
            if at > len(data):
                raise Bad(f"the entry bundle {n} is cut off")
        if len(entries) not in {width, TILE_WIDTH}:
            raise Bad(f"the entry bundle {n} has {len(entries)} entries, not {width}")
        return entries

    def _file(self, level: str, n: int, width: int) -> bytes | None:
        """Return a tile's bytes: the partial tile, or else the full one."""
        digits = str(n).zfill(-(-len(str(n)) // 3) * 3)
        parts = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        path = "/".join(["tile", level, *(f"x{part}" for part in parts[:-1]), parts[-1]])
        names = [path] if width == TILE_WIDTH else [f"{path}.p/{width}", path]
        for name in names:
            if (data := read_within(self._folder / name)) is not None:
                return data
        self._report.find(INCOMPLETE, f"{names[0]} is missing")
        return None

    def _entry(self, seq: int, entry: bytes, leaf: bytes) -> None:
        """Judge an entry's header; tiles have no payloads."""
        report = self._report
        if leaf_hash(entry) != leaf:
            report.find(TAMPERED, "the entry is not the one in its tile", seq)
        try:
            head = read_header(entry)
        except Bad:
            self._foreign += 1
            return
        if head["seq"] != seq or head["log"] != self._head.origin:
            report.find(TAMPERED, f"calls itself record {head['seq']} of {head['log']}", seq)
        self._streams.follow(report, head, leaf)
        if not known(head):
            self._unread[head["kind"], head["version"]] += 1


def verify_tiles(
    folder: Path, outside: Outside, over: Callable[[range], Iterable[int]] = iter
) -> Report:
    """Return the report on a folder of tiles: every hash, entry and stream."""
    with judging() as report:
        note = read_within(folder / "checkpoint")
        if note is None:
            raise Unknown(f"{folder} holds no checkpoint: not a folder of tiles")
        head = judge_head(report, Trust(outside.vkeys, outside.policy), note, outside)
        Tiles(report, folder, head).run(over)
    return report
