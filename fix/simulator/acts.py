"""What a test or a person lets the simulated broker do, beyond its table. Pure.

`OUTCOMES`, `MANNERS`, `ACTS`, `SESSION_ACTS` and `MARKET_ACTS` say what can be played; the
published page is made from them.

Not here: how an act is asked for (`fix.simulator.control`).
"""

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from fix.simulator.order import Manner, Order, OrderOutcome, Reply
from fix.simulator.reporting import Reporter
from fix.wire.messages import Fields

OUTCOMES = {
    OrderOutcome.FILL: "acknowledged, filled",
    OrderOutcome.PARTIAL: "acknowledged, half filled (rounded down, at least 1), then the rest",
    OrderOutcome.REJECT: "rejected, 103=0",
    OrderOutcome.SILENCE: "executed, but nothing is reported before a request (H, AF) or a cancel",
    OrderOutcome.BUST: "acknowledged, filled; busted after the delay (150=H), then rests",
    OrderOutcome.CORRECT: "acknowledged, filled; corrected to half after the delay (150=G)",
    OrderOutcome.SESSION_REJECT: "a Reject (3) of the message; the order stays unknown",
    OrderOutcome.BUSINESS_REJECT: "a BusinessMessageReject (j); the order stays unknown",
    OrderOutcome.REST: "acknowledged, then rests whatever its price",
    OrderOutcome.PENDING: "pending new (150=A), acknowledged, filled",
    OrderOutcome.SUSPEND: "acknowledged, suspended (150=9)",
    OrderOutcome.DONE_FOR_DAY: "acknowledged, half filled, done for the day (150=3)",
    OrderOutcome.EXPIRE: "acknowledged, half filled, expired (150=C)",
    OrderOutcome.STOP: "acknowledged, stopped (150=7), filled",
    OrderOutcome.RESTATE: "acknowledged, restated to half its quantity (150=D, 378=5), then rests",
    OrderOutcome.REPEAT: "acknowledged, filled; the fill comes twice under one ExecID",
    OrderOutcome.IGNORE: "taken by nobody: no answer, and a status request finds no order",
    OrderOutcome.DROP_BEFORE: "the connection is cut; acknowledged and filled while it is down",
    OrderOutcome.DROP_AFTER: "acknowledged, the connection is cut; filled while it is down",
}
"""What becomes of a new order."""

MANNERS = {
    Manner.CONFIRM: "confirmed: 150=4, or 150=5 with the new ClOrdID",
    Manner.PENDING: "first pending (150=6, 150=E), then confirmed",
    Manner.REJECT: "rejected (35=9), the order works on",
    Manner.IGNORE: "no answer at all",
    Manner.FILL: "a fill overtakes it; rejected as too late (102=0)",
}
"""How a request to cancel (F) or to replace (G) is answered."""

ACTS = {
    "fill": "trade QTY (default: the rest) at PRICE (default: the limit)",
    "reject": "reject the order that was acknowledged",
    "cancel": "cancel it unasked (150=4)",
    "expire": "expire it (150=C)",
    "done_for_day": "end its day (150=3)",
    "calculate": "settle its day (150=B), what is left works no more today",
    "suspend": "suspend it (150=9)",
    "resume": "let a suspended or done order work again (150=D, 378=99)",
    "restate": "restate it to QTY and PRICE (150=D, 378=99)",
    "stop": "guarantee it a price (150=7)",
    "bust": "take its last trade back (150=H)",
    "correct": "correct its last trade to QTY, default half (150=G)",
    "repeat": "send its last report again, under the same ExecID",
    "status": "report its state unasked (150=I)",
    "stranger": "a trader enters an order at the broker's screen: buy QTY of the instrument that"
    " ORDER names at PRICE; it rests, under a ClOrdID that is not ours",
}
"""What may be done to one order, by its ClOrdID or to the newest one that it fits."""

