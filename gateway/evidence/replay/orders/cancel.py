"""Replay of a cancel that somebody asked for: the request, and how it ended.

The request is a person's word; what the broker made of it is settled again from its message.
"""

from dataclasses import replace

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches
from gateway.evidence.replay.orders.order import settled_again
from gateway.evidence.replay.past import Past
from gateway.walk.journal import cancel as journal
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.standing import CancelOutcome, Standing
from gateway.walk.projections.outbox import Orders


def cancel_requested(past: Past, record: Record) -> str:
    """Compare for which order it was asked; who asked, and why, is that person's word."""
    asked = journal.CancelRequested.of(record)
    sending = OrderSending.of(past.last(Kind.ORDER_SENDING, before=record))
    draft = journal.cancel_requested(
        replace(past.standing, cl_ord_id=sending.cl_ord_id),
        session=asked.session,
        requested_by=asked.requested_by,
        role=asked.role,
        client_key=asked.client_key,
        reason=asked.reason,
    )
    matches(record, draft)
    return f"of {sending.cl_ord_id}, by {asked.requested_by}"


def cancel_ended(past: Past, record: Record) -> str:
    """Compare which request ended; settle the broker's message again if it ended it."""
    ended = journal.CancelEnded.of(record)
    if ended.outcome != CancelOutcome.NOT_SENT:
        settled_again(past, record)
        return f"{ended.outcome} by the message at {ended.inbox_offset}"
    standing = _standing(past, record)
    asked = next((one for one in standing.cancels if one.cancel_id == ended.cl_ord_id), None)
    if asked is None:
        raise ReplayDiffersError(step="cancel_ended", detail="nobody asked for that cancel")
    draft = journal.cancel_not_sent(
        standing, asked, ended.reason, market_time_us=ended.market_time_us
    )
    matches(record, draft)
    return f"not sent: {ended.reason}"


def _standing(past: Past, record: Record) -> Standing:
    orders = Orders()
    orders.fold(r for r in past.records if r.seq < record.seq)
    found = orders.get(past.decision_id)
    if found is None:
        raise ReplayDiffersError(step="cancel_ended", detail="nothing before it")
    return found
