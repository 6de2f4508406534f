"""What stands beside one decision: overrides that it used, its basket, what persons remarked.

Not here: its own records (`decision`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from audit.evidence.bundle import overrides_of
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.officers.oversight.annotations import AnnotationLook, looks_of
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.oversight.baskets import BasketView, basket_of


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedOverride:
    """An exceptional override that a verdict of the decision used; `seq` is its grant's record."""

    seq: int
    limit: str
    signed_by: str
    granted_by: str
    reason: str
    terms: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """Overrides and annotations of one decision, oldest first, and its basket, if it has one."""

    overrides: tuple[UsedOverride, ...]
    annotations: tuple[AnnotationLook, ...]
    basket: BasketView | None = None


def remarks_of(reader: LedgerReader, decision_id: str, records: Sequence[Record]) -> Remarks:
    """Return what stands beside a decision, by the records."""
    return Remarks(
        overrides=tuple(_overrides(reader, records)),
        annotations=tuple(looks_of(reader, decision_id)),
        basket=basket_of(reader, records),
    )


def _overrides(reader: LedgerReader, records: Sequence[Record]) -> Iterator[UsedOverride]:
    seen: set[int] = set()
    for record in overrides_of(reader, records):
        if record.seq in seen:
            continue
        seen.add(record.seq)
        body = Body(record.body)
        yield UsedOverride(
            seq=record.seq,
            limit=f"{body.text('rule_id')} {body.text('check').replace('_', ' ')}",
            signed_by=" and ".join(sorted(body.child("signatures").fields)),
            granted_by=body.text("granted_by"),
            reason=body.text("reason"),
            terms=body,
        )
