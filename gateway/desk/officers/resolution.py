"""A person's resolution of a difference between the book and the broker, recorded before it counts.

If the book is right, nothing changes. If the broker is right, an adjustment brings the book to the
broker's side.

Rules:

- A resolution uses the present quantities, not those of when the difference was found. An
  adjustment of other lots than were signed is refused; where the sides agree by now there is none.
- It closes every difference of the same order.
- Units beyond whole lots cannot be booked: both officers sign that the book is right, and where the
  rest is booked. A price that books nothing is refused.
- One operator suffices unless it changes a book or ends an order. Then both roles sign a statement
  that names this difference in this ledger.
- It may name the broker's ExecIDs of the trades that the adjustment books or takes out. A verifier
  then finds them in the broker's own file, also if the order is not ours.

Not here: who may call (`surfaces`), which differences are open (`walk.projections.differences`).
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from audit.records.canonical import JSON
from audit.records.record import Draft
from audit.sequencer.ledger import Lane
from fix.errors import ReportError
from fix.orders.state import OrderState
from fix.wire.reports import scaled
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.controls.statements import all_signed, statement
from gateway.desk.parts import DeskParts
from gateway.errors import ResolutionRefusedError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.control.difference import DifferenceCause, DifferenceResolved, Found
from gateway.walk.journal.order import order_ended_by, sealed
from gateway.walk.journal.standing import OUTCOMES, Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.differences import Difference
from gateway.walk.reconciliation.book_check import traded_lots
from risk.intent import Side

PURPOSE: Final = "difference resolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    own: DeskParts
    difference: Difference
    request: ResolveRequest
    book_lots: int | None
    broker_lots: int | None
    odd_units: int

    @property
    def order(self) -> Standing | None:
        """The order that the person names, or else the difference's own."""
        name = self.request.ends or self.difference.found.cl_ord_id
        return self.own.orders.by_cl_ord_id(name)


def resolution_statement(log: str, seq: int, leaf: str, request: ResolveRequest) -> bytes:
    """Return the bytes that both roles sign; the terms are JSON on one line."""
    return statement(
        PURPOSE,
        log,
        f"difference {seq} {leaf}",
        f"terms {json.dumps(terms_of(request), sort_keys=True)}",
    )


def terms_of(request: ResolveRequest) -> dict[str, JSON]:
    """Return everything that the officers sign, as they wrote it."""
    terms: dict[str, JSON] = request.model_dump(mode="json", exclude={"signatures"})
    return terms


def listed(own: DeskParts) -> dict[str, Any]:
    """Return the log id and the open differences, for display and for a statement."""
    own.section.differences.read(own.reader.log_size())
    return {
        "log_id": log_id(own.reader, own.origin),
        "open": [_document(own, one) for one in own.section.differences.open()],
    }


def _document(own: DeskParts, one: Difference) -> dict[str, Any]:
    """Return a difference with present quantities and the lots that an adjustment would book."""
    book, broker, odd = _sides_now(own, one.found)
    return one.document() | {
        "book_lots": book,
        "broker_lots": broker,
        "odd_units": odd,
        "lots": None if book is None or broker is None or odd else broker - book,
        "found_book_lots": one.found.book_lots,
        "found_broker_lots": one.found.broker_lots,
    }


def _sides_now(own: DeskParts, found: Found) -> tuple[int | None, int | None, int]:
    """Return the book's lots, the broker's, and the broker's units beyond them."""
    differences = own.section.differences
    if found.cause is DifferenceCause.ACCOUNT_LOTS and found.account in own.section.accounts:
        account, symbol = found.account, found.instrument
        traded = traded_lots(own.orders).get((account, symbol), 0)
        adjusted = differences.adjusted(account, symbol)
        return own.section.book(account).lots(symbol), traded + adjusted, 0
    if not found.cl_ord_id or found.book_lots is None:
        return found.book_lots, found.broker_lots, found.odd_units
    order = own.orders.by_cl_ord_id(found.cl_ord_id)
    book = (0 if order is None else order.filled_lots) + differences.adjusted_of(found.cl_ord_id)
    return book, *differences.total_told(found.cl_ord_id, book)


