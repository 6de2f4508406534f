"""What a person answered to held orders in a range of days, read from the records.

Not here: the answer itself (`answering`), what waits (`waiting`).
"""

from typing import Any

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.clock import range_us
from gateway.walk.journal.verdict import ApprovalGiven, ApprovalRefused

_ANSWERS = (Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED)


def answered_by(
    reader: LedgerReader, approver: str, first_day: str, last_day: str
) -> dict[str, Any]:
    """Return what a person approved and refused on these UTC days, oldest first.

    Raises:
        RequestError: a day is no date, or the range is too long or ends before it begins.
    """
    begins_us, ends_us = range_us(first_day, last_day)
    answers = []
    for record in reader.records(kinds=_ANSWERS):
        if not begins_us <= record.recorded_at_us < ends_us:
            continue
        approved = record.kind is Kind.APPROVAL_GIVEN
        said: ApprovalGiven | ApprovalRefused = (
            ApprovalGiven.of(record) if approved else ApprovalRefused.of(record)
        )
        if said.approver == approver:
            answers.append(
                {
                    "decision_id": record.stream.partition("/")[2],
                    "answer": "approved" if approved else "refused",
                    "at_us": record.recorded_at_us,
                    "reason": said.reason or "",
                    "seq": record.seq,
                    "leaf": record.leaf.hex(),
                }
            )
    return {
        "approver": approver,
        "first_day": first_day,
        "last_day": last_day,
        "answers": answers,
    }
