"""The log itself: where it stands, one record, and the files from which a browser checks it."""

import json
from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Query

from audit.records.record import Record
from gateway.desk.officers.oversight.case_files import shown_to
from gateway.surfaces.web.pages.page import AskedPage, NoSuchPageError, Page, PageRead


def _ledger(
    asked: AskedPage, before: Annotated[int | None, Query(ge=0)] = None
) -> Mapping[str, object]:
    return {"ledger": asked.views.ledger(before, asked.caller.role), "before": before}


def _record(asked: AskedPage, seq: int) -> Mapping[str, object]:
    """Return one record with the bytes that were hashed."""
    record = _there(asked, seq)
    return {
        "disavowed_by": asked.views.disavowed_by(seq),
        "record": record,
        "header": record.header.decode(),
        "payload": json.dumps(record.body, indent=2, ensure_ascii=False),
    }


def _check(asked: AskedPage, seq: int) -> Mapping[str, object]:
    return {"record": _there(asked, seq)}


def _evidence(asked: AskedPage, seq: int, form: str) -> PageRead:
    """Return one file of a record's evidence."""
    found = asked.views.download(seq, form) if _found(asked, seq) else None
    if found is None:
        text = "No such record or file, or no checkpoint covers the record yet."
        raise NoSuchPageError("No such evidence", text)
    return PageRead(noted=f"record/{seq}", file=found)


def _found(asked: AskedPage, seq: int) -> Record | None:
    found = asked.views.record(seq) if 0 <= seq < 1 << 62 else None
    return found if found and shown_to(found, asked.caller.role) else None


def _there(asked: AskedPage, seq: int) -> Record:
    found = _found(asked, seq)
    if found is None:
        raise NoSuchPageError("No such record", "The ledger has no record with this number.")
    return found


LOG: Final = (
    Page(
        path="/ledger",
        title="Ledger",
        reader=_ledger,
        template="ledger.html",
        noted="ledger",
        menu=True,
        fresh=True,
    ),
    Page(
        path="/records/{seq}",
        title="Record",
        reader=_record,
        template="record.html",
        noted="record/{seq}",
        looks=("/records/0",),
    ),
    Page(
        path="/records/{seq}/check",
        title="Check a record",
        reader=_check,
        template="check.html",
        noted="record/{seq}",
        scripted=True,
    ),
    Page(
        path="/records/{seq}/{form}",
        title="Evidence",
        reader=_evidence,
        noted="record/{seq}",
    ),
)
