"""Held decisions: who may answer, what a yes binds, and the renewal that follows it.

A yes does not send what was shown. The intent is priced and judged again, by the forecast that
stands then, and it must lie inside the agreed band. Nothing approves by itself. A hold
without an answer in time ends, and its reservation is free.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit.records.record import Record
from audit.sequencer.ledger import Lane
from gateway.errors import ApprovalRefusedError, UnknownDecisionError
from gateway.walk import deadlines
from gateway.walk.decision import Decision, Result, renew
from gateway.walk.journal import verdict as journal
from gateway.walk.journal.control.oversight.overrides import override_in
from gateway.walk.journal.order import sealed
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.journal.verdict import SheetShown, VerdictGiven
from gateway.walk.ports import Case, Tools
from gateway.walk.projections.outbox import Orders
from gateway.walk.section import Section
from risk.approved import Approval, ApprovedOrder, approve, grant
from risk.errors import ApprovalError
from risk.state.book import without
from risk.state.instrument import Instrument
from risk.state.pilot import PilotLimits, PilotOrder, passed
from risk.verdict import RuleId

DAY_US: Final = 86_400_000_000

# the outcome of a decision whose renewal did not lead to an order; otherwise: rejected
ENDED_BY: Final = {Result.NO_TRADE: "no_trade", Result.NO_FORECAST: "no_forecast"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a person says with a yes: why, and what he was shown."""

    note: str
    shown: SheetShown


def agree(
    standing: Standing | None,
    case: Case | None,
    approver: str,
    digest: str,
    section: Section,
    now: deadlines.Moment,
) -> Approval:
    """Return a person's agreement to a held decision and begin its life, on both clocks.

    Raises:
        UnknownDecisionError: when there is no such decision.
        ApprovalRefusedError: when nothing waits, another digest was read, the hold has ended, or
            the author is the approver.
    """
    if standing is None:
        raise UnknownDecisionError(problem="no such decision")
    if standing.stage is not Stage.HELD or standing.verdict is None or case is None:
        raise ApprovalRefusedError(problem=f"nothing waits for approval here: {standing.stage}")
    held = VerdictGiven.of(standing.verdict)
    if digest != held.intent_digest:
        raise ApprovalRefusedError(
            problem="the digest is not that of the held intent: read it again"
        )
    if is_over(standing, section, now.wall_us):
        raise ApprovalRefusedError(problem="the hold has expired; the decision is closed")
    try:
        approval = grant(
            section.policy,
            held.intent,
            held.verdict,
            approver,
            now.wall_us,
        )
    except ApprovalError as refusal:
        raise ApprovalRefusedError(problem=str(refusal)) from None
    end = now.after(section.policy.approval.ttl.value)
    section.deadlines.keep(deadlines.agreement_of(standing.decision_id), end)
    return approval


def release(
    standing: Standing,
    case: Case,
    approval: Approval,
    tools: Tools,
    section: Section,
    orders: Orders,
    said: Said,
) -> Decision:
    """Record the agreement, price and judge again; return the renewed decision.

    Unless the decision is approved, the hold ends here and its reservation is free.
    """
    if standing.verdict is None:
        raise AssertionError("agree() has seen the verdict")
    (given,) = tools.ledger.append(
        journal.approval_given(
            standing,
            approval,
            verdict_seq=standing.verdict.seq,
            note=said.note,
            shown=said.shown,
        )
    )
    orders.catch_up((given,))
    again = replace(case, attempt=case.attempt + 1)
    decision = renew(again, tools, section, approval)
    if decision.judged is not None:
        orders.catch_up((decision.judged.record,))
    if decision.result is not Result.APPROVED:
        end_hold(
            standing,
            tools,
            orders,
            reason="renewal_refused",
            outcome=ENDED_BY.get(decision.result, "rejected"),
            market_time_us=case.tick().instant.now_us(),
        )
    return decision


def end_hold(
    standing: Standing,
    tools: Tools,
    orders: Orders,
    *,
    reason: str,
    outcome: str,
    market_time_us: int,
) -> None:
    """Free a hold's reservation and seal its decision."""
    orders.catch_up(
        tools.ledger.append(
            journal.reservation_released(standing, reason, market_time_us=market_time_us),
            sealed(standing, outcome),
            lane=Lane.URGENT,
        )
    )


def is_over(standing: Standing, section: Section, wall_us: int) -> bool:
    """Return whether a hold has ended, on the wall clock or the monotonic clock.

    A hold that another process began is over: an answer belongs to what this process showed.
    """
    return section.deadlines.over(deadlines.hold_of(standing.decision_id), wall_us)


def order_of(standing: Standing, section: Section) -> ApprovedOrder:
    """Return the order of an approved standing; `leaving` says whether it may leave.

    Raises:
        ApprovalError: nothing approves it, or its record contradicts itself.
    """
    if standing.approving is None:
        raise ApprovalError("nothing approves this order")
    given, leaf = VerdictGiven.of(standing.approving), standing.approving.leaf
    return section.approved(given, leaf) or approve(
        given.intent,
        given.verdict,
        leaf,
        given.send_before_us,
        given.kill_epoch,
        given.approval,
    )


def beyond_pilot(
    standing: Standing,
    limits: PilotLimits,
    section: Section,
    orders: Orders,
    instrument: Instrument,
    wall_us: int,
) -> str:
    """Return which limit of pilot mode an approved order passes, or the empty text.

    The position is the firm's, over all open accounts. The order's own reservation is left out
    before and after its announcement, which both look here.
    """
    if standing.approving is None:
        return ""
    given = VerdictGiven.of(standing.approving)
    intent = given.intent
    books = [without(section.book(one), standing.decision_id) for one in section.accounts]
    worst = (
        one.observed
        for one in given.verdict.results
        if one.rule_id is RuleId.R04 and one.observed is not None
    )
    today = (
        one.sending is not None and one.sending.recorded_at_us // DAY_US == wall_us // DAY_US
        for one in orders.placed_here()
        if one.decision_id != standing.decision_id
    )
    return passed(
        limits,
        PilotOrder(
            instrument=intent.instrument,
            side=intent.side,
            qty_lots=intent.qty_lots,
            price_minor=intent.limit_ticks * instrument.tick_minor,
            value_minor=max(
                intent.qty_lots * intent.limit_ticks * instrument.unit_minor, *worst, 0
            ),
            earlier_orders=sum(today),
            held_lots=sum(book.lots(intent.instrument) for book in books),
            pending_lots=sum(book.pending_lots(intent.instrument, intent.side) for book in books),
        ),
    )


def held_back(passed_stops: Sequence[str], approving: Record | None, section: Section) -> str:
    """Return which stop or ended override keeps a message from leaving, or the empty text.

    A stop that its verdict was given under does not: the message passed it. An override that the
    order's verdict, `approving`, used must not have ended since.
    """
    if stop := section.stops.held_back(passed_stops):
        return stop
    used = None if approving is None else override_in(approving)
    if used is None:
        return ""
    return section.stops.override_over(used, section.status().checked_at_us)
