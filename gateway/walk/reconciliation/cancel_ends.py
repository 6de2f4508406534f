"""How a cancel that somebody asked for ends, by what the broker says. Pure.

Rules:
- An order that was cancelled confirms every open request, whoever's cancel arrived first.
- An order that ended in another way made them too late.
- A refused cancel (35=9) leaves the order where the broker reports it (39). If it says that the
  order is over, the order waits for the report that says how, and is asked for.

Not here: cancels of a sweep, which is repeated until the order is gone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from audit.records.record import Draft
from fix.orders.state import OrderState, after_cancel_reject, is_over_by
from fix.wire.reports import BusinessReject, CancelReject, SessionReject
from gateway.walk.journal.cancel import cancel_ended
from gateway.walk.journal.standing import AskedCancel, CancelOutcome, Standing

_TOO_LATE = "0"  # CxlRejReason (102)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidAt:
    """Where the broker said it: session, inbox offset and market time."""

    session: str
    offset: int
    market_time_us: int


def ends_with(standing: Standing, state: OrderState, at: SaidAt) -> tuple[Draft, ...]:
    """Return how the open requests end when their order is in a state; none if it goes on."""
    if not state.is_terminal:
        return ()
    confirmed = state is OrderState.CANCELED
    outcome = CancelOutcome.CONFIRMED if confirmed else CancelOutcome.TOO_LATE
    return tuple(
        _ended(standing, asked, outcome, f"the order is {state.value}", state.value, at)
        for asked in standing.open_cancels
    )


def refused_by_broker(standing: Standing, message: CancelReject, at: SaidAt) -> Draft | None:
    """Return how the request that an OrderCancelReject names ends; None if it names none."""
    asked = standing.open_cancel(message.cl_ord_id)
    if asked is None:
        return None
    late = message.reason == _TOO_LATE or is_over_by(message.ord_status)
    outcome = CancelOutcome.TOO_LATE if late else CancelOutcome.REJECTED
    after = after_cancel_reject(OrderState(standing.order_state), message.ord_status)
    words = f"102={message.reason or '-'} 39={message.ord_status} {message.text}".rstrip()
    return _ended(
        standing, asked, outcome, words[:300], after.value, at, ord_status=message.ord_status
    )


def refused_as_message(
    message: BusinessReject | SessionReject,
    standing_of: Callable[[str], Standing | None],
    at: SaidAt,
) -> Draft | None:
    """Return how the request whose message the broker cannot process (35=j) ends, or None.

    A Reject (3) names a message by its number only, which no record has for a cancel.
    """
    named = message.ref_id if isinstance(message, BusinessReject) else ""
    standing = standing_of(named)
    asked = None if standing is None else standing.open_cancel(named)
    if standing is None or asked is None:
        return None
    words = f"35=j 380={message.reason} {message.text}".rstrip()[:300]
    return _ended(standing, asked, CancelOutcome.REJECTED, words, standing.order_state, at)


def _ended(
    standing: Standing,
    asked: AskedCancel,
    outcome: CancelOutcome,
    reason: str,
    order_state: str,
    at: SaidAt,
    ord_status: str = "",
) -> Draft:
    return cancel_ended(
        standing,
        asked,
        outcome,
        reason,
        order_state=order_state,
        session=at.session,
        offset=at.offset,
        market_time_us=at.market_time_us,
        ord_status=ord_status,
    )
