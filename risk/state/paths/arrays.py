"""Joint paths as arrays of 64-bit integers, and which of them trip a loss limit.

Not here: what a trip means (`losses.py`, which walks the same paths step by step).

Rules:
- Integers only. `fits` bounds every product and sum below 2^62 before any is made, because an
  array wraps around silently; what does not fit is walked with Python's integers.
- A forecast's paths are read and named once: they are frozen and judged many times, while an order
  is sized and again before it leaves.
- The name of paths is the SHA-256 of a line of JSON and a line feed, then of every move: instrument
  by instrument, step by step, path by path, each a signed little-endian number. The line is the
  list of tag, as-of, bar, rule's digest, symbols, steps, paths, and bytes of a number (4 or 8).
"""

import marshal
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from typing import Any, Final

import numpy as np
from msgspec import json
from numpy.typing import NDArray

from risk.errors import DocumentError
from risk.state.paths.joint import BookPaths, InstrumentPaths, days_of

Array = NDArray[np.int64]
_NONE: Final[Array] = np.empty((0, 0, 0), dtype=np.int64)
BP: Final = 10_000
TAIL: Final = 40
"""One in forty: a shortfall at 97.5 %."""
_NOBODY: Final = np.empty(0, dtype=np.intp)
_BOUND: Final = 2**62
_KEPT: Final = 64
_READ: Final[dict[int, tuple[BookPaths, "PathArrays"]]] = {}
"""By identity, because a copy with another number is another forecast; the paths are kept too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathArrays:
    """The moves of joint paths.

    Attributes:
        whole: Whether every move is an integer, and nothing else.
        low: Smallest move, 1e-8, at most 0.
        high: Largest one, at least 0.
        digest: Names the paths; empty if moves are no integers of 64 bits, or differ in shape. The
            following are empty then, too.
        symbols: The instruments.
        moves: Moves, shape [instruments, steps, paths].
        spans: Of each path the smallest move of each instrument, then each one's largest, shape
            [2 * instruments, 3 * paths]: of all steps, of today's steps, and from the start of a
            later day to a step of it.
        extremes: Of each instrument the smallest of each of the three over all paths, then the
            largest.
    """

    whole: bool
    low: int
    high: int
    digest: str = ""
    symbols: tuple[str, ...] = ()
    moves: Array = field(default_factory=lambda: _NONE)
    spans: Array = field(default_factory=lambda: _NONE)
    extremes: tuple[tuple[int, ...], ...] = ()

    @property
    def largest(self) -> int:
        """The largest move either way."""
        return max(-self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """Where the equity of a book stands, minor units, and what is left after a limit's loss, bp."""

    equity: int
    day_start: int
    peak: int
    day_left: int
    peak_left: int

    @property
    def largest(self) -> int:
        """The largest number among them."""
        return max(abs(self.equity), self.day_start, self.peak)


def arrays_of(paths: BookPaths) -> PathArrays:
    """Return the arrays of joint paths; made once for each of the last forecasts."""
    kept = _READ.get(id(paths))
    if kept is not None and kept[0] is paths:
        return kept[1]
    made = _read(paths)
    if len(_READ) >= _KEPT:
        _READ.clear()
    _READ[id(paths)] = (paths, made)
    return made


def paths_digest(paths: object) -> str:
    """Return the digest that names joint paths in a state and on record (hex SHA-256).

    Raises:
        DocumentError: A number is no integer of 64 bits, or paths differ in number or length.
    """
    if type(paths) is not BookPaths or not (found := arrays_of(paths).digest):
        raise DocumentError("joint paths that are not integers of 64 bits, or not of one shape")
    return found


