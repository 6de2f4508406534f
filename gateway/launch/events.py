"""The events of the children, handled in the background and never on the supervisor's thread.

Not here: what a report means (`settlement`), what a start does (`recovery`).
"""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from audit.errors import AuditError
from audit.sequencer.ledger import Lane, Ledger
from audit.store.tables import DatabaseError
from fix.errors import FixError
from fix.orders.state import OrderState
from fix.orders.sweeper import SweepPhase
from fix.session.link import Frame, SessionState
from fix.wire.messages import Fields
from gateway import clock
from gateway.desk.controls.cancel_all import CancelAll
from gateway.desk.controls.kill import KillSwitch
from gateway.errors import GatewayError
from gateway.installation.children.fix import FixChild
from gateway.launch.threads.sessions import SessionProof
from gateway.launch.threads.settler import Settler
from gateway.walk.journal.run import EngineEvent
from gateway.walk.journal.session import SessionEvent
from gateway.walk.projections.foreign import ForeignOrders
from gateway.walk.projections.kill_times import STEPS
from gateway.walk.projections.outbox import UNNAMED, Orders
from gateway.walk.projections.sequence import record_resets
from gateway.walk.projections.session_orders import SessionOrders
from gateway.walk.reconciliation.asking import Budget, ended_unheard, sent_fields
from gateway.walk.reconciliation.book_check import BookCheck
from gateway.walk.reconciliation.cancels import CancelRecords
from gateway.walk.reconciliation.recovery import MASS_STATUS, reconcile

_log = logging.getLogger(__name__)
SETTLED_WITHIN_US = 3_000_000
AGAIN_US = 2_000_000
"""Time until a failed reconciliation is tried again, while its logon lasts."""
POLL_S = 0.02
_TOLD = frozenset({SweepPhase.REVIVED, SweepPhase.WAITING, SweepPhase.ENDED})
"""The phases of a sweep that are recorded: its progress, its end, and an end taken back."""


