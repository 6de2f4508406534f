"""The order state machine: the states of an order and the events that each one takes.

Not here: booking of trades, which follows ExecType and never a state.

Rules:
- What ends an order ends it in every live state: a broker may reject an order after a part was
  filled, or not know it any more on the next morning.
- An ambiguous report, with two values of what says how its order stands, changes no state.
- Any other pair (state, event) outside the tables is an anomaly: recorded, alarmed, not applied.
- A late trade on a closed order is an anomaly with ``book``: it is booked and alarmed.
- An outdated report changes nothing: an acknowledgement that counts less than a filled order's
  quantity is older than the fill (`is_overtaken`).
- A bust, a reinstatement or a late acknowledgement can make an ended order live again: LeavesQty
  (151) decides, never the earlier state (`lives_again`, `restated`).
- Done for the day (39=3) and calculated (39=B) end nothing: the order keeps its reservation, may
  work again, and can be cancelled. It ends when the broker ends it, or does not know it any more.

Source: FIX 4.4 volume 4, appendix D, order state change matrices.
"""

from dataclasses import dataclass
from enum import StrEnum

from fix.wire.reports import ExecutionReport, shares


class OrderState(StrEnum):
    """State of an order: ours first, then those that the broker reports."""

    INTENT = "INTENT"
    SENDING = "SENDING"
    SENT = "SENT"
    UNKNOWN = "UNKNOWN"
    WITHDRAWN = "WITHDRAWN"
    REFUSED = "REFUSED"
    NOT_RECEIVED = "NOT_RECEIVED"
    PENDING_NEW = "PENDING_NEW"
    NEW = "NEW"
    PARTIAL = "PARTIAL"
    FILLED = "FILLED"
    DONE_FOR_DAY = "DONE_FOR_DAY"
    CALCULATED = "CALCULATED"
    PENDING_CANCEL = "PENDING_CANCEL"
    PENDING_REPLACE = "PENDING_REPLACE"
    CANCELED = "CANCELED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    STOPPED = "STOPPED"
    SUSPENDED = "SUSPENDED"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing of the order is left at the broker."""
        return self in _TERMINAL

    @property
    def is_live(self) -> bool:
        """Whether the broker may still trade it."""
        return self not in _TERMINAL and self is not OrderState.INTENT


class OrderEvent(StrEnum):
    """What happened to an order."""

    SENDING_COMMITTED = "SENDING_COMMITTED"
    LEFT = "LEFT"
    LOST_SIGHT = "LOST_SIGHT"
    GUARD_REFUSED = "GUARD_REFUSED"
    WITHDREW = "WITHDREW"
    NOT_KNOWN_THERE = "NOT_KNOWN_THERE"
    PENDING_NEW = "PENDING_NEW"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    TRADED_PART = "TRADED_PART"
    TRADED_ALL = "TRADED_ALL"
    DONE_FOR_DAY = "DONE_FOR_DAY"
    CALCULATED = "CALCULATED"
    PENDING_CANCEL = "PENDING_CANCEL"
    PENDING_REPLACE = "PENDING_REPLACE"
    CANCELED = "CANCELED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    STOPPED = "STOPPED"
    SUSPENDED = "SUSPENDED"
    BUSTED = "BUSTED"
    CORRECTED = "CORRECTED"


class AnomalyReason(StrEnum):
    """Why an event does not fit."""

    LATE_TRADE = "LATE_TRADE"
    NOT_IN_TABLE = "NOT_IN_TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """An event that does not fit its order; `book`: the trade must still be booked."""

    state: OrderState
    event: OrderEvent
    reason: AnomalyReason
    book: bool


_S, _E = OrderState, OrderEvent
_TERMINAL = frozenset(
    {
        _S.WITHDRAWN,
        _S.REFUSED,
        _S.NOT_RECEIVED,
        _S.FILLED,
        _S.CANCELED,
        _S.REJECTED,
        _S.EXPIRED,
    }
)
_TRADES = frozenset({_E.TRADED_PART, _E.TRADED_ALL})
ENDING = frozenset(
    {_E.TRADED_ALL, _E.CANCELED, _E.REJECTED, _E.EXPIRED, _E.NOT_KNOWN_THERE},
)
"""Events by which the broker ends an order."""
_ACKNOWLEDGING = frozenset({_E.PENDING_NEW, _E.ACKNOWLEDGED, _E.PENDING_CANCEL})

_REPORTED: dict[OrderEvent, OrderState] = {
    _E.PENDING_NEW: _S.PENDING_NEW,
    _E.ACKNOWLEDGED: _S.NEW,
    _E.TRADED_PART: _S.PARTIAL,
    _E.TRADED_ALL: _S.FILLED,
    _E.DONE_FOR_DAY: _S.DONE_FOR_DAY,
    _E.CALCULATED: _S.CALCULATED,
    _E.PENDING_CANCEL: _S.PENDING_CANCEL,
    _E.PENDING_REPLACE: _S.PENDING_REPLACE,
    _E.CANCELED: _S.CANCELED,
    _E.REJECTED: _S.REJECTED,
    _E.EXPIRED: _S.EXPIRED,
    _E.STOPPED: _S.STOPPED,
    _E.SUSPENDED: _S.SUSPENDED,
}
_ANY_REPORT = frozenset(_REPORTED)
_WORKING = _ANY_REPORT - {_E.PENDING_NEW}
_AFTER_THE_DAY = _WORKING - {_E.STOPPED, _E.SUSPENDED}

_BROKER_TABLE: dict[OrderState, frozenset[OrderEvent]] = {
    _S.SENT: _ANY_REPORT,
    _S.UNKNOWN: _ANY_REPORT,
    _S.PENDING_NEW: _WORKING | {_E.PENDING_NEW},
    _S.NEW: _WORKING,
    _S.PARTIAL: _WORKING - {_E.ACKNOWLEDGED},
    _S.PENDING_CANCEL: _WORKING,
    _S.PENDING_REPLACE: _WORKING,
    _S.STOPPED: _WORKING,
    _S.SUSPENDED: _WORKING,
    _S.DONE_FOR_DAY: _AFTER_THE_DAY,
    _S.CALCULATED: _AFTER_THE_DAY,
}
_OWN_TABLE: dict[tuple[OrderState, OrderEvent], OrderState] = {
    (_S.INTENT, _E.SENDING_COMMITTED): _S.SENDING,
    (_S.INTENT, _E.WITHDREW): _S.WITHDRAWN,
    (_S.SENDING, _E.LEFT): _S.SENT,
    (_S.SENDING, _E.LOST_SIGHT): _S.UNKNOWN,
    (_S.SENDING, _E.GUARD_REFUSED): _S.REFUSED,
    (_S.UNKNOWN, _E.LEFT): _S.SENT,
    (_S.SENT, _E.LOST_SIGHT): _S.UNKNOWN,
}
_UNHEARD = frozenset({_S.SENDING, _S.SENT, _S.UNKNOWN})
"""States in which the broker has said nothing about the order yet."""
_OLD_NEWS: frozenset[tuple[OrderState, OrderEvent]] = frozenset(
    {
        (_S.PARTIAL, _E.ACKNOWLEDGED),
        (_S.FILLED, _E.ACKNOWLEDGED),
        (_S.FILLED, _E.PENDING_NEW),
        (_S.FILLED, _E.PENDING_CANCEL),
        (_S.FILLED, _E.TRADED_ALL),
        (_S.FILLED, _E.DONE_FOR_DAY),
        (_S.FILLED, _E.CALCULATED),
        (_S.CANCELED, _E.CALCULATED),
        (_S.EXPIRED, _E.CALCULATED),
        (_S.NEW, _E.PENDING_NEW),
        (_S.PARTIAL, _E.PENDING_NEW),
        (_S.CANCELED, _E.CANCELED),
        (_S.CANCELED, _E.PENDING_CANCEL),
        (_S.REJECTED, _E.REJECTED),
        (_S.EXPIRED, _E.EXPIRED),
        (_S.SENT, _E.LEFT),
    }
)


def advance(state: OrderState, event: OrderEvent) -> OrderState | Anomaly:
    """Return the state after an event, or the anomaly.

    A broker's report on SENDING proves that the order left before LEFT was recorded.
    """
    own = _OWN_TABLE.get((state, event))
    if own is not None:
        return own
    if event is OrderEvent.NOT_KNOWN_THERE:
        return _forgotten(state)
    if event in _BROKER_TABLE.get(state, frozenset()):
        return _REPORTED[event]
    if state is OrderState.SENDING and event in _REPORTED:
        return _REPORTED[event]
    if (state, event) in _OLD_NEWS:
        return state
    if event in _TRADES:
        return Anomaly(state=state, event=event, reason=AnomalyReason.LATE_TRADE, book=True)
    return Anomaly(state=state, event=event, reason=AnomalyReason.NOT_IN_TABLE, book=False)


def _forgotten(state: OrderState) -> OrderState:
    """Return the state of an order that the broker does not know: it ends, if it had not."""
    if not state.is_live:
        return state
    return OrderState.NOT_RECEIVED if state in _UNHEARD else OrderState.EXPIRED


def after_report(state: OrderState, report: ExecutionReport) -> OrderState | Anomaly | None:
    """Return the state after a report, the anomaly, or None for an OrdStatus that we do not use.

    The FIX child and the gateway agree by it on what is live: from a live state it ends the order
    if and only if `leaves_nothing`, and from an ended one it never revives it (`lives_again`).
    """
    if report.is_ambiguous:
        return state
    if report.undoes or (report.reinstates and report.has_leaves):
        return restated(state, report)
    event = event_of(report)
    return None if event is None else advance(state, event)


_BY_STATUS = {
    "0": _E.ACKNOWLEDGED,
    "1": _E.TRADED_PART,
    "2": _E.TRADED_ALL,
    "3": _E.DONE_FOR_DAY,
    "4": _E.CANCELED,
    "6": _E.PENDING_CANCEL,
    "7": _E.STOPPED,
    "8": _E.REJECTED,
    "9": _E.SUSPENDED,
    "A": _E.PENDING_NEW,
    "B": _E.CALCULATED,
    "C": _E.EXPIRED,
    "E": _E.PENDING_REPLACE,
}
_UNKNOWN_ORDER = "5"
_REPLACED = "5"


def event_of(report: ExecutionReport) -> OrderEvent | None:
    """Return the event of an execution report, or None for an OrdStatus that we do not use.

    OrdStatus (39) decides; 39=5 (replaced, FIX 4.2) by CumQty. Exceptions are busts and
    corrections, a status report that rejects an unknown order (it never arrived), and 151=0 with
    39=1 (seen in the field), which is a full fill if CumQty equals OrderQty.
    """
    if report.undoes:
        return OrderEvent.CORRECTED if report.is_correction else OrderEvent.BUSTED
    unknown = report.reject_reason in {"", _UNKNOWN_ORDER}  # OrdRejReason (103)
    if report.is_status and report.ord_status == "8" and unknown:
        return OrderEvent.NOT_KNOWN_THERE
    if report.ord_status in {"1", _REPLACED} and _is_complete(report):
        return OrderEvent.TRADED_ALL
    if report.ord_status == _REPLACED:
        traded = bool(report.cum_qty.strip("0."))
        return OrderEvent.TRADED_PART if traded else OrderEvent.ACKNOWLEDGED
    return _BY_STATUS.get(report.ord_status)


def restated(state: OrderState, report: ExecutionReport) -> OrderState:
    """Return the state after a bust, a correction or a reinstatement, from any state.

    A quantity that is left works, whatever OrdStatus says: an order taken for live by mistake is
    cancelled once too often; one taken for ended would be forgotten.
    """
    if report.has_leaves:
        traded = bool(report.cum_qty.strip("0."))
        return OrderState.PARTIAL if traded else OrderState.NEW
    return _ENDED_BY.get(report.ord_status, state)


def lives_again(report: ExecutionReport) -> bool:
    """Return whether a report says that its order works, even if it had ended.

    LeavesQty (151) decides, unless OrdStatus ends the order: some brokers repeat the old quantity
    in their final report. A bust, a correction or a reinstatement is never final. The caller must
    know whether the report is news.
    """
    if report.is_ambiguous or not report.has_leaves:
        return False
    return report.reinstates or event_of(report) not in ENDING


def is_overtaken(report: ExecutionReport, quantity: str) -> bool:
    """Return whether a report about a filled order of `quantity` shares is older than its fill.

    It is an acknowledgement that counts less. The answer to a status request and a reinstatement
    are of now.
    """
    if report.is_status or report.reinstates or event_of(report) not in _ACKNOWLEDGING:
        return False
    told, whole = shares(report.cum_qty), shares(quantity)
    return told is not None and whole is not None and told < whole


def leaves_nothing(report: ExecutionReport) -> bool:
    """Return whether a report ends its order; a reinstating one does so by its OrdStatus."""
    if report.is_ambiguous:
        return False
    if report.undoes or (report.reinstates and report.has_leaves):
        return restated(OrderState.NEW, report).is_terminal
    return event_of(report) in ENDING


def state_named(ord_status: str) -> str:
    """Return the name of an OrdStatus (39); one that we do not use keeps its code."""
    event = _BY_STATUS.get(ord_status)
    return ord_status if event is None else _REPORTED[event].value


def is_over_by(ord_status: str) -> bool:
    """Return whether an OrdStatus (39) says that an order has ended."""
    return ord_status in _ENDED_BY


def after_cancel_reject(state: OrderState, ord_status: str) -> OrderState:
    """Return the state after a refused cancel or replace (35=9): the reported one.

    Only an order that waits for that answer moves. Its end comes with a report of its own.
    """
    if state not in {OrderState.PENDING_CANCEL, OrderState.PENDING_REPLACE}:
        return state
    event = _BY_STATUS.get(ord_status)
    after = state if event is None else _REPORTED[event]
    return state if after.is_terminal else after


_ENDED_BY = {"2": _S.FILLED, "4": _S.CANCELED, "8": _S.REJECTED, "C": _S.EXPIRED}


def _is_complete(report: ExecutionReport) -> bool:
    zero = not report.leaves_qty.strip("0.")
    return zero and bool(report.order_qty) and _plain(report.order_qty) == _plain(report.cum_qty)


def _plain(text: str) -> str:
    return (text.rstrip("0").rstrip(".") if "." in text else text).lstrip("0")
