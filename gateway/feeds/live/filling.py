"""Whether bars of a file may fill what is missing between the bars that stand. Pure.

Rules:

- A bar that stands is a repeat; another one under its sequence is refused.
- By their sequences, the bars that stand and those that come close one after the other.
- No bar is made: what the file does not have stays missing.

Not here: the record and the taking (`gateway.desk.intake.filling`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.errors import FeedRefusedError
from gateway.feeds.live.conditions import FeedLimits, judge
from gateway.feeds.live.items import BarItem

SHOWN_MAX: Final = 6


def new_bars(
    bars: Sequence[BarItem],
    standing: Mapping[int, BarItem],
    received_us: int,
    limits: FeedLimits,
) -> tuple[BarItem, ...]:
    """Return the bars that do not stand yet, by sequence.

    Args:
        bars: bars of one source and instrument, in the file's order.
        standing: the bars that stand by sequence: all between the lowest and the highest of
            `bars`, and the next one on each side.
        received_us: the wall clock.
        limits: how far a close may lie ahead.

    Raises:
        FeedRefusedError: a bar is unsound or contradicts one that stands; `item` is its number.
    """
    found: dict[int, tuple[int, BarItem]] = {}
    for number, bar in enumerate(bars, start=1):
        same = standing.get(bar.sequence) or found.get(bar.sequence, (0, None))[1]
        if same is not None and same != bar:
            said = "another bar stands under its sequence"
            _refuse(number, bar, f"{said}: close {same.close_ticks} ticks at {same.event_us} us")
        finding = judge(
            bar, past=None, same=None, missing=0, received_us=received_us, limits=limits
        )
        if finding.detail:
            _refuse(number, bar, f"{finding.condition}: {finding.detail}")
        if same is None:
            found[bar.sequence] = number, bar
    merged = {**standing, **{sequence: bar for sequence, (_, bar) in found.items()}}
    before: BarItem | None = None
    for sequence in sorted(merged):
        bar = merged[sequence]
        if before is not None and bar.event_us <= before.event_us:
            wrong = bar if sequence in found else before
            number = found[wrong.sequence][0] if wrong.sequence in found else 1
            said = f"sequence {sequence} does not close after sequence {before.sequence}"
            _refuse(number, wrong, said)
        before = bar
    return tuple(found[sequence][1] for sequence in sorted(found))


def runs(sequences: Sequence[int]) -> str:
    """Return ascending sequences as text: `31-42, 50`, at most six parts."""
    parts: list[tuple[int, int]] = []
    for one in sequences:
        if parts and one == parts[-1][1] + 1:
            parts[-1] = parts[-1][0], one
        else:
            parts.append((one, one))
    said = [f"{first}-{last}" if last > first else str(first) for first, last in parts]
    more = f" and {len(said) - SHOWN_MAX} more" if len(said) > SHOWN_MAX else ""
    return ", ".join(said[:SHOWN_MAX]) + more


def _refuse(number: int, bar: BarItem, problem: str) -> None:
    said = f"item {number}: {bar.instrument} sequence {bar.sequence} of {bar.source}: {problem}"
    raise FeedRefusedError(item=number, problem=said)
