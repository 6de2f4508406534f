"""When a sweep begins and ends: a kill ends only when nothing is live. Pure.

Not here: what a sweep sends (`fix.orders.sweep`), and sending.

Rules:
- While a kill is in force, every live order of the journal is swept until the broker confirmed it
  gone, again after each logon, and again if it lives again. No timeout ends this sweep.
- After `sweep_timeout_s` the outcome so far is reported once per logon (WAITING). ENDED is reported
  when nothing is live, also if nothing was. An order that lives again afterwards is reported at
  once as REVIVED, and a new ENDED follows.
- A kill that finds no live order still sends one mass cancel if the broker supports it, because the
  journal may be wrong: one for each press and each logon, and another where a resend may have
  swallowed it. ENDED does not wait for the answer.
- A commanded sweep, or the last one of a child, ends after `sweep_timeout_s` and takes in no orders
  that are handed over later. It may be for named orders only; a command during a sweep adds its
  orders to it.
- No mass cancel is sent that would take along an order which is not to be cancelled: a stranger's
  (`fix.orders.foreign`), or one that a command does not name.
- A release ends the sweep.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from fix.dialects.profile import Profile
from fix.orders.live import LiveOrder
from fix.orders.sweep import Returns, Sweep, SweepOutcome, mass_alone
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import MASS_CANCEL, Fields

RESEND_GRACE_US = 50_000
"""How long cancels wait for the engine to answer a ResendRequest; if it takes longer, they are
repeated when the logon is proven."""


class SweepPhase(StrEnum):
    """What is reported about a sweep."""

    BEGAN = "began"
    REVIVED = "revived"
    WAITING = "waiting"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Input of a step.

    Attributes:
        kill_epoch: of the newest press, which is in force if `killed`.
        logon_no: number of the present logon, from 1; 0 while logged off.
        resent_us: monotonic time of the broker's last ResendRequest in this logon; 0 if none.
        proven_no: number of the newest proven logon (`fix.session.logon_probe`); 0 if none.
        live: the journal's live orders.
        now_us: monotonic microseconds; `wall_us` is wall clock, for TransactTime.
        spares: an order works that is not ours and must go on.
    """

    kill_epoch: int
    killed: bool
    logon_no: int
    resent_us: int
    proven_no: int
    live: tuple[LiveOrder, ...]
    now_us: int
    wall_us: int
    spares: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep:
    """Result of a step: messages to send in order, then what to report."""

    messages: tuple[Fields, ...] = ()
    told: tuple[tuple[SweepPhase, SweepOutcome], ...] = ()


