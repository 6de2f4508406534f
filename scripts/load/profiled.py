"""`countersign serve` with stopwatches in it: what each step of a decision takes.

    python -m scripts.load.profiled FILE

SIGUSR1 begins the count, and the next one ends it and writes FILE. A step's time is CPU time of its
thread, without the steps inside it. What a thread does outside of all steps counts to the thread.
Wall time is counted from each failpoint to the next one on the same thread.

Not here: the decisions (`scripts.profile_decision`).
"""

import importlib
import json
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

STEPS: Final = {
    "read the request, admit it": "gateway.desk.desk:Desk.submit",
    "market, bars and narrative of now": "gateway.desk.desk:Desk.case_of",
    "its forecast: inputs, id, look-up": "gateway.walk.decision:forecast",
    "name the forecast": "gateway.walk.decision:_taken",
    "quote, joint paths, sizing": "gateway.walk.decision:_decided",
    "intent and words": "gateway.walk.decision:what_words_did",
    "twins: sizing and their record": "gateway.walk.decision:judge_twin",
    "twins: book": "gateway.walk.section:Section.twin_book",
    "twins: state": "gateway.walk.section:Section.judge_twin",
    "twins: rules": "gateway.walk.section:evaluate",
    "verdict: state and record": "gateway.walk.section:Section.judge",
    "verdict: rules": "gateway.walk.journal.control.oversight.overrides:Overrides.judge",
    "announce and hand out": "gateway.desk.desk:dispatch",
    "answer": "gateway.desk.desk:Desk.answer",
    "answer: what would have passed": "gateway.desk.intake.passing:RefusedIntents.would_pass",
    "answer: receipt": "gateway.desk.intake.receipts:Receipts.signed",
    "records to bytes": "audit.sequencer.ledger:Ledger._prepare",
    "hand to the sequencer, wait": "audit.sequencer.ledger:Ledger._ask",
    "reports to the book": "gateway.launch.threads.settler:settle",
}
"""Steps in the order of the table, each with what is timed: a name as its caller reads it."""
REACHES: Final = ("decision", "section", "dispatch", "settlement")
BEGIN, ANSWERED = "request", "answered"
BEGINS: Final = (BEGIN, "settle.received")


class Stopwatches:
    """Counts while it is on; safe from any thread."""

    def __init__(self, file: Path) -> None:
        """Start with nothing counted."""
        self.file, self.on = file, False
        self.cpu_ns: dict[str, dict[int, int]] = {}
        self.calls: dict[str, int] = defaultdict(int)
        self.walls_us: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._own = threading.local()
        self._before: tuple[dict[int, int], int] = ({}, 0)

    def timed(self, step: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same function with a stopwatch."""
        spent = self.cpu_ns[step] = defaultdict(int)

        @wraps(work)
        def run(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - any function
            inside = getattr(self._own, "inside", 0)
            self._own.inside, began = 0, time.thread_time_ns()
            try:
                return work(*args, **named)
            finally:
                took = time.thread_time_ns() - began
                if self.on:
                    spent[threading.get_native_id()] += took - self._own.inside
                    self.calls[step] += 1
                self._own.inside = inside + took

        return run

    def reached(self, name: str) -> None:
        """Count the wall time since the failpoint before, on this thread."""
        now, before = time.monotonic_ns(), getattr(self._own, "point", None)
        if self.on and before is not None and name not in BEGINS:
            self.walls_us[before[0], name].append((now - before[1]) // 1_000)
        self._own.point = None if name == ANSWERED else (name, now)

    def toggle(self, *_: object) -> None:
        """Begin, or end and write what was counted."""
        now = _by_thread(), time.process_time_ns()
        self.on = not self.on
        if self.on:
            self._before = now
            return
        names = {one.native_id: one.name for one in threading.enumerate()}
        threads = {
            str(number): {
                "name": names.get(number, "no thread of Python's"),
                "cpu_ns": used - self._before[0].get(number, 0),
                "steps": {step: n for step, by in self.cpu_ns.items() if (n := by.get(number))},
            }
            for number, used in now[0].items()
        }
        walls = [[*between, taken] for between, taken in self.walls_us.items()]
        found = {"process_ns": now[1] - self._before[1], "threads": threads, "walls": walls}
        self.file.write_text(json.dumps({**found, "calls": self.calls}), encoding="ascii")


def _by_thread() -> dict[int, int]:
    """Return the CPU time of each thread of this process, ns."""
    found = {}
    for one in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[int(one.parent.name)] = int(one.read_text().split()[0])
        except OSError:  # it has ended
            continue
    return found


def put_in(watches: Stopwatches) -> None:
    """Put the stopwatches where the steps are."""
    for step, place in STEPS.items():
        module, _, path = place.partition(":")
        home, _, name = path.rpartition(".")
        owner: Any = importlib.import_module(module)
        owner = getattr(owner, home) if home else owner
        setattr(owner, name, watches.timed(step, getattr(owner, name)))
    for name in REACHES:
        walks: Any = importlib.import_module(f"gateway.walk.{name}")
        walks.reach = watches.reached
    desk: Any = importlib.import_module("gateway.desk.desk")
    submit = desk.Desk.submit

    def whole(*args: Any) -> Any:  # noqa: ANN401 - as `submit`
        watches.reached(BEGIN)
        try:
            return submit(*args)
        finally:
            watches.reached(ANSWERED)

    desk.Desk.submit = whole


def main() -> None:
    """Serve, with stopwatches."""
    watches = Stopwatches(Path(sys.argv[1]))
    put_in(watches)
    signal.signal(signal.SIGUSR1, watches.toggle)
    sys.argv = ["countersign", "serve"]
    from gateway.cli.main import main as serve  # noqa: PLC0415 - once the steps have stopwatches

    serve()


if __name__ == "__main__":
    main()
