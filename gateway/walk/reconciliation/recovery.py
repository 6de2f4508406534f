"""What a start does about decisions that a crash left open.

Nothing is sent because of a row: only the process that approved an order sends it.

    stage found  what is done
    open         sealed as abandoned: nothing was approved
    held         kept if the desk takes it over; otherwise its reservation is freed and it is sealed
    approved     withdrawn, sealed: nobody waits for the order any more
    sending      marked UNKNOWN and asked for at the broker, never sent again
    sent         asked for at the broker
    closed       sealed with the state in which the broker ended it

A basket without an outcome is stopped, on record, before its legs are ended so.

A request to cancel that the FIX child never noted is ended as not sent.

A broker that began its numbers anew sends nothing again. A logon then also asks for the orders that
ended before, because a bust may have been lost.

An order that the broker ended, and whose missing trades persons resolved, is ended and sealed.
"""

from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Lane
from fix.errors import FixError
from fix.orders.reconcile import (
    PATIENCE_US,
    Fate,
    MassAsked,
    OpenOrder,
    Reconciliation,
    strangers,
)
from fix.orders.state import OrderState
from fix.session.link import SessionState
from fix.wire.messages import CL_ORD_ID, Fields, mass_status_request
from fix.wire.reports import parse_inbound
from gateway import clock
from gateway.walk.journal import order as journal_orders
from gateway.walk.journal import verdict as journal_verdicts
from gateway.walk.journal.cancel import cancel_not_sent
from gateway.walk.journal.control.groups.baskets import (
    BasketDecided,
    BasketReceived,
    basket_left,
)
from gateway.walk.journal.decision import decision_sealed
from gateway.walk.journal.standing import OUTCOMES, Stage, Standing
from gateway.walk.ports import LedgerPort, ReconcilePort, RecordsPort
from gateway.walk.projections.asked import fields_of
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.session_orders import SessionOrders
from gateway.walk.reconciliation.asking import Budget

POLL_S = 0.02
MASS_STATUS = "mass_status"
"""The session event that says how a mass status request ended."""
ENDED_UNSAID = "ended_unsaid"
"""The session event that names ended orders about which the broker said nothing."""
AT_ANOTHER = "live_at_another_session"
"""The session event that names orders which went to another session: its broker must be asked."""
RESTART = "restart"
"""The reason of a withdrawal at a start."""

Note = Callable[[str, str], None]
"""Puts an event of the session on record: its name and its detail."""


def close_abandoned(
    ledger: LedgerPort,
    orders: Orders,
    differences: Differences,
    *,
    market_time_us: int,
    keep: Callable[[Standing], bool] = lambda _: False,
) -> int:
    """End every decision that needs no broker; return how many.

    `keep` takes over a held decision and returns whether it goes on.
    """
    count = 0
    for standing in list(orders.unsealed()):
        if standing.stage is Stage.HELD and keep(standing):
            continue
        drafts = _ending(standing, market_time_us)
        drafts = drafts or _ended_by_a_person(standing, differences, market_time_us)
        if drafts:
            orders.catch_up(ledger.append(*drafts, lane=Lane.URGENT))
            count += 1
    return count


def stop_baskets(ledger: LedgerPort, reader: RecordsPort) -> int:
    """Record that baskets without an outcome are stopped; return how many.

    A crash after it leaves their legs to `close_abandoned`: none of them was sent.
    """
    left: dict[str, Record] = {}
    for record in reader.records(
        stream="control", kinds=(Kind.BASKET_RECEIVED, Kind.BASKET_DECIDED)
    ):
        if record.kind is Kind.BASKET_RECEIVED:
            left[BasketReceived.of(record).basket_id] = record
        else:
            left.pop(BasketDecided.of(record).basket_id, None)
    for record in left.values():
        ledger.append(basket_left(record, RESTART), lane=Lane.URGENT)
    return len(left)


def mark_unknown(ledger: LedgerPort, orders: Orders, *, market_time_us: int) -> int:
    """Mark every SENDING without an answer as UNKNOWN; return how many."""
    lost = [s for s in orders.in_doubt() if s.stage is Stage.SENDING]
    for standing in lost:
        orders.catch_up(
            ledger.append(
                journal_orders.order_unknown(
                    standing, "gateway restarted before an answer", market_time_us=market_time_us
                ),
                lane=Lane.URGENT,
            )
        )
    return len(lost)


def end_unsent_cancels(
    ledger: LedgerPort, orders: Orders, session: str, noted: Container[str], *, market_time_us: int
) -> int:
    """End every request to cancel whose message the FIX child never noted; return how many.

    The child's notes are of its `session`, and say nothing of another's orders.
    """
    unsent = [
        cancel_not_sent(standing, asked, RESTART, market_time_us=market_time_us)
        for standing in orders.placed()
        for asked in standing.open_cancels
        if standing.is_live and standing.is_at(session) and asked.cancel_id not in noted
    ]
    for draft in unsent:
        orders.catch_up(ledger.append(draft, lane=Lane.URGENT))
    return len(unsent)


