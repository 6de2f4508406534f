"""The tables of the crash tests, for the terminal and for docs/measured/crash-ledger.md."""

import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.crash.ledger_cell import Crash
from tests.crash.ledger_oracle import Flaw
from tests.crash.ledger_teeth import Tooth

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "crash-ledger.md"
HEAD = """# The ledger under crashes

Written by `make crash` and `make fight`; do not edit. Real `audit.Ledger` processes with four
threads each append to shared and own streams on the embedded PostgreSQL. They are crashed, they
try again with the same keys what nobody acknowledged, and a judge that shares no code with the
ledger (plain SQL and hashlib, `tests/crash/ledger_oracle.py`) holds the log against what the
writers and an outside reader of checkpoints saw: every acknowledged record once, in its place, in
real-time order; one chain; one head; every checkpoint ever seen a prefix. The writers' clock is
set back now and then. *Bit*: crashes that hurt somebody (an fsync that nobody called is none).
*Back*: from the end of the fault to the next acknowledged append, restart of PostgreSQL included.
The server's files, and the image that loses its power, lie in memory where there is room (4 GiB
free in /dev/shm), so these times say nothing about a disk; the power cut drops what did not reach
the image's own blocks. "Servers that hung": with every fsync failing, PostgreSQL 18.4 may stay "in
recovery mode" for ever; the harness kills it, as an operator would have to.

The fight has two sorts of bouts in equal parts: contenders as they are, and without the lock. A
ledger that opens without the lock may read while the other one writes; it then refuses to open
("head says .., leaves say .."), which is not counted as a finding, and tries again.

A teeth row is a ledger known to be wrong that went through the same harness: it must be caught
every time. A bout of the teeth in which the two never wrote at the same time proves nothing: it is
fought again, on a new log. 0 failures in n crashes bound their rate below 3/n (95 %).
"""


def crash_table(crashes: Iterable[Crash]) -> str:
    """Return the table per fault, with a line for all of them."""
    rows: dict[str, list[Crash]] = {}
    for crash in crashes:
        rows.setdefault(crash.fault, []).append(crash)
    names = ["crash", "cycles", "bit", "acked", *Flaw, "back median s", "back max s"]
    everything = [crash for some in rows.values() for crash in some]
    body = [_crash_row(name, some) for name, some in sorted(rows.items())]
    return table([names, *body, _crash_row("all", everything)])


def _crash_row(name: str, crashes: Sequence[Crash]) -> list[str]:
    back = [crash.back_s for crash in crashes] or [0.0]
    flaws = [finding.flaw for crash in crashes for finding in crash.findings]
    return [
        name,
        f"{len(crashes):,}",
        f"{sum(crash.bit for crash in crashes):,}",
        f"{sum(crash.acked for crash in crashes):,}",
        *(f"{flaws.count(flaw):,}" for flaw in Flaw),
        f"{statistics.median(back):.2f}",
        f"{max(back):.2f}",
    ]


def teeth_table(teeth: Iterable[Tooth]) -> str:
    """Return the table of mutants."""
    rows: dict[str, list[Tooth]] = {}
    for tooth in teeth:
        rows.setdefault(tooth.mutant, []).append(tooth)
    body = []
    for name, some in sorted(rows.items()):
        after = [tooth.caught_after for tooth in some if tooth.caught_after is not None]
        said = sorted({finding.flaw for tooth in some for finding in tooth.said})
        most = str(max(after, default=0))
        body.append([name, f"{len(after)} of {len(some)}", most, ", ".join(said)])
    return table([["teeth: wrong ledger / crash", "caught", "crashes at most", "as"], *body])


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose source is readable too."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def machine() -> str:
    """Say on what a run was made."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    cores = len(Path("/proc/cpuinfo").read_text().split("processor\t")) - 1
    return f"commit {commit or 'unknown'}, {cores} cores, {platform.system()} {platform.release()}"


def write_section(name: str, text: str) -> None:
    """Replace one section of the page; the other stays."""
    sections = {"crashes": "", "fight": ""}
    page = PAGE.read_text() if PAGE.exists() else ""
    for known in sections:
        begin, end = f"<!-- {known}: begin -->\n", f"<!-- {known}: end -->\n"
        if begin in page:
            sections[known] = page.partition(begin)[2].partition(end)[0]
    sections[name] = text.rstrip("\n") + "\n"
    parts = [HEAD]
    parts += [f"<!-- {k}: begin -->\n{v}<!-- {k}: end -->\n" for k, v in sections.items()]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(parts), encoding="utf-8")
