"""The forecasts on record: which one stands for some inputs, and what decisions read of it.

A forecast is made once. Whoever has the same inputs gets the same one, whether this process or an
earlier one made it; it is read back from its records, never from what was in memory when it was
made, so a decision rests on nothing that is not on record.

Not here: making one (`gateway.walk.forecast`).
"""

import json
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.decision import ForecastNamed, ForecastTaken, GjrMade
from gateway.walk.journal.forecast import (
    AGAIN,
    OPENED,
    ForecastListed,
    ForecastMade,
    ForecastRequested,
    NewsTwinMade,
    PlaceboMade,
    SnapshotTaken,
)
from gateway.walk.ports import BlobsPort, OrderedLedger, RecordsPort
from inference.forecast.forecast import Forecast
from inference.snapshot import Snapshot, snapshot_from_document
from inference.speculation.seeds import decision_seed, prompt_label
from risk.forms.documents import value_of
from risk.state.paths.marginal import Marginal

KEPT: Final = 64
"""Forecasts that are kept as values; one of 1,024 paths of ten steps takes about 1.6 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingForecast:
    """A forecast as decisions read it: target and twins, with the paths that are on record.

    Attributes:
        named: the attempt that made it, as a decision names it.
        seed: of its samples, which nobody chose.
        gjr, news: None where there is no such twin.
        paths: the paths by the kind of their record; empty under a policy of format 1.
    """

    named: ForecastNamed
    snapshot: Snapshot
    seed: bytes
    target: Forecast
    placebo: Forecast
    gjr: Forecast | None
    news: NewsTwinMade | None
    paths: Mapping[Kind, Marginal]


@dataclass(slots=True, kw_only=True)
class ForecastHistory:
    """The attempts at one forecast: where the first opened, how many there were, which one made it.

    `open` says whether the newest has no seal, `again` how often it stood again. `first_seq` is the
    first attempt's opening record, right before its line of the index in one append.
    """

    instrument: str
    first_seq: int
    count: int = 0
    again: int = 0
    made: int | None = None
    open: bool = False


@dataclass(slots=True)
class _Turn:
    """Whose turn it is to make a forecast, and how many hold or wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


