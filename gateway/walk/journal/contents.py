"""What several kinds of records share: parts of their payloads."""

from audit.records.record_kind import Contents
from risk.intent import Side


class Ending(Contents, frozen=True, kw_only=True):
    """What ends an approval, a hold or an order: when on the market's clock, and why."""

    market_time_us: int
    reason: str = ""
    order_state: str | None = None


class Reasoned(Contents, frozen=True, kw_only=True):
    """Why, of any kind that says so in one field."""

    reason: str = ""


class SaidWhere(Contents, frozen=True, kw_only=True):
    """Which message of the broker a record was made of; nothing if it was made of none."""

    session: str = ""
    inbox_offset: int = -1


class Fill(Contents, frozen=True, kw_only=True):
    """A trade in whole lots and ticks; `unit_minor` is the worth of one lot at one tick."""

    instrument: str
    side: Side
    qty_lots: int
    price_ticks: int
    fee_minor: int
    unit_minor: int


class Reservation(Contents, frozen=True, kw_only=True):
    """What an approved or held intent reserves until its order ends."""

    instrument: str
    side: Side
    qty_lots: int
    limit_ticks: int
    unit_minor: int
