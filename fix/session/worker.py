"""The FIX child's worker: handles commands from the gateway and reports from the broker.

One thread at a time has the turn and runs everything except ``confirm_kill`` and
``confirm_drill``: the worker's own, or, for an order while nothing is queued, the pipe's reader:
waking a thread takes longer than sending.

Not here: the pipe, signals, and quickfix.
"""

import queue
import threading
from collections.abc import Callable

from fix.dialects.profile import ForeignTreatment, SessionMode
from fix.durable.accounting import Accounting
from fix.durable.inbox import Entry
from fix.durable.resets import Reset
from fix.errors import MessageError
from fix.orders.live import LiveOrder
from fix.session.guard import Refusal
from fix.session.handing import Handing, outcome
from fix.session.link import Frame, SessionState, fields_of, names_of, number, orders_of, text
from fix.session.logon_probe import LogonProbe
from fix.session.sweep_worker import Parts, Sweeping
from fix.wire.fields import MSG_TYPE
from fix.wire.identity import has_our_form
from fix.wire.messages import CANCEL_REPLACE, CL_ORD_ID, NEW_ORDER, STATUS_REQUEST
from fix.wire.reports import Inbound

KILL_WAIT_S = 0.08
_IDLE_S, _SWEEPING_S = 0.25, 0.005
ORD_TYPE = 40
"""A field of every order that we send, and of none that only a report told of."""
_AT_ONCE = frozenset({"prepare", "go"})
Task = Callable[[], None]


