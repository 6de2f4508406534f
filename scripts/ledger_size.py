"""Measure what a decision costs on disk and write docs/measured/ledger-size.md.

    python scripts/ledger_size.py [DECISIONS]

Plays a short run with the real engine for each drafter and plan, then reads the sizes from its
ledger.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

from gateway.installation.children.postgres import EmbeddedPostgres
from scripts.playback_page import ROOT, played

PAGE = ROOT / "docs" / "measured" / "ledger-size.md"
DECISIONS: Final = 40
PER_YEAR: Final = 1_000 * 365
LIMIT_BYTES: Final = 64_000
ALL_RULES_FROM: Final = 128
"""Paths from which the shipped policy takes an order; fewer are measured under the first one."""
PLANS: Final = (
    ("table", 1024, 10),
    ("table", 32, 10),
    ("network", 32, 10),
    ("table", 64, 20),
    ("network", 64, 20),
    ("none", 64, 20),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of a decision, or of a forecast: how many, and their bytes as made and stored."""

    count: float
    payloads: int
    payloads_disk: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One run's sizes in bytes: captures and blobs per forecast, indexes and disk per decision."""

    drafter: str
    paths: int
    horizon: int
    decisions: int  # including the demo agent's
    forecasts: int  # with a capture; several decisions may rest on one
    capture_mean: int
    capture_max: int
    blobs: int  # snapshot and paths, as made
    blobs_disk: int  # as compressed by the database
    of_decision: Records
    of_forecast: Records
    indexes: int
    disk: int  # all tables with indexes and page overhead

    @property
    def year_gb(self) -> float:
        """Gigabytes a year."""
        return self.disk * PER_YEAR / 1e9


