"""Erasures and disclosures as records: value to draft, record to value. Pure.

Not here: holds (`holds`), and when a record is appended (`erasure`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.privacy.erasable import Due
from audit.records.canonical import JSON
from audit.records.personal import Field
from audit.records.record import Draft, Record
from audit.records.record_kind import Filing, RecordKind


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


class SubjectErased(RecordKind, frozen=True, kw_only=True):
    """A person's values were erased; `fields` are [seq, position], or how many the blob has."""

    filing = Filing("control", "erased:{subject}", "person:{erased_by}", early="retention_years")

    subject: str
    basis: str
    erased_by: str
    erased_us: int
    records: int
    fields: list[Any] | int
    retention_years: dict[str, int]
    fields_blob: str | None = None


def erased(due: Due, *, basis: str, actor: str, now_us: int, fields_blob: str | None) -> Draft:
    """Draft the record of an erasure; the fields are in `fields_blob` if there is one."""
    fields = fields_of_due(due)
    return SubjectErased(
        subject=due.subject,
        basis=basis,
        erased_by=actor,
        erased_us=now_us,
        records=len({one.seq for one in due.values}),
        fields=fields if fields_blob is None else len(fields),
        retention_years={**due.years},
        fields_blob=fields_blob,
    ).draft()


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


class PersonalDisclosed(RecordKind, frozen=True, kw_only=True):
    """Somebody read personal values of a record."""

    filing = Filing("control", "disclosed:{seq}:{reader}:{now_us}", "person:{reader}")

    seq: int
    subjects: list[str]
    positions: list[int]
    reader: str
    reason: str


def disclosed(seq: int, fields: Sequence[Field], *, reader: str, reason: str, now_us: int) -> Draft:
    """Draft the record of a reading of these fields of record `seq`."""
    return PersonalDisclosed(
        seq=seq,
        subjects=sorted({one.subject for one in fields}),
        positions=[one.index for one in fields],
        reader=reader,
        reason=reason,
    ).draft(now_us=now_us)


def disclosure_on(record: Record) -> DisclosureRecord:
    """Return what a `personal_disclosed` record says."""
    body = record.body
    return DisclosureRecord(
        seq=record.seq, subjects=frozenset(body["subjects"]), reader=str(body["reader"])
    )
