"""Supervisor of the FIX child: starts it, hands orders to it, kills it when it does not confirm.

Rules:
- ``go`` is called after SENDING is committed; the answer is sent, refused (it never leaves) or
  unknown. This class hands no order twice.
- The child connects only after ``logon``, when the caller has compared sequence numbers with the
  ledger. A child that died is restarted and logs on with the numbers known here, which are never
  behind the ledger's. RECONCILING again precedes READY.
- A child of another build, dictionary or order profile never connects: REFUSED until a restart.
- A child that does not confirm a kill in time is killed, which stops orders as well.
- No call waits beyond its deadline. Callbacks are short and never call `stop`.

Not here: the ledger, what a report means.
"""

import contextlib
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from fix.build import identity
from fix.dialects.profile import profile_document
from fix.durable.inbox import Entry, read_from
from fix.durable.journal import CancelNote, read_cancels, read_live
from fix.durable.resets import Reset, resets_of
from fix.errors import ChildError, FixError
from fix.orders.live import LiveOrder
from fix.session.dictionaries import words_of
from fix.session.link import Frame, HandResult, SessionState, frames, number, text
from fix.wire.messages import CL_ORD_ID, Fields
from gateway.installation.children.child import Handshake
from gateway.installation.children.fix_life import DOWN, ChildHello, FixChildConfig, Life, is_kept

log = logging.getLogger(__name__)

_STABLE_S = 30.0
_TOLD_MAX = 500  # one frame holds them
_FATAL = frozenset({"toAdmin", "toApp", "fromApp", "fromAdmin", "onLogon", "onLogout", "desk"})


