"""The state: everything that a verdict depends on besides policy and intent.

Not here: how the gateway gathers it.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inference.forecast.forecast import Forecast
from risk.intent import Intent, intent_digest, intent_fingerprint
from risk.numbers.standing import PolicyStatus
from risk.state.book import Book
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.override import Override
from risk.state.instrument import Instrument

HISTORY_US: Final = 60_000_000
"""How far back `relevant_history` reaches; a duplicate window may not be longer."""


class Phase(StrEnum):
    """Trading phase of the instrument's market."""

    OPEN = "OPEN"
    AUCTION = "AUCTION"
    HALTED = "HALTED"
    CLOSED = "CLOSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Best bid and ask at a market time; `seq_gap` counts market data messages missing before."""

    bid_ticks: int
    ask_ticks: int
    time_us: int
    seq_gap: int
    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class KillState:
    """The kill latch; the ledger's epoch and that of the kill word (`egress_epoch`) must agree."""

    killed: bool
    kill_epoch: int
    egress_epoch: int


class Stop(StrEnum):
    """A stop apart from the kill.

    Attributes:
        PAUSE: no new order.
        REDUCE_ONLY: only orders that reduce a position.
        BREAKER: the AI circuit breaker: what does not reduce a position waits for a person.
        SECURE: secure reasoning: the target samples alone, nothing is drafted; no rule reads it.
    """

    PAUSE = "pause"
    REDUCE_ONLY = "reduce-only"
    BREAKER = "breaker"
    SECURE = "secure"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenIntent:
    """An intent that was judged before, with any verdict."""

    decision_id: str
    intent_digest: str
    fingerprint: str
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskState:
    """Everything that rules read besides policy and intent.

    Attributes:
        now_us: Market time of the evaluation.
        forecast: The forecast behind the intent.
        narrative_as_of_us: Market time up to which the narrative is complete, None if unknown.
        recent: Intents judged before, as `relevant_history` selects them.
        renewal: True if a held or approved intent is judged again; its own reservation and earlier
            verdicts are then left out.
        narrative_absent: True if no feed delivers a narrative, so that its age limits nothing.
        book_differs: True while the instrument's book differs from the broker's reports and no
            person has resolved it.
        stops: The stops in force, each once, in the order of `Stop`.
        inputs: What rules of format 2 read besides; None under a policy of format 1.
        override: The exceptional override that this verdict uses; None for all others.
    """

    now_us: int
    book: Book
    instrument: Instrument
    quote: Quote | None
    forecast: Forecast | None
    narrative_as_of_us: int | None
    kill: KillState
    recent: tuple[SeenIntent, ...]
    policy_status: PolicyStatus
    renewal: bool = False
    book_differs: bool = False
    narrative_absent: bool = False
    stops: tuple[Stop, ...] = ()
    inputs: Inputs | None = None
    override: Override | None = None


def seen(intent: Intent, now_us: int) -> SeenIntent:
    """Return the history entry of a judged intent."""
    return SeenIntent(
        decision_id=intent.decision_id,
        intent_digest=intent_digest(intent),
        fingerprint=intent_fingerprint(intent),
        time_us=now_us,
    )


def relevant_history(
    history: Iterable[SeenIntent], intent: Intent, now_us: int
) -> tuple[SeenIntent, ...]:
    """Return the entries for a state: this intent at any age, all others of the last minute."""
    wanted = intent_digest(intent)
    kept = {
        entry
        for entry in history
        if entry.intent_digest == wanted
        or entry.decision_id == intent.decision_id
        or entry.time_us >= now_us - HISTORY_US
    }
    return tuple(sorted(kept, key=lambda e: (e.time_us, e.decision_id, e.intent_digest)))


class SeenIntents:
    """The intents judged before, of any age; what is relevant of them costs no look at the rest."""

    def __init__(self) -> None:
        """Start with none."""
        self._by_time: list[SeenIntent] = []
        self._by_name: dict[str, list[SeenIntent]] = {}

    def add(self, entry: SeenIntent) -> None:
        """Add one; times need not rise."""
        insort(self._by_time, entry, key=_time)
        for name in {entry.intent_digest, entry.decision_id}:
            self._by_name.setdefault(name, []).append(entry)

    def relevant(self, intent: Intent, now_us: int) -> tuple[SeenIntent, ...]:
        """Return what `relevant_history` does."""
        since = bisect_left(self._by_time, now_us - HISTORY_US, key=_time)
        named = (intent_digest(intent), intent.decision_id)
        alike = (one for name in named for one in self._by_name.get(name, ()))
        return relevant_history((*self._by_time[since:], *alike), intent, now_us)


def _time(entry: SeenIntent) -> int:
    return entry.time_us
