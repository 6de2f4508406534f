"""Measure how well the patterns of conduct are found, and how often honest flow alarms.

`make bench-conduct` makes hours of honest flow with one planted episode each, inside and outside
the ranges that the thresholds were chosen on, and writes docs/measured/conduct.md: recall and
precision, alarms in honest flow, and the same with each threshold 10 % lower and higher. Every
figure is a count, the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import sqrt
from pathlib import Path
from typing import Any, Final, Protocol

from risk.windows.conduct.coordination import CoordinationLimits, coordinated
from risk.windows.conduct.events import ConductAlarm, ConductEvent, Deed, Indicator
from risk.windows.conduct.front_running import FrontRunning, FrontRunningLimits
from risk.windows.conduct.ignition import Ignition, IgnitionLimits
from risk.windows.conduct.layering import Layering, LayeringLimits
from risk.windows.conduct.spoofing import Spoofing, SpoofingLimits
from risk.windows.conduct.stop_run import StopRun, StopRunLimits
from risk.windows.conduct.stuffing import Stuffing, StuffingLimits
from risk.windows.conduct.wash import Wash, WashLimits
from scripts.conduct_plants import PLANTED, planted
from scripts.conduct_spans import INSIDE, OUTSIDE
from scripts.conduct_worlds import honest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "conduct.md"
EPISODES, SOME, QUICK = 100, 10, 3
INSIDE_MIN, OUTSIDE_MIN, ALARMS_MAX, PER = 95, 80, 5, 10_000
PAIRS_MAX = 4
"""Alarms of coordination in a hundred honest hours."""
LIMITS: Final[Mapping[Indicator, Any]] = {
    Indicator.SPOOFING: SpoofingLimits(),
    Indicator.LAYERING: LayeringLimits(),
    Indicator.WASH: WashLimits(),
    Indicator.STUFFING: StuffingLimits(),
    Indicator.COORDINATION: CoordinationLimits(),
    Indicator.IGNITION: IgnitionLimits(),
    Indicator.FRONT_RUNNING: FrontRunningLimits(),
    Indicator.STOP_RUN: StopRunLimits(),
}


class Detector(Protocol):
    """A fold that alarms."""

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event."""


_FOLDS: Final[dict[Indicator, Any]] = {
    Indicator.SPOOFING: Spoofing,
    Indicator.LAYERING: Layering,
    Indicator.WASH: Wash,
    Indicator.STUFFING: Stuffing,
    Indicator.IGNITION: Ignition,
    Indicator.FRONT_RUNNING: FrontRunning,
    Indicator.STOP_RUN: StopRun,
}


