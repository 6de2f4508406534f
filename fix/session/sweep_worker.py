"""The child's sweeping: what the sweeper asks for is noted in the journal, sent, and told.

Not here: when and what (`fix.orders.sweeper`, `fix.orders.sweep`). Runs on the desk's one thread.
Rules:

- A cancel is in the journal, on disk, before its bytes leave. A disk that refuses holds up no
  cancel: that is a fault, told loudly, and the cancel leaves all the same.
- Times are monotonic microseconds, which compare with those of every process of this boot.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fix.dialects.profile import Profile
from fix.durable.journal import CancelNote, Journal
from fix.durable.kill_word import KillWord
from fix.orders.sweep import SweepOutcome
from fix.orders.sweeper import Sweeper, SweepPhase, View
from fix.session.guard import Gate
from fix.session.initiator import InitiatorSession
from fix.session.link import Frame
from fix.session.listener import Sent
from fix.wire.messages import CANCEL, CL_ORD_ID, MASS_CANCEL, MSG_TYPE, ORIG_CL_ORD_ID, Fields
from fix.wire.reports import Inbound, MassCancelReport

_NOTED = frozenset({CANCEL, MASS_CANCEL})
_REFUSED = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepParts:
    """What sweeping works with; see `fix.session.worker.Parts`."""

    profile: Profile
    session: InitiatorSession
    gate: Gate
    journal: Journal
    word: KillWord
    inbox_end: Callable[[], int]
    post: Callable[[Frame], None]
    monotonic_us: Callable[[], int]
    wall_us: Callable[[], int]


class Sweeping:
    """One child's sweeps, one after the other."""

    def __init__(self, parts: SweepParts) -> None:
        """Start with nothing wanted."""
        self._parts = parts
        self._sweeper = Sweeper(parts.profile)
        self._last_order_us = parts.journal.last_order_us
        self._cancelled_us: list[int] = []
        self._proven_no = 0

    @property
    def is_busy(self) -> bool:
        """Whether `step` is to be called every few milliseconds."""
        return self._sweeper.is_sweeping and self._parts.session.is_logged_on

    @property
    def goes_on(self) -> bool:
        """Whether a kill is in force and something is live: a child must not leave then."""
        return self._parts.word.read().killed and bool(self._parts.journal.live())

    def want(self) -> None:
        """Sweep once, kill or not."""
        self._sweeper.want()

    def order_left(self) -> None:
        """Note the time of a new order whose bytes have just left."""
        self._last_order_us = self._parts.monotonic_us()

    def proven(self, logon_no: int) -> None:
        """Note that what leaves in this logon from now on, no gap fill swallows."""
        self._proven_no = logon_no

    def heard(self, cl_ord_id: str, inbound: Inbound) -> None:
        """Take an answer of the broker into account."""
        self._sweeper.heard(lambda sweep: sweep.answered(cl_ord_id))
        if isinstance(inbound, MassCancelReport):
            accepted, now_us = inbound.response != _REFUSED, self._parts.monotonic_us()
            self._sweeper.heard(lambda sweep: sweep.mass_answered(now_us, accepted=accepted))

    def step(self) -> bool:
        """Do what is due; return whether a sweep ended just now."""
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
            )
        )
        kill_epoch = word.kill_epoch if word.killed else 0
        self._send(step.messages, kill_epoch)
        for phase, outcome in step.told:
            self._tell(phase, outcome, kill_epoch)
        return any(phase is SweepPhase.ENDED for phase, _ in step.told)

    def _send(self, messages: tuple[Fields, ...], kill_epoch: int) -> None:
        now_us = self._parts.monotonic_us()
        notes = [_note(fields, kill_epoch) for fields in messages if _is_cancel(fields)]
        if notes:
            self._note(notes)
            self._cancelled_us = [*self._cancelled_us[:1], now_us]
        # a crash here leaves cancels on record that never left: the next child asks for all again
        left = [isinstance(self._parts.session.send(fields), Sent) for fields in messages]
        if notes:
            sent = sum(left)
            self._parts.post({"ev": "sweep", "phase": "cancelling", "sent": sent})

    def _note(self, notes: list[CancelNote]) -> None:
        try:
            self._parts.journal.cancelling(notes, self._parts.inbox_end())
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


def _is_cancel(fields: Fields) -> bool:
    return dict(fields)[MSG_TYPE] in _NOTED


def _note(fields: Fields, kill_epoch: int) -> CancelNote:
    sent = dict(fields)
    return CancelNote(
        cancel_id=sent[CL_ORD_ID], cl_ord_id=sent.get(ORIG_CL_ORD_ID, ""), kill_epoch=kill_epoch
    )
