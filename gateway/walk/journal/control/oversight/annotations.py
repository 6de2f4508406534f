"""Records of what persons remark about decisions: new records, which change no other one.

An annotation is in the control stream, because a decision's own stream ends with its seal.

Not here: who may annotate (`gateway.surfaces`).
"""

from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.words import AnnotationSort
from risk.windows.review import ReviewAnswer


class DecisionAnnotated(RecordKind, frozen=True, kw_only=True):
    """An annotation of a person or an agent; the same client key is one annotation.

    Attributes:
        annotated_id: the decision; `decision_id` would seal it into its stream.
        instead: of a dissent, the order that the person would have wanted; None if not said.
        about_seq: the record of the decision that it is about; None: the whole decision.
    """

    filing = Filing(
        "control", "annotation:{annotated_id}:{actor_name}:{client_key}", "{author}:{actor_name}"
    )

    annotated_id: str
    sort: AnnotationSort
    text: str
    actor_name: str
    role: str
    instead: ReviewAnswer | None = None
    about_seq: int | None = None
