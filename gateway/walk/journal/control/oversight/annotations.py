"""Records of what persons remark about decisions: new records, which change no other one.

An annotation is in the control stream, because a decision's own stream ends with its seal.

Not here: who may annotate (`gateway.surfaces`).
"""

from enum import StrEnum

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from risk.windows.review import ReviewAnswer


class AnnotationSort(StrEnum):
    """A remark adds something; a dissent says that the person would have decided otherwise."""

    REMARK = "remark"
    DISSENT = "dissent"


class DecisionAnnotated(Contents, frozen=True, kw_only=True):
    """The contents of `decision_annotated`.

    Attributes:
        annotated_id: the decision; `decision_id` would seal it into its stream.
        instead: of a dissent, the order that the person would have wanted; None if not said.
        about_seq: the record of the decision that it is about; None: the whole decision.
    """

    annotated_id: str
    sort: AnnotationSort
    text: str
    actor_name: str
    role: str
    instead: ReviewAnswer | None = None
    about_seq: int | None = None


def decision_annotated(said: DecisionAnnotated, client_key: str) -> Draft:
    """A person's annotation; the same client key is one annotation."""
    payload = {name: value for name, value in said.document().items() if value is not None}
    return Draft(
        stream="control",
        kind=Kind.DECISION_ANNOTATED,
        payload=payload,
        actor=f"person:{said.actor_name}",
        idem_key=f"annotation:{said.annotated_id}:{said.actor_name}:{client_key}",
    )
