"""Records of a difference between the book and the broker, and of its resolution.

Not here: the resolution's writer (`gateway.desk.officers.resolution`).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.contents import Fill


class DifferenceCause(StrEnum):
    """Why book and broker differ; a closed list."""

    CUM_QTY = "CUM_QTY"
    ACCOUNT_LOTS = "ACCOUNT_LOTS"
    UNKNOWN_ORDER = "UNKNOWN_ORDER"
    UNBOOKABLE = "UNBOOKABLE"
    UNREADABLE = "UNREADABLE"
    EXEC_ID_REUSED = "EXEC_ID_REUSED"
    UNDOES_UNKNOWN_TRADE = "UNDOES_UNKNOWN_TRADE"
    TRADE_UNDONE_TWICE = "TRADE_UNDONE_TWICE"
    REJECT_UNMATCHED = "REJECT_UNMATCHED"
    OVERFILLED = "OVERFILLED"
    PRICE_BEYOND_LIMIT = "PRICE_BEYOND_LIMIT"
    FEE_OPEN = "FEE_OPEN"
    NO_LONGER_KNOWN = "NO_LONGER_KNOWN"


BREACHES: Final = frozenset(
    {
        DifferenceCause.OVERFILLED,
        DifferenceCause.PRICE_BEYOND_LIMIT,
        DifferenceCause.FEE_OPEN,
        DifferenceCause.NO_LONGER_KNOWN,
    }
)
"""Causes in which the lots agree: a trade broke its order or has an open fee, or the broker lost
the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Two sides that do not agree.

    Attributes:
        instrument: Empty when it blocks none, `EVERY` when it may be any.
        cl_ord_id: The order, or empty.
        book_lots: The book's side; None when it is unknown.
        broker_lots: The broker's side; None when it is unknown.
        resent: Whether the broker's message was a resend (43=Y), which may be long out of date.
        detail: What is wrong with the broker's message, with the tag.
        exec_id: The broker's ExecID (17) of the trade that could not be booked, or empty.
        odd_units: The broker's units beyond its whole lots, which cannot be booked.
    """

    cause: DifferenceCause
    account: str
    instrument: str
    cl_ord_id: str
    book_lots: int | None
    broker_lots: int | None
    resent: bool = field(default=False, compare=False)
    detail: str = field(default="", compare=False)
    exec_id: str = field(default="", compare=False)
    odd_units: int = 0

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is about; of one subject only the newest difference counts."""
        return (self.cause, self.account, self.instrument, self.cl_ord_id)


def book_difference(found: Found, *, session: str, source: str, number: int) -> Draft:
    """Return the alarm; it moves every account's basis, so no verdict overlooks it.

    `source` is `report`, `reconciliation` or `run_end`. `number`, an inbox offset or a log size,
    makes the key unique with session and source.
    """
    about = found.cl_ord_id or found.account
    if found.cause in BREACHES:  # the same report may show a difference of totals as well
        about = f"{about}:{found.cause.value}"
    return BookDifference(
        account=found.account,
        instrument=found.instrument,
        cl_ord_id=found.cl_ord_id,
        reason=found.cause,
        book_lots=found.book_lots,
        broker_lots=found.broker_lots,
        session=session,
        source=source,
        resent=found.resent,
        detail=found.detail,
        exec_id=found.exec_id,
        odd_units=found.odd_units,
    ).draft(number=number, about=about)


class BookDifference(RecordKind, frozen=True, kw_only=True):
    """Book and broker differ, as `Found` explains."""

    filing = Filing(
        "control",
        "difference:{session}:{source}:{number}:{about}",
        firm_wide=True,
        also="inbox_offset",
    )

    reason: DifferenceCause
    instrument: str
    cl_ord_id: str
    book_lots: int | None
    broker_lots: int | None
    session: str
    source: str
    account: str = ""
    resent: bool = False
    detail: str = ""
    exec_id: str = ""
    odd_units: int = 0

    @property
    def found(self) -> Found:
        """The two sides that do not agree."""
        return Found(
            cause=self.reason,
            account=self.account,
            instrument=self.instrument,
            cl_ord_id=self.cl_ord_id,
            book_lots=self.book_lots,
            broker_lots=self.broker_lots,
            resent=self.resent,
            detail=self.detail,
            exec_id=self.exec_id,
            odd_units=self.odd_units,
        )


class DifferenceResolved(RecordKind, frozen=True, kw_only=True):
    """A person, or both officers, said which side is right.

    Attributes:
        with_seq: another difference of the order whose resolution this record follows.
        adjustment: what is booked; records of earlier versions do not name its decision.
        terms: what the officers signed, as they wrote it; None in records of earlier versions.
        trade: the adjustment as text in the instrument's units, for verifiers.
        book_lots: the book's side at the resolution; None in records of earlier versions.
    """

    filing = Filing(
        "control",
        "resolved:{of_seq}",
        "person:{resolved_by}",
        firm_wide=True,
        loose="market_time_us",
    )

    of_seq: int
    of_leaf: str
    right: str
    resolved_by: str
    reason: str
    evidence: str
    market_time_us: int
    with_seq: int | None = None
    adjustment: Fill | None = None
    account: str = ""
    decision_id: str | None = None
    book_lots: int | None = None
    broker_lots: int | None = None
    terms: dict[str, Any] | None = None
    trade: dict[str, str] | None = None
    ends: str = ""
    signatures: dict[str, str] | None = None
