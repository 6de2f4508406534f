"""Which order of ours a report is about. Pure.

Rules:
- OrigClOrdID (41) counts before ClOrdID (11). Either may be the name of the order, of a replace, or
  of a cancel: a fill under a cancel's ClOrdID belongs to the order that it was to cancel.
- The broker's OrderID (37) counts if nobody knows the ClOrdIDs and they could be ours, such as a
  sweep's, and if one order of ours has it: a broker may give an OrderID again on another day.

Not here: what the report means (`fix.orders.state`), reports about nobody's order (`foreign`).
"""

from collections.abc import Callable
from typing import TypeVar

from fix.wire.identity import has_our_form

Order = TypeVar("Order")
_NO_ORDER = frozenset({"NONE", "UNKNOWN", "N/A"})


def order_id_of(text: str) -> str:
    """Return an OrderID (37), or nothing for what brokers write where they have none."""
    return "" if text.upper() in _NO_ORDER or not text.strip("0") else text


def order_told_of(
    names: tuple[str, str],
    order_id: str,
    by_name: Callable[[str], Order | None],
    by_order_id: Callable[[str], Order | None],
) -> Order | None:
    """Return the order that a report is about, or None.

    `names` are OrigClOrdID (41) and ClOrdID (11), empty if not given. `by_name` knows the ClOrdIDs
    of orders and of requests, `by_order_id` the broker's OrderIDs.
    """
    given = tuple(filter(None, names))
    for name in given:
        if (found := by_name(name)) is not None:
            return found
    could_be_ours = order_id_of(order_id) and all(map(has_our_form, given))
    return by_order_id(order_id) if could_be_ours else None
