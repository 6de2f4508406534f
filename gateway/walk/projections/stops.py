"""The stops in force, overrides and the kill epoch, from records: they survive every restart.

Each press is a stop of its own, and a stop is in force while one of its presses has not ended.
While one is being recorded it already holds back what is handed to the broker, but no verdict,
because a replay must find what a verdict rested on.

Not here: who may stop and resume (`desk.persons.stops`), what a stop refuses
(`risk.rules.control.stops`).
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.kill import KillEpoch
from gateway.walk.journal.control.oversight.overrides import (
    OVERRIDE_KINDS,
    WITHDRAWN,
    Overrides,
)
from gateway.walk.journal.control.stops import (
    CancelAllAsked,
    CancelAllOutcome,
    StopBegun,
    StopEnded,
)
from gateway.walk.ports import RecordsPort
from risk.state.inputs.override import Override
from risk.state.state import Stop

STOP_KINDS: Final = (Kind.STOP_BEGUN, Kind.STOP_ENDED)
KILL_KINDS: Final = (Kind.KILL_PRESSED, Kind.KILL_RELEASED)


class Level(StrEnum):
    """How much the gateway does by itself, from everything to nothing."""

    FULL = "full"
    NO_SPECULATION = "no-speculation"
    BY_PERSONS = "by-persons"
    TEMPLATE = "template"
    NO_FORECAST = "no-forecast"
    REDUCE_ONLY = "reduce-only"
    HALT = "halt"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCancelAll:
    """A request to cancel every order whose sweep has not ended; `live` are its ClOrdIDs."""

    cancel_id: str
    live: tuple[str, ...]


def open_cancel_all(reader: RecordsPort) -> OpenCancelAll | None:
    """Return the newest request to cancel every order, if no outcome of it is on record."""
    found: OpenCancelAll | None = None
    kinds = (Kind.CANCEL_ALL_ASKED, Kind.CANCEL_ALL_OUTCOME)
    for record in reader.records(stream="control", kinds=kinds):
        if record.kind is Kind.CANCEL_ALL_ASKED:
            asked = CancelAllAsked.of(record)
            found = OpenCancelAll(cancel_id=asked.cancel_id, live=asked.live)
        elif found is not None and CancelAllOutcome.of(record).cancel_id == found.cancel_id:
            found = None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPress:
    """One press that has not ended."""

    stop: Stop
    stop_id: str
    actor: str
    reason: str
    seq: int
    recorded_at_us: int

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line."""
        return {
            "stop": self.stop.value,
            "stop_id": self.stop_id,
            "by": self.actor,
            "reason": self.reason,
            "seq": self.seq,
            "since_us": self.recorded_at_us,
        }


