"""What a start finds and does: every decision that a crash left open is brought to its end.

The same projection answers a restart and a normal day. Table (stage found -> what is done):
    open        sealed as abandoned: nothing was approved
    held        reservation freed, sealed: a person's answer belongs to the market that was shown
    approved    dispatched like any other; too late means withdrawn
    sending     UNKNOWN: asked for at the broker, never sent again
    sent        asked for at the broker
    closed      sealed with the state the broker ended it in
"""

import logging

from audit.kinds import Kind
from audit.ledger import Lane
from audit.queries import LedgerReader
from audit.record import Draft, Record
from fix.messages import status_request
from fix.order import OrderState
from fix.session_link import SessionState
from gateway import journal_orders
from gateway.clock import pause
from gateway.fix_child import FixChild
from gateway.journal import decision_sealed
from gateway.orders import Orders, Stage, Standing
from gateway.settlement import OUTCOMES
from gateway.walk import LedgerPort

_log = logging.getLogger(__name__)
RECONCILE_WITHIN_S = 3.0
SILENCE_US = 500_000


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


def reconcile(fix: FixChild, orders: Orders, logon_no: int) -> bool:
    """Ask the broker for every order that may be live, wait a bounded time, open the session.

    An order whose fate stays unknown keeps its worst-case reservation and is shown; it does not
    block the desk.
    """
    asked = {s.decision_id: s.report_status for s in orders.live()}
    for decision_id in asked:
        standing = orders.get(decision_id)
        if standing is not None and standing.sending is not None:
            fix.status_request(status_request(_sent_fields(standing.sending)))
    waiting = list(asked)
    for _ in range(int(RECONCILE_WITHIN_S / 0.05)):
        waiting = [d for d, before in asked.items() if not _answered(orders.get(d), before)]
        if not waiting or fix.state is not SessionState.RECONCILING:
            break
        pause(0.05)
    else:
        _log.warning("fate unknown after reconciliation: %s", ", ".join(waiting))
    return fix.set_reconciled(logon_no)


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


def _answered(standing: Standing | None, before: str | None) -> bool:
    return (
        standing is None
        or standing.stage in {Stage.CLOSED, Stage.SEALED}
        or (standing.report_status is not None and standing.report_status != before)
    )


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
            return (decision_sealed(stream, outcome, account=standing.account),)
        case _:
            return ()
