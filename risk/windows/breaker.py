"""The AI circuit breaker: which forecasts and decisions, read in order, are no longer usual.

Rules:
- Whole numbers of what is on record only, so that whoever has the records finds the same trips.
- Acceptance: the mean share of drafts that the target accepted in the last `RECENT` forecasts lies
  more than `Z_MAX` robust deviations (1.4826 times the median absolute deviation, at least
  `SPREAD_MIN_BP`) from the median of the up to `USUAL` before them, once there are `USUAL_MIN`.
- Unusable: `UNUSABLE_MAX` of the last `ANSWERS` forecasts did not follow from their own record.
- Rate: more decisions in one minute than `RATE_FACTOR` times the median of the last `MINUTES` that
  had any, once `MINUTES_MIN` of them had, and at least `RATE_MIN`.
- After a trip every window begins anew, except for what was usual before it.

Not here: what a trip stops (`risk.rules.control.stops`) and who ends it (the gateway).

Source: Regulation (EU) 2017/589 art. 12 and 16 in spirit; own choice of the numbers.
"""

from collections import deque
from dataclasses import dataclass, field
from statistics import median_low
from typing import Final

BP: Final = 10_000
RECENT: Final = 16
USUAL: Final = 512
USUAL_MIN: Final = 64
Z_MAX: Final = 6
SPREAD_MIN_BP: Final = 300
UNUSABLE_MAX: Final = 3
ANSWERS: Final = 50
MINUTE_US: Final = 60_000_000
MINUTES: Final = 60
MINUTES_MIN: Final = 30
RATE_FACTOR: Final = 10
RATE_MIN: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class OddSignal:
    """A signal that is out of its usual range, in words with its figures."""

    signal: str
    says: str


@dataclass(slots=True)
class Breaker:
    """Reads what happened, in order; each call returns the anomaly that it completes, or None."""

    _usual: deque[int] = field(default_factory=lambda: deque(maxlen=USUAL))
    _recent: deque[int] = field(default_factory=deque)
    _answers: deque[bool] = field(default_factory=lambda: deque(maxlen=ANSWERS))
    _minutes: deque[int] = field(default_factory=lambda: deque(maxlen=MINUTES))
    _minute: int = -1
    _decisions: int = 0

    def model(self) -> None:
        """Another model answers from now on: nothing is usual yet."""
        self._usual.clear()
        self._recent.clear()
        self._answers.clear()

    def begin_anew(self) -> None:
        """Forget the windows; what was usual stays."""
        self._recent.clear()
        self._answers.clear()
        self._decisions = 0

    def drafts(self, drafted: int, accepted: int) -> OddSignal | None:
        """Take a forecast's drafts; one without drafts says nothing."""
        if drafted <= 0:
            return None
        self._recent.append(accepted * BP // drafted)
        if len(self._recent) > RECENT:
            self._usual.append(self._recent.popleft())
        if len(self._recent) < RECENT or len(self._usual) < USUAL_MIN:
            return None
        middle = median_low(self._usual)
        deviation = median_low([abs(one - middle) for one in self._usual])
        spread = max(14_826 * deviation // BP, SPREAD_MIN_BP)
        mean = sum(self._recent) // RECENT
        if abs(mean - middle) <= Z_MAX * spread:
            return None
        return OddSignal(
            signal="acceptance",
            says=f"{mean} bp of drafts accepted in the last {RECENT} forecasts, usually {middle}"
            f" with a spread of {spread} over {len(self._usual)}",
        )

    def answer(self, *, usable: bool) -> OddSignal | None:
        """Take a forecast that followed from its record, or did not."""
        self._answers.append(not usable)
        bad = sum(self._answers)
        if usable or bad < UNUSABLE_MAX:
            return None
        return OddSignal(
            signal="unusable",
            says=f"{bad} of the last {len(self._answers)} forecasts did not follow from their"
            " record",
        )

    def decision(self, at_us: int) -> OddSignal | None:
        """Take a decision that began at this time of the ledger's clock."""
        minute = at_us // MINUTE_US
        if minute != self._minute:
            if self._decisions:
                self._minutes.append(self._decisions)
            self._minute, self._decisions = minute, 0
        self._decisions += 1
        if len(self._minutes) < MINUTES_MIN:
            return None
        usual = median_low(self._minutes)
        if self._decisions != max(RATE_FACTOR * usual, RATE_MIN) + 1:
            return None  # said once a minute
        return OddSignal(
            signal="decision rate",
            says=f"{self._decisions} decisions in a minute, usually {usual}",
        )
