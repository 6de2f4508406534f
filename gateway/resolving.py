"""A person's word on a difference between the book and the broker, on record before it counts.

Two answers: the book is right, and nothing changes; or the broker is, and an adjustment books what
is missing or takes out what is too much. What changes a book or ends an order needs the signatures
of both roles, over a statement that names this difference in this ledger; the rest one operator.
Not here: who may call (`api`), and what is open (`differences`).
"""

from dataclasses import dataclass
from typing import Any, Final

from audit.canonical import JSON
from audit.kinds import Kind
from audit.ledger import Lane
from audit.record import Draft
from fix.errors import ReportError
from fix.order import OrderState
from fix.reports import scaled
from gateway.api.models import ResolveRequest
from gateway.desk import DeskParts
from gateway.differences import Cause, Difference, order_ended_by
from gateway.errors import ResolutionRefusedError
from gateway.journal import decision_sealed
from gateway.orders import Standing
from gateway.settlement import OUTCOMES
from gateway.statements import all_signed, log_id, statement
from risk.intent import Side

PURPOSE: Final = "difference resolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    own: DeskParts
    difference: Difference
    request: ResolveRequest

    @property
    def order(self) -> Standing | None:
        """The order that it is about, or that the person names."""
        name = self.request.ends or self.difference.found.cl_ord_id
        return self.own.orders.by_cl_ord_id(name)


def resolution_statement(log: str, seq: int, leaf: str, request: ResolveRequest) -> bytes:
    """Return what both roles sign for a resolution that changes a book or ends an order."""
    return statement(
        PURPOSE,
        log,
        f"difference {seq} {leaf}",
        f"right {request.right}",
        f"price {request.price or '-'}",
        f"account {request.account or '-'}",
        f"side {request.side or '-'}",
        f"ends {request.ends or '-'}",
    )


def listed(own: DeskParts) -> dict[str, Any]:
    """Return what is open, with what a statement about it names."""
    own.section.differences.read(own.reader.head().size)
    return {
        "log_id": log_id(own.reader, own.origin),
        "open": [one.document() for one in own.section.differences.open()],
    }


def resolve(own: DeskParts, actor: str, seq: int, request: ResolveRequest) -> dict[str, Any]:
    """Put a person's word on record; the instrument is ready again if nothing else is open.

    Raises:
        ResolutionRefusedError: nothing of that number is open, or the word does not suffice.
    """
    own.section.differences.read(own.reader.head().size)
    found = next((d for d in own.section.differences.open() if d.seq == seq), None)
    if found is None:
        raise ResolutionRefusedError(
            problem=f"no difference {seq} is open: countersign differences lists them"
        )
    case = _Case(own=own, difference=found, request=request)
    adjustment = _adjustment(case) if request.right == "broker" else None
    ended = _ended(case)
    if adjustment is not None or request.ends:
        log = log_id(own.reader, own.origin)
        signed = resolution_statement(log, seq, found.leaf.hex(), request)
        given = {str(role): text for role, text in request.signatures.items()}
        if not all_signed(signed, given, own.keyring.public_keys()):
            raise ResolutionRefusedError(
                problem="it changes a book or ends an order: both roles, risk and compliance, must"
                " sign this resolution in this ledger"
            )
    drafts = (_resolved(case, actor, adjustment), *ended)
    # a crash before leaves it open, after it resolved: one batch has all of it
    own.orders.catch_up(own.tools.ledger.append(*drafts, lane=Lane.URGENT))
    own.section.differences.read(own.reader.head().size)
    return {"seq": seq, "right": request.right, "adjustment": adjustment}


def _resolved(case: _Case, actor: str, adjustment: dict[str, JSON] | None) -> Draft:
    request, found = case.request, case.difference.found
    account = found.account or request.account
    payload: dict[str, JSON] = {
        "of_seq": case.difference.seq,
        "of_leaf": case.difference.leaf.hex(),
        "right": request.right,
        "resolved_by": actor,
        "reason": request.reason,
        "evidence": request.evidence,
        "market_time_us": case.own.market.now_us(),
    }
    if account:
        payload["account"] = account
    if adjustment is not None:
        payload["adjustment"] = adjustment
    if request.ends:
        payload["ends"] = request.ends
    if request.signatures:
        payload["signatures"] = {str(role): text for role, text in request.signatures.items()}
    return Draft(
        stream="control",
        kind=Kind.DIFFERENCE_RESOLVED,
        payload=payload,
        actor=f"person:{actor}",
        idem_key=f"resolved:{case.difference.seq}",
    )


def _adjustment(case: _Case) -> dict[str, JSON]:
    """Return the trade that brings the book to the broker's side.

    Raises:
        ResolutionRefusedError: it cannot be said what to book.
    """
    own, request, found = case.own, case.request, case.difference.found
    if found.book_lots is None or found.broker_lots is None:
        raise ResolutionRefusedError(problem="its quantities are not known: right can only be book")
    lots = found.broker_lots - found.book_lots
    account = found.account or request.account
    if not lots or found.instrument not in own.instruments or account not in own.section.accounts:
        raise ResolutionRefusedError(
            problem="name an account of this gateway; the instrument must be one of it, and the two"
            " sides must differ"
        )
    instrument = own.instruments[found.instrument]
    side = Side.BUY if found.cause is Cause.ACCOUNT_LOTS else _side(case)
    if lots < 0:
        side = Side.SELL if side is Side.BUY else Side.BUY
    try:
        price = scaled(request.price, own.dispatching.profile.minor_digits)
    except ReportError:
        price = 0
    if price <= 0 or price % instrument.tick_minor:
        raise ResolutionRefusedError(problem="a price in whole ticks is needed: --price")
    return {
        "instrument": instrument.symbol,
        "side": side.value,
        "qty_lots": abs(lots),
        "price_ticks": price // instrument.tick_minor,
        "unit_minor": instrument.unit_minor,
        "fee_minor": 0,
    }


def _side(case: _Case) -> Side:
    """Return the side of the order that it is about."""
    order = case.order
    if order is not None and order.verdict is not None:
        return Side(str(order.verdict.body["intent"]["side"]))
    if not case.request.side:
        raise ResolutionRefusedError(problem="the order is not ours: name its side, BUY or SELL")
    return Side(case.request.side)


def _ended(case: _Case) -> tuple[Draft, ...]:
    """Return the records that end an order: the one named, or one that only waited for trades.

    Raises:
        ResolutionRefusedError: the order that is named is none of ours, or is over.
    """
    order = case.order
    waited = order is not None and OrderState(order.order_state).is_terminal
    if order is None or order.sealed or not (case.request.ends or waited):
        if case.request.ends:
            raise ResolutionRefusedError(problem=f"no order {case.request.ends} is at work here")
        return ()
    state = OrderState(order.order_state)
    if not state.is_terminal:
        rejected = case.difference.found.cause is Cause.REJECT_UNMATCHED
        state = OrderState.REJECTED if rejected else OrderState.CANCELED
    return (
        order_ended_by(
            order,
            case.difference.seq,
            order_state=state.value,
            market_time_us=case.own.market.now_us(),
        ),
        decision_sealed(
            f"decision/{order.decision_id}",
            OUTCOMES.get(state, "closed"),
            account=order.account,
            again=order.seals,
        ),
    )