def reconcile(  # noqa: PLR0913  # five keyword-only
    fix: ReconcilePort,
    orders: SessionOrders,
    note: Note,
    budget: Budget,
    check: Callable[[int], None],
    *,
    logon_no: int,
    inbox_offset: int,
    told: Callable[[int, int], None] = lambda _answered, _asked: None,
    mass_id: str = "",
    ended: Sequence[Standing] = (),
) -> bool:
    """Ask for every order that may be live, wait for answers, open the session.

    The wait is bounded. `inbox_offset` is where the inbox stood before the questions. Orders that
    stay unknown go to `note`. `check` compares the book with the answers up to the offset that it
    is given. `told` gets the progress: orders answered, orders asked for. With a `mass_id` one mass
    status request of this name goes first, and how it ended goes to `note`. The orders that `ended`
    are asked for too; one that the broker forgot, or says nothing about, stays as it is. Returns
    whether the logon still holds.
    """
    over = {s.cl_ord_id: s for s in ended if s.sending is not None}
    live = over | {s.cl_ord_id: s for s in orders.live() if s.sending is not None}
    state = Reconciliation.begin(
        (
            OpenOrder(cl_ord_id=dict(fields)[CL_ORD_ID], fields=fields, names=names)
            for s in live.values()
            for fields, names in _questions(s)
        ),
        logon_no=logon_no,
        now_us=clock.monotonic_us(),
        # asked twice, within the budget
        patience_us=PATIENCE_US + 2 * budget.time_for_us(len(live)),
        mass=_ask_for_all(fix, mass_id) if mass_id else None,
    )
    waiting: deque[Fields] = deque(state.questions())
    while True:
        told(sum(fate is not Fate.ASKED for fate in state.fates), len(state.fates))
        while waiting and budget.take(clock.monotonic_us()):
            fix.status_request(waiting.popleft())
        if state.is_over(clock.monotonic_us()) or fix.state is not SessionState.RECONCILING:
            break
        clock.pause(POLL_S)
        state, inbox_offset = _listen(fix, state, inbox_offset)
        state, singly = state.mass_over(clock.monotonic_us())
        waiting += singly
        state, again = state.ask_again_at(clock.monotonic_us())
        waiting += again
    silent = [name for name, fate in state.closed().items() if fate is Fate.QUARANTINED]
    still_live = {standing.cl_ord_id for standing in orders.live()}
    quarantined = [name for name in silent if name not in over or name in still_live]
    unsaid = [name for name in silent if name not in quarantined]
    unknown = [order.cl_ord_id for order in strangers(fix.live_orders(), orders.names())]
    if state.mass is not None:
        note(MASS_STATUS, state.mass.over or "the logon ended before the answer")
    elsewhere = [standing.cl_ord_id for standing in orders.elsewhere()]
    found = {
        "quarantined": quarantined,
        "not_in_ledger": unknown,
        ENDED_UNSAID: unsaid,
        AT_ANOTHER: elsewhere,
    }
    for event, names in found.items():
        if names:
            note(event, " ".join(names))
    check(inbox_offset)
    return fix.set_reconciled(logon_no)


def _ask_for_all(fix: ReconcilePort, mass_id: str) -> MassAsked:
    """Send the mass status request."""
    result = fix.status_request(mass_status_request(request_id=mass_id))
    refused = "" if result.outcome == "sent" else result.reason or result.outcome
    asked = MassAsked(request_id=mass_id)
    return asked.left(result.msg_seq_num, clock.monotonic_us(), refused)


def _questions(standing: Standing) -> Iterator[tuple[Fields, frozenset[str]]]:
    """Yield what to ask about an order: an unanswered replace may or may not have arrived."""
    asked = (one.replace_id for one in standing.replaces), (c.cancel_id for c in standing.cancels)
    names = frozenset({standing.cl_ord_id, *chain(*asked)})
    yield fields_of(standing), names
    if standing.open_replace is not None:
        yield fields_of(standing, standing.open_replace.terms), names


def _listen(
    fix: ReconcilePort, state: Reconciliation, inbox_offset: int
) -> tuple[Reconciliation, int]:
    """Read the messages that arrived since; the settler records them."""
    for entry in fix.inbox_since(inbox_offset):
        inbox_offset = entry.next_offset
        try:
            state = state.heard(parse_inbound(entry.raw), clock.monotonic_us())
        except FixError:
            continue  # quarantined by the settler
    return state, inbox_offset


def _ended_by_a_person(
    standing: Standing, differences: Differences, market_time_us: int
) -> tuple[Draft, ...]:
    """Return the records that end an order whose missing trades persons resolved.

    Earlier versions left it open when the broker's last report came after the resolution.
    """
    over = bool(standing.cl_ord_id) and OrderState(standing.order_state).is_terminal
    if not over or standing.seals:  # a reopened order is asked for at the broker
        return ()
    resolved_seq = differences.resolution_of(standing.cl_ord_id)
    if resolved_seq is None:
        return ()
    state = OrderState(standing.order_state)
    ended = journal_orders.order_ended_by(
        standing, resolved_seq, order_state=state.value, market_time_us=market_time_us
    )
    return (ended, _sealed(standing))


def _ending(standing: Standing, market_time_us: int) -> tuple[Draft, ...]:
    """Return the records that end a decision without the broker; none if it needs the broker."""
    stream = f"decision/{standing.decision_id}"
    match standing.stage:
        case Stage.OPEN:
            return (decision_sealed(stream, "abandoned", mode=standing.mode),)
        case Stage.HELD:
            return (
                journal_verdicts.reservation_released(
                    standing, "gateway restarted", market_time_us=market_time_us
                ),
                journal_orders.sealed(standing, "hold_expired"),
            )
        case Stage.APPROVED:
            return (
                journal_orders.order_withdrawn(standing, RESTART, market_time_us=market_time_us),
                journal_orders.sealed(standing, "withdrawn"),
            )
        case Stage.CLOSED:
            return (_sealed(standing),)
        case _:
            return ()


def _sealed(standing: Standing) -> Draft:
    """Return the seal of a decision whose order is over."""
    state = OrderState(standing.order_state) if standing.cl_ord_id else None
    outcome = "rejected" if state is None else OUTCOMES.get(state, "refused")
    return journal_orders.sealed(standing, outcome)
