"""Records of a replace, and what they do to a book; and one that does nothing."""

from typing import Any

from audit.records.kinds import Kind
from risk.intent import Side
from risk.state.book import MessageSent, Resized
from risk.state.busts import FoldEvent

TIME: dict[str, Any] = {"market_time_us": 8}
LARGER = {"instrument": "SPXN", "side": "SELL", "qty_lots": 9, "limit_ticks": 100, "unit_minor": 2}


def terms(lots: int, ticks: int) -> dict[str, Any]:
    return {"qty_lots": lots, "limit_ticks": ticks, "quantity": str(lots), "price": "1.00"}


def resized(add_lots: int, limit_ticks: int, time_us: int) -> Resized:
    return Resized(
        decision_id="d-1",
        instrument="SPXN",
        side=Side.SELL,
        unit_minor=2,
        add_lots=add_lots,
        limit_ticks=limit_ticks,
        time_us=time_us,
    )


REPLACES: list[tuple[Kind, dict[str, Any], tuple[FoldEvent, ...]]] = [
    (
        Kind.REPLACE_REQUESTED,
        {"before": terms(7, 100), "after": terms(9, 99), "reservation": LARGER, "market_now_us": 6},
        (resized(2, 100, 6), MessageSent(decision_id="d-1", time_us=6)),
    ),
    (
        Kind.REPLACE_ENDED,
        TIME | {"terms": terms(7, 100), "freed_lots": 2, "reservation": LARGER},
        (resized(-2, 100, 8),),
    ),
    (Kind.REPLACE_SENT, TIME, ()),
    (Kind.ORDER_UNKNOWN, TIME, ()),
]
