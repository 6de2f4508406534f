"""Where one decision and its order stand.

Not here: the fold that gives it (`outbox`).
"""

from dataclasses import dataclass
from enum import StrEnum

from audit.records.canonical import JSON
from audit.records.record import Record
from fix.orders.state import OrderState
from gateway.walk.journal.contents import Fill, Reservation


class Stage(StrEnum):
    """How far a decision has come."""

    OPEN = "open"
    HELD = "held"
    APPROVED = "approved"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    CLOSED = "closed"
    SEALED = "sealed"


OUTCOMES = {
    OrderState.FILLED: "filled",
    OrderState.CANCELED: "cancelled",
    OrderState.REJECTED: "rejected_by_broker",
    OrderState.EXPIRED: "expired",
    OrderState.NOT_RECEIVED: "not_received",
}
"""Outcome of a decision, by the final state of its order."""
_LIVE = frozenset({Stage.SENDING, Stage.SENT, Stage.UNKNOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class BookedTrade:
    """One trade of an order: `fill` as last corrected, or None once it was busted.

    `seq` is the record that booked it. `exec_ids` has its own ExecID, then its corrections'.
    """

    seq: int
    exec_ids: tuple[str, ...]
    fill: Fill | None

    @property
    def lots(self) -> int:
        """Its lots; 0 once it was busted."""
        return 0 if self.fill is None else self.fill.qty_lots


class CancelOutcome(StrEnum):
    """How a cancel that somebody asked for ended."""

    NOT_SENT = "not_sent"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCancel:
    """One request to cancel an order; `outcome` is empty until it is over.

    `seq` and `asked_us` are those of the request's record, whose leaf gives `cancel_id`.
    """

    seq: int
    asked_us: int
    cancel_id: str
    requested_by: str
    client_key: str
    reason: str
    outcome: str = ""
    detail: str = ""


class ReplaceOutcome(StrEnum):
    """How a replace ended."""

    NOT_SENT = "not_sent"
    REPLACED = "replaced"
    REJECTED = "rejected"
    TOO_LATE = "too_late"
    NOT_RECEIVED = "not_received"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an order may do: its whole quantity and its limit.

    Attributes:
        name: the ClOrdID that these terms have at the broker.
        quantity: `qty_lots` as the message has it, and `price` the limit.
    """

    name: str
    qty_lots: int
    limit_ticks: int
    quantity: str
    price: str

    def document(self) -> dict[str, JSON]:
        """Return the terms as a record holds them; the name is a field of its own there."""
        return {
            "qty_lots": self.qty_lots,
            "limit_ticks": self.limit_ticks,
            "quantity": self.quantity,
            "price": self.price,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedReplace:
    """One request to replace an order; `outcome` is empty until it is over.

    Attributes:
        seq: of the request's record, whose leaf gives `terms.name`; `asked_us` is its time.
        orig_name: the ClOrdID that it replaces.
        terms: what was asked for.
        reservation: the larger of both totals at the higher of both limits, until the end.
    """

    seq: int
    asked_us: int
    orig_name: str
    requested_by: str
    client_key: str
    reason: str
    terms: Terms
    reservation: Reservation
    outcome: str = ""
    detail: str = ""

    @property
    def replace_id(self) -> str:
        """The ClOrdID of the replace."""
        return self.terms.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One decision and its order.

    Attributes:
        mode: of the run that decided it; empty if its records do not say.
        session: the FIX session that its order was announced for; empty if its records do not say.
        approving: the approving verdict, whose leaf names the order.
        order_state: name of an `OrderState`.
        report_status: the last reported OrdStatus (39), or None.
        seals: how often the decision was sealed; a bust can reopen its order.
        broker_id: the broker's OrderID (37), as last reported.
        said_us: when the order's last record was made, wall clock.
        cancels: the requests to cancel its order, oldest first.
        replaces: the requests to replace it, oldest first.
        terms: the terms that the last replace left; None while those of the announcement count.
        restated: the terms that the broker gave it by itself (150=D); None if it did not.
        basket_id: the basket that it is a leg of, or empty.
    """

    decision_id: str
    account: str = ""
    mode: str = ""
    session: str = ""
    stage: Stage = Stage.OPEN
    approving: Record | None = None
    verdict: Record | None = None
    sending: Record | None = None
    cl_ord_id: str = ""
    order_state: str = "INTENT"
    filled_lots: int = 0
    report_status: str | None = None
    sealed: bool = False
    seals: int = 0
    trades: tuple[BookedTrade, ...] = ()
    broker_id: str = ""
    said_us: int = 0
    cancels: tuple[AskedCancel, ...] = ()
    replaces: tuple[AskedReplace, ...] = ()
    terms: Terms | None = None
    restated: Terms | None = None
    basket_id: str = ""

    def is_of(self, mode: str) -> bool:
        """Return whether it was decided in a mode; every one is in "", or if it names none."""
        return not mode or self.mode in {mode, ""}

    def is_at(self, session: str) -> bool:
        """Return whether its order went to a session, or names none."""
        return self.session in {session, ""}

    @property
    def is_live(self) -> bool:
        """Whether its order may be working at the broker.

        An order that the broker ended while trades are missing here is not live; it keeps its
        reservation until the trades come or persons resolve the difference.
        """
        return self.stage in _LIVE and not OrderState(self.order_state).is_terminal

    @property
    def is_doubted(self) -> bool:
        """Whether the broker refused a cancel because the order is over, and has not said how."""
        late = any(one.outcome == CancelOutcome.TOO_LATE for one in self.cancels)
        late = late or any(one.outcome == ReplaceOutcome.TOO_LATE for one in self.replaces)
        return self.is_live and late

    @property
    def open_cancels(self) -> tuple[AskedCancel, ...]:
        """The requests that are not over."""
        return tuple(one for one in self.cancels if not one.outcome)

    def open_cancel(self, cancel_id: str) -> AskedCancel | None:
        """Return the open request whose message has this ClOrdID, or None."""
        return next((one for one in self.open_cancels if one.cancel_id == cancel_id), None)

    @property
    def wire_name(self) -> str:
        """The ClOrdID under which the broker has the order, as far as it said so."""
        return self.cl_ord_id if self.terms is None else self.terms.name

    @property
    def open_replace(self) -> AskedReplace | None:
        """The request to replace that is not over; there is one at most."""
        return next((one for one in self.replaces if not one.outcome), None)

    def replace_named(self, name: str) -> AskedReplace | None:
        """Return the request to replace whose message has this ClOrdID, or None."""
        return next((one for one in self.replaces if one.replace_id == name), None)

    def reserved_lots(self, asked: AskedReplace) -> int:
        """Return the total that is reserved while a replace is not over, or after its end."""
        now = self.restated or self.terms
        if not asked.outcome:
            told = 0 if self.restated is None else self.restated.qty_lots
            return max(asked.reservation.qty_lots, told)
        return asked.reservation.qty_lots if now is None else now.qty_lots

    def trade(self, exec_id: str) -> BookedTrade | None:
        """Return the trade that an ExecID names, its own or a correction's; None if unknown."""
        return next((t for t in reversed(self.trades) if exec_id and exec_id in t.exec_ids), None)
