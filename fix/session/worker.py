"""The FIX child's worker: handles commands from the gateway and reports from the broker.

One thread runs everything except ``confirm_kill`` and ``confirm_drill``, which the pipe's reader
calls directly.

Not here: the pipe, signals, and quickfix.
"""

import queue
from collections.abc import Callable

from fix.dialects.profile import ForeignTreatment, SessionMode
from fix.durable.accounting import Accounting
from fix.durable.inbox import Entry
from fix.durable.resets import Reset
from fix.errors import MessageError
from fix.session.guard import Refusal, Ticket
from fix.session.link import Frame, SessionState, fields_of, names_of, number, text
from fix.session.listener import Sent
from fix.session.logon_probe import LogonProbe
from fix.session.sweep_worker import Parts, Sweeping
from fix.session.throttle import Throttle
from fix.wire.identity import has_our_form
from fix.wire.messages import (
    CANCEL_REPLACE,
    CL_ORD_ID,
    MSG_TYPE,
    NEW_ORDER,
    ORIG_CL_ORD_ID,
    STATUS_REQUEST,
    Fields,
)
from fix.wire.reports import Inbound

KILL_WAIT_S = 0.08
_IDLE_S, _SWEEPING_S = 0.25, 0.005
ORD_TYPE = 40
"""A field of every order that we send, and of none that only a report told of."""


Task = Callable[[], None]


class SessionWorker:
    """The child's worker; `run` returns when the child must exit."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()  # a signal handler puts, too
        self._logon_no = 0
        self._sweeping = Sweeping(parts)
        self._probe = LogonProbe()
        self._throttle = Throttle(parts.profile.pace.orders_per_s)
        self._accounts = Accounting(parts.journal, parts.profile.capabilities)
        self._leave_after_sweep, self._running = False, True
        self._refused = ""

    # -- called from other threads ------------------------------------------------------------

    def command(self, frame: Frame) -> None:
        """Queue a command."""
        self._tasks.put(lambda: self._command(frame))

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
            try:
                if task is not None:
                    task()
                self._step_probe()
                self._step_sweep()
            except Exception as error:  # noqa: BLE001  # the loop must go on sending cancels
                self._parts.gate.close("fault at the desk")
                self._parts.post({"ev": "fault", "where": "desk", "detail": repr(error)[:500]})
        self._parts.session.stop()

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
            case "hand":
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
        self._answer(frame, {"result": "ok"})
        self._tell(SessionState.CONNECTING, "")
        self._accounts.counted(session.numbers()[1] - 1)
        session.start()

    def _hand(self, frame: Frame) -> None:
        """Send one order or replace, once ever; durable in the journal before it can leave."""
        parts, cl_ord_id, fields = self._parts, text(frame, "cl_ord_id"), fields_of(frame)
        ticket = Ticket(
            cl_ord_id=cl_ord_id,
            kill_epoch=number(frame, "kill_epoch"),
            send_before_us=number(frame, "send_before_us"),
            send_until_us=number(frame, "send_until_us"),
        )
        refusal = self._refuse_before_journal(ticket, fields)
        if refusal is not None:
            parts.gate.spend(cl_ord_id)
            self._answer(frame, {"result": "refused", "reason": refusal.value})
            return
        # Not the inbox's end: reports may be queued behind this command, and a restart reads on
        # from the journal's offset.
        offset = parts.journal.inbox_offset
        try:
            self._accounts.leaving(fields, offset)
        except OSError as error:
            parts.gate.spend(cl_ord_id)
            self._answer(frame, {"result": "refused", "reason": f"{Refusal.JOURNAL}: {error}"})
            return
        result = parts.session.send(fields)
        parts.gate.spend(cl_ord_id)
        if isinstance(result, Sent):
            self._throttle.left(parts.monotonic_us())
            self._sweeping.order_left()
            self._accounts.left(fields, result.msg_seq_num)
        else:
            self._accounts.stayed(fields, offset, result.value)
        self._answer(frame, _outcome(result))

    def _refuse_before_journal(self, ticket: Ticket, fields: Fields) -> Refusal | None:
        sent = dict(fields)
        replaces = sent.get(MSG_TYPE) == CANCEL_REPLACE and ORIG_CL_ORD_ID in sent
        known = replaces or sent.get(MSG_TYPE) == NEW_ORDER
        if not known or sent.get(CL_ORD_ID) != ticket.cl_ord_id:
            return Refusal.MALFORMED
        if replaces and not self._accounts.may_replace(sent[ORIG_CL_ORD_ID]):
            return Refusal.NOT_ALLOWED
        if self._parts.journal.knows(ticket.cl_ord_id):
            return Refusal.ALREADY_USED
        if not self._parts.session.is_logged_on:
            return Refusal.NOT_LOGGED_ON
        if not self._throttle.allows(self._parts.monotonic_us()):
            return Refusal.THROTTLED
        return self._parts.gate.hand(ticket)

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
        self._answer(frame, _outcome(self._parts.session.send(fields)))

    def _cancel(self, frame: Frame) -> None:
        """Cancel one order; its request is on record, and its id names that record."""
        try:
            result = self._sweeping.cancel(fields_of(frame), text(frame, "cancel_id"))
        except MessageError as error:
            self._answer(frame, {"result": "refused", "reason": str(error)})
            return
        self._answer(frame, _outcome(result))

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


def _outcome(result: Sent | Refusal) -> Frame:
    match result:
        case Sent():
            return {
                "result": "sent",
                "msg_seq_num": result.msg_seq_num,
                "epoch": result.epoch,
                "raw": result.raw,
            }
        case Refusal():
            return {"result": "refused", "reason": result.value}
