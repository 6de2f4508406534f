"""The answers of erase, hold, release-hold and disclose, for the API and the command line."""

from typing import Any

from audit.privacy.erasure import Privacy
from audit.privacy.holds import HoldPlaced
from gateway.privacy.requests import DiscloseRequest, EraseRequest, HoldRequest, LiftRequest


def erase(privacy: Privacy, actor: str, ask: EraseRequest) -> dict[str, Any]:
    """Erase a person's values, under one pseudonym or several.

    Raises:
        AuditError: refused, or a step failed: try again.
    """
    persons = (ask.subject,) if isinstance(ask.subject, str) else ask.subject
    done = privacy.erase(*persons, basis=ask.basis, actor=actor)
    return {
        "subjects": [*done.subjects],
        "records": [*done.seqs],
        "fields": done.fields,
        "of_records": done.records,
        "keys_destroyed": done.keys_destroyed,
        "rows_deleted": done.rows,
        "in_words": None if done.in_words is None else [*done.in_words],
        "shown_to": [{"reader": reader, "record": seq} for reader, seq in done.shown],
    }


def hold(privacy: Privacy, actor: str, ask: HoldRequest) -> dict[str, Any]:
    """Place a hold; a name with several pseudonyms gets one hold for each.

    Raises:
        AuditError: refused.
    """
    placed = [
        {"hold_id": one.hold_id, "scope": one.scope, "record": record.seq}
        for record in privacy.hold(ask.scope, reason=ask.reason, actor=actor)
        for one in (HoldPlaced.of(record),)
    ]
    return {**placed[-1], "holds": placed}


def lift(privacy: Privacy, actor: str, ask: LiftRequest) -> dict[str, Any]:
    """Lift a hold.

    Raises:
        AuditError: refused.
    """
    record = privacy.lift(ask.hold_id, reason=ask.reason, actor=actor)
    return {"hold_id": ask.hold_id, "record": record.seq}


def disclose(privacy: Privacy, actor: str, ask: DiscloseRequest) -> dict[str, Any]:
    """Read a record's personal values.

    Raises:
        AuditError: the record has none, or the read could not be recorded.
    """
    shown = privacy.disclose(ask.seq, reader=actor, reason=ask.reason)
    return {
        "record": ask.seq,
        "fields": [
            {
                "position": one.field.index,
                "path": one.field.path,
                "subject": one.field.subject,
                "value": one.value,
                "disclosure": one.disclosure,
            }
            for one in shown
        ],
    }
