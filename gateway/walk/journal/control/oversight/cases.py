"""Records of cases: events that match an indicator of conduct, and what persons made of it.

A case lives in a stream of its own, `case/<id>`. Its id is a digest of indicator, instrument and
evidence, so that a restart opens no case twice.

Not here: the patterns (`risk.windows.conduct`), who may read a case (`gateway.surfaces`).
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY

CASE_KINDS: Final = (Kind.CASE_OPENED, Kind.CASE_NOTED, Kind.CASE_MOVED)
PREFIX: Final = "case/"
OPENED: Final = "opened"
"""The idempotency key of a case's first record."""
_ID_CHARS: Final = 24


class CaseState(StrEnum):
    """What has become of a case."""

    OPEN = "open"
    REVIEW = "in review"
    REPORTED = "reported"
    CLOSED = "closed"


class CaseOpened(Contents, frozen=True, kw_only=True):
    """The contents of `case_opened`.

    Attributes:
        who: the owner, or both agents, as the pattern names them.
        at_us: time of the last event on the market's clock.
        evidence: numbers of the records that match, oldest first.
        agents, accounts: of the orders among the evidence, sorted.
    """

    case_id: str
    indicator: str
    who: str
    instrument: str
    at_us: int
    evidence: tuple[int, ...]
    agents: tuple[str, ...]
    accounts: tuple[str, ...]


class CaseNoted(Contents, frozen=True, kw_only=True):
    """The contents of `case_noted`."""

    case_id: str
    text: str
    actor_name: str


class CaseMoved(Contents, frozen=True, kw_only=True):
    """The contents of `case_moved`."""

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


def case_opened(case: CaseOpened) -> Draft:
    """A pattern is complete; the same evidence is one case."""
    return Draft(
        stream=PREFIX + case.case_id,
        kind=Kind.CASE_OPENED,
        payload=case.document(),
        actor=GATEWAY,
        idem_key=OPENED,
    )


def case_noted(note: CaseNoted, client_key: str) -> Draft:
    """A person's note; the same client key is one note."""
    return _by_person(Kind.CASE_NOTED, note, note.actor_name, f"note:{client_key}")


def case_moved(moved: CaseMoved, number: int) -> Draft:
    """A person's change of state; `number` is that of the case's records before it."""
    return _by_person(Kind.CASE_MOVED, moved, moved.actor_name, f"moved:{number}")


def _by_person(kind: Kind, said: CaseNoted | CaseMoved, actor: str, idem_key: str) -> Draft:
    return Draft(
        stream=PREFIX + said.case_id,
        kind=kind,
        payload=said.document(),
        actor=f"person:{actor}",
        idem_key=idem_key,
    )
