"""The criteria of fairness that a firm agreed on, and which of them count for a day.

Officers of risk and compliance sign the criteria's digest for this ledger. Who else has a stake
agrees or objects in the criteria themselves, in his own words; an objection is kept and shown.

Not here: what the criteria say (`risk.windows.fairness.criteria`), the tests.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.fairness import CriteriaBody
from gateway.desk.controls.statements import all_signed, statement
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.fairness import FairnessAgreed
from risk.errors import DocumentError
from risk.forms.documents import document_of
from risk.windows.fairness.criteria import (
    NOTICE_DAYS,
    PRODUCT,
    FairnessCriteria,
    criteria_digest,
    criteria_faults,
    criteria_of,
)

PURPOSE: Final = "fairness criteria"


def criteria_statement(log: str, criteria: FairnessCriteria) -> bytes:
    """Return the statement that both officers sign."""
    version = f"version {criteria.version}"
    return statement(PURPOSE, log, version, f"digest {criteria_digest(criteria)}")


def agree_on(own: DeskParts, actor: str, body: CriteriaBody) -> dict[str, Any]:
    """Put criteria on record that follow the newest; they count from their effective day on.

    Raises:
        RequestError: they may not follow, or both officers did not sign them for this ledger.
        AuditError: the ledger does not take the record.
    """
    try:
        criteria = criteria_of(body.criteria)
    except DocumentError as error:
        raise RequestError(problem=f"these are no criteria: {error}") from None
    today = datetime.fromtimestamp(own.dispatching.wall_us() / 1_000_000, tz=UTC).date()
    before = next((one for _, one in agreed(own.reader)), PRODUCT)
    if faults := criteria_faults(criteria, before, today):
        raise RequestError(problem="; ".join(faults))
    log = log_id(own.reader, own.origin)
    signed = criteria_statement(log, criteria)
    if not all_signed(signed, body.signatures, own.keyring.public_keys()):
        raise RequestError(
            problem="both officers sign criteria: `countersign criteria sign FILE --key KEY`"
        )
    record = FairnessAgreed(
        criteria=dict(document_of(criteria)),
        criteria_digest=criteria_digest(criteria),
        notice_days=NOTICE_DAYS,
        log_id=log,
        signatures=dict(body.signatures),
        actor_name=actor,
    )
    (written,) = own.tools.ledger.append(record.draft())
    return {"seq": written.seq, "criteria_digest": record.criteria_digest}


def agreed(reader: LedgerReader) -> Iterator[tuple[int, FairnessCriteria]]:
    """Yield the criteria on record with their record numbers, newest first."""
    found = reader.records(stream="control", kinds=(Kind.FAIRNESS_AGREED,), newest_first=True)
    return ((one.seq, criteria_of(FairnessAgreed.of(one).criteria)) for one in found)


def criteria_on(reader: LedgerReader, day: str) -> FairnessCriteria:
    """Return the criteria that count for a day: the product's until the firm's own do."""
    return next((one for _, one in agreed(reader) if one.effective_day <= day), PRODUCT)


def criteria_document(reader: LedgerReader) -> dict[str, Any]:
    """Return the criteria on record for the API, newest first, and the product's last."""
    found = [*agreed(reader), (None, PRODUCT)]
    return {
        "criteria": [
            {"seq": seq, "digest": criteria_digest(one), **document_of(one)} for seq, one in found
        ]
    }
