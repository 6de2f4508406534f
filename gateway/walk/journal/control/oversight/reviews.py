"""Records of blind reviews: the sample of a range of days, and each answer of a reviewer.

Not here: how a sample is drawn (`risk.windows.review`), what is shown (`gateway.desk`).
"""

from audit.records.record_kind import Filing, RecordKind
from risk.windows.review import ReviewAnswer


class ReviewDrawn(RecordKind, frozen=True, kw_only=True):
    """A sample; a range of days has one.

    Attributes:
        size: all proposals of the range are below this size of the log.
        root: the log's root at that size, which draws the sample.
        proposed: how many decisions were drawn from.
    """

    filing = Filing("control", "review:{first_day}:{last_day}", "person:{actor_name}")

    first_day: str
    last_day: str
    size: int
    root: str
    proposed: int
    decisions: tuple[str, ...]
    actor_name: str


class ReviewAnswered(RecordKind, frozen=True, kw_only=True):
    """A reviewer's answer; he has one for each decision of a sample.

    `sheet_digest` is that of what he was shown.
    """

    filing = Filing(
        "control", "review:{review_seq}:{reviewed_id}:{actor_name}", "person:{actor_name}"
    )

    review_seq: int
    reviewed_id: str
    answer: ReviewAnswer
    note: str
    sheet_digest: str
    actor_name: str
