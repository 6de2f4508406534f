"""The sheet that an approver is shown, and the check that he read the one that he agrees to.

A sheet is made from the records of a held decision and its forecast alone, up to the question. It
names the leaf of each, so its digest binds what was shown byte for byte; anybody makes it again
from the ledger.

Not here: what a yes covers (`risk.approved`), and the list of what waits (`waiting`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import ApprovalRefusedError
from gateway.walk.journal.control.access import ReadRecorded
from gateway.walk.journal.verdict import SheetShown, readable
from gateway.walk.ports import RecordsPort
from gateway.walk.projections.forecasts import with_forecasts


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What is shown, and the SHA-256 of its canonical JSON, in hex; `asked_seq`: the question's."""

    document: dict[str, JSON]
    digest: str
    asked_seq: int


def object_of(decision_id: str) -> str:
    """Return how a read of this decision's sheet is called on record."""
    return f"sheet/{decision_id}"


def sheet_of(reader: RecordsPort, decision_id: str, records: Iterable[Record]) -> Sheet | None:
    """Make a decision's sheet from its records, in order; None if no person was asked.

    The records of the forecast that they name are among those shown.
    """
    shown: list[Record] = []
    for record in records:
        shown.append(record)
        if record.kind is Kind.APPROVAL_REQUESTED:
            break
    else:
        return None
    document: dict[str, JSON] = {
        "decision_id": decision_id,
        "records": [
            {"seq": one.seq, "kind": one.kind.value, "leaf": one.leaf.hex(), **readable(one)}
            for one in with_forecasts(reader, shown)
        ],
    }
    digest = sha256(canonical(document)).hexdigest()
    return Sheet(document=document, digest=digest, asked_seq=shown[-1].seq)


def shows_read(record: Record, approver: str, decision_id: str) -> bool:
    """Return whether a record says that this approver opened this decision's sheet."""
    if record.kind is not Kind.READ_RECORDED:
        return False
    read = ReadRecorded.of(record)
    return (read.reader, read.object) == (approver, object_of(decision_id))


def shown_to(
    approver: str,
    sheet: Sheet | None,
    digest: str,
    reads: Callable[[int], Iterator[Record]],
) -> SheetShown:
    """Return what an approver was shown, from the ledger's own word that he opened it.

    `reads` yields the recorded reads after a sequence number.

    Raises:
        ApprovalRefusedError: he names another sheet, or no read of it is on record.
    """
    if sheet is None:
        raise ApprovalRefusedError(problem="nothing waits for approval here")
    if digest != sheet.digest:
        raise ApprovalRefusedError(
            problem="the sheet digest is not that of this decision: open its page or"
            " GET /v1/decisions/{id}/sheet, read it, and send its digest"
        )
    name = str(sheet.document["decision_id"])
    for record in reads(sheet.asked_seq):
        if shows_read(record, approver, name):
            return SheetShown(sheet_digest=digest, read_seq=record.seq)
    raise ApprovalRefusedError(
        problem=f"no read of this sheet by {approver} is on record: open the decision first"
    )
