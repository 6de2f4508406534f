"""The pair on the fitted scale, chosen by its setting, through the real engine and the whole walk.

One run serves all tests of this file.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.installation.children.postgres import EmbeddedPostgres
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.totals import totals
from inference.weights.registry import load_pair, load_table
from tests.doubles.programs import ROOT

pytestmark = [pytest.mark.walk, pytest.mark.engine, pytest.mark.timeout(600)]
PAIR = ROOT / "inference" / "models" / "pair_v2"
DECISIONS = 4


def countersign(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command with pair v2 in a process of its own."""
    chosen = {"COUNTERSIGN_API__PORT": "0", "COUNTERSIGN_ENGINE__MODEL": str(PAIR)}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *words],
        cwd=ROOT,
        env={**os.environ, **chosen, **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@dataclass(frozen=True)
class Ran:
    """A finished run."""

    state: Path
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def ran(module_state: Path) -> Ran:
    state = str(module_state)
    done = countersign("run", "--decisions", str(DECISIONS), "--exit", "--state", state)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine     ready: pair_v2" in done.stdout
    path = next(Path(line.split()[1]) for line in done.stdout.splitlines() if "summary-" in line)
    return Ran(module_state, json.loads(path.read_text()))


@pytest.fixture(scope="module")
def reader(ran: Ran) -> Iterator[LedgerReader]:
    server = EmbeddedPostgres(ran.state)
    found = LedgerReader(server.start())
    yield found
    found.close()
    server.stop()


def test_it_forecasts_orders_and_verifies(ran: Ran) -> None:
    assert ran.summary["verified"] is True
    assert ran.summary["forecasts"] == DECISIONS
    assert ran.summary["fills"] != 0


def test_every_capture_recomputes_and_names_the_pair(reader: LedgerReader) -> None:
    table = load_table(load_pair(PAIR))
    digest = load_pair(PAIR).manifest_digest
    captured = 0
    for record in reader.records(kinds=(Kind.ROUNDS_CAPTURED,)):
        data = reader.blob(record.body["capture_blob"])
        assert data is not None
        capture = decode_evidence(data)
        assert judge(capture, table) == ()
        assert totals(capture).positions > 0
        captured += 1
    assert captured >= DECISIONS
    made = [r.body["forecast"] for r in reader.records(kinds=(Kind.FORECAST_MADE,))]
    assert {forecast["model_digest"] for forecast in made} == {digest}
    assert {forecast["codec_digest"] for forecast in made} == {load_pair(PAIR).codec_digest}


def test_a_decision_replays_and_is_sampled_again_to_the_same_bits(
    ran: Ran, reader: LedgerReader
) -> None:
    decision = next(s for s in sorted(reader.streams("decision/")) if s.endswith("SPXN"))
    elsewhere = {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    done = countersign(
        *("replay", decision.removeprefix("decision/"), "--engine", "--state", str(ran.state)),
        **elsewhere,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "320 rows of the target regenerated" in done.stdout
    assert "32 of 32" in done.stdout
