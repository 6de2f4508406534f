"""The orders that wait for a person, the one that ends first first, and those that ended last.

Not here: the answer and ending what nobody answered (`holds`).
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.bodies.model import RequestModel
from gateway.desk.holds.sheet import sheet_of
from gateway.desk.intake.answers import permalink_of
from gateway.walk.journal.contents import Ending
from gateway.walk.journal.verdict import (
    ApprovalGiven,
    ApprovalRefused,
    ApprovalRequested,
    VerdictGiven,
)
from gateway.walk.projections.outbox import Orders
from risk.verdict import Reason

ENDED_MAX: Final = 50
_ENDINGS: Final = (Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED, Kind.RESERVATION_RELEASED)
HoldState = Literal["waiting", "approved", "refused", "expired", "renewal_refused", "ended"]
_ENDED_AS: Final[dict[str, HoldState]] = {
    "hold_expired": "expired",
    "renewal_refused": "renewal_refused",
}


class HoldLine(RequestModel):
    """One order that a rule held for a person; quantities in lots, times in microseconds UTC."""

    decision_id: str
    permalink: Annotated[str, Field(description="the decision's page")]
    account: str
    author: str
    instrument: str
    side: str
    qty_lots: int
    limit_ticks: int
    target_exposure_bp: int
    held_by: Annotated[tuple[str, ...], Field(description="the rules and reasons that held it")]
    lifted: Annotated[
        tuple[str, ...], Field(description="limits that an exceptional override lifted for it")
    ]
    asked_us: int
    expires_us: int | None
    left_s: Annotated[int | None, Field(description="while it waits: seconds until it ends")]
    intent_digest: str
    sheet_digest: Annotated[str, Field(description="an approval names it; read the sheet first")]
    state: Annotated[
        HoldState,
        Field(
            description="expired: nobody answered in time; renewal_refused: a person agreed, and"
            " the order did not pass when it was judged again"
        ),
    ]
    answered_by: str
    note: str
    ended_us: int | None


class HoldList(RequestModel):
    """What waits for a person, and what ended last, newest first."""

    waiting: tuple[HoldLine, ...]
    ended: tuple[HoldLine, ...]


def hold_list(
    reader: LedgerReader, orders: Orders, wall_us: Callable[[], int], *, ended: int = ENDED_MAX
) -> HoldList:
    """Return the holds that wait now, and the last `ended` that do not wait any more."""
    names = [one.decision_id for one in orders.held()]
    now_us = wall_us()
    waiting = [line for name in names if (line := _line(reader, name, now_us)) is not None]
    waiting.sort(key=lambda line: (line.expires_us is None, line.expires_us, line.decision_id))
    past = reader.records(kinds=_ENDINGS, newest_first=True, limit=3 * ended)
    streams = [one.stream.removeprefix("decision/") for one in past]
    over = [one for one in dict.fromkeys(streams) if one not in names][:ended]
    lines = [line for name in over if (line := _line(reader, name, now_us)) is not None]
    return HoldList(waiting=tuple(waiting), ended=tuple(lines))


def _line(reader: LedgerReader, decision_id: str, now_us: int) -> HoldLine | None:
    """Return one hold; None if the decision waited for nobody."""
    records = tuple(reader.records(stream=f"decision/{decision_id}"))
    sheet = sheet_of(reader, decision_id, records)
    if sheet is None:
        return None
    asked = next(one for one in records if one.seq == sheet.asked_seq)
    held = [one for one in records if one.kind is Kind.VERDICT_GIVEN and one.seq < asked.seq][-1]
    given, question = VerdictGiven.of(held), ApprovalRequested.of(asked)
    state, answered_by, note, ended_us = _ending(records)
    left_s = None
    if state == "waiting" and question.expires_us is not None:
        left_s = max(0, question.expires_us - now_us) // 1_000_000
    verdict = given.verdict
    lifted = [one for one in verdict.results if one.reason is Reason.OVERRIDDEN]
    return HoldLine(
        decision_id=decision_id,
        permalink=permalink_of(decision_id),
        account=given.account,
        author=given.intent.author,
        instrument=given.intent.instrument,
        side=given.intent.side.value,
        qty_lots=given.intent.qty_lots,
        limit_ticks=given.intent.limit_ticks,
        target_exposure_bp=given.intent.target_exposure_bp,
        held_by=tuple(f"{one.rule_id.value} {one.reason.value}" for one in verdict.worst),
        lifted=tuple(f"{one.rule_id.value} {one.check}" for one in lifted),
        asked_us=asked.recorded_at_us,
        expires_us=question.expires_us,
        left_s=left_s,
        intent_digest=given.intent_digest,
        sheet_digest=sheet.digest,
        state=state,
        answered_by=answered_by,
        note=note,
        ended_us=ended_us,
    )


def _ending(records: Sequence[Record]) -> tuple[HoldState, str, str, int | None]:
    """Return the state of a hold, who answered, with which note, and when."""
    state: HoldState = "waiting"
    answered_by, note, ended_us = "", "", None
    for record in records:
        if record.kind is Kind.APPROVAL_GIVEN:
            said = ApprovalGiven.of(record)
            state, answered_by, note = "approved", said.approver, said.reason or ""
        elif record.kind is Kind.APPROVAL_REFUSED:
            no = ApprovalRefused.of(record)
            state, answered_by, note = "refused", no.approver, no.reason
        elif record.kind is Kind.RESERVATION_RELEASED:
            why = Ending.of(record).reason
            state = _ENDED_AS.get(why, "ended")
        else:
            continue
        ended_us = record.recorded_at_us
    return state, answered_by, note, ended_us
