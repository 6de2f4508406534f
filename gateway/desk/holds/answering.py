"""A person's answer to a held decision, as far as it needs no renewal.

Not here: who may answer and what a yes binds (`gateway.walk.approval`).
"""

from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from audit.store.reader import LedgerReader
from gateway.desk.holds.sheet import Sheet, object_of, sheet_of, shown_to
from gateway.desk.intake.reads import Reads
from gateway.errors import UnknownDecisionError
from gateway.installation.keys.keyring import Caller
from gateway.walk.journal.order import sealed
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import SheetShown, approval_refused
from gateway.walk.ports import LedgerPort
from gateway.walk.projections.outbox import Orders


def sheet_in(reader: LedgerReader, decision_id: str) -> Sheet | None:
    """Return a decision's sheet; None if there is no such decision or no person was asked."""
    stream = f"decision/{decision_id}"
    if not stream.isprintable():
        return None
    return sheet_of(reader, decision_id, reader.records(stream=stream))


def open_sheet(reader: LedgerReader, reads: Reads, caller: Caller, decision_id: str) -> Sheet:
    """Return a decision's sheet once the caller's read of it is on record.

    Raises:
        UnknownDecisionError: no decision has this id, or no person was asked.
    """
    sheet = sheet_in(reader, decision_id)
    if sheet is None:
        raise UnknownDecisionError(problem=f"no decision {decision_id} that asked for a person")
    reads.note(caller, object_of(decision_id))
    return sheet


def seen_by(reader: LedgerReader, approver: str, decision_id: str, digest: str) -> SheetShown:
    """Return what an approver was shown of a decision.

    Raises:
        ApprovalRefusedError: he names another sheet, or no read of it is on record.
    """
    return shown_to(
        approver,
        sheet_in(reader, decision_id),
        digest,
        lambda seq: reader.records(
            stream="control", kinds=(Kind.READ_RECORDED,), after_seq=seq, newest_first=True
        ),
    )


def refuse_hold(
    standing: Standing,
    approver: str,
    note: str,
    *,
    market_time_us: int,
    ledger: LedgerPort,
    orders: Orders,
) -> None:
    """Record a refusal: the hold ends and its reservation is free."""
    if standing.verdict is None:
        raise AssertionError("agree() has seen the verdict")
    records = ledger.append(
        approval_refused(
            standing,
            approver,
            note,
            verdict_seq=standing.verdict.seq,
            market_time_us=market_time_us,
        ),
        sealed(standing, "hold_refused"),
        lane=Lane.URGENT,
    )
    orders.catch_up(records)
