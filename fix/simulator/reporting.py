"""What the simulated broker says about an order: report by report, under rising ExecIDs. Pure.

Not here: why it says so (`fix.simulator.market`, `fix.simulator.acts`).
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from fix.simulator.order import Execution, Order, Reply
from fix.wire.messages import Fields

_CENT = Decimal("0.01")


class Reporter:
    """Makes reports and keeps each order as it reports it."""

    def __init__(self, fee_bp: int, reports_before: int) -> None:
        """Continue behind so many reports."""
        self._fee_bp = fee_bp
        self._exec_no = reports_before

    def report(self, order: Order, exec_type: str, extra: Fields = ()) -> Reply:
        """Return an ExecutionReport about the order as it is now."""
        self._exec_no += 1
        exec_id = "0" if exec_type == "I" else f"X{self._exec_no:08d}"
        average = order.value / order.cum if order.cum else Decimal(0)
        own = dict(extra)
        fields: Fields = (
            (35, "8"),
            (37, order.order_id),
            (11, own.pop(11, order.cl_ord_id)),
            (17, exec_id),
            (150, exec_type),
            (39, own.pop(39, order.status)),
            (1, order.account),
            (55, order.symbol),
            (54, order.side),
            (38, str(order.qty)),
            (44, f"{order.limit:f}"),
            (151, str(order.leaves)),
            (14, str(order.cum)),
            (6, f"{average:.6f}"),
            *own.items(),
        )
        order.told = tuple((tag, value) for tag, value in fields if value)
        return Reply(fields=order.told)

    def trade(self, order: Order, qty: int, price: Decimal) -> Reply:
        """Trade so much of the order."""
        order.cum += qty
        order.value += qty * price
        order.status = "2" if order.cum == order.qty else "1"
        fee = (qty * price * self._fee_bp / 10_000).quantize(_CENT, rounding=ROUND_HALF_EVEN)
        extra = ((32, str(qty)), (31, f"{price:f}"), (12, f"{fee:f}"), (13, "3"))
        answer = self.report(order, "F", extra)
        order.trades.append(Execution(dict(answer.fields)[17], qty, price))
        return answer

    def bust(self, order: Order) -> Reply:
        """Take the last trade back."""
        trade = self._taken_back(order)
        return self.report(order, "H", ((19, trade.exec_id),))

    def correct(self, order: Order, qty: int = 0) -> Reply:
        """Correct the last trade to this quantity, by default to half of it."""
        trade = self._taken_back(order)
        answer = self.trade(order, qty or max(1, trade.qty // 2), trade.price)
        order.told = tuple((dict(answer.fields) | {150: "G", 19: trade.exec_id}).items())
        return Reply(fields=order.told)

    def ended(self, order: Order, status: str, extra: Fields = ()) -> Reply:
        """End or halt the order: ExecType and OrdStatus are the same here."""
        order.status = status
        return self.report(order, status, extra)

    def rejected(self, order: Order, reason: str, words: str) -> Reply:
        """Reject the order."""
        return self.ended(order, "8", ((103, reason), (58, words)))

    @staticmethod
    def _taken_back(order: Order) -> Execution:
        trade = order.trades.pop()
        order.cum -= trade.qty
        order.value -= trade.qty * trade.price
        order.status = "1" if order.cum else "0"
        return trade


def refused(fields: Mapping[int, str], order: Order | None, reason: str) -> Reply:
    """Return an OrderCancelReject of a request to cancel (F) or to replace (G)."""
    status = "8" if order is None else order.status
    reject = (
        (35, "9"),
        (37, order.order_id if order else "NONE"),
        (11, fields[11]),
        (41, fields[41]),
        (39, status),
        (434, "1" if fields[35] == "F" else "2"),
        (102, reason),
    )
    return Reply(fields=reject)


def rejected_message(fields: Mapping[int, str], *, session: bool) -> Reply:
    """Return a Reject (3) or a BusinessMessageReject (j) of a message."""
    words = (45, fields[34]), (372, fields[35]), (58, "by script")
    if session:
        return Reply(fields=((35, "3"), *words, (373, "99")))
    return Reply(fields=((35, "j"), *words, (379, fields[11]), (380, "0")))


def none_found(fields: Mapping[int, str]) -> Reply:
    """Return the answer to a mass status request when no order is open.

    Source: FIX 4.4 volume 4, OrderMassStatusRequest: 150=I, 39=8, 103=5 and the request's id.
    """
    said = ((35, "8"), (37, "NONE"), (17, "0"), (150, "I"), (39, "8"), (55, "[N/A]"), (54, "7"))
    numbers = ((151, "0"), (14, "0"), (6, "0"), (103, "5"), (584, fields[584]))
    return Reply(fields=(*said, *numbers, (911, "0"), (912, "Y"), (58, "no open order")))


def not_known(fields: Mapping[int, str]) -> Reply:
    """Return the answer to a status request for an order that never came."""
    said = (
        (35, "8"),
        (37, "NONE"),
        (11, fields[11]),
        (17, "0"),
        (150, "I"),
        (39, "8"),
        (55, fields[55]),
        (54, fields[54]),
        (151, "0"),
        (14, "0"),
        (6, "0"),
        (103, "5"),
        (58, "unknown order"),
    )
    return Reply(fields=said)
