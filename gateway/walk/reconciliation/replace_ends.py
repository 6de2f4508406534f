"""How a replace ends, by what the broker says. Pure.

Rules:
- Replaced (150=5), or any later word about the new ClOrdID, puts the new terms in force. If the
  broker gives a larger quantity than was asked for, that one is reserved, with an alarm.
- A refusal (35=9, or the message refused) leaves the order as it was.
- An order that ended made the replace too late.
- "Unknown order" about a replace's ClOrdID means that the replace never arrived; nobody asks for it
  before the logon after it. About an older ClOrdID it says nothing.
- A replace that was taken for over, and is carried out after all, counts.
"""

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Protocol

from audit.records.record import Draft
from fix.orders.replacing import says_replaced, says_unknown
from fix.orders.state import OrderState, after_cancel_reject, is_over_by
from fix.wire.reports import BusinessReject, CancelReject, ExecutionReport, SessionReject
from gateway.walk.journal.replace import replace_ended
from gateway.walk.journal.session import fix_anomaly
from gateway.walk.journal.standing import AskedReplace, ReplaceOutcome, Standing, Terms
from gateway.walk.projections.asked import terms_of
from gateway.walk.reconciliation.cancel_ends import SaidAt, ends_with, refused_by_broker
from gateway.walk.reconciliation.cancel_ends import refused_as_message as cancel_refused
from gateway.walk.reconciliation.quarantine import restatement

LARGER = "replaced_otherwise"
"""The anomaly of a broker that confirmed another quantity than was asked for."""


class RequestsPort(Protocol):
    """The part of the orders' projection that knows requests."""

    def by_cancel_id(self, cancel_id: str) -> Standing | None:
        """Return the standing of the order that a request to cancel or replace is for, or None."""
        ...

    def by_replace_number(self, epoch: int, number: int) -> Standing | None:
        """Return the standing of the order whose replace left under a MsgSeqNum, or None."""
        ...


def requests_after(
    standing: Standing,
    state: OrderState,
    at: SaidAt,
    report: ExecutionReport | None = None,
    raw: str = "",
) -> tuple[Draft, ...]:
    """Return how the open requests to cancel and replace end when an order is in a state.

    With the report, `raw`, that says so: also the alarm of a broker that changed the order itself.
    """
    changed = () if report is None else restatement(report, standing, raw, at)
    ended = (*ends_with(standing, state, at), *changed)
    done = None if report is None else standing.replace_named(report.cl_ord_id)
    if report is not None and done is not None:
        fresh = done.outcome != ReplaceOutcome.REPLACED
        if fresh and says_replaced(report, done.replace_id):
            return (*_replaced(standing, done, report, state, at), *ended)
    late = standing.open_replace
    if late is None or not state.is_terminal:
        return ended
    words = f"the order is {state.value}"
    return (*ended, _ended(standing, late, ReplaceOutcome.TOO_LATE, words, state.value, at))


def unknown_there(
    report: ExecutionReport, standing: Standing, at: SaidAt
) -> tuple[Draft, ...] | None:
    """Return what an "unknown order" about one of several ClOrdIDs means; None if it is no such."""
    if not says_unknown(report):
        return None
    named = report.orig_cl_ord_id or report.cl_ord_id
    if named != standing.cl_ord_id and standing.replace_named(named) is None:
        return ()  # about a cancel of it
    if not standing.replaces:
        return None
    asked = standing.open_replace
    if asked is None and report.cl_ord_id == standing.wire_name:
        return None
    if asked is None or report.cl_ord_id != asked.replace_id:
        return ()
    words = "the broker does not know it"
    outcome, state = ReplaceOutcome.NOT_RECEIVED, standing.order_state
    return (_ended(standing, asked, outcome, words, state, at),)


def refused_request(standing: Standing, message: CancelReject, at: SaidAt) -> Draft | None:
    """Return how the request that an OrderCancelReject names ends; None if it names none."""
    asked = standing.open_replace
    if asked is None or asked.replace_id != message.cl_ord_id:
        return refused_by_broker(standing, message, at)
    late = is_over_by(message.ord_status)  # 102=0 with a working order refuses only the replace
    outcome = ReplaceOutcome.TOO_LATE if late else ReplaceOutcome.REJECTED
    after = after_cancel_reject(OrderState(standing.order_state), message.ord_status)
    words = f"102={message.reason or '-'} 39={message.ord_status} {message.text}".rstrip()
    return _ended(
        standing, asked, outcome, words[:300], after.value, at, ord_status=message.ord_status
    )


def refused_as_message(
    message: BusinessReject | SessionReject,
    orders: RequestsPort,
    epoch: int,
    at: SaidAt,
) -> Draft | None:
    """Return how the request whose message the broker refused (35=j, 35=3) ends, or None.

    `epoch` is that of the MsgSeqNum that the broker names.
    """
    named = message.ref_id if isinstance(message, BusinessReject) else ""
    standing = orders.by_cancel_id(named) or orders.by_replace_number(epoch, message.ref_seq_num)
    asked = None if standing is None else standing.open_replace
    if standing is None or asked is None or (named and named != asked.replace_id):
        return cancel_refused(message, orders.by_cancel_id, at)
    kind = "35=j 380" if isinstance(message, BusinessReject) else "35=3 373"
    words = f"{kind}={message.reason} {message.text}".rstrip()[:300]
    return _ended(standing, asked, ReplaceOutcome.REJECTED, words, standing.order_state, at)


def _replaced(
    standing: Standing, asked: AskedReplace, report: ExecutionReport, state: OrderState, at: SaidAt
) -> tuple[Draft, ...]:
    """Put the new terms in force, or the larger ones that the broker says."""
    terms, told = asked.terms, _lots(report.order_qty, asked.terms)
    words = "the broker works the new terms"
    if told is None or told == terms.qty_lots:
        return (_ended(standing, asked, ReplaceOutcome.REPLACED, words, state.value, at, terms),)
    more = max(told, terms.qty_lots)
    quantity = report.order_qty if more == told else terms.quantity
    terms = replace(terms, qty_lots=more, quantity=quantity)
    detail = f"{asked.replace_id}: 38={report.order_qty}, asked for {asked.terms.quantity}"
    odd = fix_anomaly(at.session, offset=at.offset, raw="", reason=LARGER, detail=detail)
    return (_ended(standing, asked, ReplaceOutcome.REPLACED, words, state.value, at, terms), odd)


def _lots(quantity: str, terms: Terms) -> int | None:
    """Return a quantity in lots, rounded up; None if it is not given."""
    try:
        lot = Decimal(terms.quantity) / terms.qty_lots
        return -int(-Decimal(quantity) // lot) if quantity else None
    except (InvalidOperation, ZeroDivisionError):
        return None


def _ended(  # noqa: PLR0913, PLR0917 - what the broker said, and where
    standing: Standing,
    asked: AskedReplace,
    outcome: ReplaceOutcome,
    reason: str,
    order_state: str,
    at: SaidAt,
    terms: Terms | None = None,
    ord_status: str = "",
) -> Draft:
    return replace_ended(
        standing,
        asked,
        outcome,
        reason,
        terms or terms_of(standing),
        market_time_us=at.market_time_us,
        order_state=order_state,
        session=at.session,
        offset=at.offset,
        ord_status=ord_status,
    )