@dataclass(slots=True)
class _Naming:
    """Who lists or names an instrument's forecast, and whether the last record may yet come."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    in_doubt: bool = False


@dataclass
class ForecastsOnRecord:
    """Every forecast's attempts, and the newest forecasts as values; safe from any thread."""

    reader: LedgerReader
    _stands: dict[str, list[tuple[int, str, int]]] = field(default_factory=dict)
    _newest: dict[str, str] = field(default_factory=dict)
    _naming: dict[str, _Naming] = field(default_factory=dict)
    _found: dict[str, ForecastHistory] = field(default_factory=dict)
    _kept: OrderedDict[str, StandingForecast] = field(default_factory=OrderedDict)
    _makers: dict[str, _Turn] = field(default_factory=dict)
    _seq: int = -1
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def one_maker(self, forecast_id: str, within_s: float) -> Iterator[bool]:
        """Let one thread at a time make a forecast; the others wait, and find it made.

        Yield whether it is this thread's turn; it is not if another one is not done in time.
        """
        with self._lock:
            turn = self._makers.setdefault(forecast_id, _Turn())
            turn.users += 1
        held = turn.lock.acquire(timeout=within_s)
        try:
            yield held
        finally:
            if held:
                turn.lock.release()
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    self._makers.pop(forecast_id, None)

    @contextmanager
    def naming(self, instrument: str, ledger: OrderedLedger) -> Iterator[None]:
        """Hold the lock under which an instrument's standing forecast is listed or named.

        What stands when a decision looks still stands when it is on record that it looked. An
        append that had no answer in time is decided before anybody looks again.

        Raises:
            audit.errors.AuditError: it is still in doubt, or the ledger has stopped.
        """
        with self._lock:
            turn = self._naming.setdefault(instrument, _Naming())
        with turn.lock:
            if turn.in_doubt:
                ledger.resolve(f"instrument/{instrument}", "")  # answered in the appends' order
                turn.in_doubt = False
            try:
                yield
            except LedgerTimeoutError as error:
                turn.in_doubt = error.written is None
                raise

    def stands(self, instrument: str) -> str:
        """Return the id of the forecast that stands for an instrument, by its index; or nothing."""
        with self._lock:
            self._read(self.reader.log_size())
            lines = self._stands.get(instrument)
            return lines[-1][1] if lines else ""

    def stood(self, instrument: str, before: int) -> tuple[str, int] | None:
        """Return id and attempt of the forecast that stood before a record; None if none did."""
        with self._lock:
            self._read(before)
            lines = self._stands.get(instrument, [])
            place = bisect_left(lines, (before, "", 0))
            return lines[place - 1][1:] if place else None

    def attempts(self, forecast_id: str) -> ForecastHistory | None:
        """Return the attempts at a forecast by every record committed so far."""
        with self._lock:
            self._read(self.reader.log_size())
            return self._found.get(forecast_id)

    def open_attempts(self) -> Iterator[tuple[str, int, str]]:
        """Yield id, number and instrument of each attempt without a seal."""
        with self._lock:
            self._read(self.reader.log_size())
            found = [(name, one) for name, one in self._found.items() if one.open]
        for name, one in found:
            yield name, one.count - 1, one.instrument

    def newest(self) -> dict[str, str]:
        """Return the stream of each instrument's newest attempt."""
        with self._lock:
            self._read(self.reader.log_size())
            return dict(self._newest)

    def standing(self, forecast_id: str) -> StandingForecast | None:
        """Return the forecast if it is made."""
        with self._lock:
            found, kept = self.attempts(forecast_id), self._kept.get(forecast_id)
            if found is None or found.made is None:
                return None
            if kept is not None and kept.named.forecast_attempt == found.made:
                self._kept.move_to_end(forecast_id)
                return kept
        named = ForecastNamed(forecast_id=forecast_id, forecast_attempt=found.made)
        return self.keep(standing_of(self.reader.records(stream=named.stream), self.reader.blob))

    def made(self, forecast_id: str, attempt: int) -> StandingForecast:
        """Return the forecast of an attempt that is made.

        Raises:
            ValueError: a record or a blob of it is missing.
        """
        with self._lock:
            kept = self._kept.get(forecast_id)
            if kept is not None and kept.named.forecast_attempt == attempt:
                return kept
        named = ForecastNamed(forecast_id=forecast_id, forecast_attempt=attempt)
        return standing_of(self.reader.records(stream=named.stream), self.reader.blob)

    def keep(self, forecast: StandingForecast) -> StandingForecast:
        """Keep a forecast as a value; return it."""
        with self._lock:
            self._kept[forecast.named.forecast_id] = forecast
            self._kept.move_to_end(forecast.named.forecast_id)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return forecast

    def _read(self, size: int) -> None:
        if size <= self._seq + 1:
            return
        kinds, after = (Kind.FORECAST_LISTED,), self._seq
        for record in self.reader.records(kinds=kinds, after_seq=after, before_seq=size):
            listed = ForecastListed.of(record)
            known = self._found.setdefault(
                listed.forecast_id,
                ForecastHistory(instrument=listed.instrument, first_seq=record.seq - 1),
            )
            if listed.stands:
                known.made = listed.attempt
                line = (record.seq, listed.forecast_id, listed.attempt)
                self._stands.setdefault(listed.instrument, []).append(line)
            if listed.event == AGAIN:
                known.again += 1
                continue
            self._newest[listed.instrument] = f"forecast/{listed.name}"
            known.count, known.open = listed.attempt + 1, listed.event == OPENED
        self._seq = size - 1


