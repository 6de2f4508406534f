"""One throw: orders, a line that goes silent, a kill somewhere in it, busts, and the judgement."""

import contextlib
import json
import os
import random
import signal
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from fix.durable.kill_word import monotonic_us
from fix.errors import FixError
from fix.session.link import SessionState
from fix.simulator.control import read_capture
from tests.crash.kill_judge import (
    GRACE_US,
    Seen,
    lives,
    logon_after,
    new_orders_after,
    outlived,
    seen,
    sent_us,
)
from tests.crash.kill_line import WAYS, Line
from tests.doubles.fix_world import Broker, Desk, order_fields, until, wall_us

SCRIPT_WORDS = ("bust", "bust", "bust", "correct", "partial", "fill")
LOGON_WITHIN_S = 90.0
KILL_WITHIN_S = 5.0  # busy machine: the product's own limit is 0.1 s
CALM_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is thrown.

    Attributes:
        way: how the line is silent.
        before_s: how long before the press the silence begins.
        after_s: how long after the press it ends.
        orders: how many orders leave before the press, at random times.
        bust_ms: how long after its fill an order is busted.
        crash_s: when after the press the FIX child is killed with SIGKILL; negative: it is not.
        mass: the profile says that the broker knows the mass cancel.
        mutant: a child that is wrong on purpose, or nothing.
    """

    number: int
    way: str
    before_s: float
    after_s: float
    orders: int
    bust_ms: int
    crash_s: float
    mass: bool = True
    mutant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of it.

    Attributes:
        faults: what was broken, in words; empty if nothing was.
        ack_ms: from the press to its acknowledgement.
        logon_ms: from the line's return to the logon that followed; -1 if none was needed.
        gone_ms: from that moment until nothing was alive any more.
        alive: orders that were alive at the broker at the press or later.
        late: orders that left before the press and arrived after it.
        cancels: F and q that the broker received.
    """

    plan: Plan
    faults: tuple[str, ...]
    ack_ms: int = 0
    logon_ms: int = 0
    gone_ms: int = 0
    alive: int = 0
    late: int = 0
    cancels: int = 0


def drawn(number: int, dice: random.Random, silence_s: float, mutant: str = "") -> Plan:
    """Return a throw; every way comes in turn."""
    after_s = dice.uniform(0.0, silence_s)
    return Plan(
        number=number,
        way=WAYS[number % len(WAYS)],
        before_s=dice.uniform(0.0, silence_s),
        after_s=after_s,
        orders=dice.randint(2, 8),
        bust_ms=dice.choice((50, 1_000, 5_000, int(1_000 * silence_s))),
        crash_s=dice.uniform(0.0, after_s) if dice.random() < 0.25 else -1.0,
        mass=dice.random() < 0.5,
        mutant=mutant,
    )


def throw(plan: Plan, folder: Path, seed: int) -> Result:
    """Play one throw in a folder of its own; any exception is a fault."""
    dice = random.Random(f"{seed}/{plan.number}")  # noqa: S311 - a printed seed
    script = tuple(dice.choice(SCRIPT_WORDS) for _ in range(40))
    folder.mkdir(parents=True)
    broker = Broker(folder / "ems", script=script, partial_delay_ms=plan.bust_ms)
    line: Line | None = None
    desk: Desk | None = None
    try:
        broker.start()
        line = Line(broker.config.port)
        knows = broker.profile.capabilities.model_copy(update={"mass_cancel": plan.mass})
        profile = broker.profile.model_copy(update={"port": line.port, "capabilities": knows})
        desk = Desk(folder, profile, plan.mutant)
        desk.child.start(90.0)
        desk.child.logon(min_next_sender=1)
        desk.ready()
        return _played(plan, _Parts(broker=broker, line=line, desk=desk, dice=dice))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault of this throw
        return Result(plan=plan, faults=(f"throw ended: {error!r}"[:300],))
    finally:
        if desk is not None:
            desk.child.stop(sweep=False)
            desk.word.close()
            said = [json.dumps({"name": name, **frame}) for name, frame in desk.events]
            (folder / "events.jsonl").write_text("\n".join([*said, ""]), encoding="utf-8")
        if line is not None:
            line.close()
        broker.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    broker: Broker
    line: Line
    desk: Desk
    dice: random.Random


