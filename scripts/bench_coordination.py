"""Measure how often the window test of coordination (W9) finds two agents that act as one.

`make bench-coordination` makes 100 hours of honest flow and the same 100 with a planted pair of
agents, tests each, and writes docs/measured/coordination.md. Every figure is a count, the same on
every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from audit.tlog.merkle import leaf_hash, root_of
from risk.windows.conduct.events import ConductEvent, Deed, Indicator
from risk.windows.fairness.cases import Fairness
from risk.windows.together import P_MAX, AgentOrder, together_row
from scripts.conduct_plants import PLANTED, planted
from scripts.conduct_spans import INSIDE, OUTSIDE
from scripts.conduct_worlds import honest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "coordination.md"
SEEDS, DEALS = 100, 199
MIN_POWER, MAX_FALSE = 90, 4


def tested(events: Iterable[ConductEvent]) -> tuple[bool, str]:
    """Return whether a flow is flagged, and which pair; the seed is its own log's root."""
    orders = [
        AgentOrder(agent=e.agent, stratum=e.instrument, side=e.side.value, time_us=e.time_us)
        for e in events
        if e.deed is Deed.PLACED
    ]
    root = root_of([leaf_hash(str(one).encode()) for one in orders])
    row = together_row(orders, root, deals=DEALS)
    return row.finding == Fairness.FLAGGED.value, row.group


def measure(seeds: int) -> tuple[int, int, int]:
    """Return the planted hours flagged, those that named the pair, and the honest ones flagged."""
    found = named = false = 0
    for seed in range(seeds):
        base, spans = honest(seed), (INSIDE, OUTSIDE)[seed % 2]
        pattern = Indicator.COORDINATION
        flagged, pair = tested(planted(base, seed, pattern, spans[pattern]))
        found += flagged
        named += flagged and pair.count(PLANTED) > 1
        false += tested(honest(seed).done())[0]
        print(f"\r{seed + 1} of {seeds} hours", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found, named, false


def text_of(found: int, named: int, false: int) -> str:
    """Return the page."""
    return (
        "# How well the window test finds agents that act as one\n\n"
        "Written by `make bench-coordination`; do not edit.\n\n"
        f"W9 on {SEEDS} made-up hours of honest order flow, and on the same hours with two agents "
        "of which one follows the other within a second,\nin every second hour with fewer orders "
        "and more often apart than what the alarm's thresholds were chosen on. A window is\n"
        f"flagged at p <= {float(P_MAX)}; each test turned the times {DEALS} times, seeded by the "
        "root of a log of the hour's orders.\n\n"
        "| hours | flagged | bar |\n|---|---|---|\n"
        f"| {SEEDS} with a pair that acts as one | {found}; {named} named the pair | at least "
        f"{MIN_POWER} |\n"
        f"| the same {SEEDS} without it | {false} | at most {MAX_FALSE} |\n\n"
        "What this does not show: real order flow, and agents that share an hour of the day or a "
        "signal without knowing of each other.\n"
    )


def main() -> int:
    """Measure, write the page and return 0 if both bars hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three hours, no page")
    quick = parser.parse_args().quick
    found, named, false = measure(3 if quick else SEEDS)
    print(f"found {found}, named {named}, false {false}")
    if not quick:
        PAGE.write_text(text_of(found, named, false), encoding="utf-8")
        return 0 if found >= MIN_POWER and false <= MAX_FALSE else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
