"""A drafter learnt from a ledger's own forecasts, through the real engine and the whole walk.

The parent is the shipped pair with a table that is half wrong on purpose, so there is something to
learn. One run serves all tests of this file.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from inference.weights.promotion import read_card
from inference.weights.registry import MANIFEST, TABLE, load_pair, load_table, table_bytes
from tests.doubles.programs import ROOT

pytestmark = [pytest.mark.walk, pytest.mark.engine, pytest.mark.timeout(600)]
SHIPPED = ROOT / "inference" / "models" / "pair_v3"
DECISIONS = 30


def countersign(model: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command with a model pair, under the policy with few paths a forecast."""
    own = {"COUNTERSIGN_ENGINE__MODEL": str(model), "COUNTERSIGN_POLICY": "first"}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *words],
        cwd=ROOT,
        env={**os.environ, "COUNTERSIGN_API__PORT": "0", **own},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def worsened(folder: Path) -> Path:
    """Write the shipped pair with a table that is half the uniform distribution."""
    shutil.copytree(SHIPPED, folder)
    table = load_table(load_pair(SHIPPED))
    rows = np.frombuffer(table.rows, dtype="<f4").reshape(-1, table.n_bins)
    mixed = (0.5 * rows + 0.5 / table.n_bins).astype("<f4")
    (folder / TABLE).write_bytes(table_bytes(mixed.tobytes(), table.n_bins))
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest["files"][TABLE] = hashlib.sha256((folder / TABLE).read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder


@dataclass(frozen=True)
class Ran:
    """A finished run, its pair, and the pair that its ledger taught."""

    state: Path
    parent: Path
    child: Path


@pytest.fixture(scope="module")
def ran(module_state: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    models = tmp_path_factory.mktemp("models")
    models.chmod(0o755)
    parent = worsened(models / "worse")
    words = ("--decisions", str(DECISIONS), "--exit", "--state", str(module_state))
    done = countersign(parent, "run", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    child = models / "better"
    done = countersign(parent, "distill", "--to", str(child), "--state", str(module_state))
    assert done.returncode == 0, done.stdout + done.stderr
    return Ran(module_state, parent, child)


def test_its_drafts_are_accepted_more_often_and_its_lineage_is_told(ran: Ran) -> None:
    made, before = load_pair(ran.child), load_pair(ran.parent)
    told = json.loads((ran.child / MANIFEST).read_bytes())["distilled"]
    assert told["accepted_after"] > told["accepted_before"] + 0.02
    assert told["gain_90"][0] > 0.0
    assert told["parent_manifest"] == before.manifest_digest
    assert len(told["records"]) == told["forecasts"] >= DECISIONS
    assert made.files["target/model.safetensors"] == before.files["target/model.safetensors"]
    assert made.files[TABLE] != before.files[TABLE]
    card = read_card(ran.child)
    assert card.data_cutoff.isoformat() == told["last_day"]
    assert before.manifest_digest in card.lineage


def test_the_same_records_teach_the_same_pair(ran: Ran, tmp_path: Path) -> None:
    words = ("--to", str(tmp_path / "again"), "--state", str(ran.state))
    assert countersign(ran.parent, "distill", *words).returncode == 0
    assert load_pair(tmp_path / "again").manifest_digest == load_pair(ran.child).manifest_digest


def test_it_serves_and_the_ledger_of_both_replays(ran: Ran) -> None:
    words = ("--decisions", "3", "--exit", "--state", str(ran.state))
    done = countersign(ran.child, "run", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    done = countersign(ran.child, "replay", "--all", "--state", str(ran.state))
    assert done.returncode == 0, done.stdout
    _, replayed, _, total, *_ = done.stdout.splitlines()[-1].split()
    assert int(replayed) == int(total) >= DECISIONS + 3


def test_what_cannot_teach_writes_nothing(ran: Ran, tmp_path: Path) -> None:
    to = tmp_path / "none"
    words = ("--to", str(to), "--state", str(ran.state))
    done = countersign(ran.parent, "distill", *words, "--to-day", "2018-01-10")
    assert done.returncode != 0
    assert "at least 25 forecasts" in done.stderr
    other = countersign(SHIPPED, "distill", *words)
    assert other.returncode != 0
    assert "found 0" in other.stderr
    there = countersign(ran.parent, "distill", "--to", str(ran.child), "--state", str(ran.state))
    assert "is there already" in there.stderr
    assert not to.exists()