def alarms(
    pattern: Indicator, limits: object, events: Sequence[ConductEvent]
) -> list[ConductAlarm]:
    """Return what a pattern's detector says of a flow."""
    if isinstance(limits, CoordinationLimits):
        return [*coordinated(events, limits)]
    fold: Detector = _FOLDS[pattern](limits)
    return [alarm for event in events if (alarm := fold.take(event)) is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one set of thresholds found.

    Attributes:
        inside: Planted episodes found, of `episodes`; `outside` likewise.
        right: Alarms of planted owners in all planted flows, of `said` alarms.
        false: Alarms in `orders` orders of honest flow.
    """

    episodes: int
    inside: int
    outside: int
    right: int
    said: int
    false: int
    orders: int

    @property
    def meets_bars(self) -> bool:
        """Whether recall and alarms are within the bars."""
        found = self.inside * 100 >= INSIDE_MIN * self.episodes
        found = found and self.outside * 100 >= OUTSIDE_MIN * self.episodes
        return found and self.false * PER <= ALARMS_MAX * self.orders


@dataclass(slots=True)
class Tally:
    """Counts of one set of thresholds while flows go by."""

    pattern: Indicator
    limits: object
    hits: list[int] = field(default_factory=lambda: [0, 0])
    right: int = 0
    said: int = 0
    false: int = 0
    orders: int = 0

    def planted(self, group: int, events: Sequence[ConductEvent]) -> None:
        """Count a flow with an episode, inside (0) or outside (1)."""
        told = alarms(self.pattern, self.limits, events)
        own = [one for one in told if one.who.startswith(PLANTED)]
        self.hits[group] += bool(own)
        self.right += len(own)
        self.said += len(told)

    def honest(self, events: Sequence[ConductEvent]) -> None:
        """Count a flow without one."""
        self.false += len(alarms(self.pattern, self.limits, events))
        self.orders += sum(one.deed is Deed.PLACED for one in events)

    def found(self, episodes: int) -> Found:
        """Return the counts."""
        return Found(
            episodes=episodes,
            inside=self.hits[0],
            outside=self.hits[1],
            right=self.right,
            said=self.said,
            false=self.false,
            orders=self.orders,
        )


Bent = tuple[Indicator, str, Found]


def measure(episodes: int, some: int) -> tuple[dict[Indicator, Found], list[Bent]]:
    """Return what each detector finds, and with moved thresholds in the first `some` flows."""
    exact = {pattern: Tally(pattern, limits) for pattern, limits in LIMITS.items()}
    bent = [(p, name, Tally(p, one)) for p, limits in LIMITS.items() for name, one in moved(limits)]
    for number in range(episodes):
        events = honest(2 * episodes + number).done()
        for tally in (*exact.values(), *(t for *_, t in bent if number < some)):
            tally.honest(events)
        bases = [honest(group * episodes + number) for group in (0, 1)]
        for pattern in Indicator:
            own = [t for p, _, t in bent if p is pattern and number < some]
            for group, spans in enumerate((INSIDE, OUTSIDE)):
                events = planted(bases[group], number, pattern, spans[pattern])
                for tally in (exact[pattern], *own):
                    tally.planted(group, events)
        print(f"\r{number + 1} of {episodes} hours", end="", file=sys.stderr)
    print(file=sys.stderr)
    return (
        {pattern: tally.found(episodes) for pattern, tally in exact.items()},
        [(pattern, name, tally.found(some)) for pattern, name, tally in bent],
    )


def moved(limits: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - each pattern has its own
    """Yield the limits with each threshold 10 % lower and higher, at least by one."""
    for one in fields(limits):
        value = getattr(limits, one.name)
        step = max(1, value // 10)
        for sign in (-1, 1):
            name = f"{one.name} {value:,} -> {value + sign * step:,}"
            yield name, replace(limits, **{one.name: value + sign * step})


def interval(hits: int, of: int) -> str:
    """Return a share with its 95 % Wilson interval."""
    if of == 0:
        return "none"
    z, p = 1.96, hits / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(p * (1 - p) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return f"{p:.2f} ({max(0, middle - half):.2f} to {min(1, middle + half):.2f})"


def kept(pattern: Indicator, one: Found) -> bool:
    """Return whether a pattern's bars hold."""
    few = one.false * 100 <= PAIRS_MAX * one.episodes
    return one.meets_bars and (few or pattern is not Indicator.COORDINATION)


def text_of(found: Mapping[Indicator, Found], bent: Sequence[Bent]) -> str:
    """Return the page."""
    first = next(iter(found.values()))
    rows = [
        f"| {pattern} | {interval(one.inside, one.episodes)} |"
        f" {interval(one.outside, one.episodes)} | {interval(one.right, one.said)} |"
        f" {one.false} | {'reached' if kept(pattern, one) else 'not reached'} |\n"
        for pattern, one in found.items()
    ]
    moves = [
        f"| {pattern} | `{name}` | {one.inside} | {one.outside} | {one.false} |\n"
        for pattern, name, one in bent
    ]
    some = bent[0][2]
    return (
        "# How well the patterns of conduct are found\n\n"
        "Written by `make bench-conduct`; do not edit.\n\n"
        f"Made-up hours of order flow, {first.episodes} with one planted episode of each pattern "
        f"inside the ranges that the thresholds were\nchosen on, {first.episodes} outside of them, "
        f"{first.episodes} without one ({first.orders:,} honest orders). The honest flow has a "
        f"benign\ntwin of every pattern. Shares have 95 % intervals. Bars: recall of at least "
        f"0.{INSIDE_MIN} inside and 0.{OUTSIDE_MIN} outside, at most {ALARMS_MAX}\n"
        f"alarms in {PER:,} honest orders; coordination also in at most {PAIRS_MAX} of 100 honest "
        "hours.\n\n"
        "| pattern | recall inside | recall outside | precision | alarms in honest flow | bars |\n"
        "|---|---|---|---|---|---|\n" + "".join(rows) + "\n"
        "## With each threshold 10 % lower and higher\n\n"
        f"The first {some.episodes} flows of each sort, {some.orders:,} honest orders.\n\n"
        "| pattern | threshold | found inside | found outside | alarms in honest flow |\n"
        "|---|---|---|---|---|\n" + "".join(moves) + "\n"
        "What this does not show: real order flow. Who made the thresholds also made the flows, so "
        "the figures say that a\ndetector does what its definition says, and how near its "
        "thresholds are to the twins. They say nothing about abuse\nthat is not planted here.\n"
    )


def main() -> int:
    """Measure, write the page and return 0 if every bar holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few episodes, no page")
    quick = parser.parse_args().quick
    found, bent = measure(QUICK, 0) if quick else measure(EPISODES, SOME)
    for pattern, one in found.items():
        print(f"{pattern}: {one}")
    if not quick:
        PAGE.write_text(text_of(found, bent), encoding="utf-8")
    return 0 if all(kept(pattern, one) for pattern, one in found.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
