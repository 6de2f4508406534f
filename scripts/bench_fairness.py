"""Measure how often the permutation test (W3) finds a planted regional bias, and a false one.

`make bench-fairness` makes 100 windows without bias and the same 100 with one, tests each, and
writes docs/measured/fairness.md. Every figure is a count, the same on every machine.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from audit.tlog.merkle import leaf_hash, root_of
from risk.windows.fairness.cases import Fairness, FairnessCase
from risk.windows.fairness.exposure import P_MAX, permutation

PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "fairness.md"
SEEDS, CASES, DEALS, STRATA = 100, 2_000, 199, 8
REGIONS = ("africa", "americas", "asia", "europe", "middle east", "oceania")
BIASED = "asia"
SIGMA_BP, BIAS_BP = 1_000, 350
MIN_POWER, MAX_FALSE = 90, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """How many windows were flagged, and how many of those named the biased region."""

    windows: int
    found: int
    named: int
    false: int

    @property
    def meets_bars(self) -> bool:
        """Whether both bars hold, for as many windows as there are."""
        enough = self.found * 100 >= MIN_POWER * self.windows
        return enough and self.false * 100 <= MAX_FALSE * self.windows


def window(seed: int, count: int) -> list[FairnessCase]:
    """Return honest cases: region, stratum and exposure are drawn apart from each other."""
    draw = random.Random(seed)  # noqa: S311 - made-up windows, not keys
    return [
        FairnessCase(
            decision_id=f"d-{number:05d}",
            group=draw.choice(REGIONS),
            stratum=f"stratum {draw.randrange(STRATA)}",
            approved=True,
            exposure_bp=round(draw.gauss(0, SIGMA_BP)),
            hit=frozenset(),
        )
        for number in range(count)
    ]


def biased(cases: list[FairnessCase]) -> list[FairnessCase]:
    """Return the same cases with the bias on one region's exposures."""
    return [
        replace(c, exposure_bp=c.exposure_bp + BIAS_BP) if c.group == BIASED else c for c in cases
    ]


def root_of_cases(cases: list[FairnessCase]) -> bytes:
    """Return the RFC 6962 root of a log whose entries are the cases, one each."""
    return root_of([leaf_hash(f"{c.decision_id} {c}".encode()) for c in cases])


def measure(seeds: int, count: int, deals: int) -> Power:
    """Test every window with and without the bias, each seeded from the root of its own log."""
    found = named = false = 0
    for seed in range(seeds):
        honest = window(seed, count)
        bent = biased(honest)
        planted = permutation(bent, root_of_cases(bent), deals=deals)
        if planted.finding is Fairness.FLAGGED:
            found += 1
            named += planted.group == BIASED
        false += permutation(honest, root_of_cases(honest), deals=deals).finding is Fairness.FLAGGED
        print(f"\r{seed + 1} of {seeds} windows", end="", file=sys.stderr)
    print(file=sys.stderr)
    return Power(windows=seeds, found=found, named=named, false=false)


def text_of(power: Power) -> str:
    """Return the page."""
    return (
        "# How well the fairness test finds a bias\n\n"
        "Written by `make bench-fairness`; do not edit.\n\n"
        f"The permutation test of signed exposure against region (W3), on made-up windows of "
        f"{CASES:,} cases:\n"
        f"{len(REGIONS)} regions, {STRATA} strata, exposures from a normal distribution. The bias "
        f"adds 0.{100 * BIAS_BP // SIGMA_BP} of its standard deviation to the\n"
        f"exposures of one region. A window is flagged at p <= {float(P_MAX)}. Each test dealt the "
        f"groups {DEALS} times; the test's\nown default is 9,999.\n\n"
        "| windows | flagged | bar |\n|---|---|---|\n"
        f"| {power.windows} with the bias | {power.found}; {power.named} named the right region | "
        f"at least {MIN_POWER} |\n"
        f"| the same {power.windows} without it | {power.false} | at most {MAX_FALSE} |\n\n"
        "What this does not show: how the test does with groups of very unequal size, with "
        "exposures that are not normal, or\nwith cases that depend on each other. The seed of "
        "each test is the root of a log that holds the\nwindow's cases.\n"
    )


def main() -> int:
    """Measure, write the page and return 0 if both bars hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="five windows, no page")
    quick = parser.parse_args().quick
    power = measure(5 if quick else SEEDS, CASES, DEALS)
    print(power)
    if not quick:
        PAGE.write_text(text_of(power), encoding="utf-8")
    return 0 if power.meets_bars else 1


if __name__ == "__main__":
    sys.exit(main())
