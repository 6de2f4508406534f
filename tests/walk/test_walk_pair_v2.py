"""The table on the fitted scale, chosen by a setting, through the real engine and the whole walk.

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
from msgspec import structs

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import PairMissingError
from gateway.evidence.replay.pairs import Pairs
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
    """Run the command in a process of its own, with pair v2 unless another is named."""
    own = {**os.environ, "COUNTERSIGN_ENGINE__MODEL": str(PAIR)}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *words],
        cwd=ROOT,
        env={**own, "COUNTERSIGN_API__PORT": "0", **environment},
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


def test_a_ledger_of_both_pairs_replays_whole_under_either_setting(ran: Ran) -> None:
    """The records name the pair; a setting only says which one forecasts next."""
    pair_v1 = {"COUNTERSIGN_ENGINE__MODEL": str(PAIR.parent / "pair_v1")}
    state = str(ran.state)
    more = ("run", "--decisions", str(DECISIONS + 2), "--exit", "--state", state)
    done = countersign(*more, **pair_v1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine     ready: pair_v1" in done.stdout
    for setting in ({}, pair_v1):
        all_ = countersign("replay", "--all", "--state", state, **setting)
        assert all_.returncode == 0, all_.stdout + all_.stderr
        first, _, rest = all_.stdout.rpartition("REPLAYED ")[2].partition(" of ")
        assert (first, int(first) > DECISIONS) == (rest.split()[0], True)


def test_a_decision_whose_pair_is_not_at_hand_says_which(reader: LedgerReader) -> None:
    captured = next(iter(reader.records(kinds=(Kind.SNAPSHOT_TAKEN,))))
    other = {**captured.body, "inputs": {**captured.body["inputs"], "table": "f" * 64}}
    strange = structs.replace(captured, payload=canonical(other))
    with pytest.raises(PairMissingError, match=r"f{64}.*COUNTERSIGN_ENGINE__MODEL"):
        Pairs(PAIR).of((strange,))
    assert Pairs(PAIR).of((captured,)).directory.name == "pair_v2"
    assert Pairs(PAIR).of(()).directory == PAIR