class Sweeper:
    """Decides when to sweep; its inputs are `step`, `want` and `heard`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._sweep: Sweep | None = None
        self._logon_no = 0
        self._resent_us = self._proven_no = 0
        self._told_late = False
        self._attempt = 0
        self._wanted = self._more = False
        self._names: frozenset[str] | None = None
        self._epoch_seen = -1
        self._fresh = False
        self._returns, self._returns_of = Returns(), (0, 0, 0, 0)
        self._mass_of = (-1, 0, 0, 0)
        self._over_epoch = -1

    @property
    def is_sweeping(self) -> bool:
        """Whether `step` should be called soon."""
        return self._sweep is not None or self._wanted or self._fresh

    def want(self, names: frozenset[str] | None = None) -> None:
        """Request one sweep, with or without a kill; it begins when the session is up.

        It is for all orders that are live then, or for those of them with these ClOrdIDs.
        """
        before = self._names if self._wanted else frozenset()
        self._names = None if names is None or before is None else before | names
        self._wanted = self._more = True

    def heard(self, act: Callable[[Sweep], None]) -> None:
        """Apply an inbound message to the present sweep, if there is one."""
        if self._sweep is not None:
            act(self._sweep)

    def step(self, view: View) -> SweepStep:
        """Return what to do now; call it after every event and every few milliseconds."""
        if view.killed and view.kill_epoch != self._epoch_seen:
            self._epoch_seen, self._fresh = view.kill_epoch, True
        self._see_returns(view)
        told: list[tuple[SweepPhase, SweepOutcome]] = []
        sweep, chosen = self._sweep, self._chosen(view)
        if sweep is None:
            if not chosen:
                return self._nothing_live(view)
            if not (view.killed or (self._wanted and view.logon_no)):
                return SweepStep()
            sweep = self._begin(view, chosen)
            again = view.killed and self._over_epoch == view.kill_epoch
            phase = SweepPhase.REVIVED if again else SweepPhase.BEGAN
            told.append((phase, SweepOutcome(unknown=tuple(order.cl_ord_id for order in chosen))))
        sweep.may_mass = self._may_mass(view, chosen)
        sweep.follow(view.live, view.now_us, takes_more=view.killed)
        if self._more:
            sweep.take_in(chosen, view.now_us)
            self._more = False
        if view.logon_no:
            self._renew(sweep, view)
        messages = sweep.due(view.now_us, view.wall_us) if view.logon_no else ()
        if any(dict(fields)[MSG_TYPE] == MASS_CANCEL for fields in messages):
            self._mass_of = _since(view)
        told += self._words(sweep, view)
        return SweepStep(messages=messages, told=tuple(told))

    def _chosen(self, view: View) -> tuple[LiveOrder, ...]:
        """Return the live orders that are to be cancelled."""
        names = self._names
        if view.killed or names is None:
            return view.live
        return tuple(order for order in view.live if order.cl_ord_id in names)

    def _may_mass(self, view: View, chosen: tuple[LiveOrder, ...]) -> bool:
        """Return whether a mass cancel takes along nothing that is to go on."""
        return not view.spares and (view.killed or len(chosen) == len(view.live))

    def _see_returns(self, view: View) -> None:
        """Note which orders came back since the last reason to repeat every cancel."""
        since = _since(view)
        if since != self._returns_of:
            self._returns.clear()
            self._returns_of = since
        self._returns.see(view.live)

    def _nothing_live(self, view: View) -> SweepStep:
        asked = (view.killed and self._fresh) or self._wanted
        self._fresh = False
        self._end_wanted()
        if view.killed:
            self._over_epoch = view.kill_epoch
        told = ((SweepPhase.ENDED, SweepOutcome()),) if asked else ()
        return SweepStep(messages=self._mass_all_the_same(view), told=told)

    def _mass_all_the_same(self, view: View) -> tuple[Fields, ...]:
        """Return one mass cancel for each reason to repeat cancels, although no order is live."""
        capable = self._profile.capabilities.mass_cancel
        settled = not view.resent_us or view.now_us >= view.resent_us + RESEND_GRACE_US
        if view.spares or not (view.killed and view.logon_no and capable and settled):
            return ()
        if self._mass_of == _since(view):
            return ()
        self._mass_of = _since(view)
        self._attempt = max(view.wall_us, self._attempt + 1)
        return (mass_alone(self._attempt, view.wall_us),)

    def _end_wanted(self) -> None:
        self._wanted, self._more, self._names = False, False, None

    def _begin(self, view: View, chosen: tuple[LiveOrder, ...]) -> Sweep:
        self._attempt = max(view.wall_us, self._attempt + 1)
        self._logon_no, self._told_late, self._more = 0, False, False
        self._sweep = Sweep(
            chosen,
            self._profile,
            attempt=self._attempt,
            now_us=view.now_us,
            returns=self._returns,
            mass=self._may_mass(view, chosen),
        )
        return self._sweep

    def _renew(self, sweep: Sweep, view: View) -> None:
        """Repeat every cancel after an event that may have swallowed the earlier ones."""
        if view.logon_no != self._logon_no:
            self._logon_no, self._told_late = view.logon_no, False
            first_us = max(view.now_us, view.resent_us + RESEND_GRACE_US)
        elif view.resent_us != self._resent_us:
            first_us = max(view.now_us, view.resent_us + RESEND_GRACE_US)
        elif view.resent_us and view.proven_no == view.logon_no != self._proven_no:
            first_us = view.now_us
        else:
            return
        self._resent_us, self._proven_no = view.resent_us, view.proven_no
        sweep.renew(first_us)

    def _words(self, sweep: Sweep, view: View) -> list[tuple[SweepPhase, SweepOutcome]]:
        """Return what to report, and end the sweep if it is over."""
        late = sweep.is_late(view.now_us)
        if sweep.is_done or not (view.killed or self._wanted) or (late and not view.killed):
            self._sweep, self._fresh = None, False
            self._end_wanted()
            if view.killed:
                self._over_epoch = view.kill_epoch
            return [(SweepPhase.ENDED, sweep.outcome())]
        if late and not self._told_late:
            self._told_late = True
            return [(SweepPhase.WAITING, sweep.outcome())]
        return []


def _since(view: View) -> tuple[int, int, int, int]:
    """Return the last reason to repeat cancels: a press, a logon, a resend, or its proof."""
    proven_no = view.proven_no if view.resent_us else 0
    return (view.kill_epoch, view.logon_no, view.resent_us, proven_no)