class _Trader(threading.Thread):
    """Hands orders out all the time, before, during and after the kill, under any epoch."""

    def __init__(self, plan: Plan, desk: Desk, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self._plan, self._desk, self._dice = plan, desk, dice
        self.over = threading.Event()

    @override
    def run(self) -> None:
        with contextlib.suppress(FixError, ValueError):  # the throw has ended
            self._trade()

    def _trade(self) -> None:
        for number in range(self._plan.orders):
            self._hand(f"{self._plan.number}/{number}")
            self.over.wait(self._dice.uniform(0.0, 0.4))
        number = self._plan.orders
        while not self.over.wait(0.5):
            number += 1
            self._desk.child.set_reconciled(self._desk.child.logon_no)
            self._hand(f"{self._plan.number}/{number}")

    def _hand(self, name: str) -> None:
        epoch, _ = self._desk.word.read()
        self._desk.hand(order_fields(name), kill_epoch=epoch)


def _played(plan: Plan, parts: _Parts) -> Result:
    desk, line = parts.desk, parts.line
    trader = _Trader(plan, desk, parts.dice)
    trader.start()
    time.sleep(parts.dice.uniform(0.0, 1.5))
    line.silence(plan.way)
    began_us = wall_us()
    time.sleep(plan.before_s)
    pressed_us = monotonic_us()
    epoch = desk.word.press()
    confirmed = desk.child.kill(epoch, KILL_WITHIN_S)
    ack_wall_us, ack_ms = wall_us(), (monotonic_us() - pressed_us) // 1000
    crasher = _crash_later(plan, desk)
    time.sleep(plan.after_s)
    returned_us = wall_us()
    line.restore()
    logon_us = _judged_from(plan, parts, began_us, returned_us)
    _settle(parts, logon_us or wall_us())
    trader.over.set()
    trader.join(30.0)
    crasher.join(30.0)
    closed_us = wall_us()
    result = judged(plan, capture(parts.broker), ack_wall_us, logon_us, closed_us)
    faults = list(result.faults)
    if not confirmed and plan.crash_s < 0 and desk.child.state is not SessionState.DOWN:
        faults.append(f"the child did not confirm in {KILL_WITHIN_S:g} s")
    logon_ms = (logon_us - returned_us) // 1000 if logon_us > returned_us else -1
    return replace(result, faults=tuple(faults), ack_ms=ack_ms, logon_ms=logon_ms)


def _crash_later(plan: Plan, desk: Desk) -> threading.Timer:
    def crash() -> None:
        if plan.crash_s >= 0 and desk.child.pid:
            os.kill(desk.child.pid, signal.SIGKILL)

    timer = threading.Timer(max(0.0, plan.crash_s), crash)
    timer.daemon = True
    timer.start()
    return timer


def _judged_from(plan: Plan, parts: _Parts, began_us: int, returned_us: int) -> int:
    """Return from when on 2 s count: the logon after the return, or the return if none is needed.

    None is needed where the line held everything and the session outlived its silence.
    """

    def logged_on() -> int:
        return logon_after(capture(parts.broker), returned_us)

    def goes_on() -> bool:
        """Whether the broker hears from the session of before, without a logon."""
        return any(
            one.direction == "in" and one.fields.get(35) != "A" and one.wall_us > returned_us
            for one in capture(parts.broker)
        )

    if until(lambda: logged_on() or goes_on(), LOGON_WITHIN_S):
        time.sleep(0.5)  # a session that was cut at the return may still say its last word
        found = logged_on()
        if found:
            return found
        down = not until(lambda: parts.desk.child.state is SessionState.READY, 0.1)
        if plan.way in {"hold", "mute"} and not down:
            return returned_us
        return logged_on() if until(logged_on, LOGON_WITHIN_S) else returned_us
    return 0 if began_us else returned_us


def _settle(parts: _Parts, logon_us: int) -> None:
    """Wait until 2 s after the logon, and after the last bust, are over."""
    last_us = max((one.begin_us for one in lives(capture(parts.broker))), default=0)
    left_s = (max(logon_us, last_us) + GRACE_US - wall_us()) / 1_000_000
    time.sleep(max(0.0, left_s) + CALM_S)


def capture(broker: Broker) -> list[Seen]:
    """Return what the broker has noted so far."""
    return [
        seen(one.wall_us, one.direction, one.raw) for one in read_capture(broker.config.capture)
    ]


def judged(plan: Plan, found: list[Seen], ack_us: int, logon_us: int, closed_us: int) -> Result:
    """Return what the broker's capture says."""
    faults = [
        f"new order {name} after the acknowledgement" for name in new_orders_after(found, ack_us)
    ]
    if not logon_us:
        faults.append(f"no logon in {LOGON_WITHIN_S:g} s after the line's return")
    else:
        late = outlived(found, logon_us, closed_us)
        faults += [f"order {name} alive 2 s after the logon" for name in late]
    stretches = [one for one in lives(found) if (one.end_us or closed_us) > ack_us]
    last_us = max((one.end_us or closed_us for one in stretches), default=logon_us)
    return Result(
        plan=plan,
        faults=tuple(faults),
        gone_ms=max(0, last_us - logon_us) // 1000,
        alive=len({one.cl_ord_id for one in stretches}),
        late=sum(
            one.direction == "in"
            and one.fields.get(35) == "D"
            and one.wall_us > ack_us >= sent_us(one)
            for one in found
        ),
        cancels=sum(one.direction == "in" and one.fields.get(35) in {"F", "q"} for one in found),
    )