def resolve(own: DeskParts, actor: str, seq: int, request: ResolveRequest) -> dict[str, Any]:
    """Record a resolution; the instrument is ready again if nothing else is open.

    Raises:
        ResolutionRefusedError: the difference is not open, the request lacks something, or the
            order that it ends is unknown or has ended.
    """
    own.section.differences.read(own.reader.log_size())
    found = next((d for d in own.section.differences.open() if d.seq == seq), None)
    if found is None:
        raise ResolutionRefusedError(
            problem=f"no difference {seq} is open: countersign differences lists them"
        )
    book, broker, odd = _sides_now(own, found.found)
    case = _Case(
        own=own,
        difference=found,
        request=request,
        book_lots=book,
        broker_lots=broker,
        odd_units=odd,
    )
    _refuse_odd_units(case)
    adjustment = _adjustment(case) if request.right == "broker" else None
    if request.exec_ids and adjustment is None:
        raise ResolutionRefusedError(problem="nothing is booked: leave out --exec-id")
    if request.price and adjustment is None:
        raise ResolutionRefusedError(
            problem="nothing is booked, so no price: leave out --price. To take out a trade that"
            " was booked and book another, use countersign adjust give_up and adjust trade"
        )
    ended = _ended(case)
    if adjustment is not None or request.ends or odd:
        log = log_id(own.reader, own.origin)
        signed = resolution_statement(log, seq, found.leaf.hex(), request)
        given = {str(role): text for role, text in request.signatures.items()}
        if not all_signed(signed, given, own.keyring.public_keys()):
            raise ResolutionRefusedError(
                problem="it changes a book, ends an order or leaves units unbooked: both roles,"
                " risk and compliance, must sign this resolution in this ledger"
            )
    beside = own.section.differences.of_one_order(found)
    drafts = (
        _resolved(case, actor, adjustment),
        *(_resolved(case, actor, None, beside=one) for one in beside),
        *ended,
    )
    # a crash before leaves the difference open, a crash after leaves it resolved: it is one batch
    own.orders.catch_up(own.tools.ledger.append(*drafts, lane=Lane.URGENT))
    own.section.differences.read(own.reader.log_size())
    return {"seq": seq, "right": request.right, "adjustment": adjustment}


def _resolved(
    case: _Case, actor: str, adjustment: dict[str, JSON] | None, *, beside: Difference | None = None
) -> Draft:
    """Return the record of a resolution, or of one `beside` it, of the same order."""
    request, of = case.request, beside or case.difference
    known = case.book_lots is not None and case.broker_lots is not None
    given = {str(role): text for role, text in request.signatures.items()}
    resolved = DifferenceResolved(
        of_seq=of.seq,
        of_leaf=of.leaf.hex(),
        right=request.right,
        resolved_by=actor,
        reason=request.reason,
        evidence=request.evidence,
        market_time_us=case.own.market.now_us(),
        account=of.found.account or request.account,
        book_lots=case.book_lots if known else None,
        broker_lots=case.broker_lots if known else None,
    )
    if beside is not None:
        resolved = replace(resolved, with_seq=case.difference.seq)
    else:
        resolved = replace(
            resolved, terms=terms_of(request), ends=request.ends, signatures=given or None
        )
    if adjustment is not None:
        booked_for = case.own.orders.by_cl_ord_id(of.found.cl_ord_id)
        resolved = replace(
            resolved,
            adjustment=Fill.read(adjustment),
            trade=_trade_text(case, adjustment),
            decision_id=None if booked_for is None else booked_for.decision_id,
        )
    return resolved.draft()


