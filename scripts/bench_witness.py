"""Measure how long a checkpoint waits for its cosignatures, with real witnesses and a real ledger.

    .venv/bin/python scripts/bench_witness.py [--checkpoints 60] [--rate 200] [--write]

Each witness is a process that cosigns with Ed25519 and ML-DSA-44 and fsyncs before it answers. The
ledger takes records at a steady rate and signs once a second. A lag is the time from storing a
checkpoint to storing its quorum. `--write` writes docs/measured/bench-witness.md.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.tables import migrate
from audit.tlog.policy import QuorumPolicy
from audit.witnesses.publisher import Publication, Publisher, PublisherConfig
from gateway.clock import pause, wall_us
from gateway.installation.children.postgres import EmbeddedPostgres

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "bench-witness.md"
BAR_S = 5.0
CLOSED = "http://127.0.0.1:9"  # the discard port: nobody listens


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """One arrangement and its result."""

    name: str
    records: int
    standing: Publication


@contextlib.contextmanager
def witness(state: Path, logs: Path) -> Iterator[Path]:
    """Start `countersign witness`; yield its policy file."""
    command = [sys.executable, "-m", "gateway.cli", "witness", "--state", str(state)]
    process = subprocess.Popen(
        [*command, "--log", str(logs), "--listen", "127.0.0.1:0", "--keygen", f"w/{state.name}"],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    try:
        for line in process.stdout or ():
            if line.startswith("witness "):
                break
        yield state / "policy"
    finally:
        process.terminate()
        process.wait(10)


def measure(
    name: str, dsn: str, signer: FileSigner, policy: bytes, asked: argparse.Namespace
) -> Arrangement:
    """Run one ledger until `asked.checkpoints` checkpoints have their quorum."""
    config = PublisherConfig(dsn=dsn, policy=QuorumPolicy.parse(policy), timeout_s=5.0)
    publisher = Publisher(config, signer.vkey, wall_us)
    ledger = Ledger.open(
        LedgerConfig(dsn=dsn, checkpoint_every_s=1.0),
        signer,
        wall_us,
        on_checkpoint=publisher.offer,
    )
    publisher.start()
    ended = threading.Event()

    def write() -> None:
        began, number = time.monotonic(), 0
        while not ended.wait(max(0.0, began + number / asked.rate - time.monotonic())):
            number += 1
            ledger.append(
                Draft(
                    stream="control",
                    kind=Kind.OPERATOR_NOTE,
                    payload={"text": "x" * 200},
                    actor="bench",
                    idem_key=f"{name}:{number}",
                )
            )

    writer = threading.Thread(target=write)
    writer.start()
    while publisher.standing().lags.count < asked.checkpoints:
        if sys.stderr.isatty():
            shown = f"\r{name}: {publisher.standing().lags.count}/{asked.checkpoints} checkpoints"
            print(shown, end="", file=sys.stderr, flush=True)
        pause(0.5)
    ended.set()
    writer.join()
    ledger.close()
    publisher.stop()
    print(file=sys.stderr)
    return Arrangement(name=name, records=ledger.size, standing=publisher.standing())


def arrangements(own: bytes, second: bytes) -> dict[str, bytes]:
    """Return the measured policies: one witness, two, and one beside a dead one."""
    lines = own.decode().splitlines()
    mine = [line for line in lines if line.startswith("witness ")]
    other = [
        re.sub(r"^witness (\w+)", r"witness other-\1", line)
        for line in second.decode().splitlines()
        if line.startswith("witness ")
    ]
    dead = [re.sub(r"http://\S+$", CLOSED, line) for line in other]
    both = ["group a all w1 w2", "group b all other-w1 other-w2"]
    return {
        "one witness": own,
        "two witnesses, both needed": _policy(*mine, *other, *both, "group q all a b", "quorum q"),
        "two witnesses, one needed, one dead": _policy(
            *mine, *dead, *both, "group q any a b", "quorum q"
        ),
    }


def page(rows: list[Arrangement], asked: argparse.Namespace) -> str:
    """Return the document."""

    def ms(seconds: float | None) -> str:
        return "-" if seconds is None else f"{seconds * 1000:.0f}"

    lines = [
        "# Cosignature lag",
        "",
        "Written by `scripts/bench_witness.py --write`; do not edit. Time from the storing of a",
        "checkpoint until its quorum of cosignatures (Ed25519 and ML-DSA-44 of each witness,",
        f"verified and stored) stands in the ledger. Local witnesses, {asked.rate} records/s, one",
        f"checkpoint a second, {os.cpu_count()} cores. The bar is p99 at most {BAR_S:.0f} s.",
        "",
        "| arrangement | checkpoints | records | p50 ms | p99 ms | max ms |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lags = row.standing.lags
        lines.append(
            f"| {row.name} | {lags.count} | {row.records} | {ms(lags.p50_s)} | {ms(lags.p99_s)} |"
            f" {ms(lags.max_s)} |"
        )
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure; return 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--checkpoints", type=int, default=60)
    parser.add_argument("--rate", type=int, default=200, help="records per second")
    parser.add_argument("--write", action="store_true", help="write docs/measured/bench-witness.md")
    asked = parser.parse_args()
    rows: list[Arrangement] = []
    with tempfile.TemporaryDirectory(prefix="countersign-witness-") as folder:
        root = Path(folder)
        root.chmod(0o711)
        # a log for each arrangement: a witness refuses a second history of a log that it knows
        signers = [
            FileSigner.generate(root / f"log{n}.key", f"bench.example/{n}") for n in range(3)
        ]
        keys = root / "logs"
        keys.write_text("".join(f"{signer.vkey}\n" for signer in signers))
        with witness(root / "a", keys) as own, witness(root / "b", keys) as second:
            policies = arrangements(own.read_bytes(), second.read_bytes())
            for signer, (name, policy) in zip(signers, policies.items(), strict=True):
                server = EmbeddedPostgres(root / signer.vkey.name.rpartition("/")[2])
                server.start()
                try:
                    with server.administration() as dsn:
                        migrate(dsn)
                        rows.append(measure(name, dsn, signer, policy, asked))
                finally:
                    server.stop()
    text = page(rows, asked)
    print(text)
    if asked.write:
        PAGE.write_text(text)
    missed = [row for row in rows if (row.standing.lags.p99_s or 0.0) > BAR_S]
    return 1 if missed else 0


def _policy(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


if __name__ == "__main__":
    sys.exit(main())
