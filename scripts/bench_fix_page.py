"""The page of `bench_fix.py`: its figures against the bars, and the share of the disk."""

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

OPEN = 500
PACED_PER_S, PACED_BURST = 200, 20
RATIO_BAR, MASS_BAR_MS, PACED_BAR = 2.0, 50.0, 0.9
BLOCKS = 10

ABOUT = (
    "Written by `make bench-fix`; do not edit. All in one run on one machine, with the real ledger,"
    " the real FIX child and real TCP; the peer (`scripts/fix_sink.py`) times what arrives."
)
NOTES = (
    "*Decision to wire* begins when the verdict is on record, with its approved order made and"
    " folded, and ends when the order's bytes have arrived: checks of the approval, one durable"
    " ledger append (`order_sending`), the word to the FIX child, its journal's line, the last"
    " check and the engine. The yardstick commits one row into a table with the same columns, keys"
    " and triggers and sends through quickfix in this process. Both take turns, so a busy moment"
    " hits both. Both wait for the disk once; the child's journal is synchronised after the"
    " bytes left (decision 115)."
    " *Mass cancel* is from the press of the kill until `q` has arrived, with 500 open orders;"
    " *paced* is the rate of single cancels after"
    " the burst, over the profile's limit, at a peer that rejects what is over it. *Feed* is from"
    " NDJSON text to items that are judged and stand in the market; at the end the desk has a"
    " snapshot and a quote to decide on."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured."""

    pairs: int
    presses: int
    paced: int
    feed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one run found; times in milliseconds."""

    ours: Sequence[float]
    bare: Sequence[float]
    inserts: Sequence[float]
    syncs: Sequence[float]
    mass: Sequence[float]
    paced: Sequence[float]
    rejected: int
    items_per_s: float


def at(values: Sequence[float], share: float) -> float:
    """Return a percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def blocks(ours: Sequence[float], bare: Sequence[float]) -> str:
    """Return the lowest and the highest ratio of medians of ten blocks of pairs."""
    size = max(1, len(ours) // BLOCKS)
    found = [
        statistics.median(ours[at : at + size]) / statistics.median(bare[at : at + size])
        for at in range(0, len(ours) - size + 1, size)
    ]
    return f"{min(found):.2f} to {max(found):.2f}"


def report(found: Figures, scale: Scale, load: tuple[float, float]) -> str:
    """Return the page."""
    ratio = statistics.median(found.ours) / statistics.median(found.bare)
    ours, bare, mass = found.ours, found.bare, found.mass
    wire = f"decision to wire over one durable INSERT and a bare initiator, p50 of {scale.pairs:,}"
    pressed = f"kill with {OPEN} open orders"
    tail = at(ours, 0.99), at(bare, 0.99)
    claims = (
        (
            f"{wire} pairs",
            f"at most {RATIO_BAR:g}",
            f"{ratio:.2f} ({at(ours, 0.5):.2f} ms against {at(bare, 0.5):.2f} ms)",
        ),
        ("the same in ten blocks of pairs, lowest and highest", "", blocks(ours, bare)),
        (
            "of these: one durable INSERT, p50; one line to a file and fdatasync, p50",
            "",
            f"{at(found.inserts, 0.5):.2f} ms; {at(found.syncs, 0.5):.2f} ms",
        ),
        (
            "decision to wire, p99",
            "",
            f"{tail[0] / tail[1]:.2f} ({tail[0]:.2f} ms against {tail[1]:.2f} ms)",
        ),
        (
            f"{pressed}: mass cancel on the wire, p99 of {scale.presses} presses",
            f"at most {MASS_BAR_MS:g} ms",
            f"{at(mass, 0.99):.1f} ms (p50 {at(mass, 0.5):.1f})",
        ),
        (
            f"{pressed}: cancels over the limit of {PACED_PER_S}/s, the slowest of {scale.paced}",
            f"at least {PACED_BAR:g}",
            f"{min(found.paced):.2f}",
        ),
        ("throttle rejects of these", "0", str(found.rejected)),
        ("quotes a second into a decision-ready state", "", f"{found.items_per_s:,.0f}"),
    )
    rows = [f"| {claim} | {bar} | {measured} |" for claim, bar, measured in claims]
    machine = (
        f"Machine: {os.cpu_count()} cores ({platform.machine()}), Python"
        f" {platform.python_version()}; load {load[0]:.1f} before and {load[1]:.1f} after."
    )
    return "\n".join(
        [
            "# The way to the broker, measured",
            "",
            ABOUT,
            "",
            machine,
            "",
            "| claim | bar | measured |",
            "|---|---|---|",
            *rows,
            "",
            NOTES,
            "",
        ]
    )
