"""What the rules may look at for one intent: market, book, forecast, kill latch, history, policy.

Not here: how the gateway gathers it. A state is a value with a digest; everything the verdict
depends on besides policy and intent is in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inference.forecast.forecast import Forecast
from risk.canonical import JSON, digest
from risk.documents import document_of, value_of
from risk.intent import Intent, intent_digest, intent_fingerprint
from risk.policy.signing import PolicyStatus
from risk.state.book import Book
from risk.state.instrument import Instrument

HISTORY_US: Final = 60_000_000
"""How far back `relevant_history` reaches; duplicate windows may not be longer."""


class Phase(StrEnum):
    """Phase of the instrument's market."""

    OPEN = "OPEN"
    AUCTION = "AUCTION"
    HALTED = "HALTED"
    CLOSED = "CLOSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Best bid and ask of an instrument.

    Attributes:
        time_us: Market time of the quote.
        seq_gap: Market data messages known to be missing before it.
    """

    bid_ticks: int
    ask_ticks: int
    time_us: int
    seq_gap: int
    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class KillState:
    """The kill latch as the section saw it.

    Attributes:
        kill_epoch: Epoch of the latch in the ledger's fold.
        egress_epoch: Epoch in the word that the egress reads; they must agree.
    """

    killed: bool
    kill_epoch: int
    egress_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenIntent:
    """An intent that was judged before, whatever the verdict was."""

    decision_id: str
    intent_digest: str
    fingerprint: str
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskState:
    """Everything the rules see besides policy and intent.

    Attributes:
        now_us: Market time of the evaluation.
        book: Fold of the account's committed records.
        instrument: Reference data of the intent's instrument.
        quote: Its market, None if there is none.
        forecast: The forecast that the intent rests on, None if there is none.
        narrative_as_of_us: Market time up to which the narrative is complete, None if unknown.
        kill: The kill latch.
        recent: Intents judged before, as `relevant_history` selects them.
        policy_status: What signature verification said.
        renewal: True when a held or approved intent is judged again; its own reservation and its
            own earlier verdicts are then left out.
        book_differs: True while the instrument's book and the broker's reports are apart and nobody
            has resolved it.
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


def seen(intent: Intent, now_us: int) -> SeenIntent:
    """The entry that a judged intent leaves in the history."""
    return SeenIntent(
        decision_id=intent.decision_id,
        intent_digest=intent_digest(intent),
        fingerprint=intent_fingerprint(intent),
        time_us=now_us,
    )


def relevant_history(
    history: Iterable[SeenIntent], intent: Intent, now_us: int
) -> tuple[SeenIntent, ...]:
    """Select what a state carries: this intent at any age, all others of the last minute."""
    wanted = intent_digest(intent)
    kept = {
        entry
        for entry in history
        if entry.intent_digest == wanted
        or entry.decision_id == intent.decision_id
        or entry.time_us >= now_us - HISTORY_US
    }
    return tuple(sorted(kept, key=lambda e: (e.time_us, e.decision_id, e.intent_digest)))


def state_document(state: RiskState) -> dict[str, JSON]:
    """Write a state as a document.

    Raises:
        DocumentError: A field holds a value outside the profile.
    """
    document = document_of(state)
    if not state.book_differs:
        # left out when false: states of before there was this field keep their digest
        del document["book_differs"]
    return document


def state_from_document(document: object) -> RiskState:
    """Read a state back, for replay in another process.

    Raises:
        DocumentError: Not a state's document.
        inference.errors.ForecastError: The forecast in it does not parse.
    """
    if type(document) is dict:
        document = {"book_differs": False} | document
    return value_of(RiskState, document)


def state_digest(state: RiskState) -> str:
    """Digest of everything the rules see (hex SHA-256)."""
    return digest("countersign.state/1", state_document(state))
