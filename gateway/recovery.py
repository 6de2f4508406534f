"""What a start finds and does: every decision that a crash left open is brought to its end.

The same projection answers a restart and a normal day. Table (stage found -> what is done):
    open        sealed as abandoned: nothing was approved
    held        reservation freed, sealed: a person's answer belongs to the market that was shown
    approved    dispatched like any other; too late means withdrawn
    sending     UNKNOWN: asked for at the broker, never sent again
    sent        asked for at the broker
    closed      sealed with the state the broker ended it in
"""

from collections.abc import Callable

from audit.kinds import Kind
from audit.ledger import Lane
from audit.queries import LedgerReader
from audit.record import Draft, Record
from fix.errors import FixError
from fix.messages import status_request
from fix.order import OrderState
from fix.reconcile import Fate, OpenOrder, Reconciliation, strangers
from fix.reports import parse_inbound
from fix.session_link import SessionState
from gateway import clock, journal_orders
from gateway.fix_child import FixChild
from gateway.journal import decision_sealed
from gateway.orders import Orders, Stage, Standing
from gateway.settlement import OUTCOMES
from gateway.walk import LedgerPort

POLL_S = 0.02
SILENCE_US = 500_000

Note = Callable[[str, str], None]
"""Puts an event of the session on record: its name and its detail."""


def close_abandoned(ledger: LedgerPort, orders: Orders, *, market_time_us: int) -> int:
    """End what needs no broker: abandoned, held and unsealed decisions; returns how many."""
    count = 0
    for standing in list(orders.unsealed()):
        drafts = _ending(standing, market_time_us)
        if drafts:
            orders.catch_up(ledger.append(*drafts, lane=Lane.URGENT))
            count += 1
    return count


def mark_unknown(ledger: LedgerPort, orders: Orders, *, market_time_us: int) -> int:
    """Turn SENDING without an answer into UNKNOWN; returns how many."""
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


def highest_sent(reader: LedgerReader) -> int:
    """Return the highest MsgSeqNum that the ledger has as sent, 0 without one."""
    numbers = [int(str(r.body["msg_seq_num"])) for r in reader.records(kinds=(Kind.ORDER_SENT,))]
    return max(numbers, default=0)


def reconcile(
    fix: FixChild, orders: Orders, note: Note, *, logon_no: int, inbox_offset: int
) -> bool:
    """Ask the broker for every order that may be live, wait a bounded time, open the session.

    `inbox_offset` is where the inbox stood before the questions; answers come after it. What stays
    unknown goes to `note`. Returns False when the logon was over before its reconciliation.
    """
    live = {s.cl_ord_id: s for s in orders.live() if s.sending is not None}
    state = Reconciliation.begin(
        (
            OpenOrder(cl_ord_id=name, fields=_sent_fields(s.sending))
            for name, s in live.items()
            if s.sending is not None
        ),
        logon_no=logon_no,
        now_us=clock.monotonic_us(),
    )
    questions = state.questions()
    while True:
        for question in questions:
            fix.status_request(question)
        if state.is_over(clock.monotonic_us()) or fix.state is not SessionState.RECONCILING:
            break
        clock.pause(POLL_S)
        state, inbox_offset = _listen(fix, state, inbox_offset)
        state, questions = state.ask_again_at(clock.monotonic_us())
    quarantined = [name for name, fate in state.closed().items() if fate is Fate.QUARANTINED]
    unknown = [order.cl_ord_id for order in strangers(fix.live_orders(), orders.names())]
    for event, names in (("quarantined", quarantined), ("not_in_ledger", unknown)):
        if names:
            note(event, " ".join(names))
    return fix.set_reconciled(logon_no)


def _listen(fix: FixChild, state: Reconciliation, inbox_offset: int) -> tuple[Reconciliation, int]:
    """Take in what arrived since; the settler records it, here it only answers questions."""
    for entry in fix.inbox_since(inbox_offset):
        inbox_offset = entry.next_offset
        try:
            state = state.heard(parse_inbound(entry.raw))
        except FixError:
            continue  # quarantined by the settler
    return state, inbox_offset


class Chaser:
    """Asks the broker for orders that nobody reported on: silence is a question, no answer."""

    def __init__(self, fix: FixChild, orders: Orders) -> None:
        """Start with nothing asked."""
        self._fix = fix
        self._orders = orders
        self._asked_us: dict[str, int] = {}

    def ask(self, now_us: int) -> int:
        """Send a status request for each order without a report for too long; returns how many."""
        asked = 0
        for standing in self._orders.live():
            if standing.report_status is not None or standing.sending is None:
                continue
            since_us = max(
                standing.sending.recorded_at_us, self._asked_us.get(standing.decision_id, 0)
            )
            if now_us - since_us > SILENCE_US and self._fix.state is SessionState.READY:
                self._asked_us[standing.decision_id] = now_us
                self._fix.status_request(status_request(_sent_fields(standing.sending)))
                asked += 1
        return asked


def _sent_fields(sending: Record) -> tuple[tuple[int, str], ...]:
    return tuple((int(tag), str(text)) for tag, text in sending.body["fields"])


def _ending(standing: Standing, market_time_us: int) -> tuple[Draft, ...]:
    """Return the records that end a decision without the broker, none when it needs one."""
    stream = f"decision/{standing.decision_id}"
    match standing.stage:
        case Stage.OPEN:
            return (decision_sealed(stream, "abandoned"),)
        case Stage.HELD:
            return (
                journal_orders.reservation_released(
                    standing, "gateway restarted", market_time_us=market_time_us
                ),
                decision_sealed(stream, "hold_expired", account=standing.account),
            )
        case Stage.CLOSED:
            state = OrderState(standing.order_state) if standing.cl_ord_id else None
            outcome = "rejected" if state is None else OUTCOMES.get(state, "refused")
            account, again = standing.account, standing.seals
            return (decision_sealed(stream, outcome, account=account, again=again),)
        case _:
            return ()
