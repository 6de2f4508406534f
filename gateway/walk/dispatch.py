"""dispatch(): announce one approved order, then hand it to the FIX child.

Only the process that approved an order sends it. A start withdraws approvals that it finds unsent
(`recovery`), because a row in a database is no authority. An approval is used once: SENDING with
nothing after it means UNKNOWN, and the order is never sent again.

`LOOKS` is the only list of what keeps a message here, for orders (35=D) and replaces (35=G):

- A look reads what may have changed since the message was judged, and says why it may not leave, or
  nothing. The first that speaks counts.
- All are taken before the message's record and again right before it is handed out. So what was on
  record before a message leaves holds it back.
- A replace that only reduces passes what a cancel passes: a stop, another policy, a book that
  differs, the amounts of a scope. It needs a live key and takes every other look.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from audit.records.record import Draft, Record
from audit.sequencer.ledger import Hooks, Lane
from fix.dialects.profile import Profile
from fix.errors import MessageError
from fix.session.link import HandResult
from fix.wire.identity import cl_ord_id
from fix.wire.messages import Fields, new_order
from gateway.walk.approval import order_of
from gateway.walk.deadlines import Deadlines, Moment, sending_of
from gateway.walk.failpoints import reach
from gateway.walk.journal import order as journal_orders
from gateway.walk.journal.persons import NOBODY, Persons, hide
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.ports import BrokerPort, LedgerPort
from gateway.walk.projections.asked import Going, order_going
from gateway.walk.projections.outbox import Orders
from gateway.walk.section import Section
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

    going: Going
    order: ApprovedOrder
    end: Moment
    wall_us: int


class ScopePort(Protocol):
    """What keys and their scopes say of a message."""

    def keys_over(self, going: Going) -> str:
        """Return which key behind a message was revoked or has expired, or the empty text."""
        ...

    def scope_over(self, going: Going) -> str:
        """Return how a message goes beyond the scope of its author's key, or the empty text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTools:
    """What dispatching needs.

    Attributes:
        section: returns the section: the policy in force, differences, the orders kept.
        scopes: what keys and their scopes say of a message.
        settling: whether reports reach the book; while they do not, no new order is sent.
        away: why the session takes no new order now; empty while it does.
        held_back: why a stop, the end of its override or the mode keeps this message here.
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
    section: Callable[[], Section]
    scopes: Callable[[], ScopePort]
    settling: Callable[[], bool]
    deadlines: Deadlines
    wall_us: Callable[[], int]
    market_now_us: Callable[[], int]
    persons: Persons = field(default=NOBODY)
    away: Callable[[], str] = field(default=lambda: "")
    held_back: Callable[[Going], str] = field(default=lambda _: "")
    no_replace: str = ""
    ready: dict[bytes, ReadyOrder] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)


class LeavingLook(NamedTuple):
    """One look; `of_reductions` says whether a replace that only reduces takes it."""

    why_not: Callable[[Going, DispatchTools], str]
    of_reductions: bool


def _kill(going: Going, tools: DispatchTools) -> str:
    epoch, killed = tools.section().kill()
    moved = killed or epoch != going.kill_epoch
    return "the kill epoch changed since the verdict" if moved else ""


def _policy(going: Going, tools: DispatchTools) -> str:
    status = tools.section().status()
    same = status.policy_digest == going.policy_digest and status.standing == "ACTIVE"
    return "" if same else "the policy changed since the verdict"


def _difference(going: Going, tools: DispatchTools) -> str:
    blocked = tools.section().differences.blocks(going.given.instrument)
    return "the book differs from the broker's since the verdict" if blocked else ""


def _folds(_: Going, tools: DispatchTools) -> str:
    if not tools.orders.ready:
        return "orders_not_folded"
    return "" if tools.settling() else "reports_not_settled"


def _session(_: Going, tools: DispatchTools) -> str:
    away = tools.away()
    return f"fix_session_{away}" if away else ""


LOOKS: Final = (
    LeavingLook(_kill, of_reductions=True),
    LeavingLook(_policy, of_reductions=False),
    LeavingLook(_difference, of_reductions=False),
    LeavingLook(lambda going, tools: tools.scopes().keys_over(going), of_reductions=True),
    LeavingLook(lambda going, tools: tools.scopes().scope_over(going), of_reductions=False),
    LeavingLook(_folds, of_reductions=True),
    LeavingLook(lambda going, tools: tools.held_back(going), of_reductions=False),
    LeavingLook(_session, of_reductions=True),
)
"""Every look, in the order of what is told first."""


def kept_back(going: Going, tools: DispatchTools) -> str:
    """Return why a message may not leave now, or the empty text."""
    looks = (one for one in LOOKS if one.of_reductions or not going.reduces)
    return next((why for one in looks if (why := one.why_not(going, tools))), "")


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
    going, order, end, wall_us = leaving
    name = cl_ord_id(standing.approving.leaf)
    fields = _fields(order, tools, wall_us)
    sending = journal_orders.order_sending(
        standing,
        fields,
        session=tools.profile.name,
        kill_epoch=order.kill_epoch,
        send_before_us=order.send_before_us,
        market_now_us=tools.market_now_us(),
        decided_us=standing.approving.recorded_at_us,
    )
    result = _announce(going, (name, fields), sending, order, end.monotonic_us, tools)
    reach("dispatch.handed")  # a crash here leaves SENDING with the order at the broker: reconciled
    _record(standing.decision_id, result, tools)
    reach("dispatch.sent_recorded")
    return result


def may_leave(standing: Standing, tools: DispatchTools) -> Leaving | str:
    """Return an approved order with its end and the time, or why it may not leave now."""
    going = order_going(standing)
    if going is None:
        return "nothing approves this order"
    if why := kept_back(going, tools):
        return why
    try:
        order = order_of(standing, tools.section())
    except ApprovalError as refusal:
        return str(refusal)
    end = tools.deadlines.end(sending_of(standing.decision_id))
    if end is None:  # an earlier process approved it; its age is unknown
        return "approved_before_this_start"
    wall_us = tools.wall_us()
    late = tools.deadlines.over(sending_of(standing.decision_id), wall_us)
    if late or wall_us >= order.send_before_us:
        return "send_before_passed"
    return Leaving(going, order, end, wall_us)


def _announce(
    going: Going,
    named: tuple[str, Fields],
    sending: Draft,
    order: ApprovedOrder,
    until_us: int,
    tools: DispatchTools,
) -> HandResult:
    """Commit the announcement, then hand the order out; the child builds it meanwhile.

    The word to the child follows the commit on the thread that waits for it, before any subscriber
    hears of the record: each thread that wakes first costs a tenth of a millisecond.
    """
    name, fields = named
    handed: list[Callable[[], HandResult]] = []

    def go() -> None:
        # a crash here leaves SENDING: UNKNOWN, asked for, never re-sent
        reach("dispatch.sending_committed")
        # what was recorded before the announcement is seen here, and holds the order back: the
        # press of a stop does until the stops have folded it, whatever the notifier does
        if why := kept_back(going, tools):
            held = HandResult(outcome="refused", reason=why)
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
        drafts.append(journal_orders.sealed(standing, "refused"))
    tools.orders.catch_up(tools.ledger.append(*drafts, lane=Lane.URGENT))


def _withdraw(standing: Standing, tools: DispatchTools, reason: str) -> None:
    """End an approval that will not be sent."""
    records = tools.ledger.append(
        journal_orders.order_withdrawn(standing, reason, market_time_us=tools.market_now_us()),
        journal_orders.sealed(standing, "withdrawn"),
        lane=Lane.URGENT,
    )
    tools.orders.catch_up(records)
