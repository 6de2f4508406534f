"""The paths of the whole book: a forecast's own, and the newest on record of everything else held.

Nothing is joined under a policy of format 1.

Rules:
- Only forecasts before the decision's own count, so a replay finds the same ones.
- The target's paths are joined with the target's, a twin's with those of the same twin.
- Without paths of something that the book holds there are no joint paths; sizing then makes no
  order, and the rules refuse what raises risk.
"""

import json
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.decision import GjrMade
from gateway.walk.journal.forecast import ForecastMade
from gateway.walk.ports import BlobsPort, Joined, OwnPaths, PathSource
from risk.errors import PathsError
from risk.forms.documents import value_of
from risk.state.book import Book
from risk.state.paths.joint import join_paths
from risk.state.paths.losses import instruments_of
from risk.state.paths.marginal import Marginal

KEPT: Final = 64
"""Paths that are kept as values; 1,024 of ten steps take about 0.4 MB."""
JOINED_KEPT: Final = 32
"""Joint paths that are kept: a forecast is judged by the same ones until another one stands."""
PATH_KINDS: Final = (Kind.FORECAST_MADE, Kind.PLACEBO_MADE, Kind.GJR_MADE)

_Members = tuple[int, tuple[PathSource, ...]]
"""Own paths by their identity, because they are large; they are kept as long as it stands."""

Joining = Callable[[Book], Joined | None]
"""Returns the paths of a whole book."""


def unjoined(_: Book) -> Joined | None:
    """Return no joint paths, as under a policy of format 1."""
    return None


class PathsOnRecord:
    """Which paths are on record, by instrument; safe from any thread."""

    def __init__(self, reader: BlobsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._found: dict[tuple[Kind, str], list[tuple[int, str]]] = {}
        self._kept: OrderedDict[str, Marginal] = OrderedDict()
        self._joined: OrderedDict[_Members, tuple[Marginal, Joined | None]] = OrderedDict()
        self._seq = -1
        self._lock = threading.Lock()

    def joining(self, own: OwnPaths | None) -> Joining:
        """Return what joins a forecast's paths with those of the rest of a book."""
        if own is None:
            return unjoined
        return lambda book: self.joined(own, instruments_of(book, own.marginal.instrument))

    def joined(self, own: OwnPaths, others: Sequence[str]) -> Joined | None:
        """Return the joint paths with these other instruments, or None if some are missing."""
        sources = [self._newest(own.kind, symbol, own.seq) for symbol in others]
        found = tuple(one for one in sources if one is not None)
        if len(found) < len(sources):
            return None
        members = (id(own.marginal), found)
        with self._lock:
            if members in self._joined:
                self._joined.move_to_end(members)
                return self._joined[members][1]
        made = self._made(own.marginal, found)
        with self._lock:
            self._joined[members] = own.marginal, made
            while len(self._joined) > JOINED_KEPT:
                self._joined.popitem(last=False)
        return made

    def _made(self, own: Marginal, sources: tuple[PathSource, ...]) -> Joined | None:
        marginals = [found for one in sources if (found := self._marginal(one.blob)) is not None]
        if len(marginals) < len(sources):
            return None
        try:
            return Joined(paths=join_paths(own, marginals), sources=sources)
        except PathsError:
            return None

    def _marginal(self, digest: str) -> Marginal | None:
        """Return the paths of a blob, which are read once as long as they are kept."""
        with self._lock:
            if digest in self._kept:
                self._kept.move_to_end(digest)
                return self._kept[digest]
        data = self._reader.blob(digest)
        if data is None:
            return None
        found = value_of(Marginal, json.loads(data))
        with self._lock:
            self._kept[digest] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def _newest(self, kind: Kind, symbol: str, before: int) -> PathSource | None:
        with self._lock:
            self._read(before)
            found = self._found.get((kind, symbol), [])
            place = bisect_left(found, (before, ""))
            if place == 0:
                return None
            seq, blob = found[place - 1]
            return PathSource(instrument=symbol, seq=seq, blob=blob)

    def _read(self, size: int) -> None:
        if size <= self._seq + 1:
            return
        for record in self._reader.records(kinds=PATH_KINDS, after_seq=self._seq, before_seq=size):
            made = _made(record)
            if made.paths_blob:
                known = self._found.setdefault((record.kind, made.instrument), [])
                known.append((record.seq, made.paths_blob))
        self._seq = size - 1


def _made(record: Record) -> ForecastMade | GjrMade:
    return (GjrMade if record.kind is Kind.GJR_MADE else ForecastMade).of(record)
