"""Records of cases: events that match an indicator of conduct, and what persons made of it.

A case lives in a stream of its own, `case/<id>`. Its id is a digest of indicator, instrument and
evidence, so that a restart opens no case twice.

Not here: the patterns (`risk.windows.conduct`), who may read a case (`gateway.surfaces`).
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.words import CaseState

CASE_KINDS: Final = (Kind.CASE_OPENED, Kind.CASE_NOTED, Kind.CASE_MOVED)
PREFIX: Final = "case/"
OPENED: Final = "opened"
"""The idempotency key of a case's first record."""
_ID_CHARS: Final = 24


class CaseOpened(RecordKind, frozen=True, kw_only=True):
    """A pattern is complete; the same evidence is one case.

    Attributes:
        who: the owner, or both agents, as the pattern names them.
        at_us: time of the last event on the market's clock.
        evidence: numbers of the records that match, oldest first.
        agents, accounts: of the orders among the evidence, sorted.
    """

    filing = Filing("case/{case_id}", OPENED)

    case_id: str
    indicator: str
    who: str
    instrument: str
    at_us: int
    evidence: tuple[int, ...]
    agents: tuple[str, ...]
    accounts: tuple[str, ...]


class CaseNoted(RecordKind, frozen=True, kw_only=True):
    """A person's note; the same client key is one note."""

    filing = Filing("case/{case_id}", "note:{client_key}", "person:{actor_name}")

    case_id: str
    text: str
    actor_name: str


class CaseMoved(RecordKind, frozen=True, kw_only=True):
    """A person's change of state; `number` is that of the case's records before it."""

    filing = Filing("case/{case_id}", "moved:{number}", "person:{actor_name}")

    case_id: str
    case_state: CaseState
    reason: str
    actor_name: str


def case_id_of(indicator: str, who: str, instrument: str, evidence: Sequence[int]) -> str:
    """Return the id of the case that these records make."""
    named: dict[str, JSON] = {
        "indicator": indicator,
        "who": who,
        "instrument": instrument,
        "evidence": list(evidence),
    }
    return hashlib.sha256(b"countersign.case/1\n" + canonical(named)).hexdigest()[:_ID_CHARS]
