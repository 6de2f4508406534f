"""The record of an adjustment of a book, which two officers signed.

Not here: whether it would apply (`gateway.desk.officers.adjustment`), its effect (`risk.state`).
"""

from enum import StrEnum
from typing import Any

from msgspec import to_builtins
from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.record_kind import Contents, Filing, RecordKind
from gateway.walk.journal.contents import Fill


class AdjustmentSort(StrEnum):
    """What an adjustment is; a closed list."""

    OPENING = "opening"
    SPLIT = "split"
    DIVIDEND = "dividend"
    FEE = "fee"
    CASH = "cash"
    TRADE = "trade"
    GIVE_UP = "give_up"
    MARK = "mark"


class PositionOpened(Contents, frozen=True, kw_only=True):
    """A position of an opening, at its average price."""

    instrument: str
    lots: int
    price_ticks: int
    unit_minor: int


class BookAdjusted(RecordKind, frozen=True, kw_only=True):
    """An adjustment; it moves the account's basis, so no verdict overlooks it.

    Attributes:
        ref: the officers' own name of it, once for each account.
        terms: what they signed, as they wrote it: amounts, prices and quantities as text.
        lots: how many lots it adds to each instrument; negative takes out.
        amount_minor: cash that came in, or went out; of an opening, the cash there is.
        fill: a trade by phone, or what a give-up takes out.
        split: how many lots there are now, of how many before.
        effective_us: of a split, bars that closed until then are from before it; None in records
            that restate no bars.
        marks: the first and last record of the marks that a correction is about.
        mark_ticks: what they should have been; None if the mark before them should have stood.
        reference: the other side's name of it, such as the broker's ExecID.
        trade: the trade as text in the instrument's units, for verifiers.
    """

    filing = Filing("control", "adjusted:{account}:{ref}", "person:{adjusted_by}", firm_wide=True)

    account: str
    ref: str
    sort: AdjustmentSort
    adjusted_by: str
    reason: str
    evidence: str
    terms: dict[str, Any]
    signatures: dict[str, str]
    market_time_us: int
    lots: dict[str, int]
    instrument: str = ""
    amount_minor: int = 0
    fill: Fill | None = None
    split: tuple[int, int] | None = None
    positions: tuple[PositionOpened, ...] = ()
    effective_us: int | None = None
    marks: tuple[int, int] | None = None
    mark_ticks: int | None = None
    reference: str = ""
    trade: dict[str, str] | None = None

    @override
    def document(self) -> dict[str, JSON]:
        """Return the payload: what does not apply to its sort is left out where it is None."""
        whole: dict[str, JSON] = to_builtins(self)
        return {name: value for name, value in whole.items() if value is not None}


def adjustment_key(account: str, ref: str) -> str:
    """Return the idempotency key: an account has a name once."""
    return f"adjusted:{account}:{ref}"
