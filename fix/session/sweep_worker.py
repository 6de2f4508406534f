"""Notes in the journal, sends and reports cancels; on the worker's thread.

Not here: when and what to sweep (`fix.orders.sweeper`, `fix.orders.sweep`).

Rules:
- A cancel is durable in the journal before it leaves. If the disk refuses, that is reported as a
  fault, and the cancel still leaves.
- Times are monotonic microseconds, comparable among the processes of one boot.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fix.dialects.profile import Profile
from fix.durable.inbox import Inbox
from fix.durable.journal import CancelNote, Journal
from fix.durable.kill_word import KillWord
from fix.orders.foreign import Strangers
from fix.orders.sweep import SweepOutcome
from fix.orders.sweeper import Sweeper, SweepPhase, View
from fix.session.guard import Gate, Refusal
from fix.session.initiator import InitiatorSession
from fix.session.link import Frame
from fix.session.listener import Sent
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import CANCEL, CL_ORD_ID, MASS_CANCEL, ORIG_CL_ORD_ID, Fields, cancel
from fix.wire.reports import Inbound, MassCancelReport

_NOTED = frozenset({CANCEL, MASS_CANCEL})
_REFUSED = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the child works with; `post` queues an event for the gateway and never waits."""

    profile: Profile
    session: InitiatorSession
    gate: Gate
    journal: Journal
    inbox: Inbox
    word: KillWord
    post: Callable[[Frame], None]
    monotonic_us: Callable[[], int]
    wall_us: Callable[[], int]


class Sweeping:
    """One child's sweeps, one after the other."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sweeper = Sweeper(parts.profile)
        self.strangers = Strangers(parts.profile.foreign_orders)
        self._last_order_us = parts.journal.last_order_us
        self._cancelled_us: list[int] = []
        self._proven_no = 0

    @property
    def is_busy(self) -> bool:
        """Whether `step` must be called every few milliseconds."""
        return self._sweeper.is_sweeping and self._parts.session.is_logged_on

    @property
    def goes_on(self) -> bool:
        """Whether a kill is in force and an order is live: the child must not exit then."""
        return self._parts.word.read().killed and bool(self._parts.journal.live())

    def want(self, names: frozenset[str] | None = None) -> None:
        """Request one sweep, with or without a kill: of every live order, or of the named ones."""
        self._sweeper.want(names)

    def order_left(self) -> None:
        """Note that a new order has just left."""
        self._last_order_us = self._parts.monotonic_us()

    def proven(self, logon_no: int) -> None:
        """Note that from now on no gap fill swallows what leaves in this logon."""
        self._proven_no = logon_no

    def heard(self, cl_ord_id: str, inbound: Inbound) -> None:
        """Apply a report of the broker."""
        self._sweeper.heard(lambda sweep: sweep.answered(cl_ord_id))
        if isinstance(inbound, MassCancelReport):
            accepted, now_us = inbound.response != _REFUSED, self._parts.monotonic_us()
            self._sweeper.heard(lambda sweep: sweep.mass_answered(now_us, accepted=accepted))

    def cancel(self, order: Fields, cancel_id: str) -> Sent | Refusal:
        """Send one cancel that somebody asked for; `order` has the order's fields as sent.

        Raises:
            MessageError: the order lacks a field that a cancel repeats.
        """
        parts = self._parts
        message = cancel(order, cancel_id=cancel_id, transact_time_us=parts.wall_us())
        if not parts.session.is_logged_on:
            return Refusal.NOT_LOGGED_ON
        name = dict(message)[ORIG_CL_ORD_ID]
        self._note([CancelNote(cancel_id=cancel_id, cl_ord_id=name, kill_epoch=0, asked=True)])
        # a crash here leaves the note of a cancel that never left; its order goes on
        result = parts.session.send(message)
        parts.post({"ev": "sweep", "phase": "cancelling", "sent": int(isinstance(result, Sent))})
        return result

    def step(self) -> bool:
        """Send and report what is due; return whether a sweep has just ended."""
        parts, word = self._parts, self._parts.word.in_force()
        if not (word.killed or self._sweeper.is_sweeping):
            return False
        step = self._sweeper.step(
            View(
                kill_epoch=word.kill_epoch,
                killed=word.killed,
                logon_no=parts.gate.logon_no if parts.session.is_logged_on else 0,
                resent_us=parts.session.resent_us,
                proven_no=self._proven_no,
                live=parts.journal.live(),
                now_us=parts.monotonic_us(),
                wall_us=parts.wall_us(),
                spares=self.strangers.are_spared,
            )
        )
        kill_epoch = word.kill_epoch if word.killed else 0
        self._send(step.messages, kill_epoch)
        for phase, outcome in step.told:
            self._tell(phase, outcome, kill_epoch)
        return any(phase is SweepPhase.ENDED for phase, _ in step.told)

    def _send(self, messages: tuple[Fields, ...], kill_epoch: int) -> None:
        now_us = self._parts.monotonic_us()
        notes = [
            _note(sent, kill_epoch) for sent in map(dict, messages) if sent[MSG_TYPE] in _NOTED
        ]
        if notes:
            self._note(notes)
            self._cancelled_us = [*self._cancelled_us[:1], now_us]
        # a crash here leaves notes of cancels that never left; the next child cancels all again
        left = [isinstance(self._parts.session.send(fields), Sent) for fields in messages]
        if notes:
            self._parts.post({"ev": "sweep", "phase": "cancelling", "sent": sum(left)})

    def _note(self, notes: list[CancelNote]) -> None:
        try:
            self._parts.journal.cancelling(notes, self._parts.journal.inbox_offset)
        except OSError as error:
            self._parts.post({"ev": "fault", "where": "journal", "detail": repr(error)[:500]})

    def _tell(self, phase: SweepPhase, outcome: SweepOutcome, kill_epoch: int) -> None:
        now_us = self._parts.monotonic_us()
        event: Frame = {
            "ev": "sweep",
            "phase": phase.value,
            "kill_epoch": kill_epoch,
            "confirmed": list(outcome.confirmed),
            "unknown": list(outcome.unknown),
            "open": list(outcome.open),
            "last_order_us": self._last_order_us,
            "first_cancel_us": self._cancelled_us[0] if self._cancelled_us else 0,
            "last_cancel_us": self._cancelled_us[-1] if self._cancelled_us else 0,
            "answered_us": now_us if outcome.is_done else 0,
        }
        self._parts.post(event)
        if phase is SweepPhase.ENDED:
            self._cancelled_us = []


def _note(sent: Mapping[int, str], kill_epoch: int) -> CancelNote:
    return CancelNote(
        cancel_id=sent[CL_ORD_ID], cl_ord_id=sent.get(ORIG_CL_ORD_ID, ""), kill_epoch=kill_epoch
    )