class LedgerKillEpoch:
    """The highest kill epoch that the ledger names, up to the last record read; 0 without any."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._seq = -1
        self.value = 0

    def read(self, size: int) -> None:
        """Fold the records below a size of the log."""
        if size <= self._seq + 1:
            return
        for record in self._reader.records(
            stream="control", kinds=KILL_KINDS, after_seq=self._seq, before_seq=size
        ):
            self.value = max(self.value, KillEpoch.of(record).kill_epoch)
        self._seq = size - 1


class Stops:
    """The stops and overrides, up to the last record read; safe from any thread."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self.overrides = Overrides()
        self._open: dict[str, StopPress] = {}
        self._beginning: list[Stop] = []
        self._ending: list[str] = []
        self._seq = -1
        self._lock = threading.Lock()

    def read(self, size: int) -> None:
        """Fold the records below a size of the log."""
        with self._lock:
            if size <= self._seq + 1:
                return
            before = self.overrides.unplaced  # asked for once
            for record in self._reader.records(
                stream="control",
                kinds=(*STOP_KINDS, *OVERRIDE_KINDS),
                after_seq=self._seq,
                before_seq=size,
            ):
                self._take(record)
            for granted in self.overrides.open[:1]:  # no verdict before the oldest used one of them
                for record in self._reader.records(
                    kinds=(Kind.VERDICT_GIVEN,),
                    after_seq=max(self._seq, granted.seq),
                    before_seq=size,
                ):
                    self.overrides.take(record)
            for over in [one for one in self.overrides.unplaced if one not in before]:
                for record in self._reader.records(
                    stream=f"decision/{over.used_by}",
                    kinds=(Kind.VERDICT_GIVEN,),
                    before_seq=size,
                ):
                    self.overrides.take(record)
            self._seq = size - 1

    def follow(self, batch: Sequence[Record]) -> None:
        """Fold a batch of the ledger's notifier; if it does not follow, read the log."""
        with self._lock:
            follows = batch[0].seq == self._seq + 1
            if follows:
                for record in batch:
                    self._take(record)
                self._seq = batch[-1].seq
        if not follows:
            self.read(batch[-1].seq + 1)

    @contextmanager
    def beginning(self, stop: Stop) -> Iterator[None]:
        """Hold back orders while a stop is being recorded, also if that fails or takes long."""
        with self._lock:
            self._beginning.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._beginning.remove(stop)

    @contextmanager
    def ending(self, override_id: str) -> Iterator[None]:
        """Hold back the order that used an override while the override's end is being recorded."""
        with self._lock:
            self._ending.append(override_id)
        try:
            yield
        finally:
            with self._lock:
                self._ending.remove(override_id)

    def override_over(self, used: Override, now_us: int) -> str:
        """Return why an order that passed under an override must not leave now, or nothing."""
        with self._lock:
            if used.override_id in self._ending:
                return WITHDRAWN
            return self.overrides.over(used, now_us)

    def open(self) -> tuple[StopPress, ...]:
        """Return the presses that have not ended, oldest first."""
        with self._lock:
            return tuple(sorted(self._open.values(), key=lambda one: one.seq))

    def in_force(self) -> tuple[Stop, ...]:
        """Return the stops in force on record, each once, in the order of `Stop`."""
        found = {one.stop for one in self.open()}
        return tuple(stop for stop in Stop if stop in found)

    def held_back(self, judged_under: Sequence[str] = ()) -> str:
        """Return why an approved order must not leave now, or the empty text.

        `judged_under` are the stops that its verdict was given under, and so passed.
        """
        with self._lock:
            found = {one.stop for one in self._open.values()} | set(self._beginning)
        passed = {*judged_under, Stop.SECURE}
        return next((f"stop_{one}" for one in Stop if one in found - passed), "")

    @property
    def state(self) -> str:
        """`ready`, or the stops in force; without names, because callers without a key read it."""
        found = ", ".join(one for one in self.in_force() if one is not Stop.SECURE)
        return f"{found} in force; countersign resume ends it" if found else "ready"

    def level(self, *, halted: bool, sampling: bool, template: bool = False) -> Level:
        """Return how much the gateway does by itself.

        `sampling` while the engine can be asked; `template` where the policy lets the table answer
        alone while it cannot.
        """
        found = self.in_force()
        if halted or Stop.PAUSE in found:
            return Level.HALT
        if Stop.REDUCE_ONLY in found:
            return Level.REDUCE_ONLY
        if not sampling and not template:
            return Level.NO_FORECAST
        if Stop.BREAKER in found:
            return Level.BY_PERSONS
        if not sampling:
            return Level.TEMPLATE
        return Level.NO_SPECULATION if Stop.SECURE in found else Level.FULL

    def _take(self, record: Record) -> None:
        if record.kind is Kind.STOP_BEGUN:
            begun = StopBegun.of(record)
            self._open[begun.stop_id] = StopPress(
                stop=Stop(begun.stop),
                stop_id=begun.stop_id,
                actor=begun.actor_name,
                reason=begun.reason,
                seq=record.seq,
                recorded_at_us=record.recorded_at_us,
            )
        elif record.kind is Kind.STOP_ENDED:
            for stop_id in StopEnded.of(record).stop_ids:
                self._open.pop(stop_id, None)
        else:
            self.overrides.take(record)
