"""What ends an act that was recorded by mistake: both officers sign its record and the reason.

Rules:
- The act's record stays, and verdicts before the end go on counting it.
- A kind that ends another is an `ActEnded` whose filing says what both officers sign (`signed`) and
  what it ends (`ends`); both verifiers then check the signatures, and that the act is on record.

Not here: who may end one (`gateway.desk.officers.oversight.ending`).
"""

from typing import Final

from audit.records.record_kind import RecordKind

END_LINES: Final = ("record {of_seq} {of_leaf}", "reason {reason:json}")


class ActEnded(RecordKind, frozen=True, kw_only=True):
    """Fields of every end.

    Attributes:
        ref: the name of the act.
        of_leaf: leaf hash of the act's record, hex; both officers signed it with the reason.
        ended_by: who sent it.
    """

    ref: str
    of_seq: int
    of_leaf: str
    reason: str
    signatures: dict[str, str]
    ended_by: str
