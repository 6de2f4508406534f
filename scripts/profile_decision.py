"""Show where a decision's time goes: `make profile` prints two Markdown tables.

A desk as `init` makes it, with forecasts ready, is asked one intent after the other, from socket to
wire and back to the book. The first table has the CPU time of each step in the gateway's process,
by its threads, a decision; the second one the wall time from failpoint to failpoint.

    python -m scripts.profile_decision [--decisions 100] [--own]

By default eight agents under the bench's policy, whose orders leave; with `--own` one agent under
the desk's own, which refuses most of them as repeated.

Not here: latency under load (`bench_load`), other processes.
"""

import argparse
import json
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

from scripts.load.callers import ask, word_of
from scripts.load.figures import table
from scripts.load.plan import Scenario, wishes
from scripts.load.profiled import STEPS
from scripts.load.served import ServedDesk, served_desk

INSTRUMENTS, AGENTS = 4, 8
WARM_UP: Final = 40
FORECASTS_WITHIN_S, WRITTEN_WITHIN_S = 300.0, 10.0
PAUSE_S: Final = 0.05
"""After each answer: reports come back meanwhile."""
SHOWN_MS: Final = 0.05


def measured(desk: ServedDesk, file: Path, decisions: int) -> tuple[dict[str, Any], Counter[str]]:
    """Ask for so many decisions; return what the stopwatches say, and the answers."""
    agents, seconds = len(desk.agents), WARM_UP + decisions
    scenario = Scenario(name="profile", agents=agents, rate=1.0, seconds=seconds)
    plan = wishes(scenario, desk.agents, desk.symbols, "profile")
    answers = Counter[str]()
    for number, wish in enumerate(plan):
        if number == WARM_UP:
            desk.gateway.send_signal(signal.SIGUSR1)
        status, said = ask(desk.address, "/v1/intents", desk.tokens[wish.caller], wish.bytes)
        if number >= WARM_UP:
            answers[f"{status} {word_of(status, said)}"] += 1
        time.sleep(PAUSE_S)
    desk.gateway.send_signal(signal.SIGUSR1)
    desk.wait(lambda: file.exists() and file.read_text().endswith("}"), WRITTEN_WITHIN_S, "count")
    found: dict[str, Any] = json.loads(file.read_text())
    return found, answers


def by_step(found: dict[str, Any], decisions: int) -> list[list[str]]:
    """Return a row for each step, then for what each thread does beside them: CPU ms and share."""
    steps, rest = defaultdict[str, int](int), defaultdict[str, int](int)
    for thread in found["threads"].values():
        rest[kind_of(thread["name"])] += thread["cpu_ns"] - sum(thread["steps"].values())
        for step, took in thread["steps"].items():
            steps[step] += took
    whole = found["process_ns"]
    lines = [(step, found["calls"].get(step, 0), steps[step]) for step in STEPS]
    lines += [(f"thread {name}: the rest", 0, took) for name, took in _largest(rest)]
    rows = [
        [said, f"{calls / decisions:.1f}" if calls else "", *_figures(took, whole, decisions)]
        for said, calls, took in lines
        if took / decisions / 1e6 >= SHOWN_MS
    ]
    return [*rows, ["the whole process", "", *_figures(whole, whole, decisions)]]


def kind_of(thread: str) -> str:
    """Return a thread's name without its number."""
    return thread.rstrip("0123456789-_() ") or thread


def _largest(found: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(found.items(), key=lambda one: -one[1])


def _figures(took: int, whole: int, decisions: int) -> tuple[str, str]:
    return f"{took / decisions / 1e6:.2f}", f"{took / whole:.1%}"


def by_failpoint(found: dict[str, Any]) -> list[list[str]]:
    """Return a row for each way from a failpoint to the next one: count, median and p90, ms."""
    rows = []
    for before, after, taken in found["walls"]:
        tenths = statistics.quantiles(taken, n=10) if len(taken) > 1 else taken * 9
        times = (statistics.median(taken), tenths[-1])
        rows.append([before, after, str(len(taken)), *(f"{one / 1e3:.2f}" for one in times)])
    return rows


def main() -> int:
    """Measure and print."""
    arguments = argparse.ArgumentParser(prog="python -m scripts.profile_decision")
    arguments.add_argument("--decisions", type=int, default=100, help="how many are counted")
    arguments.add_argument("--own", action="store_true", help="under the desk's own policy")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as top:
        file = Path(top) / "counted.json"
        serve = (sys.executable, "-m", "scripts.load.profiled", str(file))
        agents = 1 if given.own else AGENTS
        desk_of = served_desk(Path(top), INSTRUMENTS, agents, lifted=not given.own, serve=serve)
        with desk_of as desk:
            desk.wait(desk.forecasts_ready, FORECASTS_WITHIN_S, "forecasts")
            found, answers = measured(desk, file, given.decisions)
    said = ", ".join(f"{word} {count}" for word, count in answers.most_common())
    print(f"{given.decisions} decisions with a forecast ready, one after the other: {said}\n")
    print(table(("step", "calls", "CPU, ms", "share"), by_step(found, given.decisions)), end="\n\n")
    print(table(("from", "to", "count", "median, ms", "p90, ms"), by_failpoint(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