SESSION_ACTS = {
    "disconnect": "cut the connection",
    "logout": "log out; the engine lets the gateway log on again",
    "reset": "cut the connection; both numbers begin at 1, with 141=Y (as every night)",
    "restart": "lose the numbers; the next logon begins at 1 without 141=Y",
    "silent": "answer nothing until `speak`; what happens is reported when asked for",
    "speak": "answer again",
}
"""What may be done to the session."""

MARKET_ACTS = {
    "quiet": "the market data session stays up and delivers nothing until `loud`",
    "loud": "deliver again",
    "crossed": "one price with the bid above the ask",
    "one_sided": "delete the bid (279=2); the next price brings it back",
    "unknown_entry": "delete an entry (278) that was never shown",
    "market_drop": "cut the connection of the market data session",
}
"""What may be done to the market data; ORDER is a symbol, empty: every one."""

_HALF = 2


class BrokerAct(NamedTuple):
    """One act; `order` is a ClOrdID, empty: the newest order that it fits."""

    what: str
    order: str = ""
    qty: int = 0
    price: str = ""


def first_steps(order: Order, tell: Reporter) -> list[Reply]:
    """Return the reports of outcomes that need no market, as far as they go by themselves."""
    half = max(1, order.qty // _HALF)
    match order.outcome:
        case OrderOutcome.SUSPEND:
            return [tell.ended(order, "9")]
        case OrderOutcome.DONE_FOR_DAY:
            return [tell.trade(order, half, order.limit), tell.ended(order, "3")]
        case OrderOutcome.EXPIRE:
            return [tell.trade(order, half, order.limit), tell.ended(order, "C")]
        case OrderOutcome.RESTATE:
            order.qty = half
            return [tell.report(order, "D", ((378, "5"),))]
        case _:
            return []


def act_on(order: Order, act: BrokerAct, tell: Reporter) -> list[Reply]:
    """Return what is said when this is done to an order; nothing if it does not fit."""
    doing = _DOING.get(act.what)
    return doing(order, act, tell) if doing is not None and fits(order, act) else []


def fits(order: Order, act: BrokerAct) -> bool:
    """Return whether the act can be done to the order as it is."""
    if act.what in {"bust", "correct"}:
        return bool(order.trades)
    if act.what in {"repeat", "status"}:
        return bool(order.told)
    return order.is_live


def _fill(order: Order, act: BrokerAct, tell: Reporter) -> list[Reply]:
    left = order.qty - order.cum
    return [tell.trade(order, min(act.qty or left, left), _price(order, act))]


def _resume(order: Order, _act: BrokerAct, tell: Reporter) -> list[Reply]:
    order.status = "1" if order.cum else "0"
    return [tell.report(order, "D", ((378, "99"),))]


def _restate(order: Order, act: BrokerAct, tell: Reporter) -> list[Reply]:
    order.qty, order.limit = max(act.qty or order.qty, order.cum + 1), _price(order, act)
    return [tell.report(order, "D", ((378, "99"),))]


def _ending(status: str, extra: Fields = ()) -> Callable[[Order, BrokerAct, Reporter], list[Reply]]:
    return lambda order, _act, tell: [tell.ended(order, status, extra)]


def _price(order: Order, act: BrokerAct) -> Decimal:
    return Decimal(act.price) if act.price else order.limit


_DOING: dict[str, Callable[[Order, BrokerAct, Reporter], list[Reply]]] = {
    "fill": _fill,
    "reject": lambda order, _act, tell: [tell.rejected(order, "99", "by hand")],
    "cancel": _ending("4", ((58, "by hand"),)),
    "expire": _ending("C"),
    "done_for_day": _ending("3"),
    "calculate": _ending("B"),
    "suspend": _ending("9"),
    "resume": _resume,
    "restate": _restate,
    "stop": _ending("7"),
    "bust": lambda order, _act, tell: [tell.bust(order)],
    "correct": lambda order, act, tell: [tell.correct(order, act.qty)],
    "repeat": lambda order, _act, _tell: [Reply(fields=order.told)],
    "status": lambda order, _act, tell: [tell.report(order, "I")],
}
