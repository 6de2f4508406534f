"""Replay of a replace: the request with its verdict, the message, and how it ended.

Who asked, and why, is that person's word. The terms before it, its reservation, its verdict and its
message follow from the record; what the broker made of it is settled again from its message.
"""

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

from audit.records.record import Record
from fix.session.link import HandResult
from fix.wire.messages import cancel_replace, parse
from gateway.desk.controls.replacing import judged_intent, only_reduces
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches, same
from gateway.evidence.replay.intent import state_again
from gateway.evidence.replay.orders.order import (
    MSG_SEQ_NUM,
    SESSION_TAGS,
    TRANSACT_TIME,
    settled_again,
)
from gateway.evidence.replay.past import Past
from gateway.walk.journal import replace as journal
from gateway.walk.journal.contents import Reservation
from gateway.walk.journal.standing import AskedReplace, ReplaceOutcome, Standing, Terms
from gateway.walk.journal.verdict import VerdictGiven, judged_document, result_of
from gateway.walk.projections.asked import fields_of, terms_of
from gateway.walk.projections.outbox import Orders
from risk.evaluate import evaluate
from risk.forms.documents import value_of
from risk.intent import Intent


def replace_requested(past: Past, record: Record) -> str:
    """Make the request again; give its verdict again, where the new terms raise the order."""
    asked, standing = journal.ReplaceRequested.of(record), _standing(past, record)
    if standing.verdict is None:
        raise ReplayDiffersError(step="replace_requested", detail="no verdict before it")
    given = VerdictGiven.of(standing.verdict)
    instrument = past.instrument(given.instrument)
    before, after = terms_of(standing), _terms(asked.after)
    same(
        "replace_requested",
        "after.quantity",
        str(after.qty_lots * instrument.lot),
        after.quantity,
    )
    reserved = Reservation(
        instrument=instrument.symbol,
        side=given.intent.side,
        qty_lots=max(before.qty_lots, after.qty_lots),
        limit_ticks=max(before.limit_ticks, after.limit_ticks),
        unit_minor=instrument.unit_minor,
    )
    judged, said = None, "reduces"
    if not only_reduces(given.intent.side, before, after):
        judged, said = _judged(past, record, standing, given.intent, reserved, after)
    matches(
        record,
        journal.replace_requested(
            standing,
            before,
            after,
            reserved,
            session=asked.session,
            requested_by=asked.requested_by,
            role=asked.role,
            client_key=asked.client_key,
            reason=asked.reason,
            market_now_us=asked.market_now_us,
            judged=judged,
        ),
    )
    return f"{after.quantity} at {after.price}: {said}, by {asked.requested_by}"


def replace_sent(past: Past, record: Record) -> str:
    """Compare the message with the terms that were asked for: exactly these fields."""
    left, standing = journal.ReplaceSent.of(record), _standing(past, record)
    asked = _asked(standing, left.cl_ord_id, record)
    pairs = parse(left.raw)
    earlier = replace(standing, replaces=(), terms=_before(standing, asked))
    again = cancel_replace(
        fields_of(earlier),
        replace_id=asked.replace_id,
        quantity=asked.terms.quantity,
        price=asked.terms.price,
        transact_time_us=0,
    )
    carried = Counter(pair for pair in pairs if pair[0] not in SESSION_TAGS | {TRANSACT_TIME})
    made = [pair for pair in again if pair[0] != TRANSACT_TIME]
    same("replace_sent", "raw", sorted(carried.elements()), sorted(made))
    number = int(dict(pairs)[MSG_SEQ_NUM])
    result = HandResult(outcome="sent", msg_seq_num=number, epoch=left.session_epoch)
    digest = sha256(left.raw.encode("latin-1")).hexdigest()
    matches(record, journal.replace_sent(standing, asked, result, raw=left.raw, raw_digest=digest))
    return f"message {number}, the terms asked for"


def replace_ended(past: Past, record: Record) -> str:
    """Compare which request ended; settle the broker's message again if it ended it."""
    ended = journal.ReplaceEnded.of(record)
    if ended.outcome != ReplaceOutcome.NOT_SENT:
        settled_again(past, record)
        return f"{ended.outcome} by the message at {ended.inbox_offset}"
    standing = _standing(past, record)
    asked = _asked(standing, ended.cl_ord_id, record)
    matches(
        record,
        journal.replace_ended(
            standing,
            asked,
            ReplaceOutcome.NOT_SENT,
            ended.reason,
            terms_of(standing),
            market_time_us=ended.market_time_us,
        ),
    )
    return f"not sent: {ended.reason}"


def _judged(
    past: Past,
    record: Record,
    standing: Standing,
    intent: Intent,
    reserved: Reservation,
    after: Terms,
) -> tuple[dict[str, Any], str]:
    """Fold the book to the basis and evaluate again."""
    basis = journal.ReplaceRequested.of(record).basis
    if basis is None or basis.basis_seq not in range(record.seq):
        raise ReplayDiffersError(step="replace_requested", detail="it raises and has no verdict")
    wanted = judged_intent(intent, reserved, after, standing.filled_lots)
    state = state_again(past, record, basis, wanted)
    verdict = evaluate(past.policy, state, wanted)
    if result_of(verdict.action) != "approved":
        raise ReplayDiffersError(step="replace_requested", detail="the rules do not allow it")
    judged = judged_document(wanted, verdict, state, basis_seq=basis.basis_seq)
    return judged, f"{verdict.action.name}, {len(verdict.results)} checks"


def _standing(past: Past, record: Record) -> Standing:
    orders = Orders()
    orders.fold(r for r in past.records if r.seq < record.seq)
    found = orders.get(past.decision_id)
    if found is None:
        raise ReplayDiffersError(step=record.kind.value, detail="nothing before it")
    return found


def _asked(standing: Standing, name: str, record: Record) -> AskedReplace:
    asked = standing.replace_named(name)
    if asked is None:
        raise ReplayDiffersError(step=record.kind.value, detail="nobody asked for that replace")
    return asked


def _before(standing: Standing, asked: AskedReplace) -> Terms | None:
    """Return the terms that a replace replaced, by the ClOrdID that it names."""
    if asked.orig_name == standing.cl_ord_id:
        return None
    earlier = standing.replace_named(asked.orig_name)
    return None if earlier is None else earlier.terms


def _terms(said: journal.TermsSaid) -> Terms:
    return value_of(Terms, {"name": "", **said.document()})
