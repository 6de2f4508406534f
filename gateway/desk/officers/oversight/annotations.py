"""Annotations: what persons, and the agent that asked, remark about a decision.

Rules:
- An annotation is a new record under the author's name and role; no record is ever edited.
- An agent remarks on its own decisions alone, and reads back its own remarks alone.
- It has no effect: no rule, order or forecast reads it.

Not here: who may annotate (`surfaces`), blind answers (`reviews`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from audit.evidence.bundle import annotations_of
from audit.store.reader import LedgerReader
from gateway.desk.bodies.oversight import AnnotationBody, RemarkBody
from gateway.desk.intake.intents import author_in
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError, UnknownDecisionError
from gateway.installation.keys.keyring import Caller
from gateway.walk.journal.control.oversight.annotations import DecisionAnnotated
from gateway.walk.journal.words import AnnotationSort
from risk.windows.review import ReviewAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationLook:
    """One annotation as it is on record."""

    seq: int
    at_us: int
    said: DecisionAnnotated

    def document(self) -> dict[str, Any]:
        """Return it for the API; what was not said is null there and in no record."""
        unsaid = {"instead": None, "about_seq": None}
        return {"seq": self.seq, "at_us": self.at_us, **unsaid, **self.said.document()}


def annotate(
    own: DeskParts, caller: Caller, decision_id: str, body: AnnotationBody
) -> dict[str, Any]:
    """Put an annotation on record under the caller's name and role.

    Raises:
        UnknownDecisionError: no decision has this id.
        RequestError: `instead` is given without a dissent, or the record is another decision's.
        IdempotencyConflictError: the client key was used for other words.
    """
    stream = _stream(own.reader, decision_id)
    if body.instead is not None and body.sort != AnnotationSort.DISSENT:
        raise RequestError(problem="only a dissent says what you would have wanted instead")
    about = None if body.about_seq is None else own.reader.record(body.about_seq)
    if body.about_seq is not None and (about is None or about.stream != stream):
        raise RequestError(problem=f"record {body.about_seq} is not one of decision {decision_id}")
    said = DecisionAnnotated(
        annotated_id=decision_id,
        sort=AnnotationSort(body.sort),
        text=body.text,
        actor_name=caller.name,
        role=caller.role.value,
        instead=None if body.instead is None else ReviewAnswer(body.instead),
        about_seq=body.about_seq,
    )
    author = "agent" if said.role == "agent" else "person"
    (record,) = own.tools.ledger.append(said.draft(client_key=body.client_key, author=author))
    return {"seq": record.seq}


def remark(own: DeskParts, caller: Caller, decision_id: str, body: RemarkBody) -> dict[str, Any]:
    """Put an agent's remark on its own decision on record, beside what persons say of it.

    Raises:
        UnknownDecisionError: no decision of the caller has this id.
        RequestError: the record is another decision's.
        IdempotencyConflictError: the client key was used for other words.
    """
    if author_in(decision_id) != caller.name:
        raise UnknownDecisionError(problem=f"you asked for no decision {decision_id[:64]}")
    return annotate(own, caller, decision_id, AnnotationBody(**body.model_dump()))


def read_annotations(reader: LedgerReader, decision_id: str) -> tuple[AnnotationLook, ...]:
    """Return the annotations of a decision, oldest first.

    Raises:
        UnknownDecisionError: no decision has this id.
    """
    _stream(reader, decision_id)
    return tuple(looks_of(reader, decision_id))


def looks_of(reader: LedgerReader, decision_id: str) -> Iterator[AnnotationLook]:
    """Yield the annotations of a decision that is known to exist, oldest first."""
    for record in annotations_of(reader, decision_id):
        yield AnnotationLook(
            seq=record.seq, at_us=record.recorded_at_us, said=DecisionAnnotated.of(record)
        )


def _stream(reader: LedgerReader, decision_id: str) -> str:
    stream = f"decision/{decision_id}"
    known = stream.isprintable() and next(iter(reader.records(stream=stream, limit=1)), None)
    if not known:
        raise UnknownDecisionError(problem=f"no decision {decision_id[:64]}")
    return stream
