"""Break the engine under whole gateways: ``python -m tests.crash.engine_faults --faults N``.

Real gateways with their database, ledger, FIX child and simulator; the engine child is the
product's own with a scripted model, which misbehaves at a request as it is told. Each gateway gets
four faults: two quick ones and two that last until the deadline. Into one of these falls a fill at
the broker, into the other a press of the kill.
"""

import argparse
import itertools
import os
import platform
import random
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.records.kinds import Kind
from gateway.clock import pause, wall_us
from gateway.errors import NotReadyError
from gateway.feeds.sessions import PlaybackSession
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from gateway.launch.paper.play import case_of, open_session
from gateway.walk.decision import Decision, Result
from gateway.walk.ports import Case
from gateway.walk.projections.forecasts import decision_records
from inference.engine.port import EngineState, SampleRequest
from tests.doubles import live_desk
from tests.doubles.api_agent import outcome
from tests.doubles.programs import use_first_parts
from tests.doubles.state_folder import state_folder

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "engine-faults.md"
PER_GATEWAY = 4
QUICK = ("crash", "garbage", "half_frame", "nan", "other_seed", "short", "lie", "kill", "stranger")
LASTING = ("hang", "stop")
UNHURT = frozenset({"stranger"})
"""Faults after which the request is answered all the same."""
OUTSIDE = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
DEADLINE_US = 2_000_000
MARGIN_US = 500_000
"""For a busy machine: the records before and after are committed to disk, too."""
REPORT_US = 1_500_000
ACK_US = 500_000
MUTANTS = ("waits_longer", "spares_the_silent")
HEAD = """# Engine faults

Written by `make engine-faults`; do not edit. Whole gateways with a scripted model behind the real
supervisor, pipe and frames; each gateway gets four faults in the middle of a decision. For
each fault the judge asks the ledger: the forecast's failure stands on record at most 2.5 s after
the request (the deadline is 2 s), and the decision is sealed as `no_forecast`. While the second
fault lasts, the broker fills a resting order: its record must come within 1.5 s. While the fourth
lasts, the kill is pressed: acknowledged within 0.5 s, no order after it. A row of the teeth is an
engine's supervisor that is wrong on purpose: it must be caught.
"""


@dataclass(slots=True)
class Fault:
    """One fault and what came of it; times in microseconds, -1 where there is none."""

    name: str
    took_us: int = -1
    report_us: int = -1
    ack_us: int = -1
    back_us: int = -1
    reason: str = ""
    broken: list[str] = field(default_factory=list)


