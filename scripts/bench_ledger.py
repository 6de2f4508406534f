"""Measure the ledger's appends: `make bench-ledger` writes docs/measured/bench-ledger.md.

One embedded PostgreSQL, one process, one run. Compared sides take turns in short phases, so a busy
moment of the machine hits both; a ratio is the median over the pairs. `--quick` takes a minute and
shows whether the bench works; its figures are not for the docs.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.row_key import mac_of
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.tables import migrate
from audit.upkeep.dump import verify_database
from gateway import clock
from gateway.installation.children.postgres import EmbeddedPostgres
from scripts.ledger_loads import Appends, Load, Yardsticks
from scripts.ledger_tails import Tails, flusher, turn

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "measured" / "bench-ledger.md"
WRITERS = (1, 16, 256, 1024)
SIGNER = FileSigner("bench.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
ARRIVALS_PER_S = 500.0


_ABOUT = (
    "Written by `make bench-ledger`. Rows of about 1 KiB of payload, decisions of eight records, 32"
    " open at a time; the yardsticks write the same rows, made beforehand, into a table with the"
    " same columns, keys, checks, indexes and triggers, each batch a durable commit; the ledger"
    " checks, canonicalises, hashes, chains and commits them while the clock runs. All in one"
    " process and one run, in turns."
)
_LOAD = "(The run's own part is 1 to 2; more means that others were at work.)"
_VERIFIER = "the whole log through the outsider's verifier (`countersign fsck` has its own bench)"
_NOTES = (
    "A call is one batch for COPY and executemany, one record for the others. `fdatasync` is of"
    " 8 KiB in a file that is whole on disk, on the server's file system, by a process beside,"
    " at the same rate and at the same time: a disk that stalls does so for both."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """How long each part takes.

    Attributes:
        pairs: turns of COPY and 256 writers.
        phase_s: length of one phase.
        singles: number of single appends, each beside a bare commit.
        tails: turns of appends, bare commits and arrivals at a fixed rate.
        tail_s: length of each side's part in a turn.
    """

    pairs: int
    phase_s: float
    singles: int
    tails: int
    tail_s: float


FULL = BenchPlan(pairs=9, phase_s=2.0, singles=1500, tails=4, tail_s=10.0)
QUICK = BenchPlan(pairs=3, phase_s=0.7, singles=200, tails=1, tail_s=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Rates of both sides, turn by turn."""

    copies: list[float]
    ours: list[float]

    @property
    def ratios(self) -> list[float]:
        """Our rate over COPY's, one for each pair."""
        return [mine / copy for mine, copy in zip(self.ours, self.copies, strict=True)]


class Bench:
    """The parts, in the order in which they run."""

    def __init__(self, plan: BenchPlan, folder: Path, stack: ExitStack) -> None:
        server = EmbeddedPostgres(folder)
        server.start()
        stack.callback(server.stop)
        dsn = stack.enter_context(server.administration())
        migrate(dsn)
        self.plan = plan
        self.dsn = dsn
        self._folder = folder
        self._yard = Yardsticks(dsn)
        stack.callback(self._yard.close)
        config = LedgerConfig(dsn=dsn, decision_lane_max=4096, mac=mac_of(bytes(32)))
        self.ledger = Ledger.open(config, SIGNER, clock.wall_us)
        stack.callback(self.ledger.close)
        self._ours = Appends(self.ledger)

    def warm_up(self) -> None:
        """Fill the server's caches and create its log segments, as on a running server."""
        for _ in range(2):
            self._ours.writers(256, self.plan.phase_s)
            self._yard.copy(self.plan.phase_s)
        self._yard.settle()

    def pairs(self) -> Pairs:
        """Run 256 writers against COPY in batches of 256; they alternate in going first."""
        copies: list[float] = []
        ours: list[float] = []
        for number in range(self.plan.pairs):
            for copying in (number % 2 == 0, number % 2 == 1):
                if copying:
                    copies.append(self._yard.copy(self.plan.phase_s).rate)
                else:
                    ours.append(self._ours.writers(256, self.plan.phase_s).rate)
            _say(f"pair {number + 1}: COPY {copies[-1]:,.0f}/s, ours {ours[-1]:,.0f}/s")
        return Pairs(copies=copies, ours=ours)

    def table(self) -> dict[str, Load]:
        """Measure every way to write, one phase each."""
        seconds = self.plan.phase_s * 2
        found: dict[str, Load] = {}
        ways: dict[str, Callable[[float], Load]] = {
            "COPY, 256 rows a commit": self._yard.copy,
            "executemany, 256 rows a commit": self._yard.executemany,
            "bare INSERT, 1 row a commit": self._yard.bare,
        }
        for name, write in ways.items():
            found[name] = write(seconds)
            _say(f"{name}: {found[name].rate:,.0f}/s")
        for writers in WRITERS:
            name = f"ledger, {writers:,} writer{'s' if writers > 1 else ''}"
            found[name] = self._ours.writers(writers, seconds)
            _say(f"{name}: {found[name].rate:,.0f}/s")
        return found

    def singles(self) -> tuple[list[float], list[float]]:
        """Return durations in seconds of bare commits and of single appends, in turns."""
        bare: list[float] = []
        ours: list[float] = []
        rows = self._yard.rows(self.plan.singles)
        for row in rows:
            bare.append(self._yard.one(row))
            ours.append(self._ours.one())
        _say(f"one writer: {_ms(ours):.2f} ms, bare commit {_ms(bare):.2f} ms")
        return bare, ours

    def tails(self) -> Tails:
        """Measure appends, bare commits and arrivals at a fixed rate, with flushes beside each."""
        self._yard.settle()
        os.sync()  # earlier parts have written gigabytes; no side here may pay for them
        tails = Tails()
        seconds = self.plan.tail_s
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            beside = flusher(executor, self._folder, ARRIVALS_PER_S, seconds)
            for number in range(self.plan.tails):
                turn(tails, (self._ours, self._yard), beside, ARRIVALS_PER_S, seconds)
                ours, disk = (_at(side.calls_s) for side in (tails.append.side, tails.append.disk))
                _say(f"tail {number + 1}: append {ours:.2f} ms, fdatasync {disk:.2f} ms")
        return tails

    def verifier(self) -> float:
        """Return how many leaves a second the whole check takes on the log written so far."""
        self.ledger.checkpoint_now(60)
        size = self.ledger.size
        start = perf_counter()
        report = verify_database(self.dsn, [str(SIGNER.vkey)])
        elapsed = perf_counter() - start
        if report.findings:
            raise SystemExit(f"bench: the log does not verify: {report.lines[0]}")
        _say(f"verifier: {size:,} leaves, {size / elapsed:,.0f}/s")
        return size / elapsed


