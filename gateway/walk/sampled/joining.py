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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.decision import GjrMade
from gateway.walk.journal.forecast import ForecastMade
from gateway.walk.ports import Joined, PathSource, RecordsPort
from risk.errors import PathsError
from risk.forms.documents import value_of
from risk.state.book import Book
from risk.state.paths.joint import join_paths
from risk.state.paths.losses import instruments_of
from risk.state.paths.marginal import Marginal

PATH_KINDS: Final = (Kind.FORECAST_MADE, Kind.PLACEBO_MADE, Kind.GJR_MADE)

Joining = Callable[[Book], Joined | None]
"""Returns the paths of a whole book."""


def unjoined(_: Book) -> Joined | None:
    """Return no joint paths, as under a policy of format 1."""
    return None


class BlobsPort(RecordsPort, Protocol):
    """A reader of records and blobs."""

    def blob(self, digest: str) -> bytes | None:
        """Return a blob by its SHA-256, or None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPaths:
    """A forecast's own paths, and the record that has them."""

    kind: Kind
    seq: int
    marginal: Marginal


class PathsOnRecord:
    """Which paths are on record, by instrument; safe from any thread."""

    def __init__(self, reader: BlobsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._found: dict[tuple[Kind, str], list[tuple[int, str]]] = {}
        self._seq = -1
        self._lock = threading.Lock()

    def joining(self, own: OwnPaths | None) -> Joining:
        """Return what joins a forecast's paths with those of the rest of a book."""
        if own is None:
            return unjoined
        return lambda book: self.joined(own, instruments_of(book, own.marginal.instrument))

    def joined(self, own: OwnPaths, others: Sequence[str]) -> Joined | None:
        """Return the joint paths with these other instruments, or None if some are missing."""
        sources, marginals = [], []
        for symbol in others:
            source = self._newest(own.kind, symbol, own.seq)
            data = None if source is None else self._reader.blob(source.blob)
            if source is None or data is None:
                return None
            sources.append(source)
            marginals.append(value_of(Marginal, json.loads(data)))
        try:
            return Joined(paths=join_paths(own.marginal, marginals), sources=tuple(sources))
        except PathsError:
            return None

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