class Round:
    """One gateway and its faults."""

    def __init__(self, app: App, moods: Path, number: int) -> None:
        """Take a gateway that has not decided yet."""
        self._app = app
        self._moods = moods
        self._number = number
        self._days = itertools.groupby(live_desk.sessions(60), key=lambda one: one.session)
        self._resting = ""
        self._day = 0
        self._seen = 0

    def play(self, index: int, name: str) -> Fault:
        """Break the engine in the middle of an intent and judge what happens."""
        fault = Fault(name)
        engine = self._app.engine
        wait_for(lambda: engine.wait_ready(0.1), 60.0, part="engine")
        case = self._next(rests=index == 1)
        self._seen = self._requests()
        self._moods.write_text("slow" if name in OUTSIDE else name)
        decided: list[Decision] = []
        asked = threading.Thread(target=lambda: decided.append(self._app.desk.make(case)))
        asked.start()
        pid = self._struck(name)
        if index == 1:
            self._fill(fault)
        if index == PER_GATEWAY - 1:
            self._kill(fault)
        asked.join(30.0)
        ended_us = wall_us()
        self._moods.write_text("well")
        if name == "stop" and pid is not None and engine.pid == pid:
            os.kill(pid, signal.SIGCONT)
        self._judge(fault, decided)
        if index < PER_GATEWAY - 1:
            self._recover(fault, ended_us)
        return fault

    def _next(self, *, rests: bool) -> Case:
        """Open the next day and return a case of it; with `rests` an order rests at the broker."""
        app = self._app
        for number, day in self._days:
            self._day = number
            case = self._opened(list(day))
            if not rests:
                return case[1]
            decision = app.desk.make(case[0])
            standing = app.orders.get(decision.decision_id)
            if decision.result is Result.APPROVED and standing is not None:
                self._resting = standing.cl_ord_id
                wait_for(self._rests, 10.0, part="order")
                return case[1]
        raise NotReadyError(part="strategy", state="wants no order on any day")

    def _opened(self, day: list[PlaybackSession]) -> list[Case]:
        for session in day:
            open_session(self._app, session)
        if self._app.simulator is not None:
            self._app.simulator.set_session(live_desk.HIGH_SESSION)
            pause(0.2)
        return [case_of(self._app, session) for session in day]

    def _rests(self) -> bool:
        return any(
            one.cl_ord_id == self._resting and one.order_state == "NEW"
            for one in self._app.orders.live()
        )

    def _struck(self, name: str) -> int | None:
        """Wait until the request is on record; strike from outside where that is the fault."""
        wait_for(lambda: self._requests() > self._seen, 10.0, part="request")
        pid = self._app.engine.pid
        if name in OUTSIDE and pid is not None:
            pause(0.05)
            os.kill(pid, OUTSIDE[name])
        return pid

    def _requests(self) -> int:
        return sum(1 for _ in self._app.reader.records(kinds=(Kind.FORECAST_REQUESTED,)))

    def _fill(self, fault: Fault) -> None:
        began = time.monotonic_ns()
        if self._app.simulator is not None:
            self._app.simulator.set_session(self._day)
        wait_for(self._filled, 10.0, part="fill")
        fault.report_us = (time.monotonic_ns() - began) // 1_000
        if fault.report_us > REPORT_US:
            fault.broken.append(f"a fill was on record after {fault.report_us / 1e6:.1f} s")

    def _filled(self) -> bool:
        found = self._app.reader.records(kinds=(Kind.ORDER_REPORTED,))
        return any(
            one.body.get("cl_ord_id") == self._resting and one.body.get("fill") for one in found
        )

    def _kill(self, fault: Fault) -> None:
        began = time.monotonic_ns()
        receipt = self._app.desk.kill_switch.press(actor="operator", reason="the engine is broken")
        fault.ack_us = (time.monotonic_ns() - began) // 1_000
        after_us = wall_us()
        if fault.ack_us > ACK_US or not receipt.recorded:
            fault.broken.append(f"a kill was acknowledged after {fault.ack_us / 1e6:.2f} s")
        pause(0.3)
        if live_desk.received(live_desk.capture_of(self._app), "D", after_us=after_us):
            fault.broken.append("an order left after the kill")

    def _judge(self, fault: Fault, decided: list[Decision]) -> None:
        if not decided:
            fault.broken.append("the decision was not made within 30 s")
            return
        decision = decided[0]
        records = decision_records(self._app.reader, decision.decision_id)
        asked = [one for one in records if one.kind is Kind.FORECAST_REQUESTED]
        failed = [one for one in records if one.kind is Kind.FORECAST_FAILED]
        if fault.name in UNHURT:
            if failed:
                fault.broken.append(f"no forecast: {failed[0].body}")
            return
        if len(asked) != 1 or len(failed) != 1 or decision.result is not Result.NO_FORECAST:
            counts = f"{len(asked)} requests, {len(failed)} failures"
            fault.broken.append(f"{counts}, decided {decision.result}")
            return
        fault.took_us = failed[0].recorded_at_us - asked[0].recorded_at_us
        fault.reason = str(failed[0].body["reason"])
        if fault.took_us > DEADLINE_US + MARGIN_US:
            fault.broken.append(f"the request ended after {fault.took_us / 1e6:.1f} s")
        if outcome(self._app, decision.decision_id) != "no_forecast":
            fault.broken.append("the decision is not sealed as no_forecast")

    def _recover(self, fault: Fault, since_us: int) -> None:
        """See the engine serve again; one that hangs ends once it missed two and is silent."""
        engine = self._app.engine
        if fault.name == "hang":
            self._app.desk.make(self._next(rests=False))
            wait_for(lambda: engine.state is not EngineState.READY, 10.0, part="its end")
        wait_for(lambda: engine.wait_ready(0.1), 60.0, part="engine")
        fault.back_us = wall_us() - since_us


def play(number: int, names: Sequence[str]) -> list[Fault]:
    """Run one gateway through its faults."""
    with state_folder() as state, tempfile.TemporaryDirectory() as scratch:
        moods = Path(scratch) / "moods"
        moods.write_text("well")
        with live_desk.desk(state, f"@{moods}", sweep_timeout_s=1) as app:
            one = Round(app, moods, number)
            found: list[Fault] = []
            for index, name in enumerate(names):
                try:
                    fault = one.play(index, name)
                except NotReadyError as error:
                    fault = Fault(name, broken=[f"not in time: {error}"])
                found.append(fault)
                what = "; ".join(fault.broken) or "ok"
                sys.stdout.write(
                    f"{number:4} {fault.name:10} {fault.took_us / 1e3:7.0f} ms"
                    f" {fault.reason}: {what}\n"
                )
                sys.stdout.flush()
            return found


