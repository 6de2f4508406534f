"""Runs of the tests of fairness, put on record by a person and listed.

The person's own process runs the tests, so that a long one takes no time from the gateway. The
gateway checks that size and root are this log's; whether the rows follow from the log, anybody
checks (`countersign fairness --check`).
"""

from typing import Any, Final

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from audit.tlog.tiles import root_from
from gateway.desk.bodies.fairness import FairnessRunBody
from gateway.desk.officers.oversight.criteria import criteria_on
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.walk.journal.control.fairness import FairnessTested, fairness_tested
from risk.windows.fairness.criteria import criteria_digest

LISTED_MAX: Final = 50


def record_run(own: DeskParts, actor: str, body: FairnessRunBody) -> dict[str, Any]:
    """Put a run on record under the person's name.

    Raises:
        RequestError: its root is not this log's at its size, or other criteria count for its days.
        AuditError: the ledger does not take it.
    """
    size = own.reader.log_size()
    if body.size > size or root_of(own.reader, body.size).hex() != body.root:
        raise RequestError(
            problem=f"root {body.root[:16]} is not this log's at size {body.size}: run the tests"
            " on this installation's ledger"
        )
    wanted = criteria_digest(criteria_on(own.reader, body.last_day))
    if body.criteria_digest != wanted:
        raise RequestError(problem=f"on {body.last_day} the criteria {wanted} count, not these")
    document = body.model_dump(exclude_none=True)
    run = FairnessTested.read({**document, "actor_name": actor})
    (record,) = own.tools.ledger.append(fairness_tested(run))
    return {"seq": record.seq}


def root_of(reader: LedgerReader, size: int) -> bytes:
    """Return the log's root at a size."""
    return root_from(reader.tiles.reader(size), size)


def recorded_runs(reader: LedgerReader) -> list[tuple[int, FairnessTested]]:
    """Return the runs on record with their record numbers, newest first."""
    found = reader.records(
        stream="control", kinds=(Kind.FAIRNESS_TESTED,), newest_first=True, limit=LISTED_MAX
    )
    return [(record.seq, FairnessTested.of(record)) for record in found]


def runs_document(reader: LedgerReader) -> dict[str, Any]:
    """Return the runs on record for the API."""
    return {"runs": [{"seq": seq, **run.document()} for seq, run in recorded_runs(reader)]}
