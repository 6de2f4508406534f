"""The chore that watches for anomalous reasoning and opens the AI circuit breaker.

Rules:
- It reads committed records only. An anomaly begins a stop (`Stop.BREAKER`) with its figures and
  the record that completed it: from then on R29 holds what does not reduce a position.
- Where drafts are accepted as never before, or forecasts do not follow from their record, nothing
  is drafted any more either (`Stop.SECURE`).
- A forecast counts once, however many decisions rest on it.
- Records from before this start make what is usual, and begin no stop of their own: a stop that
  was in force is in force still, because stops are folded from records.
- After a stop the windows begin anew.

Not here: what is anomalous (`risk.windows.breaker`), who ends the stop (`desk.persons.stops`).
"""

from collections.abc import Callable
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.control.modes import DigestsRegistered
from gateway.walk.journal.control.stops import StopBegun
from gateway.walk.journal.forecast import ForecastFailed, RoundsCaptured
from gateway.walk.journal.run import ModelLoaded
from risk.state.state import Stop
from risk.windows.breaker import Breaker, OddSignal

WATCHED: Final = (
    Kind.RUN_STARTED,
    Kind.MODEL_LOADED,
    Kind.DIGESTS_REGISTERED,
    Kind.INTENT_RECEIVED,
    Kind.ROUNDS_CAPTURED,
    Kind.FORECAST_MADE,
    Kind.FORECAST_FAILED,
    Kind.STOP_BEGUN,
)
UNUSABLE: Final = frozenset(
    {"answer_malformed", "capture_invalid", "engine_frame", "forecast_invalid"}
)
"""Failures of what the model said, not of the machine that it runs on."""
THREATS: Final = frozenset({"acceptance", "unusable"})
"""Signals that may come of the drafts."""
Press = Callable[[Stop, str], object]


class BreakerWatch:
    """Reads on from where it stood; one thread calls `look`."""

    def __init__(self, reader: LedgerReader, press: Press) -> None:
        """Start with nothing read; `press` begins a stop."""
        self._reader = reader
        self._press = press
        self._breaker = Breaker()
        self._model = ""  # whose answers are usual
        self._loaded = ""  # in this run
        self._registered = ""
        self._said = False
        self._seq = -1
        self._since: int | None = None
        self._found: str | None = None
        self._threat: str | None = None

    def look(self) -> None:
        """Read what is new, and open the breaker for the newest anomaly.

        Raises:
            AuditError: the ledger does not answer, or takes no stop; the next call tries again.
        """
        size = self._reader.log_size()
        if self._since is None:
            self._since = size
        for record in self._reader.records(kinds=WATCHED, after_seq=self._seq, before_seq=size):
            found = self._take(record)
            if found is not None and record.seq >= self._since:
                self._found = f"{found.signal}: {found.says} (record {record.seq})"
                if found.signal in THREATS:
                    self._threat = self._found
            self._seq = record.seq
        self._seq = max(self._seq, size - 1)
        if self._loaded and self._registered not in {"", self._loaded} and not self._said:
            self._found = (
                f"model: {self._loaded[:16]} is loaded, and {self._registered[:16]} is registered"
            )
            self._said = True  # once a run: officers who end the stop have seen it
        if self._found is not None:
            self._press(Stop.BREAKER, self._found)
            # a crash here leaves the breaker open, which leaves every new order to a person
            if self._threat is not None:
                self._press(Stop.SECURE, self._threat)
            self._found = self._threat = None

    def _take(self, record: Record) -> OddSignal | None:
        """Return the anomaly that a record of what the model did completes."""
        match record.kind:
            case Kind.INTENT_RECEIVED:
                return self._breaker.decision(record.recorded_at_us)
            case Kind.ROUNDS_CAPTURED:
                rounds = RoundsCaptured.of(record)
                return self._breaker.drafts(rounds.drafted, rounds.accepted)
            case Kind.FORECAST_MADE:
                return self._breaker.answer(usable=True)
            case Kind.FORECAST_FAILED:
                unusable = ForecastFailed.of(record).reason in UNUSABLE
                return self._breaker.answer(usable=False) if unusable else None
            case _:
                self._note(record)
                return None

    def _note(self, record: Record) -> None:
        """Take what says which model answers, and that a stop began."""
        match record.kind:
            case Kind.RUN_STARTED:
                self._loaded = ""
            case Kind.DIGESTS_REGISTERED:
                self._registered = DigestsRegistered.of(record).digests.get("model", "")
            case Kind.MODEL_LOADED:
                self._loaded = ModelLoaded.of(record).manifest
                if self._loaded != self._model:
                    self._breaker.model()
                    self._model = self._loaded
            case Kind.STOP_BEGUN if StopBegun.of(record).stop == Stop.BREAKER:
                self._breaker.begin_anew()
            case _:
                pass