def wrong(mutant: str) -> None:
    """Break the supervision of every gateway that this process starts from now on."""
    right = EngineChild._asked  # noqa: SLF001 - a mutant reaches inside

    def patient(child: EngineChild, request: SampleRequest) -> Any:  # noqa: ANN401 - private there
        pending = right(child, request)
        pending.limit += DEADLINE_US / 1e6
        return pending

    match mutant:
        case "waits_longer":
            EngineChild._asked = patient  # type: ignore[assignment, method-assign]  # noqa: SLF001
        case "spares_the_silent":
            EngineChild._kill = lambda *_: None  # type: ignore[method-assign]  # noqa: SLF001
        case _:
            raise ValueError(mutant)


def biting(mutant: str) -> tuple[str, ...]:
    """Return faults in which this mutant has every chance to do wrong."""
    return ("hang",) if mutant == "spares_the_silent" else ("nan", "stop")


def drawn(dice: random.Random) -> tuple[str, ...]:
    """Return the faults of one gateway."""
    first, third = dice.sample(QUICK, 2)
    return first, dice.choice(LASTING), third, dice.choice(LASTING)


def page(sound: Sequence[Fault], teeth: dict[str, int], seed: int, took_s: float) -> str:
    """Return the figures as the page that is kept."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    about = (
        f"{len(sound)} faults, seed {seed}, {took_s / 60:.0f} min, commit {commit}, Python"
        f" {platform.python_version()}. Median / longest."
    )
    rows = []
    for name in sorted({one.name for one in sound}):
        own = [one for one in sound if one.name == name]
        took = sorted(one.took_us for one in own if one.took_us >= 0)
        reasons = sorted({one.reason for one in own if one.took_us >= 0})
        middle = f"{statistics.median(took) / 1e3:.0f} / {took[-1] / 1e3:.0f}" if took else "-"
        broken = sum(bool(one.broken) for one in own)
        rows.append(
            f"| {name} | {len(own)} | {broken} | {middle} | {', '.join(reasons) or 'answered'} |"
        )
    return "\n".join(
        [
            HEAD,
            about,
            "",
            "| fault | times | broken | request to its end, ms | reason |",
            "|---|---|---|---|---|",
            *rows,
            "",
            *_around(sound),
            "",
            "| wrong on purpose | broken faults |",
            "|---|---|",
            *(f"| `{mutant}` | {count} |" for mutant, count in teeth.items()),
            "",
        ]
    )


def _around(sound: Sequence[Fault]) -> Iterator[str]:
    """Yield what else was measured while engines were broken."""
    for what, times in (
        ("reports, from the broker's market to the record", [one.report_us for one in sound]),
        ("kills, to the acknowledgement", [one.ack_us for one in sound]),
        ("engine back, its back-off included", [one.back_us for one in sound]),
    ):
        known = [one / 1e3 for one in times if one >= 0]
        if known:
            yield f"- {len(known)} {what}: {statistics.median(known):.0f} / {max(known):.0f} ms"


def main(words: Sequence[str]) -> int:
    """Break engines, judge, say; 1 if anything was broken or a mutant got through."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.engine_faults")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--write", action="store_true", help="write docs/measured/engine-faults.md")
    parser.add_argument("--mutant", choices=MUTANTS, help="one gateway, wrong on purpose")
    given = parser.parse_args(words)
    use_first_parts()
    if given.mutant:
        wrong(given.mutant)
        return sum(bool(one.broken) for one in play(0, biting(given.mutant)))
    dice = random.Random(given.seed)  # noqa: S311 - a printed seed
    began = time.monotonic()
    sound: list[Fault] = []
    for number in range(-(-given.faults // PER_GATEWAY)):
        sound += play(number, drawn(dice))
    teeth = {}
    for mutant in MUTANTS:  # in a process of its own: nothing of it stays
        command = [sys.executable, "-m", "tests.crash.engine_faults", "--mutant", mutant]
        teeth[mutant] = subprocess.run(command, cwd=ROOT, check=False).returncode
    text = page(sound, teeth, given.seed, time.monotonic() - began)
    sys.stdout.write(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")
    return int(any(one.broken for one in sound) or not all(teeth.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
