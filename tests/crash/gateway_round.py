"""One round: an action, a fault in the middle of it, recovery, and the judgement."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.crash.gateway_actions import Action, Callers, Load, Told
from tests.crash.gateway_desk import SYMBOLS
from tests.crash.gateway_judge import Judge
from tests.crash.gateway_plan import ENDS_GATEWAY, Round
from tests.crash.gateway_process import Ask, Gateway
from tests.crash.gateway_world import World
from tests.doubles.fix_world import wall_us

BACK_WITHIN_S: Final = 90.0
"""A busy machine: the product itself tries again each second."""
READY_WITHIN_S: Final = 300.0
"""The first forecasts of all instruments, and the start of an engine for real."""
ACTION_WITHIN_S: Final = 60.0
OWN_CUTS: Final = frozenset({"FIX child", "broker at 1"})
"""Faults that end a connection without the line."""
LIVE_KEPT: Final = 3
"""More orders at rest than this are cancelled after a round: they reserve limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a round.

    Attributes:
        faults: what was broken, in words; empty if nothing was.
        bit: whether the failpoint was reached, or the fault met something that it could hurt.
        back_s: from the end of the fault to a session that is ready and a book that is settled.
        orders: new orders that the broker received in the round.
        resolved: differences that officers had to resolve for the broker, which it had lost.
        unheard: orders with a report of a trade that the broker forgot in this round.
    """

    number: int
    action: str
    struck: tuple[str, ...]
    faults: tuple[str, ...] = ()
    bit: bool = True
    back_s: float = 0.0
    took_s: float = 0.0
    orders: int = 0
    resolved: int = 0
    unheard: int = 0
    killed: bool = False


def takes_orders(standing: dict[str, Any]) -> bool:
    """Return whether session, engine, quotes and forecasts are all there."""
    known = {*standing["forecast"]} == {*standing["quoted"]} == {*SYMBOLS}
    return bool(standing["ready"]) and standing["engine"] == "READY" and known


class Rounds:
    """Plays rounds in one world, with one judge."""

    def __init__(self, world: World, seed: str) -> None:
        """Judge this world's broker."""
        self._world, self._seed = world, seed
        self._armed = False
        self.judge = Judge(world.broker.config.capture)

    def play(self, plan: Round) -> Result:
        """Play one round; whatever goes wrong in it is a fault."""
        began, began_us, orders = time.monotonic(), wall_us(), self.judge.orders
        faults: list[str] = []
        unheard = self.judge.unheard
        bit, back_s, resolved, killed = True, 0.0, 0, False
        try:
            told, bit = self._thrown(plan)
            lifted = time.monotonic()
            standing, resolved = self._back(told, faults)
            back_s = time.monotonic() - lifted
            killed = bool(told.pressed)
            if "broker at 1" in plan.faults:
                self.judge.forgotten(began_us, wall_us())
            faults += self._judged(told, standing)
            self._armed = False
            self._tidy(standing)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault of this round
            faults.append(f"stuck: {type(error).__name__}: {error}".replace("\n", " ")[:600])
            self._world.down()
            self._world.line.restore()
        return Result(
            number=plan.number,
            action=plan.action,
            struck=plan.faults,
            faults=tuple(faults),
            bit=bit,
            back_s=back_s,
            took_s=time.monotonic() - began,
            orders=self.judge.orders - orders,
            resolved=resolved,
            unheard=self.judge.unheard - unheard,
            killed=killed,
        )

    def _thrown(self, plan: Round) -> tuple[Told, bool]:
        """Act, strike, end the fault; return what callers were told and whether it bit."""
        world = self._world
        gateway = self._ready()
        session, cuts = self._standing()["session"], world.line.cuts
        acting, *others = plan.agents
        callers, told = Callers(world, acting), Told()
        loads = [Load(world, plan, agent, self._seed) for agent in others]
        try:
            world.deal(*plan.outcomes)
            action = Action(plan, callers, self._seed)
            action.prepare()
            if "gateway at a failpoint" in plan.faults:
                self._armed = gateway.ask(Ask.ARM, plan.failpoint) is not None
            world.feed.bar(plan.symbols[0])
            for one in (*loads, action):
                one.start()
            time.sleep(plan.moment_s)
            for fault in plan.faults:
                world.strike(fault, plan)
            time.sleep(plan.fault_s)
            world.lift(plan)
            action.join(ACTION_WITHIN_S * world.patience)
            if action.is_alive():
                raise RuntimeError(f"the action goes on for {ACTION_WITHIN_S:g} s")
            told = action.told
        finally:
            for load in loads:
                load.stop(told)
            callers.close()
        bit = world.alive is False if ENDS_GATEWAY & {*plan.faults} else True
        if world.alive and "gateway at a failpoint" in plan.faults:
            gateway.ask(Ask.ARM, "")
        if "database" in plan.faults:
            bit = True
            world.down()  # as a service manager would: its ledger takes no more records
        if world.alive and (world.line.cuts > cuts or OWN_CUTS & {*plan.faults}):
            self._await(lambda: self._anew(gateway, session), "a session after the fault")
        return told, bit

    def _ready(self) -> Gateway:
        """Return a gateway that takes orders and has a forecast of every instrument."""

        def good() -> bool:
            found = self._standing()
            if found["engine"] == "FAILED":  # five deaths in ten minutes: a person starts it again
                self._world.down()
            return takes_orders(found)

        self._await(good, "session, engine, quotes and forecasts", within_s=READY_WITHIN_S)
        return self._world.up()

    def _back(self, told: Told, faults: list[str]) -> tuple[dict[str, Any], int]:
        """Bring the desk back; resolve what the broker itself lost; return how it stands."""
        world, judge = self._world, self.judge
        world.up()
        callers = Callers(world)
        resolved = 0
        try:
            if told.pressed:
                judge.acknowledged(told.pressed)
            standing = self._settled()
            if told.pressed and not standing["killed"]:
                faults.append("I3: the kill is not in force after its acknowledgement")
            if standing["killed"]:
                self._await(self._nothing_alive, "the end of the last order after a kill")
                judge.read(world.reader())
                judge.releasing(wall_us())
                if not callers.release():
                    faults.append("I3: the kill could not be released")
                standing = self._settled()
            if standing["differences"]:
                resolved = len(callers.resolve())
                standing = self._settled()
        finally:
            callers.close()
        return standing, resolved

    def _settled(self) -> dict[str, Any]:
        """Wait until nothing moves: the session is ready and no order's fate is unknown."""

        def good() -> bool:
            last.update(self._standing())
            return bool(last["ready"]) and not last["in_doubt"]

        last: dict[str, Any] = {}
        self._await(good, "a session that is ready and orders with a fate")
        return last

    def _judged(self, told: Told, standing: dict[str, Any]) -> list[str]:
        """Hold the broker's capture against the ledger and what callers were told."""
        judge = self.judge
        judge.heard(told.answers, told.fees)

        settled: list[str] = []

        def clean() -> bool:
            # the capture before the ledger and the book: what the broker says meanwhile is not
            # looked at, for a line that was held hands on its bytes at any time
            judge.read(self._world.reader())
            standing.update(self._standing())
            settled[:] = judge.settled_faults(standing["lots"], standing["booked"])
            return all(judge.knows(one) for one in settled)

        with contextlib.suppress(TimeoutError):
            self._await(clean, "a book that is the broker's", within_s=20.0)
        return [*judge.faults(self._world.reader()), *judge.tell(settled)]

    def _tidy(self, standing: dict[str, Any]) -> None:
        """Cancel what rests if it is much."""
        if len(standing["live"]) <= LIVE_KEPT:
            return
        callers = Callers(self._world)
        try:
            callers.cancel_all()
        finally:
            callers.close()

    def _anew(self, gateway: Gateway, session: list[int]) -> bool:
        """Return whether the gateway logged on again, or is gone itself."""
        found = gateway.ask(Ask.STANDING)
        return found is None or (found["ready"] and found["session"] != session)

    def _nothing_alive(self) -> bool:
        self.judge.read(self._world.reader())
        return not self.judge.side.alive

    def _standing(self) -> dict[str, Any]:
        gateway = self._world.up()
        found = gateway.ask(Ask.STANDING)
        if found is None and self._armed:  # it died at its failpoint just now
            self._armed = False
            self._world.down()
            return self._standing()
        if found is None:
            raise RuntimeError(f"the gateway died of itself: {gateway.said()}")
        return dict(found)

    def _await(
        self, condition: Callable[[], bool], what: str, within_s: float = BACK_WITHIN_S
    ) -> None:
        within_s *= self._world.patience
        until = time.monotonic() + within_s
        while not condition():
            self._world.broker_up()
            if time.monotonic() > until:
                raise TimeoutError(f"{what} did not come within {within_s:g} s")
            time.sleep(0.05)