def _refuse_odd_units(case: _Case) -> None:
    """Refuse what would lose units that are no whole lots.

    Raises:
        ResolutionRefusedError: it would book them, or its difference does not name them.
    """
    if not case.odd_units:
        return
    if case.request.right == "broker":
        raise ResolutionRefusedError(
            problem=f"the broker's total is {case.broker_lots} lots and {case.odd_units} units,"
            " which cannot be booked. Book whole lots with countersign adjust trade; then both"
            " officers sign --right book, and --reason says where the rest is booked"
        )
    if case.difference.found.odd_units != case.odd_units:
        raise ResolutionRefusedError(
            problem=f"{case.odd_units} units of its order cannot be booked: resolve the newest"
            " difference of that order, which names them"
        )


def _adjustment(case: _Case) -> dict[str, JSON] | None:
    """Return the trade that brings the book to the broker's side; None if the sides agree."""
    own, request, found = case.own, case.request, case.difference.found
    if case.book_lots is None or case.broker_lots is None:
        raise ResolutionRefusedError(
            problem="the quantities are not known: only `right: book` is possible"
        )
    lots = case.broker_lots - case.book_lots
    if lots != request.lots:
        raise ResolutionRefusedError(
            problem=f"book {case.book_lots}, broker {case.broker_lots} by now: the adjustment is of"
            f" {lots} lots, not {request.lots}; list the differences and sign again"
        )
    if not lots:
        return None
    account = found.account or request.account
    if found.instrument not in own.instruments or account not in own.section.accounts:
        raise ResolutionRefusedError(
            problem="account or instrument is not this gateway's: name an account of it"
        )
    instrument = own.instruments[found.instrument]
    side = Side.BUY if found.cause is DifferenceCause.ACCOUNT_LOTS else _side(case)
    if lots < 0:
        side = Side.SELL if side is Side.BUY else Side.BUY
    try:
        price = scaled(request.price, own.dispatching.profile.minor_digits)
    except ReportError:
        price = 0
    if price <= 0 or price % instrument.tick_minor:
        raise ResolutionRefusedError(
            problem="give a positive price in whole ticks: --price. A price between ticks cannot be"
            " booked: operate.md, 'A price between ticks'"
        )
    return {
        "instrument": instrument.symbol,
        "side": side.value,
        "qty_lots": abs(lots),
        "price_ticks": price // instrument.tick_minor,
        "unit_minor": instrument.unit_minor,
        "fee_minor": 0,
    }


def _trade_text(case: _Case, adjustment: dict[str, JSON]) -> dict[str, JSON]:
    """Return the adjustment in the instrument's units, as a broker's file has it."""
    instrument = case.own.instruments[str(adjustment["instrument"])]
    return {
        "instrument": instrument.symbol,
        "side": adjustment["side"],
        "quantity": str(abs(case.request.lots) * instrument.lot),
        "price": case.request.price,
    }


def _side(case: _Case) -> Side:
    order = case.order
    if order is not None and order.verdict is not None:
        return VerdictGiven.of(order.verdict).intent.side
    if not case.request.side:
        raise ResolutionRefusedError(problem="the order is not ours: name its side, BUY or SELL")
    return Side(case.request.side)


def _ended(case: _Case) -> tuple[Draft, ...]:
    """Return the records that end an order: the one named, or one that only waited for trades."""
    order = case.order
    waited = order is not None and OrderState(order.order_state).is_terminal
    if order is None or order.sealed or not (case.request.ends or waited):
        if case.request.ends:
            raise ResolutionRefusedError(problem=f"no order {case.request.ends} is at work here")
        return ()
    state = OrderState(order.order_state)
    if not state.is_terminal:
        rejected = case.difference.found.cause is DifferenceCause.REJECT_UNMATCHED
        state = OrderState.REJECTED if rejected else OrderState.CANCELED
    return (
        order_ended_by(
            order,
            case.difference.seq,
            order_state=state.value,
            market_time_us=case.own.market.now_us(),
        ),
        sealed(order, OUTCOMES.get(state, "closed")),
    )
