"""dispatch(): announce one approved order, then hand it to the FIX child.

Only the process that approved an order sends it. A start withdraws approvals that it finds unsent
(`recovery`), because a row in a database is no authority. An approval is used once: SENDING with
nothing after it means UNKNOWN, and the order is never sent again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, NamedTuple

from audit.records.record import Draft, Record
from audit.sequencer.ledger import Hooks, Lane
from fix.dialects.profile import Profile
from fix.errors import MessageError
from fix.session.link import HandResult
from fix.wire.identity import cl_ord_id
from fix.wire.messages import Fields, new_order
from gateway.walk.deadlines import Deadlines, Moment, sending_of
from gateway.walk.failpoints import reach
from gateway.walk.journal import order as journal_orders
from gateway.walk.journal.decision import decision_sealed
from gateway.walk.journal.persons import NOBODY, Persons, hide
from gateway.walk.ports import BrokerPort, LedgerPort
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.standing import Stage, Standing
from risk.approved import ApprovedOrder
from risk.errors import ApprovalError
from risk.state.instrument import Instrument

LATE_US: Final = 1_000_000
"""How long after `send_before` an approval is left to the thread that may be sending it."""


READY_US: Final = 100_000
"""How old the TransactTime (60) of an order made beforehand may be."""
READY_MAX: Final = 256


class ReadyOrder(NamedTuple):
    """An order's fields, made while its verdict was committed."""

    order: ApprovedOrder
    profile: Profile
    made_us: int
    fields: Fields


class Leaving(NamedTuple):
    """An approved order that may leave, until when, and the wall time at which that was so."""

    order: ApprovedOrder
    end: Moment
    wall_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTools:
    """What dispatching needs.

    Attributes:
        approve: turns a standing into an approved order, or refuses (policy or kill epoch changed).
        settling: whether reports reach the book; while they do not, no new order is sent.
        away: why the session takes no new order now; empty while it does.
        held_back: why a stop, the end of its override or the mode keeps this approved order here.
        no_replace: why no order is replaced in this mode, or empty.
        wall_us: the clock of `send_before`.
        market_now_us: the market clock, for the book.
        ready: orders made beforehand, by the leaf that approves them; see `foresee`.
        whole: the baskets that are being sent: approved as a whole, on record, by this process.
    """

    ledger: LedgerPort
    orders: Orders
    broker: BrokerPort
    profile: Profile
    instrument: Callable[[str], Instrument]
    approve: Callable[[Standing], ApprovedOrder]
    settling: Callable[[], bool]
    deadlines: Deadlines
    wall_us: Callable[[], int]
    market_now_us: Callable[[], int]
    persons: Persons = field(default=NOBODY)
    away: Callable[[], str] = field(default=lambda: "")
    held_back: Callable[[Standing], str] = field(default=lambda _: "")
    no_replace: str = ""
    ready: dict[bytes, ReadyOrder] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)


def foresee(order: ApprovedOrder, tools: DispatchTools) -> None:
    """Make the fields of an order whose verdict is being committed; nothing is sent or recorded."""
    with suppress(MessageError, KeyError):  # dispatch meets the same, and says so
        while len(tools.ready) >= READY_MAX:
            del tools.ready[next(iter(tools.ready))]
        tools.ready[order.approving_leaf] = _ready(order, tools)


def _ready(order: ApprovedOrder, tools: DispatchTools) -> ReadyOrder:
    instrument, made_us = tools.instrument(order.intent.instrument), tools.wall_us()
    fields = new_order(
        order,
        profile=tools.profile,
        tick_minor=instrument.tick_minor,
        lot=instrument.lot,
        transact_time_us=made_us,
    )
    return ReadyOrder(order=order, profile=tools.profile, made_us=made_us, fields=fields)


def _fields(order: ApprovedOrder, tools: DispatchTools, wall_us: int) -> Fields:
    """Return the order's fields, as foreseen if that was a moment ago for this order and broker."""
    made = tools.ready.pop(order.approving_leaf, None)
    if (
        made is None
        or made.order is not order
        or made.profile is not tools.profile
        or not 0 <= wall_us - made.made_us <= READY_US
    ):
        made = _ready(order, tools)
    return made.fields


def dispatch(standing: Standing, tools: DispatchTools) -> HandResult | None:
    """Send one approved order; return None if it was withdrawn instead.

    Raises:
        audit.errors.AuditError: when the announcement cannot be committed; nothing is handed out.
    """
    if standing.stage is not Stage.APPROVED or standing.approving is None:
        return None
    reach("dispatch.chosen")  # a crash here leaves an approval that the next start withdraws
    if standing.basket_id and standing.basket_id not in tools.whole:
        _withdraw(standing, tools, "basket_not_approved")  # no leg leaves before the whole may
        return None
    leaving = may_leave(standing, tools)
    if isinstance(leaving, str):
        _withdraw(standing, tools, leaving)
        return None
    order, end, wall_us = leaving
    name = cl_ord_id(standing.approving.leaf)
    fields = _fields(order, tools, wall_us)
    sending = journal_orders.order_sending(
        standing,
        name,
        fields,
        kill_epoch=order.kill_epoch,
        send_before_us=order.send_before_us,
        market_now_us=tools.market_now_us(),
        decided_us=standing.approving.recorded_at_us,
    )
    result = _announce(standing, (name, fields), sending, order, end.monotonic_us, tools)
    reach("dispatch.handed")  # a crash here leaves SENDING with the order at the broker: reconciled
    _record(standing.decision_id, result, tools)
    reach("dispatch.sent_recorded")
    return result


