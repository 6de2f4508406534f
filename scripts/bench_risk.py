"""Measure what a verdict costs: `make bench-risk` writes docs/measured/bench-risk.md.

CPU time of this process per call, so that work beside it counts little. Decisions are drawn as for
the comparison of digests: books of two instruments, orders of every size, some inputs missing.
"""

import argparse
import copy
import gc
import json
import os
import platform
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import process_time_ns

import msgspec

from risk.evaluate import evaluate
from risk.intent import Intent
from risk.policy.judging import rules_of
from risk.policy.policy import Policy
from risk.state.book import Book
from risk.state.busts import BookFold
from risk.state.inputs.inputs import Inputs
from risk.state.state import RiskState
from risk.verdict import RuleId
from tests.doubles.full_policy import FULL
from tests.doubles.random_decisions import decisions
from tests.doubles.risk_cases import NOW_US, PLAYBACK, bought, reserved

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "bench-risk.md"
SEED = 7
VERDICTS = 4_000
EVENTS = 4_000
P50_BAR_US, P99_BAR_US, EVENT_BAR_US = 100.0, 300.0, 10.0
ABOUT = f"""# What a verdict costs

Written by `make bench-risk`; do not edit. CPU time of one process per verdict, {VERDICTS:,} drawn
decisions (seed {SEED}); each has a book, a quote and paths of its own, so nothing of these is found
again, except
in the rows on paths read before: there the order was sized on the same forecast, as the desk does.
The other inputs are the same objects in every decision, except in the row on new inputs: there
every source is a copy that no verdict has read. A verdict makes its results when they are read;
one row reads them. Format 1 is the first policy. Format 2 has every rule armed; its R52 reads 128
joint paths of 10 bars of two instruments. Bars: p50 at most {P50_BAR_US:.0f} us, p99 at most
{P99_BAR_US:.0f} us, with every rule; a book's update at most {EVENT_BAR_US:.0f} us an event.
"""
_READ = msgspec.json.Decoder(Inputs | None)
NAUTILUS = "COUNTERSIGN_NAUTILUS_PYTHON"
"""Names the Python of an environment that has nautilus_trader; without it nothing is said of it."""


def nautilus() -> str:
    """Return what Nautilus' risk engine takes for an order, measured now, or that it was not."""
    python = os.environ.get(NAUTILUS)
    if python is None:
        return "Nautilus' risk engine is no dependency and was not measured in this run."
    done = subprocess.run(
        [python, Path(__file__).with_name("bench_nautilus.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return (
        f"In the same run, in an environment of its own, the risk engine of nautilus_trader"
        f" {found['version']} (cash account, {found['orders']:,} limit orders, its engine alone):"
        f" p50 {found['p50_us']:.1f} us, p99 {found['p99_us']:.1f} us of CPU an order. It checks"
        " precision, size, notional, balance and rate, and makes no trace and no digest."
    )


@cache
def drawn(count: int) -> tuple[tuple[Policy, RiskState, Intent], ...]:
    """Return the decisions of every row; about `count` of each policy.

    They stay out of the garbage collector's sight: no gateway holds thousands of decisions at once,
    and a verdict would pay for walking over them.
    """
    found = tuple(decisions(2 * count, SEED))
    gc.collect()
    gc.freeze()
    return found


def verdicts(
    policy: Policy,
    count: int,
    without: RuleId | None = None,
    *,
    known: bool = False,
    new: bool = False,
    read: bool = False,
) -> list[float]:
    """Return the CPU time of each verdict, microseconds, sorted.

    `known`: on paths read before; `new`: every input is a copy; `read`: its results are read.
    """
    rules = tuple(one for one in rules_of(policy) if one.rule_id is not without)
    found = []
    for own, state, intent in drawn(count):
        if own is not policy:
            continue
        inputs = state.inputs
        state = replace(state)  # noqa: PLW2901 - as each intent brings: a digest of its own
        if (
            not known and inputs is not None and inputs.paths is not None
        ):  # as each decision's forecast brings
            state = replace(state, inputs=replace(inputs, paths=copy.copy(inputs.paths)))  # noqa: PLW2901
        if new:
            state = replace(state, inputs=_READ.decode(msgspec.json.encode(state.inputs)))  # noqa: PLW2901
        began = process_time_ns()
        verdict = evaluate(policy, state, intent, rules=None if without is None else rules)
        if read:
            _ = verdict.results
        found.append((process_time_ns() - began) / 1_000)
    return sorted(found[len(found) // 10 :])  # the first ones warm up


def events(count: int) -> float:
    """Return the mean CPU time of one event of a book, microseconds; each is later."""
    drawn = [
        replace(
            bought(1 + number % 9, 25_000 + number % 999)
            if number % 2
            else reserved(f"r-{number % 7}", 1 + number % 5, 25_000),
            time_us=NOW_US + 1_000 * number,
        )
        for number in range(count)
    ]
    book = BookFold(Book.empty("A", 100_000_000))
    began = process_time_ns()
    for one in drawn:
        book.take(one)
    return (process_time_ns() - began) / 1_000 / count


def at(times: list[float], level: float) -> float:
    """Return a quantile of sorted times."""
    return times[min(len(times) - 1, int(level * len(times)))]


def main() -> int:
    """Measure, print and write the page."""
    arguments = argparse.ArgumentParser(prog="python -m scripts.bench_risk")
    arguments.add_argument("--quick", action="store_true", help="few decisions, no page")
    given = arguments.parse_args()
    count = VERDICTS // 20 if given.quick else VERDICTS
    every = verdicts(FULL, count)
    rows = {
        "format 1, 17 rules": verdicts(PLAYBACK, count),
        "format 2, every rule": every,
        "format 2, every rule, paths read before": verdicts(FULL, count, known=True),
        "format 2, every rule, paths read before, results read": verdicts(
            FULL, count, known=True, read=True
        ),
        "format 2, every rule, all inputs new": verdicts(FULL, count, new=True),
        "format 2 without R52": verdicts(FULL, count, RuleId.R52),
    }
    reached = at(every, 0.5) <= P50_BAR_US and at(every, 0.99) <= P99_BAR_US
    event_us = events(EVENTS)
    said = (
        f"With every rule: {'reached' if reached else 'not reached'}. A book's update:"
        f" {event_us:.1f} us an event,"
        f" {'reached' if event_us <= EVENT_BAR_US else 'not reached'}."
    )
    text = "\n".join(
        (
            ABOUT,
            "| policy | p50, us | p99, us |",
            "|---|---|---|",
            *(f"| {name} | {at(t, 0.5):.0f} | {at(t, 0.99):.0f} |" for name, t in rows.items()),
            "",
            said,
            "",
            nautilus(),
            "",
            f"Python {platform.python_version()}, {platform.machine()}.",
            "",
        )
    )
    sys.stdout.write(text)
    if not given.quick:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