class FixChild:
    """The FIX child as the gateway sees it. Thread-safe."""

    def __init__(
        self,
        config: FixChildConfig,
        on_event: Callable[[str, Frame], None] = lambda _name, _event: None,
    ) -> None:
        """Prepare; nothing runs before `start`.

        `on_event` gets each event of `fix.session.link`, and ``died`` and ``started``.
        """
        self._config = config
        self._on_event = on_event
        self._life: Life | None = None
        self._number_lock = threading.Lock()
        self._state = SessionState.DOWN
        self._changed = threading.Condition()
        self._logon_no = 0
        self._hello: ChildHello | None = None
        self._next_sender = 0
        self._logon_wanted: Frame | None = None
        self._epoch = 0
        self._last_reset = 0
        self._detail = self._differs = ""
        self.agreement = Handshake("FIX child", identity(config.profile, words_of(config.profile)))
        self.vitals: Frame = {}
        """The child's last ``vitals``; empty before the first and without a child."""
        self._stopping = threading.Event()
        self._supervisor: threading.Thread | None = None

    # -- life -----------------------------------------------------------------------------------

    def start(self, timeout_s: float = 30.0, *, last_reset: int = 0) -> ChildHello:
        """Start the child and return its hello; it does not connect yet.

        `last_reset` is the number of the last recorded reset of the sequence numbers.

        Raises:
            ChildError: it did not come up in time, or disagrees with the gateway.
        """
        self._last_reset = last_reset
        self._supervisor = threading.Thread(target=self._supervise, name="fix child", daemon=True)
        self._supervisor.start()
        with self._changed:
            self._changed.wait_for(lambda: self._hello is not None, timeout_s)
            if self._hello is None:
                raise ChildError(
                    problem=f"no hello in {timeout_s:g} s; see {self._config.log_path}"
                )
            if self._differs:
                raise ChildError(problem=self._differs)
            return self._hello

    def logon(
        self, *, min_next_sender: int, adopt: bool = False, epoch: int = 0, accept: bool = False
    ) -> None:
        """Let the child connect, now and after every restart.

        `min_next_sender` is one above the highest MsgSeqNum that the ledger has as sent, `epoch`
        its epoch. `adopt` raises a store that is behind to that number instead of refusing it;
        `accept` lets the broker reset its numbers once.

        Raises:
            ChildError: the store is behind the ledger, or the child is down.
        """
        with self._number_lock:
            self._next_sender = max(self._next_sender, min_next_sender)
            self._epoch = epoch
        self._logon_wanted = {"op": "logon", "adopt": adopt, "accept": accept}
        answer = self._ask(self._logon_frame(), self._config.answer_timeout_s)
        if answer["result"] != "ok":
            self._logon_wanted = None
            raise ChildError(problem=f"logon refused: {answer.get('reason', '')}")

    def stop(self, *, sweep: bool = True, alone: bool = False) -> None:
        """Log out and end the child. Idempotent.

        `sweep` first cancels live orders, within the profile's timeout; a kill always does. `alone`
        lets the child live on to cancel while a kill is in force and orders are live.
        """
        self._stopping.set()
        life, sweep = self._life, sweep or is_kept(self._config)
        if life is not None and not life.dead.is_set():
            patience_s = self._config.profile.pace.sweep_timeout_s + 8.0 if sweep else 8.0
            self._ask({"op": "stop", "sweep": sweep}, self._config.answer_timeout_s)
            with contextlib.suppress(subprocess.TimeoutExpired):
                life.process.wait(patience_s)
            if alone and life.process.poll() is None and is_kept(self._config):
                log.error("a kill is in force and orders are live: the FIX child goes on alone")
                life.leave_alone()
            life.slay()
        if self._supervisor is not None:
            self._supervisor.join(10.0)

    # -- orders ---------------------------------------------------------------------------------

    def prepare(self, cl_ord_id: str, fields: Fields) -> None:
        """Let the child build an order that is not announced yet; it leaves only by `go`."""
        if life := self._life:
            life.prepare(cl_ord_id, fields, self._config.answer_timeout_s)

    def go(
        self, cl_ord_id: str, fields: Fields, kill_epoch: int, send_before_us: int, until_us: int
    ) -> Callable[[], HandResult]:
        """Hand out one order, once ever; return what waits for the answer."""
        frame: Frame = {
            "op": "hand",
            "cl_ord_id": cl_ord_id,
            "kill_epoch": kill_epoch,
            "send_before_us": send_before_us,
            "send_until_us": until_us,
        }
        if (life := self._life) and life.prepared.pop(cl_ord_id, None) == fields:
            frame["op"] = "go"  # to the child that prepared it; a later one never saw it
        else:
            frame["fields"] = [list(pair) for pair in fields]
        if life is None:
            return lambda: self._result_of(DOWN)
        waits = life.ask(frame, self._config.answer_timeout_s)
        return lambda: self._result_of(waits())

    def hand(
        self, cl_ord_id: str, fields: Fields, kill_epoch: int, send_before_us: int, until_us: int
    ) -> HandResult:
        """Hand out one order as `go` does; return the answer."""
        return self.go(cl_ord_id, fields, kill_epoch, send_before_us, until_us)()

    def cancel(self, fields: Fields) -> HandResult:
        """Send an OrderCancelRequest (F) or OrderMassCancelRequest (q); also while killed."""
        return self._result({"op": "pass", "fields": [list(pair) for pair in fields]})

    def cancel_order(self, order: Fields, cancel_id: str) -> HandResult:
        """Cancel the order with these fields, noted in the child's journal; also while killed."""
        fields: Frame = {"fields": [list(pair) for pair in order]}
        return self._result({"op": "cancel", "cancel_id": cancel_id, **fields})

    def status_request(self, fields: Fields) -> HandResult:
        """Send an OrderStatusRequest (H) or OrderMassStatusRequest (AF)."""
        return self._result({"op": "pass", "fields": [list(pair) for pair in fields]})

    def set_reconciled(self, logon_no: int) -> bool:
        """Open egress for the logon that was reconciled; return False if that logon is over."""
        frame: Frame = {"op": "reconciled", "logon_no": logon_no}
        return self._ask(frame, self._config.answer_timeout_s)["result"] == "ok"

    def sweep(self, names: Sequence[str] = ()) -> bool:
        """Let the child cancel all orders, or those with these ClOrdIDs; an event has the outcome.

        Returns whether it will.
        """
        frame: Frame = {"op": "sweep", **({"names": list(names)} if names else {})}
        return self._ask(frame, self._config.answer_timeout_s)["result"] == "ok"

    def kill(self, kill_epoch: int, timeout_s: float = 0.1) -> bool:
        """Return whether the child confirmed that no new order passes; if not, it is dead now.

        The kill word was pressed before. This waits for orders between the child's check and the
        wire.
        """
        life = self._life
        if life is None or life.dead.is_set():
            return False
        answer = self._ask({"op": "kill", "kill_epoch": kill_epoch}, timeout_s)
        if answer["result"] == "ok":
            return True
        log.error("kill not confirmed, child killed: %s", answer.get("reason", ""))
        life.slay()
        return False

    def drill(self, timeout_s: float = 0.1) -> bool:
        """Return whether the child answered in time as it would answer a kill; nothing stops."""
        return self._ask({"op": "drill"}, timeout_s)["result"] == "ok"

    def drop(self) -> None:
        """End the session at once by killing its child; a new one connects after a pause."""
        life = self._life
        if life is not None:
            life.slay()

    # -- what is known --------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        """The session's state; new orders are taken in READY only."""
        return self._state

    @property
    def refused(self) -> str:
        """Why the session stays down until the next start; "" unless REFUSED."""
        return self._detail if self._state is SessionState.REFUSED else ""

    @property
    def detail(self) -> str:
        """What the child or the broker last said about the session's state."""
        return self._detail

    def resets(self) -> tuple[Reset, ...]:
        """Return every reset of the sequence numbers in the session's folder."""
        return resets_of(self._config.folder)

    @property
    def logon_no(self) -> int:
        """Number of the present logon in this child's life."""
        return self._logon_no

    @property
    def pid(self) -> int:
        """Process id of the present child, 0 without one."""
        return self._life.process.pid if self._life else 0

    def wait_for(self, state: SessionState, timeout_s: float) -> bool:
        """Wait until the session is in a state."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state is state, timeout_s)

    def inbox_since(self, offset: int, limit: int = 1000) -> list[Entry]:
        """Return inbound messages from an offset on; see `fix.durable.inbox.read_from`."""
        return read_from(self._config.folder / "inbox", offset, limit)

    def live_orders(self) -> tuple[LiveOrder, ...]:
        """Return the live orders of the child's journal."""
        return read_live(self._config.folder / "journal")

    def noted_cancels(self) -> tuple[CancelNote, ...]:
        """Return the cancels in the child's journal; each is noted before its bytes leave."""
        return read_cancels(self._config.folder / "journal")

    # -- inside ---------------------------------------------------------------------------------

    def _result(self, frame: Frame) -> HandResult:
        return self._result_of(self._ask(frame, self._config.answer_timeout_s))

    def _result_of(self, answer: Frame) -> HandResult:
        result = text(answer, "result")
        if result != "sent":
            return HandResult(outcome=result, reason=str(answer.get("reason", "")))
        msg_seq_num, epoch = number(answer, "msg_seq_num"), number(answer, "epoch")
        with self._number_lock:
            if epoch == self._epoch:
                self._next_sender = max(self._next_sender, msg_seq_num + 1)
        return HandResult(
            outcome="sent", msg_seq_num=msg_seq_num, raw=text(answer, "raw"), epoch=epoch
        )

    def _ask(self, frame: Frame, timeout_s: float) -> Frame:
        """Return the child's answer: ``refused`` without a child, ``unknown`` without an answer."""
        life = self._life
        return DOWN if life is None else life.ask(frame, timeout_s)()

    def _logon_frame(self) -> Frame:
        with self._number_lock:
            numbers: Frame = {"min_next_sender": self._next_sender, "epoch": self._epoch}
        known, all_of = self._hello.live if self._hello else (), self._config.announced()
        lost = [one for one in all_of if dict(one)[CL_ORD_ID] not in known]
        named: Frame = {
            "foreign": list(self._config.foreign()),
            "announced": [[list(pair) for pair in one] for one in lost[-_TOLD_MAX:]],
        }
        return {**(self._logon_wanted or {}), **numbers, **named}

    def _supervise(self) -> None:
        """Run one child after the other until `stop`; this thread is their parent."""
        pause_s, longest_s = self._config.backoff_s
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._live_one()
            except (OSError, FixError):
                log.exception("fix child could not be run")
            if time.monotonic() - started > _STABLE_S:
                pause_s = self._config.backoff_s[0]
            if self._differs:
                self._move(SessionState.REFUSED, 0)
                at_start = self._logon_wanted is None
                self._tell("disagrees", {"detail": self._differs, "at_start": at_start})
                return
            self._move(SessionState.DOWN, 0)
            if not self._stopping.wait(pause_s):
                pause_s = min(longest_s, pause_s * 2)

    def _live_one(self) -> None:
        life = Life(self._config)
        self._life = life
        self._tell("started", {"pid": life.process.pid})
        life.say(
            {
                "op": "configure",
                "profile": profile_document(self._config.profile),
                "folder": str(self._config.folder),
                "kill_word": str(self._config.kill_word),
                "last_reset": self._last_reset,
            },
            self._config.answer_timeout_s,
        )
        try:
            for frame in frames(life.link):
                self._take(life, frame)
        finally:
            self.vitals = {}
            life.bury()
            self._tell("died", {"exit": life.process.returncode})

    def _take(self, life: Life, frame: Frame) -> None:
        name = text(frame, "ev")
        if name == "answer":
            waiting = life.pending.get(number(frame, "n"))
            if waiting is not None:
                waiting.put(frame)
            return
        if name == "hello":
            self._greet(life, frame)
        elif name == "session":
            detail = text(frame, "detail")
            if detail and detail != self._detail:
                log.warning("fix session %s: %s", frame.get("state"), detail)
            self._detail = detail
            self._move(SessionState(text(frame, "state")), number(frame, "logon_no"))
        elif name == "reset":
            self._begin_anew(frame)
        elif name == "vitals":
            self.vitals = frame
        self._tell(name, frame)
        if name == "fault":
            log.error("fix child fault in %s: %s", frame.get("where"), frame.get("detail"))
            if frame.get("where") in _FATAL:
                life.slay()  # its egress stays closed; a new child reconciles and goes on

    def _begin_anew(self, frame: Frame) -> None:
        with self._number_lock:
            self._last_reset = number(frame, "reset_no")
            if frame.get("allowed") is True:
                self._epoch, self._next_sender = self._last_reset, number(frame, "new_sender")
        if self._logon_wanted is not None and frame.get("allowed") is True:
            self._logon_wanted = {**self._logon_wanted, "accept": False}  # allowed only once

    def _greet(self, life: Life, frame: Frame) -> None:
        with self._changed:
            self._hello = ChildHello.of(frame)
            self._differs = self.agreement.meet(frame)
            self._changed.notify_all()
        if self._differs:
            self._detail = self._differs
            log.error("%s", self._differs)
            life.slay()  # it never connects, and no other child is started
        elif self._logon_wanted is not None:
            life.say(self._logon_frame() | {"n": 0}, self._config.answer_timeout_s)

    def _move(self, state: SessionState, logon_no: int) -> None:
        with self._changed:
            self._state, self._logon_no = state, logon_no
            self._changed.notify_all()

    def _tell(self, name: str, event: Frame) -> None:
        try:
            self._on_event(name, event)
        except Exception:  # a listener's error must not end the supervisor
            log.exception("listener failed on %s", name)