def main() -> int:
    """Run every plan and write the page."""
    decisions = int(sys.argv[1]) if len(sys.argv) > 1 else DECISIONS
    sizes = []
    for drafter, paths, horizon in PLANS:
        sys.stdout.write(f"{drafter} {paths} x {horizon}: {decisions} decisions\n")
        sys.stdout.flush()
        with tempfile.TemporaryDirectory(prefix="ledger-size-") as folder:
            Path(folder).chmod(0o755)  # PostgreSQL runs as another user, who must get through
            sizes.append(measure(Path(folder) / "state", drafter, paths, horizon, decisions))
        sys.stdout.write(f"  capture {sizes[-1].capture_mean}, on disk {sizes[-1].disk}\n")
    PAGE.write_text(page(sizes), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")
    return 0


def measure(state: Path, drafter: str, paths: int, horizon: int, decisions: int) -> Size:
    """Play a run and read its sizes."""
    summary = played(
        state,
        decisions,
        COUNTERSIGN_ENGINE__DRAFTER=drafter,
        COUNTERSIGN_ENGINE__PATHS=str(paths),
        COUNTERSIGN_ENGINE__HORIZON=str(horizon),
        COUNTERSIGN_POLICY="desk" if paths >= ALL_RULES_FROM else "first",
    )
    added = summary["bytes_per_decision"] * summary["decisions"]
    with _database(state) as connection:
        return _size(connection, drafter, paths, horizon, added)


@contextmanager
def _database(state: Path) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    server = EmbeddedPostgres(state)
    try:
        server.start()
        with server.administration() as dsn, psycopg.connect(dsn) as connection:
            yield connection
    finally:
        server.stop()


def _size(
    connection: psycopg.Connection[tuple[Any, ...]],
    drafter: str,
    paths: int,
    horizon: int,
    added: int,
) -> Size:
    captures = _one(
        connection,
        "SELECT count(*), avg(n)::bigint, max(n) FROM (SELECT"
        " (convert_from(payload, 'UTF8')::jsonb->>'capture_bytes')::bigint AS n"
        " FROM ledger.entry WHERE kind = 'rounds_captured') AS c",
    )
    forecasts = int(captures[0])
    blobs = _one(
        connection,
        "SELECT coalesce(sum(octet_length(data)), 0), coalesce(sum(pg_column_size(data)), 0)"
        " FROM ledger.blob WHERE NOT starts_with(encode(data, 'escape'), 'countersign.capture/')",
    )
    taken = _one(
        connection,
        "SELECT count(DISTINCT stream), pg_indexes_size('ledger.entry')"
        " FROM ledger.entry WHERE kind = 'forecast_taken'",
    )
    decisions = int(taken[0])
    return Size(
        drafter=drafter,
        paths=paths,
        horizon=horizon,
        decisions=decisions,
        forecasts=forecasts,
        capture_mean=int(captures[1]),
        capture_max=int(captures[2]),
        blobs=int(blobs[0]) // forecasts,
        blobs_disk=int(blobs[1]) // forecasts,
        of_decision=_records(connection, "decision", decisions),
        of_forecast=_records(connection, "forecast", forecasts),
        indexes=int(taken[1]) // decisions,
        disk=added // decisions,
    )


def _records(connection: psycopg.Connection[tuple[Any, ...]], streams: str, count: int) -> Records:
    """Return what the records in one sort of stream take, for each of so many."""
    found = _one(
        connection,
        "SELECT count(*), sum(octet_length(payload)), sum(pg_column_size(payload))"
        " FROM ledger.entry WHERE starts_with(stream, %s)",
        f"{streams}/",
    )
    return Records(
        count=int(found[0]) / count,
        payloads=int(found[1]) // count,
        payloads_disk=int(found[2]) // count,
    )


def _one(
    connection: psycopg.Connection[tuple[Any, ...]], query: str, *values: str
) -> tuple[Any, ...]:
    row = connection.execute(query.encode(), values or None).fetchone()
    if row is None:
        raise SystemExit("the ledger is empty")
    return row


def page(sizes: list[Size]) -> str:
    """Return the page."""
    worst = max(size.capture_max for size in sizes if size.paths < ALL_RULES_FROM)
    return "\n".join(
        (
            "# What a decision costs on disk",
            "",
            "Generated by `make ledger-size`; do not edit. One short run of the playback for each",
            f"row, with the real engine, {min(s.decisions for s in sizes)} decisions or more,",
            "the demo agent's among them. A year has 365 days of 1,000 decisions. The first row",
            "is what ships; the others are under the policy of format 1, which puts no paths on",
            "record.",
            "",
            "| drafter | paths x steps | capture, bytes | largest | decision on disk | GB a year |",
            "|---|---|---|---|---|---|",
            *(
                f"| {s.drafter} | {s.paths} x {s.horizon} | {s.capture_mean:,} |"
                f" {s.capture_max:,} | {s.disk:,} | {s.year_gb:.1f} |"
                for s in sizes
            ),
            "",
            f"Largest capture of those: {worst:,} bytes; the bar is {LIMIT_BYTES:,} at 64 x 20.",
            "The worst capture that 64 x 20 can give (drafts rejected as often as drafting lasts,",
            "nothing shared) is built in",
            "`tests/unit/inference/speculation/test_inference_evidence.py` and held to the same",
            "bar; at a look-ahead of 8, the most that a setting allows, to 65,536 bytes.",
            "",
            "On disk is every table of the ledger with its indexes and half-filled pages, the",
            "market, order and control records of the run among them, divided by the decisions.",
            "Write-ahead log and backups come on top. Several decisions may rest on one forecast.",
            "Of each, bytes as made and as stored; the indexes are those of all records, divided",
            "by the decisions:",
            "",
            "| drafter | plan | number | records | payloads | stored | indexes | blobs | stored |",
            "|---|---|---|---|---|---|---|---|---|",
            *(row for s in sizes for row in _rows(s)),
            "",
            "## What is stored, and what is regenerated",
            "",
            "| what | where it comes from |",
            "|---|---|",
            "| every draw: of drafts, of accept or reject, of tokens | seed (SHA-256, exact) |",
            "| tokens, drafts, accepted counts, why a round had no drafts | stored |",
            "| p of each draft and token: the float32 that was compared | stored |",
            "| where each draw fell: the sum before the entry and of the row, float64 | stored |",
            "| q of the table drafter | the table's file, named by its digest (exact) |",
            "| q of the network drafter, and where its draw fell | stored |",
            "| the first step's row (the closed-form law needs it) | stored whole |",
            "| all other rows of target and network | the weights, within 1e-5 |",
            "| entropy of each row | stored in 1/1024 nat; the weights give it within 2e-3 |",
            "| the placebo twin's trajectories | seed and table (exact); nothing is stored |",
            "| raw logits | not kept: one SHA-256 per trajectory |",
            "",
            "`countersign replay` decides everything again from the record alone, exactly, then",
            "makes the rows again from the recorded weights by a second implementation in float64",
            "and compares every stored number with them. With other weights at hand it says so and",
            "regenerates nothing. With `--engine` it also samples again: on the processor that",
            "served, the whole capture comes back to the bit, the digests of raw logits among it.",
            "",
        )
    )


def _rows(size: Size) -> tuple[str, str]:
    """Return the lines of a run's decisions and of its forecasts."""
    plan = f"| {size.drafter} | {size.paths} x {size.horizon} |"
    decisions = f"{plan} {size.decisions} decisions | {_said(size.of_decision)}"
    forecasts = f"{plan} {size.forecasts} forecasts | {_said(size.of_forecast)}"
    return (
        f"{decisions} | {size.indexes:,} | | |",
        f"{forecasts} | | {size.blobs:,} | {size.blobs_disk:,} |",
    )


def _said(one: Records) -> str:
    return f"{one.count:.1f} | {one.payloads:,} | {one.payloads_disk:,}"


if __name__ == "__main__":
    sys.exit(main())
