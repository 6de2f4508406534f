"""Measure fsck on a large log: leaves a second, peak memory, and the cost of payloads.

`make bench-fsck` builds ledgers of 100,000 and 1,000,000 records through the real writer (minutes),
checks each several times with and without payloads, and writes docs/measured/bench-fsck.md. The
ledgers lie in a temporary folder, which is removed afterwards.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from audit.store.tables import connect, ensure_database, migrate
from audit.upkeep.fsck.plan import FsckPlan
from audit.upkeep.fsck.run import fsck_database
from audit.verifier.verify import OK, Outside
from gateway.installation.children.postgres import EmbeddedPostgres
from scripts.big_log import SIGNER, write_big_log

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "bench-fsck.md"
RUNS = 5
MIB = 1 << 10  # KiB
_HEADER, _SPEED_S = bytes(400), 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FsckRun:
    """One check: its time, peak memory of the judge and of a reader, the machine's speed."""

    seconds: float
    judge_mib: int
    reader_mib: int
    hashes_s: float


def check_once(dsn: str, state: Path, *, payloads: bool) -> None:
    """Check in this process, which must be new, and print seconds and peaks."""
    plan = FsckPlan(
        outside=Outside(vkeys=[str(SIGNER.vkey)]),
        state=state,
        payloads=payloads,
        readers=max(2, os.cpu_count() or 2),
    )
    start = time.perf_counter()
    report = fsck_database(dsn, plan, lambda *_: None, None)
    seconds = time.perf_counter() - start
    if report.exit_code != OK:
        sys.exit("\n".join(report.lines))
    reader = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(seconds, _peak_kib() // MIB, reader // MIB)


def _peak_kib() -> int:
    """Return this process's peak memory; `ru_maxrss` would start at that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def measure(dsn: str, folder: Path, *, payloads: bool) -> FsckRun:
    """Run one check in a process of its own, so that its peak memory is its own."""
    hashes_s = hashing_speed()
    command = [sys.executable, __file__, "--once", dsn, "--state", str(folder / "state")]
    done = subprocess.run(
        [*command, *(["--payloads"] if payloads else [])],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, judge, reader = done.stdout.split()
    return FsckRun(
        seconds=float(seconds), judge_mib=int(judge), reader_mib=int(reader), hashes_s=hashes_s
    )


def hashing_speed() -> float:
    """Return how many headers a second all cores hash right now.

    A shared machine's speed differs twofold from minute to minute; this figure calibrates others.
    """
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        return sum(pool.map(_hash_for, [_SPEED_S] * cores))


def _hash_for(seconds: float) -> float:
    done, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        for _ in range(1_000):
            sha256(_HEADER).digest()
        done += 1_000
    return done / took


def bench(records: int, state: Path, page: Path) -> None:
    """Build both logs, check them and write the page."""
    server = EmbeddedPostgres(state)
    with ExitStack() as stack:
        server.start()
        stack.callback(server.stop)
        admin = stack.enter_context(server.administration())
        rows = []
        for size in (records // 10, records):
            dsn = make_log(admin, size)
            for payloads in (False, True):
                times = 1 + RUNS // 2 if payloads else RUNS
                runs = [measure(dsn, state, payloads=payloads) for _ in range(times)]
                rows.append(row_of(size, runs, payloads=payloads))
                print(rows[-1])
        page.write_text(text_of(rows))


def make_log(admin: str, size: int) -> str:
    """Build a log of its own database and return the DSN."""
    name = f"log{size}"
    ensure_database(admin, name)
    base, _, options = admin.partition("?")
    dsn = f"{base.rpartition('/')[0]}/{name}?{options}"
    migrate(dsn)
    start = time.perf_counter()
    made = write_big_log(dsn, size, lambda done: print(f"\r{done}", end="", file=sys.stderr))
    with connect(dsn) as server:  # finish the server's own work, so that it disturbs no check
        server.execute("VACUUM (ANALYZE) ledger.entry")
        server.execute("CHECKPOINT")
    os.sync()
    print(f"\n{made} records written in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return dsn


def row_of(size: int, runs: list[FsckRun], *, payloads: bool) -> str:
    """Return a table row with the median and the best rate."""
    seconds = sorted(run.seconds for run in runs)
    median, best = size / seconds[len(seconds) // 2], size / seconds[0]
    peak = max(run.judge_mib for run in runs), max(run.reader_mib for run in runs)
    speed = statistics.median(run.hashes_s for run in runs)
    what = "with payloads, headers, blobs" if payloads else "columns only"
    return (
        f"| {size:,} | {what} | {median:,.0f} | {best:,.0f} | {peak[0]} | {peak[1]}"
        f" | {speed:,.0f} |"
    )


def text_of(rows: list[str]) -> str:
    """Return the page."""
    head = (
        "# How fast fsck is\n\n"
        "Written by `make bench-fsck`; do not edit.\n\n"
        "A log made through the real writer: decisions of eight records, 32 open at a time, one"
        " FIX session,\na checkpoint every 500 records. *Columns only* (`--no-payloads`) rebuilds"
        " every header from its columns,\nhashes it, follows every stream, holds every stream-head"
        " map and every checkpoint's signature and root\nagainst the tree. The other rows also"
        " parse and hash every payload and stored header.\n\n"
        f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()};"
        f" PostgreSQL on the same CPUs, vacuumed; {RUNS} runs (3 with payloads). Load"
        f" before the last run: {os.getloadavg()[1]:.1f} (5 min).\n\n"
        "The last column is how many blocks of 400 bytes a second all cores hashed right before,"
        " with nothing else\nto do (median): a shared machine's speed differs twofold from hour to"
        " hour, and the figures with it.\n\n"
        "| records | what | leaves/s, median | best | judge MiB | reader MiB | hashes/s |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def main() -> None:
    """Run the bench, or one check of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--once", help="internal: check this DSN and print the figures")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--payloads", action="store_true")
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args()
    if asked.once:
        check_once(asked.once, asked.state, payloads=asked.payloads)
        return
    folder = Path(tempfile.mkdtemp(prefix="countersign-bench-"))
    folder.chmod(0o711)
    try:
        bench(asked.records, folder, asked.page)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
