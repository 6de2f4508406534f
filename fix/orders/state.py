"""The order state machine, one table: where an order stands and what may happen to it next.

Not here: booking of trades, which follows ExecType and never a state. Rules:

- A pair (state, event) that the table does not list is an anomaly: recorded, alarmed, not applied.
- A late trade on a closed order is an anomaly that says ``book``: it is booked and alarmed, never
  dropped.
- Old news about an order that has moved on (an acknowledgement after the fill) changes nothing.
- Any report may let an ended order live again, a bust, a reinstatement or a late acknowledgement;
  then LeavesQty (151) decides, never where the order stood before (`lives_again`, `restated`).

Source: FIX 4.4 volume 4, appendix D, order state change matrices.
"""

from dataclasses import dataclass
from enum import StrEnum

from fix.wire.reports import ExecutionReport


class OrderState(StrEnum):
    """Where an order stands, ours first, then as the broker reports it."""

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
    PENDING_CANCEL = "PENDING_CANCEL"
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
        """Whether the broker may still trade it: sent, of unknown fate, or reported open."""
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
    PENDING_CANCEL = "PENDING_CANCEL"
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
    """An event that does not fit its order; `book`: the trade must be booked all the same."""

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

_REPORTED: dict[OrderEvent, OrderState] = {
    _E.PENDING_NEW: _S.PENDING_NEW,
    _E.ACKNOWLEDGED: _S.NEW,
    _E.TRADED_PART: _S.PARTIAL,
    _E.TRADED_ALL: _S.FILLED,
    _E.DONE_FOR_DAY: _S.DONE_FOR_DAY,
    _E.PENDING_CANCEL: _S.PENDING_CANCEL,
    _E.CANCELED: _S.CANCELED,
    _E.REJECTED: _S.REJECTED,
    _E.EXPIRED: _S.EXPIRED,
    _E.STOPPED: _S.STOPPED,
    _E.SUSPENDED: _S.SUSPENDED,
}
_ANY_REPORT = frozenset(_REPORTED)
_WORKING = _ANY_REPORT - {_E.PENDING_NEW}

_BROKER_TABLE: dict[OrderState, frozenset[OrderEvent]] = {
    _S.SENT: _ANY_REPORT,
    _S.UNKNOWN: _ANY_REPORT,
    _S.PENDING_NEW: _WORKING | {_E.PENDING_NEW},
    _S.NEW: _WORKING,
    _S.PARTIAL: _WORKING - {_E.ACKNOWLEDGED, _E.REJECTED},
    _S.PENDING_CANCEL: _WORKING - {_E.REJECTED},
    _S.STOPPED: _WORKING,
    _S.SUSPENDED: _WORKING,
    _S.DONE_FOR_DAY: frozenset({_E.TRADED_PART, _E.ACKNOWLEDGED, _E.CANCELED, _E.EXPIRED}),
}
_OWN_TABLE: dict[tuple[OrderState, OrderEvent], OrderState] = {
    (_S.INTENT, _E.SENDING_COMMITTED): _S.SENDING,
    (_S.INTENT, _E.WITHDREW): _S.WITHDRAWN,
    (_S.SENDING, _E.LEFT): _S.SENT,
    (_S.SENDING, _E.LOST_SIGHT): _S.UNKNOWN,
    (_S.SENDING, _E.GUARD_REFUSED): _S.REFUSED,
    (_S.UNKNOWN, _E.LEFT): _S.SENT,
    (_S.SENT, _E.LOST_SIGHT): _S.UNKNOWN,
    (_S.SENT, _E.NOT_KNOWN_THERE): _S.NOT_RECEIVED,
    (_S.UNKNOWN, _E.NOT_KNOWN_THERE): _S.NOT_RECEIVED,
}
_OLD_NEWS: frozenset[tuple[OrderState, OrderEvent]] = frozenset(
    {
        (_S.PARTIAL, _E.ACKNOWLEDGED),
        (_S.FILLED, _E.ACKNOWLEDGED),
        (_S.FILLED, _E.PENDING_NEW),
        (_S.FILLED, _E.PENDING_CANCEL),
        (_S.FILLED, _E.TRADED_ALL),
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
    """Return where the order stands after an event, or the anomaly that the event is.

    A trade on SENDING is taken as proof that the order left before we could say so.
    """
    own = _OWN_TABLE.get((state, event))
    if own is not None:
        return own
    if event in _BROKER_TABLE.get(state, frozenset()):
        return _REPORTED[event]
    if state is OrderState.SENDING and event in _REPORTED:
        return _REPORTED[event]
    if (state, event) in _OLD_NEWS:
        return state
    if event in _TRADES:
        return Anomaly(state=state, event=event, reason=AnomalyReason.LATE_TRADE, book=True)
    return Anomaly(state=state, event=event, reason=AnomalyReason.NOT_IN_TABLE, book=False)


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
    "C": _E.EXPIRED,
}
_UNKNOWN_ORDER = "5"


def event_of(report: ExecutionReport) -> OrderEvent | None:
    """Return the event that an execution report tells, or None when it tells none of ours.

    OrdStatus (39) decides, except that: a bust is a bust and a correction is one; a status report
    that rejects because the order is unknown says that it never arrived; and nothing left of a
    partly traded order (151=0 with 39=1, seen in the field) is a full fill when the trades make up
    its quantity.
    """
    if report.undoes:
        return OrderEvent.CORRECTED if report.is_correction else OrderEvent.BUSTED
    if report.is_status and report.ord_status == "8" and _is_unknown_order(report):
        return OrderEvent.NOT_KNOWN_THERE
    if report.ord_status == "1" and _is_complete(report):
        return OrderEvent.TRADED_ALL
    return _BY_STATUS.get(report.ord_status)


def restated(state: OrderState, report: ExecutionReport) -> OrderState:
    """Return where an order stands after a bust, a correction or a reinstatement, from any state.

    What is left works on, whatever OrdStatus says beside it: taken for live by mistake an order is
    cancelled once too often, taken for ended it would be forgotten.
    """
    if report.has_leaves:
        traded = bool(report.cum_qty.strip("0."))
        return OrderState.PARTIAL if traded else OrderState.NEW
    return _ENDED_BY.get(report.ord_status, state)


def lives_again(report: ExecutionReport) -> bool:
    """Return whether a report says that an order works, also one that ended: a kill must see it.

    What is left (151) says so, whatever the report is, unless its OrdStatus ends the order: some
    brokers repeat what was left in their last word. A bust, a correction or a reinstatement is no
    last word. Whether a report is news or an old one sent again, its reader must know.
    """
    return report.has_leaves and (report.reinstates or event_of(report) not in ENDING)


def leaves_nothing(report: ExecutionReport) -> bool:
    """Return whether a report ends its order; what reinstates one does so by its OrdStatus."""
    if report.undoes or (report.reinstates and report.has_leaves):
        return restated(OrderState.NEW, report).is_terminal
    return event_of(report) in ENDING


_ENDED_BY = {"2": _S.FILLED, "4": _S.CANCELED, "8": _S.REJECTED, "C": _S.EXPIRED}


def _is_unknown_order(report: ExecutionReport) -> bool:
    """Whether OrdRejReason (103) says unknown order, or is left out on a status report."""
    return report.reject_reason in {"", _UNKNOWN_ORDER}


def _is_complete(report: ExecutionReport) -> bool:
    zero = not report.leaves_qty.strip("0.")
    return zero and bool(report.order_qty) and _plain(report.order_qty) == _plain(report.cum_qty)


def _plain(text: str) -> str:
    return (text.rstrip("0").rstrip(".") if "." in text else text).lstrip("0")
