"""The command that the README promises, with nothing stood in for, then every check of it.

One run with the real engine serves all tests of this file; its start is most of the time.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from audit.upkeep.dump import verify_database
from gateway.installation.children.postgres import EmbeddedPostgres
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.totals import totals
from inference.weights.registry import load_pair, load_table
from tests.doubles.audit_spoiled import arm, disarm

pytestmark = [pytest.mark.walk, pytest.mark.engine, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]
PAIR = ROOT / "inference" / "models" / "pair_v1"
CHOSEN = {"COUNTERSIGN_API__PORT": "0", "COUNTERSIGN_ENGINE__MODEL": str(PAIR)}
"""Pair v1: its target is a trained network that rejects drafts, as pair v2's hardly does."""
DECISIONS = 4
MEAN_ACCEPTED_MIN = 2.9
"""Four decisions scatter by about 0.1 around a mean of 3.3 to 3.4; a broken sampler gives 0.5."""
KEYS = {
    *("forecasts", "verdicts", "rules", "orders", "fills", "rejects", "demo_agent"),
    *("mean_accepted", "table_accepted", "forecast_ms_p50", "forecast_ms_p99"),
    *("decision_to_wire_ms_p50", "decision_to_wire_ms_p99", "rolling"),
    *("decisions_after_halt", "bytes_per_decision", "ledger_size"),
    "false_holds_per_100",
    "verified",
}


@dataclass(frozen=True)
class Ran:
    """A finished run."""

    state: Path
    output: str
    summary: dict[str, object]
    summary_path: Path

    @property
    def key(self) -> Path:
        """The log's public key file."""
        return self.state / "keys" / "ledger.key.pub"


def countersign(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *words],
        cwd=ROOT,
        env={**os.environ, **CHOSEN, **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.fixture(scope="module")
def ran(module_state: Path) -> Ran:
    """One run with the real engine."""
    state = str(module_state)
    done = countersign("run", "--decisions", str(DECISIONS), "--exit", "--state", state)
    assert done.returncode == 0, done.stdout + done.stderr
    path = next(Path(line.split()[1]) for line in done.stdout.splitlines() if "summary-" in line)
    summary = json.loads(path.read_text())
    return Ran(module_state, done.stdout, summary, path)


@pytest.fixture(scope="module")
def dsn(ran: Ran) -> Iterator[str]:
    """The run's database."""
    server = EmbeddedPostgres(ran.state)
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def reader(dsn: str) -> Iterator[LedgerReader]:
    """The run's records."""
    found = LedgerReader(dsn)
    yield found
    found.close()


def test_the_run_ends_with_a_verified_summary(ran: Ran) -> None:
    assert set(ran.summary) >= KEYS
    assert ran.summary["verified"] is True
    assert ran.summary["forecasts"] == DECISIONS
    assert ran.summary["fills"] != 0
    assert ran.summary_path.name == f"summary-{ran.summary['run_id']}.json"


def test_the_demo_agent_is_refused_and_counted_apart(ran: Ran) -> None:
    agent = ran.summary["demo_agent"]
    assert isinstance(agent, dict)
    assert agent["http"]["let_through"] == 0
    assert agent["orders"] == 0
    assert agent["verdicts"].get("rejected", 0) > 0


def test_every_accept_and_reject_recomputes_from_the_ledger(reader: LedgerReader) -> None:
    table = load_table(load_pair(PAIR))
    accepted = full = 0
    for record in reader.records(kinds=(Kind.ROUNDS_CAPTURED,)):
        data = reader.blob(record.body["capture_blob"])
        assert data is not None
        capture = decode_evidence(data)
        assert judge(capture, table) == ()
        counted = totals(capture)
        assert counted.positions > 0
        accepted, full = accepted + counted.full_accepted, full + counted.full_rounds
    assert accepted / full >= MEAN_ACCEPTED_MIN


def test_every_decision_replays_in_another_process(ran: Ran, reader: LedgerReader) -> None:
    streams = sorted(reader.streams("decision/"))
    elsewhere = {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    own = next(s for s in streams if s.endswith("SPXN")).removeprefix("decision/")
    agents = next(s for s in streams if "demo-agent" in s).removeprefix("decision/")
    for decision in (own, agents):
        done = countersign("replay", decision, "--state", str(ran.state), **elsewhere)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "verdict_given" in done.stdout
        assert "320 rows of the target regenerated" in done.stdout
    done = countersign("show", own, "--state", str(ran.state))
    assert json.loads(done.stdout)["records"][0]["kind"] == "snapshot_taken"


def test_a_bundle_proves_itself_with_a_key_from_outside(
    ran: Ran, dsn: str, reader: LedgerReader, tmp_path: Path
) -> None:
    assert dsn
    decision = min(reader.streams("decision/")).removeprefix("decision/")
    bundle = tmp_path / "bundle.zip"
    where = ("--out", str(bundle), "--state", str(ran.state))
    assert countersign("export", "--decision", decision, *where).returncode == 0
    verifier = [sys.executable, str(ROOT / "audit" / "verifier" / "verify.py"), str(bundle)]
    assert subprocess.run([*verifier, "--key", str(ran.key)], check=False).returncode == 0
    assert subprocess.run(verifier, check=False).returncode == 3
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    bundle.write_bytes(data)
    assert subprocess.run([*verifier, "--key", str(ran.key)], check=False).returncode == 1


def test_one_byte_changed_by_a_superuser_is_named(ran: Ran, dsn: str) -> None:
    key = ran.key.read_text().strip()
    flip = "UPDATE ledger.entry SET payload = set_byte(payload, 5, get_byte(payload, 5) # 1)"
    server = EmbeddedPostgres(ran.state)
    server.start()
    with server.administration() as admin_dsn:
        disarm(admin_dsn)
        with psycopg.connect(admin_dsn, autocommit=True) as connection:
            row = connection.execute("SELECT max(seq) / 2 FROM ledger.entry").fetchone()
            assert row is not None
            seq = int(row[0])
            connection.execute(f"{flip} WHERE seq = {seq}".encode())
        arm(admin_dsn)
    server.stop()
    report = verify_database(dsn, (key,))
    assert report.exit_code == 1
    assert report.first_bad_seq == seq
