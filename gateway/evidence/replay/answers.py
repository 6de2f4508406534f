"""Replay of what persons answered to a held order, and of reservations that ended."""

from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.holds.sheet import sheet_of, shows_read
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches, same
from gateway.evidence.replay.past import Past
from gateway.walk.journal import verdict as journal_verdicts
from gateway.walk.journal.contents import Ending
from risk.approved import grant
from risk.intent import Intent


def approval_requested(past: Past, record: Record) -> str:
    """Compare the question with the verdict that asks it."""
    case = past.opened(record)
    held = past.last(Kind.VERDICT_GIVEN, before=record)
    intent = past.attempt(record, 0).intent
    if intent is None:
        raise ReplayDiffersError(step="approval_requested", detail="no intent_proposed before it")
    until = _until(past, record, held, intent)
    matches(record, journal_verdicts.approval_requested(case, held, intent, until=until))
    return "a person was asked"


def _until(past: Past, record: Record, held: Record, intent: Intent) -> dict[str, Any]:
    """Return what the person was told; the end is a clock's reading, and bounded."""
    ends_us = journal_verdicts.ApprovalRequested.of(record).expires_us
    latest_us = held.recorded_at_us + past.policy.approval.ttl.value
    if type(ends_us) is not int or ends_us > latest_us:
        raise ReplayDiffersError(step="approval_requested", detail="payload.expires_us")
    verdict = journal_verdicts.VerdictGiven.of(held).verdict
    return journal_verdicts.asked_until(past.policy, intent, verdict, ends_us)


def approval_resumed(past: Past, record: Record) -> str:
    """Compare whose hold a later run keeps, until the same end and on the same terms."""
    case = past.opened(record)
    said = journal_verdicts.ApprovalResumed.of(record)
    asked = past.last(Kind.APPROVAL_REQUESTED, before=record)
    same(
        "approval_resumed",
        "payload.expires_us",
        journal_verdicts.ApprovalRequested.of(asked).expires_us,
        said.expires_us,
    )
    past.resumed_by(said.resumed_by, before=record)
    draft = journal_verdicts.approval_resumed(
        case,
        past.last(Kind.VERDICT_GIVEN, before=record),
        run_id=said.resumed_by,
        expires_us=said.expires_us,
    )
    matches(record, draft)
    return f"by run {said.resumed_by}"


def approval_given(past: Past, record: Record) -> str:
    """Grant again from the policy, the held intent, the approver and the time."""
    said = journal_verdicts.ApprovalGiven.of(record)
    held = past.last(Kind.VERDICT_GIVEN, before=record)
    judged = journal_verdicts.VerdictGiven.of(held)
    approval = grant(
        past.policy, judged.intent, judged.verdict, said.approver, said.approval.given_at_us
    )
    sheet = sheet_of(past.reader, past.standing.decision_id, past.records)
    if said.shown is not None:
        if sheet is None or said.shown.sheet_digest != sheet.digest:
            raise ReplayDiffersError(step="approval_given", detail="shown.sheet_digest")
        read = past.reader.record(said.shown.read_seq)
        in_time = read is not None and sheet.asked_seq < read.seq < record.seq
        if read is None or not in_time or not shows_read(read, said.approver, past.decision_id):
            raise ReplayDiffersError(step="approval_given", detail="shown.read_seq")
    given = journal_verdicts.approval_given(
        past.standing, approval, verdict_seq=held.seq, note=said.reason or "", shown=said.shown
    )
    matches(record, given)
    return f"by {approval.approver}"


def approval_refused(past: Past, record: Record) -> str:
    """Compare who refused what; the note is the person's."""
    said = journal_verdicts.ApprovalRefused.of(record)
    held = past.last(Kind.VERDICT_GIVEN, before=record)
    draft = journal_verdicts.approval_refused(
        past.standing,
        said.approver,
        said.reason,
        verdict_seq=held.seq,
        market_time_us=said.market_time_us,
    )
    matches(record, draft)
    return f"by {said.approver}"


def reservation_released(past: Past, record: Record) -> str:
    """Compare whose reservation ended; the reason is the gateway's."""
    ended = Ending.of(record)
    past.last(Kind.VERDICT_GIVEN, before=record)
    draft = journal_verdicts.reservation_released(
        past.standing, ended.reason, market_time_us=ended.market_time_us
    )
    matches(record, draft)
    return ended.reason