class SessionWorker:
    """The child's worker; `run` returns when the child must exit."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()  # a signal handler puts, too
        self._logon_no = 0
        self._sweeping = Sweeping(parts)
        self._probe = LogonProbe()
        self._accounts = Accounting(parts.journal, parts.profile.capabilities)
        self._handing = Handing(parts, self._accounts, self._answer)
        self._turn = threading.Lock()
        self._leave_after_sweep, self._running = False, True
        self._refused = ""

    # -- called from other threads ------------------------------------------------------------

    def command(self, frame: Frame) -> None:
        """Carry out an order's command now, or queue a command."""
        here = frame.get("op") in _AT_ONCE and self._tasks.empty()
        if not (here and self._turn.acquire(blocking=False)):
            self._tasks.put(lambda: self._command(frame))
            return
        try:
            self._guarded(lambda: self._command(frame))
        finally:
            self._turn.release()

    def received(self, entry: Entry) -> None:
        """Queue an inbound message that is in the inbox."""
        self._tasks.put(lambda: self._received(entry))

    def logged_on(self, logon_no: int) -> None:
        """Queue a logon."""
        self._tasks.put(lambda: self._logged_on(logon_no))

    def logged_off(self, reason: str) -> None:
        """Queue a logout or disconnect."""
        self._tasks.put(lambda: self._logged_off(reason))

    def reset(self, found: Reset) -> None:
        """Queue a sequence reset, allowed or refused."""
        self._tasks.put(lambda: self._reset(found))

    def heartbeat(self, test_req_id: str) -> None:
        """Queue the broker's answer to a TestRequest."""
        self._tasks.put(lambda: self._heartbeat(test_req_id))

    def wake(self) -> None:
        """Read the kill word now instead of at the next turn."""
        self._tasks.put(lambda: None)

    def orphaned(self, why: str) -> None:
        """Close egress now, then sweep and exit: the gateway is gone."""
        self._parts.gate.close(why)
        self._tasks.put(self._orphaned)

    def confirm_kill(self, frame: Frame) -> None:
        """Answer once no new order can pass any more; called by the reader, never queued."""
        word = self._parts.word.read()
        if not word.killed or word.kill_epoch < number(frame, "kill_epoch"):
            self._parts.gate.close("killed by command, but the kill word does not say so")
        if self._parts.session.nothing_in_flight(KILL_WAIT_S):
            self._answer(frame, {"result": "ok"})
        else:
            self._answer(frame, {"result": "refused", "reason": "a send has not returned"})

    def confirm_drill(self, frame: Frame) -> None:
        """Answer a drill as a kill would be answered, with the gate as it is."""
        self._parts.word.read()
        if self._parts.session.nothing_in_flight(KILL_WAIT_S):
            self._answer(frame, {"result": "ok"})
        else:
            self._answer(frame, {"result": "refused", "reason": "a send has not returned"})

    # -- the worker ---------------------------------------------------------------------------

    @property
    def goes_on(self) -> bool:
        """Whether an orphan must stay: a kill is in force, an order live, the session started."""
        return self._sweeping.goes_on and self._parts.session.is_started

    def run(self) -> None:
        """Work until told to stop, or until orphaned and swept."""
        while self._running:
            try:
                task = self._tasks.get(timeout=_SWEEPING_S if self._sweeping.is_busy else _IDLE_S)
            except queue.Empty:
                task = None
            with self._turn:
                self._guarded(lambda: self._take_turn(task))  # noqa: B023 - called at once
        self._parts.session.stop()

    def _guarded(self, body: Task) -> None:
        try:
            body()
        except Exception as error:  # noqa: BLE001  # the loop must go on sending cancels
            self._parts.gate.close("fault at the desk")
            self._parts.post({"ev": "fault", "where": "desk", "detail": repr(error)[:500]})

    def _take_turn(self, task: Task | None) -> None:
        if task is not None:
            task()
        self._step_probe()
        self._step_sweep()

    def catch_up(self, entries: list[Entry]) -> None:
        """Account for reports in the inbox that the journal lacks."""
        for entry in entries:
            self._account(entry)
            self._parts.journal.accounted(entry.next_offset)

    def forget_strangers(self) -> None:
        """Drop orders that are not ours and that an earlier version took for live."""
        if self._parts.profile.foreign_orders is ForeignTreatment.CANCEL:
            return
        for order in self._parts.journal.live():
            if not has_our_form(order.cl_ord_id) and ORD_TYPE not in dict(order.fields):
                self._parts.journal.closed(
                    order.cl_ord_id, self._parts.journal.inbox_offset, "not ours"
                )

    def _command(self, frame: Frame) -> None:
        match frame.get("op"):
            case "prepare":
                self._handing.prepare(frame)
            case "hand" | "go":
                self._hand(frame)
            case "pass":
                self._pass(frame)
            case "cancel":
                self._cancel(frame)
            case "logon":
                self._logon(frame)
            case "reconciled":
                self._reconciled(frame)
            case "sweep":
                self._answer(frame, {"result": "ok"})
                self._sweeping.want(frozenset(names_of(frame, "names")) or None)
            case "stop":
                self._answer(frame, {"result": "ok"})
                self._stop(sweep=frame.get("sweep") is True)
            case other:
                self._answer(frame, {"result": "refused", "reason": f"unknown command {other}"})

    def _logon(self, frame: Frame) -> None:
        """Compare our next number with the ledger's before anything connects."""
        session, wanted = self._parts.session, number(frame, "min_next_sender")
        stored, _ = session.numbers()
        self._sweeping.strangers.told(frozenset(names_of(frame, "foreign")))
        if session.sequence.epoch > number(frame, "epoch"):
            wanted = 0  # the numbers were reset since; the gateway reads it from `resets`
        session.sequence.accept_once = frame.get("accept") is True
        if session.sequence.last_refused is not None:
            refused, goes_on = str(session.sequence.last_refused), session.sequence.goes_on()
            if goes_on is None:
                self._refused = refused
                self._answer(frame, {"result": "ok"})
                self._tell(SessionState.REFUSED, refused)
                return
            session.expect_from_first()
            self._reset(goes_on)
        if stored < wanted and self._parts.profile.mode is SessionMode.RESUME:
            if frame.get("adopt") is not True:
                reason = f"store_behind_ledger: store {stored}, ledger {wanted}"
                self._answer(frame, {"result": "refused", "reason": reason})
                return
            session.raise_sender(wanted)
        try:
            self._parts.journal.told(_lost(frame, self._parts.journal.inbox_offset))
        except OSError as error:
            self._answer(frame, {"result": "refused", "reason": f"journal: {error}"})
            return
        self._answer(frame, {"result": "ok"})
        self._tell(SessionState.CONNECTING, "")
        self._accounts.counted(session.numbers()[1] - 1)
        session.start()

    def _hand(self, frame: Frame) -> None:
        """Send one order or replace; the journal is made durable next."""
        if self._handing.hand(frame):
            self._sweeping.order_left()
            self._tasks.put(self._handing.settle)

    def _pass(self, frame: Frame) -> None:
        """Send a cancel or a status request; the gate refuses anything else.

        A broker that knows no status request (H) is not asked: it would answer with a reject.
        """
        fields = fields_of(frame)
        msg_type = dict(fields).get(MSG_TYPE)
        unknown = msg_type == STATUS_REQUEST and not self._parts.profile.capabilities.order_status
        if msg_type in {NEW_ORDER, CANCEL_REPLACE} or unknown:
            self._answer(frame, {"result": "refused", "reason": Refusal.NOT_ALLOWED.value})
            return
        self._answer(frame, outcome(self._parts.session.send(fields)))

    def _cancel(self, frame: Frame) -> None:
        """Cancel one order; its request is on record, and its id names that record."""
        try:
            result = self._sweeping.cancel(fields_of(frame), text(frame, "cancel_id"))
        except MessageError as error:
            self._answer(frame, {"result": "refused", "reason": str(error)})
            return
        self._answer(frame, outcome(result))

    def _reconciled(self, frame: Frame) -> None:
        if not self._parts.gate.reconciled(number(frame, "logon_no")):
            self._answer(frame, {"result": "refused", "reason": "that logon is over"})
            return
        self._tell(SessionState.READY, "")
        self._answer(frame, {"result": "ok"})

    def _reset(self, found: Reset) -> None:
        """Forget which number was which order; tell the gateway, which records the reset."""
        if found.allowed:
            self._accounts.begun_anew()
        else:
            self._refused = str(found)
        self._parts.post(
            {
                "ev": "reset",
                "reset_no": found.reset_no,
                "allowed": found.allowed,
                "new_sender": found.new_sender,
            }
        )

    def _logged_off(self, reason: str) -> None:
        self._probe.logged_off()
        state = SessionState.REFUSED if self._refused else SessionState.CONNECTING
        self._tell(state, self._refused or reason)

    def _logged_on(self, logon_no: int) -> None:
        self._logon_no = logon_no
        self._probe.logged_on(logon_no)

    def _step_probe(self) -> None:
        parts = self._parts
        if test_req_id := self._probe.due(parts.monotonic_us(), parts.session.resent_us):
            parts.session.probe(test_req_id)

    def _heartbeat(self, test_req_id: str) -> None:
        """Let the gateway reconcile once the logon is proven."""
        if self._probe.answered(test_req_id):
            self._sweeping.proven(self._logon_no)
            self._tell(SessionState.RECONCILING, "")

    # -- reports ------------------------------------------------------------------------------

    def _received(self, entry: Entry) -> None:
        self._account(entry)
        self._parts.journal.accounted(entry.next_offset)
        self._parts.post({"ev": "inbox", "offset": entry.offset, "next_offset": entry.next_offset})

    def _account(self, entry: Entry) -> None:
        """Open or close an order of the journal as a report says, unless it is a repeat."""
        if heard := self._accounts.take(entry, self._is_strangers):
            self._sweeping.heard(*heard)

    def _is_strangers(self, cl_ord_id: str, inbound: Inbound) -> bool:
        """Return whether a message is about an order that is not ours and that nobody cancels."""
        if self._parts.journal.knows(cl_ord_id):
            return False
        return self._sweeping.strangers.took(inbound)

    # -- sweeps -------------------------------------------------------------------------------

    def _orphaned(self) -> None:
        self._leave_after_sweep = True
        self._sweeping.want()

    def _stop(self, *, sweep: bool) -> None:
        self._parts.gate.close("stopping")
        if sweep and self._parts.journal.live():
            self._orphaned()
        else:
            self._running = False

    def _step_sweep(self) -> None:
        killed = self._parts.word.read().killed
        self._parts.session.redial(self._parts.monotonic_us(), hurry=killed)
        if self._sweeping.step() and self._leave_after_sweep:
            self._running = False

    # -- the pipe -----------------------------------------------------------------------------

    def _answer(self, frame: Frame, result: Frame) -> None:
        self._parts.post({"ev": "answer", "n": frame.get("n"), **result})

    def _tell(self, state: SessionState, detail: str) -> None:
        sender, target = self._parts.session.numbers()
        self._parts.post(
            {
                "ev": "session",
                "state": state.value,
                "logon_no": self._logon_no,
                "next_sender": sender,
                "next_target": target,
                "detail": detail,
            }
        )


def _lost(frame: Frame, offset: int) -> list[LiveOrder]:
    """Return the orders that a logon names; after a power cut the journal may lack the last."""
    return [
        LiveOrder(cl_ord_id=dict(one)[CL_ORD_ID], fields=one, inbox_offset=offset)
        for one in orders_of(frame, "announced")
    ]