class Events:
    """The listener of both children; events of parts that are not bound yet are ignored."""

    def __init__(self, run_id: str, orders: Orders, budget: Budget) -> None:
        self._budget = budget
        self._run_id = run_id
        self._orders = orders
        self._one_at_a_time = threading.Lock()
        self._resets = threading.Lock()
        self._last_reset = 0
        # with how far the inbox was heard by then
        self._sweeps: deque[tuple[Frame, int]] = deque()
        self._heard_to = 0
        self._sweeps_told = threading.Lock()
        self._over = 0  # the kill whose sweep has ended
        # the logon that could not be reconciled, and when it may be tried again (monotonic)
        self._left: tuple[int, int] | None = None
        self.reconciled = (0, 0)  # orders answered and asked for, in the newest reconciliation
        self.settler: Settler | None = None
        self.fix: FixChild | None = None
        self.ledger: Ledger | None = None
        self.kill_switch: KillSwitch | None = None
        self.cancels: CancelRecords | None = None
        self.book_check: BookCheck | None = None
        self.cancel_all: CancelAll | None = None
        self.foreign: ForeignOrders | None = None
        self.proof: SessionProof | None = None
        self.mass_status = False  # whether the broker takes a mass status request
        self.stranger: Callable[[], str] = lambda: ""

    def on_fix(self, name: str, event: Frame) -> None:
        """Handle an event of the FIX child; never waits."""
        if name == "inbox" and self.settler is not None:
            self._heard_to = int(str(event.get("next_offset", 0)))
            self.settler.wake()
        elif name == "session" and event.get("state") == SessionState.RECONCILING:
            _in_background(self._reconcile, int(str(event["logon_no"])))
            _in_background(self._go_on_cancelling)
        elif name == "disagrees" and not event["at_start"]:  # the start records its own end
            _in_background(self._disagrees, str(event["detail"]))
        elif name == "reset":
            _in_background(self._reset)
        elif name == "sweep":
            if self._is_told(event):
                self._sweeps.append((event, self._heard_to))
            _in_background(self._swept)

    @property
    def _theirs(self) -> SessionOrders:
        """The orders that the session's broker may be asked about."""
        session = UNNAMED if self.settler is None else self.settler.session
        return SessionOrders(self._orders, session)

    def foreign_names(self) -> tuple[str, ...]:
        """Return the orders at the broker that are not ours and may trade, by name."""
        return () if self.foreign is None else self.foreign.working()

    def announced(self) -> tuple[Fields, ...]:
        """Return our orders that may work, as announced; a replaced one is in the journal."""
        live = (one for one in self._theirs.live() if not one.replaces)
        return tuple(sent_fields(one.sending) for one in live if one.sending is not None)

    def on_engine(self, name: str, detail: Mapping[str, str]) -> None:
        """Record an event of the engine."""
        if self.ledger is not None and name != "stopped":
            _in_background(self._record_engine, self.ledger, name, dict(detail))

    def _reconcile(self, logon_no: int) -> None:
        fix, ledger, settler = self.fix, self.ledger, self.settler
        if fix is None or ledger is None or settler is None:
            return
        with self._one_at_a_time, self._tried_again(logon_no):
            if who := self.stranger():
                fix.drop()  # first, so that nothing more is sent to it or awaited from it
                note(ledger, settler.session, self._run_id, "stranger_at_port", who)
                return
            self.record_resets()  # before the first order leaves under new numbers
            holds = reconcile(
                fix,
                self._theirs,
                lambda event, detail: note(ledger, settler.session, self._run_id, event, detail),
                self._budget,
                self._hold_against_broker,
                logon_no=logon_no,
                inbox_offset=settler.offset,
                told=self._answered,
                mass_id=f"M{clock.wall_us()}" if self.mass_status else "",
                ended=ended_unheard(self._theirs.placed_here(), fix.resets()),
            )
            if holds and self.proof is not None:
                self.proof.opened(logon_no)

    def _go_on_cancelling(self) -> None:
        """Go on with a cancel-all that an earlier logon, child or gateway left unfinished."""
        if self.cancel_all is not None:
            with contextlib.suppress(AuditError):  # the next logon tries again
                self.cancel_all.go_on()

    def _answered(self, answered: int, asked: int) -> None:
        self.reconciled = (answered, asked)

    @contextlib.contextmanager
    def _tried_again(self, logon_no: int) -> Iterator[None]:
        """Leave a failed reconciliation to `reconcile_again`; egress stays closed until then."""
        self._left = None
        try:
            yield
        except (FixError, AuditError, DatabaseError, GatewayError) as error:
            _log.error("logon %s is not reconciled, it is tried again: %s", logon_no, error)
            self._left = logon_no, clock.monotonic_us() + AGAIN_US

    def reconcile_again(self) -> None:
        """Reconcile a logon again whose reconciliation failed; a chore."""
        fix, left = self.fix, self._left
        if fix is None or left is None or clock.monotonic_us() < left[1]:
            return
        self._left = None
        if fix.state is SessionState.RECONCILING and fix.logon_no == left[0]:
            _in_background(self._reconcile, left[0])

    def _hold_against_broker(self, inbox_offset: int) -> None:
        settler, check = self.settler, self.book_check
        if settler is None or check is None:
            return
        _settles(settler, inbox_offset)
        if check.run("reconciliation"):
            _log.error("book_differs: countersign differences lists where")

    def prove(self) -> None:
        """Record that the session was reconciled, once it was; a chore."""
        if self.proof is not None:
            self.proof.look()

    def record_resets(self) -> None:
        """Record resets of the session's sequence numbers, each once.

        Raises:
            AuditError: the ledger does not take it; nothing may leave under the new numbers.
        """
        fix, ledger, settler = self.fix, self.ledger, self.settler
        if fix is None or ledger is None or settler is None:
            return
        with self._resets:
            fresh = [one for one in fix.resets() if one.reset_no > self._last_reset]
            record_resets(ledger, settler.session, self._run_id, fresh)
            self._last_reset = max([self._last_reset, *(one.reset_no for one in fresh)])

    def _disagrees(self, detail: str) -> None:
        if self.ledger is not None and self.settler is not None:
            with contextlib.suppress(AuditError):  # the log and `/readyz` have it
                note(self.ledger, self.settler.session, self._run_id, "fix_disagrees", detail)

    def _reset(self) -> None:
        with contextlib.suppress(AuditError):  # the next logon tries again before it is READY
            self.record_resets()

    def _is_told(self, event: Frame) -> bool:
        """Return whether an event of a sweep is recorded.

        If a new child begins a sweep, an earlier child's end of the same sweep is taken back.
        """
        phase, epoch = event.get("phase"), int(str(event.get("kill_epoch", 0)))
        again = phase == SweepPhase.BEGAN and 0 < epoch == self._over
        if phase == SweepPhase.ENDED:
            self._over = epoch
        return again or phase in _TOLD

    def _swept(self) -> None:
        """Record cancels, then the progress of sweeps, even if the cancels fail."""
        if self.cancels is not None:
            with contextlib.suppress(AuditError):
                self.cancels.take()
        with contextlib.suppress(AuditError):  # the chore tries again
            self.record_outcomes()

    def record_outcomes(self) -> None:
        """Record the progress of sweeps, in order, each event once; a chore.

        An order that works for the gateway counts as unknown where the child names it as gone or
        not at all: only what both take for ended is gone.

        Raises:
            AuditError: the ledger does not take one; it is kept for the next try.
        """
        if self.kill_switch is None:
            return
        with self._sweeps_told:
            while self._sweeps:
                event, heard_to = self._sweeps[0]
                held = self._works_here(event, heard_to)
                asked = None if self.cancel_all is None else self.cancel_all.open
                if self.cancel_all is not None and event.get("phase") == SweepPhase.ENDED:
                    of_these = held & frozenset(() if asked is None else asked.live)
                    self.cancel_all.record_outcome(**_outcome(event, of_these))
                self.kill_switch.record_outcome(
                    kill_epoch=int(str(event.get("kill_epoch", 0))),
                    **_outcome(event, held),
                    times_us={step: int(str(event.get(step, 0))) for step in STEPS},
                )
                self._sweeps.popleft()

    def _works_here(self, event: Frame, heard_to: int) -> frozenset[str]:
        """Return the orders that work for the gateway, with the reports that the child had read.

        One that is not on its way yet is not meant: the closed gate refuses it.
        """
        if self.settler is None:
            return frozenset()
        settled = _settles(self.settler, heard_to)
        works = {s.cl_ord_id for s in self._theirs.live() if s.order_state != OrderState.SENDING}
        return frozenset(works if settled else works.difference(_names(event, "confirmed")))

    def _record_engine(self, ledger: Ledger, name: str, detail: dict[str, str]) -> None:
        text = "; ".join(f"{k}={v}" for k, v in sorted(detail.items()))[:500]
        event = EngineEvent(event=name, detail=text, run_id=self._run_id)
        with contextlib.suppress(AuditError):
            ledger.append(event.draft(moment_us=clock.monotonic_us()))