def may_leave(standing: Standing, tools: DispatchTools) -> Leaving | str:
    """Return an approved order with its end and the time, or why it may not leave now."""
    try:
        order = tools.approve(standing)
    except ApprovalError as refusal:
        return str(refusal)
    if not tools.orders.ready:
        return "orders_not_folded"
    if not tools.settling():
        return "reports_not_settled"
    away = tools.away()
    if why := tools.held_back(standing) or (f"fix_session_{away}" if away else ""):
        return why
    end = tools.deadlines.end(sending_of(standing.decision_id))
    if end is None:  # an earlier process approved it; its age is unknown
        return "approved_before_this_start"
    wall_us = tools.wall_us()
    late = tools.deadlines.over(sending_of(standing.decision_id), wall_us)
    if late or wall_us >= order.send_before_us:
        return "send_before_passed"
    return Leaving(order, end, wall_us)


def _announce(
    standing: Standing,
    named: tuple[str, Fields],
    sending: Draft,
    order: ApprovedOrder,
    until_us: int,
    tools: DispatchTools,
) -> HandResult:
    """Commit the announcement, then hand the order out; the child builds it meanwhile.

    The word to the child follows the commit on the thread that waits for it, before any subscriber
    of the ledger hears of the record: each thread that wakes first costs a tenth of a millisecond.
    """
    name, fields = named
    handed: list[Callable[[], HandResult]] = []

    def go() -> None:
        # a crash here leaves SENDING: UNKNOWN, asked for, never re-sent
        reach("dispatch.sending_committed")
        # a stop that was recorded before the announcement is seen here, and holds the order back:
        # its press holds orders back until the stops have folded it, whatever the notifier does
        if stop := tools.held_back(standing):
            held = HandResult(outcome="refused", reason=stop)
            handed.append(lambda: held)
        else:
            times = (order.send_before_us, until_us)
            handed.append(tools.broker.go(name, fields, order.kill_epoch, *times))

    def landed(records: Sequence[Record]) -> None:
        if tools.orders.take_own(records[-1]):
            go()

    def meanwhile(records: Sequence[Record]) -> None:
        tools.broker.prepare(name, fields)
        if records:
            tools.orders.foresee(records[-1])

    hooks = Hooks(meanwhile=meanwhile, landed=landed)
    records = tools.ledger.append(sending, lane=Lane.URGENT, hooks=hooks)
    if not handed:
        tools.orders.take_own(records[-1])  # waiting for the notifier costs half a millisecond
        tools.orders.catch_up(records)
        go()
    return handed[0]()


def withdraw_late(tools: DispatchTools) -> int:
    """Withdraw approvals that no thread will send; return how many.

    They remain when a thread gave up waiting for a verdict that was committed after all.

    Raises:
        audit.errors.AuditError: when the ledger does not take it; the next round tries again.
    """
    now_us, count = tools.wall_us(), 0
    for standing in tools.orders.unsent():
        if standing.approving is None:
            continue
        if tools.deadlines.over(sending_of(standing.decision_id), now_us, grace_us=LATE_US):
            _withdraw(standing, tools, "send_before_passed")
            count += 1
    return count


def _record(decision_id: str, result: HandResult, tools: DispatchTools) -> None:
    """Record what became of the order; a refused one ends its decision."""
    standing = tools.orders.get(decision_id)
    if standing is None or standing.approving is None:
        raise AssertionError("the order was announced a moment ago")
    raw, personal = hide(result.raw, tools.persons, tools.profile.public_tags)
    handed = journal_orders.handed(
        standing,
        replace(result, raw=raw),
        raw_digest=sha256(raw.encode("latin-1")).hexdigest(),
        # a clock that was set back gives 0, never a negative time
        decision_to_wire_us=max(0, tools.wall_us() - standing.approving.recorded_at_us),
        market_time_us=tools.market_now_us(),
    )
    drafts = [replace(handed, personal=personal)]
    if result.outcome == "refused":
        drafts.append(
            decision_sealed(f"decision/{decision_id}", "refused", account=standing.account)
        )
    tools.orders.catch_up(tools.ledger.append(*drafts, lane=Lane.URGENT))


def _withdraw(standing: Standing, tools: DispatchTools, reason: str) -> None:
    """End an approval that will not be sent."""
    records = tools.ledger.append(
        journal_orders.order_withdrawn(standing, reason, market_time_us=tools.market_now_us()),
        decision_sealed(f"decision/{standing.decision_id}", "withdrawn", account=standing.account),
        lane=Lane.URGENT,
    )
    tools.orders.catch_up(records)
