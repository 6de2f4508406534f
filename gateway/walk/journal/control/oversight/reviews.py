"""Records of blind reviews: the sample of a range of days, and each answer of a reviewer.

Not here: how a sample is drawn (`risk.windows.review`), what is shown (`gateway.desk`).
"""

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from risk.windows.review import ReviewAnswer


class ReviewDrawn(Contents, frozen=True, kw_only=True):
    """The contents of `review_drawn`.

    Attributes:
        size: all proposals of the range are below this size of the log.
        root: the log's root at that size, which draws the sample.
        proposed: how many decisions were drawn from.
    """

    first_day: str
    last_day: str
    size: int
    root: str
    proposed: int
    decisions: tuple[str, ...]
    actor_name: str


class ReviewAnswered(Contents, frozen=True, kw_only=True):
    """The contents of `review_answered`; `sheet_digest` is that of what the reviewer was shown."""

    review_seq: int
    reviewed_id: str
    answer: ReviewAnswer
    note: str
    sheet_digest: str
    actor_name: str


def review_drawn(review: ReviewDrawn) -> Draft:
    """A sample; a range of days has one."""
    return Draft(
        stream="control",
        kind=Kind.REVIEW_DRAWN,
        payload=review.document(),
        actor=f"person:{review.actor_name}",
        idem_key=f"review:{review.first_day}:{review.last_day}",
    )


def review_answered(answered: ReviewAnswered) -> Draft:
    """A reviewer's answer; he has one for each decision of a sample."""
    return Draft(
        stream="control",
        kind=Kind.REVIEW_ANSWERED,
        payload=answered.document(),
        actor=f"person:{answered.actor_name}",
        idem_key=f"review:{answered.review_seq}:{answered.reviewed_id}:{answered.actor_name}",
    )
