"""Erasures and disclosures as records: value to draft, record to value. Pure.

Not here: holds (`holds`), and when a record is appended (`erasure`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.privacy.erasable import Due
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.personal import Field
from audit.records.record import Draft, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureRecord:
    """What a `subject_erased` record says: it names `fields` fields of `records` records."""

    seq: int
    subject: str
    fields: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureRecord:
    """What a `personal_disclosed` record says: who read values of which subjects."""

    seq: int
    subjects: frozenset[str]
    reader: str


def fields_of_due(due: Due) -> list[JSON]:
    """Return the erased fields as [seq, position]."""
    return [[one.seq, one.position] for one in due.values]


def erased(due: Due, *, basis: str, actor: str, now_us: int, fields_blob: str | None) -> Draft:
    """Draft the record of an erasure; the fields are in `fields_blob` if there is one."""
    fields = fields_of_due(due)
    payload: dict[str, JSON] = {
        "subject": due.subject,
        "basis": basis,
        "erased_by": actor,
        "erased_us": now_us,
        "records": len({one.seq for one in due.values}),
        "fields": fields if fields_blob is None else len(fields),
        "retention_years": {**due.years},
    }
    if fields_blob is not None:
        payload["fields_blob"] = fields_blob
    return Draft(
        stream="control",
        kind=Kind.SUBJECT_ERASED,
        payload=payload,
        actor=f"person:{actor}",
        idem_key=f"erased:{due.subject}",
    )


def erasure_on(record: Record) -> ErasureRecord:
    """Return what a `subject_erased` record says."""
    body = record.body
    fields = body["fields"]
    return ErasureRecord(
        seq=record.seq,
        subject=str(body["subject"]),
        fields=fields if isinstance(fields, int) else len(fields),
        records=int(body["records"]),
    )


def disclosed(seq: int, fields: Sequence[Field], *, reader: str, reason: str, now_us: int) -> Draft:
    """Draft the record of a reading of these fields of record `seq`."""
    subjects: list[JSON] = [*sorted({one.subject for one in fields})]
    return Draft(
        stream="control",
        kind=Kind.PERSONAL_DISCLOSED,
        payload={
            "seq": seq,
            "subjects": subjects,
            "positions": [one.index for one in fields],
            "reader": reader,
            "reason": reason,
        },
        actor=f"person:{reader}",
        idem_key=f"disclosed:{seq}:{reader}:{now_us}",
    )


def disclosure_on(record: Record) -> DisclosureRecord:
    """Return what a `personal_disclosed` record says."""
    body = record.body
    return DisclosureRecord(
        seq=record.seq, subjects=frozenset(body["subjects"]), reader=str(body["reader"])
    )
