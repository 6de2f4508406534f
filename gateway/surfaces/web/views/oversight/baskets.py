"""A basket as page values: what was asked for, what became of the whole, where each leg stands.

Not here: the legs' own records (`gateway.surfaces.web.views.decision`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from audit.evidence.bundle import baskets_of
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.surfaces.web.views.body import Body

_NOT_SENT: Final = frozenset({"withdrawn", "refused"})
"""How the decision of an approved order is sealed that never left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRow:
    """One leg; `outcome` seals its decision, `verdict_seq` is None without a verdict."""

    decision_id: str
    instrument: str
    result: str
    outcome: str
    verdict_seq: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BasketView:
    """A basket; without an outcome `decided_seq` is None.

    Attributes:
        kept_back: how many orders did not leave although the whole was approved.
    """

    basket_id: str
    account: str
    author: str
    client_key: str
    digest: str
    received_seq: int
    decided_seq: int | None
    outcome: str
    reason: str
    kept_back: int
    legs: tuple[LegRow, ...]


def basket_of(reader: LedgerReader, records: Sequence[Record]) -> BasketView | None:
    """Return the basket that a decision is a leg of, or None."""
    found = {one.kind: one for one in baskets_of(reader, records)}
    return _view(reader, found)


def basket_view(reader: LedgerReader, basket_id: str) -> BasketView | None:
    """Return a basket by its id, or None."""
    if not basket_id.isprintable():  # PostgreSQL raises an error for a text with a NUL
        return None
    keys = (f"basket:{basket_id}", f"basket_decided:{basket_id}")
    found = (reader.by_key("control", key) for key in keys)
    return _view(reader, {one.kind: one for one in found if one is not None})


def _view(reader: LedgerReader, found: Mapping[Kind, Record]) -> BasketView | None:
    received, decided = found.get(Kind.BASKET_RECEIVED), found.get(Kind.BASKET_DECIDED)
    if received is None:
        return None
    asked, whole = Body(received.body), Body(None if decided is None else decided.body)
    told = {one.text("decision_id"): one for one in whole.children("legs")}
    legs = received.body.get("legs")
    names = [str(one) for one in legs] if isinstance(legs, list) else []
    rows = tuple(_leg(reader, one, told.get(one, Body(None))) for one in names)
    return BasketView(
        basket_id=asked.text("basket_id"),
        account=asked.text("account"),
        author=asked.text("author"),
        client_key=asked.text("client_key"),
        digest=asked.text("digest"),
        received_seq=received.seq,
        decided_seq=None if decided is None else decided.seq,
        outcome=whole.text("outcome") or "open",
        reason=whole.text("reason"),
        kept_back=sum(
            whole.text("outcome") == one.result == "approved" and one.outcome in _NOT_SENT
            for one in rows
        ),
        legs=rows,
    )


def _leg(reader: LedgerReader, decision_id: str, told: Body) -> LegRow:
    kinds = (Kind.INTENT_RECEIVED, Kind.DECISION_SEALED)
    found = reader.records(stream=f"decision/{decision_id}", kinds=kinds)
    by_kind = {one.kind: Body(one.body) for one in found}
    return LegRow(
        decision_id=decision_id,
        instrument=by_kind.get(Kind.INTENT_RECEIVED, Body(None)).text("instrument"),
        result=told.text("result") or "open",
        outcome=by_kind.get(Kind.DECISION_SEALED, Body(None)).text("outcome") or "open",
        verdict_seq=told.whole("verdict_seq"),
    )