def run(plan: BenchPlan, folder: Path) -> str:
    """Run every part and return the report."""
    with ExitStack() as stack:
        bench = Bench(plan, folder, stack)
        before = os.getloadavg()[0]
        bench.warm_up()
        pairs = bench.pairs()
        table = bench.table()
        bare, ours = bench.singles()
        tails = bench.tails()
        leaves = bench.verifier()
        after = os.getloadavg()[0]
    extra = statistics.median(ours) - statistics.median(bare)
    lines = [
        "# Appends to the ledger, measured",
        "",
        _ABOUT,
        "",
        f"Machine: {_machine()}; load {before:.1f} before and {after:.1f} after. {_LOAD}",
        "",
        "| claim | bar | measured |",
        "|---|---|---|",
        (
            f"| 256 writers (tasks of one event loop) against COPY, median of {plan.pairs} pairs |"
            f" at least 0.5 | {statistics.median(pairs.ratios):.2f}"
            f" ({min(pairs.ratios):.2f} to {max(pairs.ratios):.2f}) |"
        ),
        (
            f"| one writer over a bare commit, p50 of {len(ours):,} pairs | at most 1.0 ms |"
            f" {extra * 1000:.2f} ms ({_ms(ours):.2f} against {_ms(bare):.2f}) |"
        ),
        *_tail_lines(tails),
        f"| {_VERIFIER} | | {leaves:,.0f} leaves/s |",
        "",
        "| way to write | records/s | p50 ms | p99 ms | p99.9 ms |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {load.rate:,.0f} | {load.at(0.5):.2f} | {load.at(0.99):.2f} |"
            f" {load.at(0.999):.2f} |"
            for name, load in table.items()
        ),
        "",
        _NOTES,
        "",
    ]
    return "\n".join(lines)


def _tail_lines(tails: Tails) -> list[str]:
    """Return the rows of the tail: call against call, and due against due."""

    def against(side: list[float], disk: list[float]) -> str:
        mine, theirs = _at(side), _at(disk)
        return f"{mine / theirs:.1f} ({mine:.2f} ms against {theirs:.2f} ms) |"

    append, bare, arrivals = tails.append, tails.bare, tails.arrivals
    rate, number = f"{ARRIVALS_PER_S:.0f}/s", f"{len(append.side.calls_s):,}"
    return [
        (
            f"| p99.9 of an append at {rate} against that of `fdatasync` beside it, {number} calls"
            f" of one caller each | at most 2 | {against(append.side.calls_s, append.disk.calls_s)}"
        ),
        (
            f"| the same for a bare commit: what the database by itself takes | |"
            f" {against(bare.side.calls_s, bare.disk.calls_s)}"
        ),
        (
            f"| the same for appends that arrive at {rate} whether earlier ones are answered or"
            f" not, both from the moment they were due | |"
            f" {against(arrivals.side.late_s, arrivals.disk.late_s)}"
        ),
    ]


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute; prints, writes nothing")
    asked = parser.parse_args()
    start = perf_counter()
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        report = run(QUICK if asked.quick else FULL, folder)
    if asked.quick:
        sys.stdout.write(report)
    else:
        REPORT.write_text(report, encoding="utf-8")
    _say(f"{perf_counter() - start:.0f} s" + ("" if asked.quick else f", {REPORT.name} written"))


def _machine() -> str:
    python = platform.python_version()
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {python}"


def _ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


def _at(seconds: list[float], share: float = 0.999) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