def standing_of(records: Iterable[Record], blob: Callable[[str], bytes | None]) -> StandingForecast:
    """Return a forecast from the records of the attempt that made it.

    Raises:
        ValueError: a record or a blob of it is missing.
    """
    first = {record.kind: record for record in records}
    needed = {Kind.FORECAST_REQUESTED, Kind.FORECAST_MADE, Kind.PLACEBO_MADE}
    missing = {Kind.SNAPSHOT_TAKEN, *needed} - first.keys()
    if missing:
        message = f"the forecast has no {min(missing).value}"
        raise ValueError(message)
    taken, made = SnapshotTaken.of(first[Kind.SNAPSHOT_TAKEN]), first[Kind.FORECAST_MADE]
    asked = ForecastRequested.of(first[Kind.FORECAST_REQUESTED])
    target, placebo = ForecastMade.of(made), PlaceboMade.of(first[Kind.PLACEBO_MADE])
    gjr = GjrMade.of(first[Kind.GJR_MADE]) if Kind.GJR_MADE in first else None
    news = NewsTwinMade.of(first[Kind.NEWS_TWIN_MADE]) if Kind.NEWS_TWIN_MADE in first else None
    blobs = {
        Kind.FORECAST_MADE: target.paths_blob,
        Kind.PLACEBO_MADE: placebo.paths_blob,
        Kind.GJR_MADE: "" if gjr is None else gjr.paths_blob,
        Kind.NEWS_TWIN_MADE: "" if news is None else news.paths_blob,
    }
    return StandingForecast(
        named=ForecastNamed(
            forecast_id=taken.forecast_id,
            forecast_attempt=taken.attempt,
            of_seq=made.seq,
            of_leaf=made.leaf.hex(),
        ),
        snapshot=snapshot_from_document(json.loads(_bytes(blob, taken.snapshot_blob))),
        seed=decision_seed(
            bytes.fromhex(asked.seed_root), prompt_label(asked.prompt_ids), taken.attempt
        ),
        target=value_of(Forecast, target.forecast),
        placebo=value_of(Forecast, placebo.forecast),
        gjr=None if gjr is None or gjr.forecast is None else value_of(Forecast, gjr.forecast),
        news=news,
        paths={kind: _paths(blob, digest) for kind, digest in blobs.items() if digest},
    )


def _paths(blob: Callable[[str], bytes | None], digest: str) -> Marginal:
    return value_of(Marginal, json.loads(_bytes(blob, digest)))


def _bytes(blob: Callable[[str], bytes | None], digest: str) -> bytes:
    data = blob(digest)
    if data is None:
        message = f"the forecast's blob {digest} is missing"
        raise ValueError(message)
    return data


def forecast_named(reader: BlobsPort, taken: Record) -> StandingForecast | None:
    """Return the forecast that a `forecast_taken` names; None if it names none.

    Raises:
        ValueError: a record or a blob of it is missing.
    """
    said = ForecastTaken.of(taken).named
    if said.of_seq is None:
        return None
    return standing_of(reader.records(stream=said.stream), reader.blob)


def forecasts_of(reader: RecordsPort, own: Iterable[Record]) -> Iterator[tuple[Record, ...]]:
    """Yield the records of each forecast that a decision's records name, in their order."""
    seen: set[str] = set()
    for record in own:
        if record.kind is Kind.FORECAST_TAKEN:
            stream = ForecastTaken.of(record).named.stream
            if stream and stream not in seen:
                seen.add(stream)
                yield tuple(reader.records(stream=stream))


def with_forecasts(reader: RecordsPort, own: Iterable[Record]) -> tuple[Record, ...]:
    """Return a decision's records together with those of its forecasts, by number."""
    own = tuple(own)
    found = [one for records in forecasts_of(reader, own) for one in records]
    return tuple(sorted((*found, *own), key=lambda one: one.seq))


def decision_records(reader: RecordsPort, decision_id: str) -> tuple[Record, ...]:
    """Return the records of a decision together with those of its forecasts, by number."""
    return with_forecasts(reader, reader.records(stream=f"decision/{decision_id}"))