def _settles(settler: Settler, inbox_offset: int) -> bool:
    """Wait a while until the inbox is settled up to an offset; return whether it is."""
    until_us = clock.monotonic_us() + SETTLED_WITHIN_US
    while settler.offset < inbox_offset and clock.monotonic_us() < until_us:
        clock.pause(POLL_S)
    return settler.offset >= inbox_offset


def _outcome(event: Frame, held: frozenset[str]) -> dict[str, list[str]]:
    """Return what a sweep's orders came to, with those that still work for the gateway."""
    confirmed, unknown = _names(event, "confirmed"), _names(event, "unknown")
    still_open = _names(event, "open")
    return {
        "confirmed": [name for name in confirmed if name not in held],
        "unknown": [*unknown, *sorted(held.difference(unknown, still_open))],
        "still_open": still_open,
    }


def _names(event: Frame, field: str) -> list[str]:
    found = event.get(field)
    return [str(one) for one in found] if isinstance(found, list) else []


def note(ledger: Ledger, session: str, run_id: str, event: str, detail: str) -> None:
    """Record an event of a session, and log the record's text.

    The detail may be the broker's text. The record replaces names by pseudonyms, and no erasure
    reaches the operator's log.

    Raises:
        AuditError: the ledger does not take it.
    """
    said = SessionEvent(event=event, detail=detail, run_id=run_id)
    draft = said.draft(session=session, key=f"event:{run_id}:{clock.monotonic_us()}")
    try:
        (record,) = ledger.append(draft, lane=Lane.URGENT)
    except AuditError:
        _log.error("%s: not on record", event)
        raise
    level = logging.INFO if event == MASS_STATUS else logging.ERROR
    _log.log(level, "%s: %s", event, SessionEvent.of(record).detail)


def _in_background(work: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=work, args=arguments, name=work.__name__, daemon=True).start()