def fits(scaled: int, floors: Floors, scale: int) -> bool:
    """Return whether paths whose scaled changes stay within `scaled` fit 64-bit arithmetic."""
    left = max(BP, abs(floors.day_left), abs(floors.peak_left))
    return scaled < _BOUND and (floors.largest + scaled // scale + 1) * left < _BOUND


def judged(
    read: PathArrays, values: Mapping[str, int], floors: Floors, days: Sequence[int], scale: int
) -> tuple[list[int], int]:
    """Return the worst 2.5 % of losses and the one before them, which stands last, and the trips.

    `values` are those of the book by instrument, `scale` times the change in value for a move.
    """
    held = [values.get(symbol, 0) for symbol in read.symbols]
    wanted = read.moves.shape[2] // TAIL
    ends = np.array(held, dtype=np.int64) @ read.moves[:, -1]
    worst = [-(end // scale) for end in np.partition(ends, wanted)[: wanted + 1].tolist()]
    left = _doubtful(read, held, floors, scale)
    if not left.size:
        return worst, 0
    changes = sum(moves[:, left] * value for moves, value in zip(read.moves, held, strict=True))
    return worst, trips_of(changes // scale, floors, days)


def _doubtful(
    read: PathArrays, held: Sequence[int], floors: Floors, scale: int
) -> NDArray[np.intp]:
    """Return the paths on which a limit may trip; on all others none does.

    A path's equity stays between what each instrument's smallest and largest move would make of it,
    and falls in a later day by no more than each one's largest fall would make it. The extremes of
    all paths, asked first, settle most books without an array.
    """
    if read.extremes and not _may_trip(*_outermost(read.extremes, held, scale), floors):
        return _NOBODY
    up, down = [max(one, 0) for one in held], [min(one, 0) for one in held]
    bounds = np.array((up + down, down + up), dtype=np.int64) @ read.spans // scale
    lows, highs = bounds.reshape(2, 3, -1)
    low, today, fall = lows.min(axis=1).tolist()
    if not _may_trip(low, int(highs[0].max()), today, fall, floors):
        return _NOBODY
    level, today, fall = lows
    return np.flatnonzero(_may_trip(level, highs[0], today, fall, floors))


def _outermost(
    extremes: Sequence[Sequence[int]], held: Sequence[int], scale: int
) -> tuple[int, int, int, int]:
    """Return what no path is below or above: lowest, highest, lowest today, largest fall."""
    low = high = today = fall = 0
    for value, (least, least_today, least_later, most, most_today, most_later) in zip(
        held, extremes, strict=True
    ):
        long = value >= 0
        low += value * (least if long else most)
        high += value * (most if long else least)
        today += value * (least_today if long else most_today)
        fall += value * (least_later if long else most_later)
    return low // scale, high // scale, today // scale, fall // scale


def _may_trip(low: Any, high: Any, today: Any, fall: Any, floors: Floors) -> Any:  # noqa: ANN401 - numbers, or arrays of them
    lowest, highest = low + floors.equity, high + floors.equity
    peak = (
        np.maximum(highest, floors.peak) if type(low) is np.ndarray else max(highest, floors.peak)
    )
    return (
        (lowest <= 0)
        | (lowest * BP < peak * floors.peak_left)
        | ((today + floors.equity) * BP < floors.day_start * floors.day_left)
        | (lowest * (BP - floors.day_left) + fall * BP < 0)
    )


def _spans(moves: Array, bar_us: int) -> Array:
    instruments, steps, paths = moves.shape
    if type(bar_us) is not int or bar_us < 1:
        return _NONE  # no rule judges such paths
    days = days_of(steps, bar_us)
    today = bisect_right(days, 0)
    line = np.zeros((instruments, steps + 1, paths), dtype=np.int64)
    line[:, 1:] = moves
    later = moves[:, today:] - line[:, [bisect_left(days, day) for day in days[today:]]]
    kinds = (moves, line[:, : today + 1], later if today < steps else line[:, :1])
    lows = np.concatenate([one.min(axis=1) for one in kinds], axis=1)
    highs = np.concatenate([one.max(axis=1) for one in kinds], axis=1)
    return np.concatenate((lows, highs))


def _extremes(spans: Array) -> tuple[tuple[int, ...], ...]:
    """Return of each instrument the smallest of each kind of span, then the largest."""
    if not spans.size:
        return ()
    lows, highs = spans.reshape(2, len(spans) // 2, 3, -1)
    pairs = zip(lows.min(axis=2).tolist(), highs.max(axis=2).tolist(), strict=True)
    return tuple((*low, *high) for low, high in pairs)


def trips_of(changes: Array, floors: Floors, days: Sequence[int]) -> int:
    """Return on how many paths of changes in value a loss limit trips.

    `changes` has shape [steps, paths] and fits; `days` is the day of each step. A path's verdict is
    the same as that of the walk: each step is compared with the start of its day and the peak until
    then, and a limit that has tripped by now does not trip again (a day's one: not today).
    """
    steps, paths = changes.shape
    line = np.empty((steps + 1, paths), dtype=np.int64)
    line[0] = floors.equity
    equity = np.add(changes, floors.equity, out=line[1:])
    scaled, now = equity * BP, floors.equity * BP
    tripped = equity.min(axis=0) <= 0
    if now >= floors.peak * floors.peak_left:
        peak = np.maximum(np.maximum.accumulate(equity, axis=0), floors.peak)
        tripped |= (scaled < peak * floors.peak_left).any(axis=0)
    today, floor = bisect_right(days, 0), floors.day_start * floors.day_left
    if today and now >= floor:
        tripped |= scaled[:today].min(axis=0) < floor
    if today < steps:
        # a day starts where the day before it ended; row 0 of the line is now
        starts = [bisect_left(days, day) for day in days[today:]]
        tripped |= (scaled[today:] < line[starts] * floors.day_left).any(axis=0)
    return int(np.count_nonzero(tripped))


def _read(paths: BookPaths) -> PathArrays:
    packed = [_packed(one) for one in paths.instruments]
    blocks = [block for block in packed if block is not None]
    if not blocks or len(blocks) < len(packed) or len({block.shape for block in blocks}) > 1:
        return _listed(paths)
    return _named(paths, np.stack(blocks))


def _packed(one: InstrumentPaths) -> NDArray[np.int32] | None:
    """Return moves of 32 bits as an array [steps, paths]; None for anything else.

    `marshal` writes a tuple and an integer with a sign for its type before it, so that a boolean or
    a float is told from a number; tuples of one length have one width.
    """
    moves = one.moves_1e8
    if type(moves) is not tuple or not moves or type(moves[0]) is not tuple or not moves[0]:
        return None
    paths, steps = len(moves), len(moves[0])
    try:
        data = marshal.dumps(moves, 2)
    except ValueError:
        return None
    width = 5 + 5 * steps
    if len(data) != 5 + paths * width:
        return None
    heads = np.ndarray((paths,), "u1", data, 5, (width,))
    lengths = np.ndarray((paths,), "<i4", data, 6, (width,))
    kinds = np.ndarray((paths, steps), "u1", data, 10, (width, 5))
    if (heads != _TUPLE).any() or (lengths != steps).any() or (kinds != _INTEGER).any():
        return None
    return np.ndarray((paths, steps), "<i4", data, 11, (width, 5)).T


_TUPLE, _INTEGER = ord("("), ord("i")


def _named(paths: BookPaths, stacked: NDArray[np.signedinteger[Any]]) -> PathArrays:
    """Return the arrays of moves of shape [instruments, steps, paths], with their name."""
    block = np.ascontiguousarray(stacked)
    symbols = [one.symbol for one in paths.instruments]
    heads = (paths.as_of_us, paths.bar_us, paths.rule_digest, symbols)
    size = block.itemsize
    digest = ""
    if _exact(paths, symbols):
        line = json.encode(("countersign.paths/2", *heads, *block.shape[1:], size))
        digest = sha256(b"%b\n%b" % (line, block.tobytes())).hexdigest()
    firsts = [symbols.index(one) for one in dict.fromkeys(symbols)]
    moves = block.astype(np.int64)[firsts]  # the first of a name counts, as in `BookPaths.of`
    spans = _spans(moves, paths.bar_us)
    return PathArrays(
        whole=True,
        low=int(block.min(initial=0)),
        high=int(block.max(initial=0)),
        digest=digest,
        symbols=tuple(dict.fromkeys(symbols)),
        moves=moves,
        spans=spans,
        extremes=_extremes(spans),
    )


def _exact(paths: BookPaths, symbols: Sequence[object]) -> bool:
    """Return whether what stands beside the moves is of its types."""
    numbers = type(paths.as_of_us) is int and type(paths.bar_us) is int
    texts = {str}.issuperset(map(type, (paths.rule_digest, *symbols)))
    return numbers and texts and type(paths.instruments) is tuple


def _listed(paths: BookPaths) -> PathArrays:
    """Read paths number by number: those of more than 32 bits, and whatever is none."""
    every = [list(chain.from_iterable(one.moves_1e8)) for one in paths.instruments]
    if not all({int}.issuperset(map(type, moves)) for moves in every):
        return PathArrays(whole=False, low=0, high=0)
    low = min((min(moves, default=0) for moves in every), default=0)
    high = max((max(moves, default=0) for moves in every), default=0)
    shapes = {
        (len(one.moves_1e8), len(path)) for one in paths.instruments for path in one.moves_1e8
    }
    unread = PathArrays(whole=True, low=min(0, low), high=max(0, high))
    if len(shapes) != 1:
        return unread
    (shape,) = shapes
    try:
        rows = [np.frombuffer(array("q", moves), dtype="<i8") for moves in every]
        return _named(paths, np.stack([row.reshape(shape).T for row in rows]))
    except (OverflowError, ValueError):
        return unread
