"""show and export: the clock's evidence and who answers, with the records that say so."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.clock_watch import ClockReading, monotonic_us
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.verifier import verify
from gateway.evidence.explanation import decision_document
from inference.weights.registry import read_table
from tests.doubles.audit_log import SIGNER, TIME_US, note, opening, sealed, started
from tests.doubles.second_verifier import second

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).resolve().parents[4]
TABLE = read_table((ROOT / "inference" / "models" / "pair_v1" / "table.safetensors").read_bytes())
LIABLE = {"model_provider": "A", "compute_operator": "B", "deployer": "C"}
READING = ClockReading(
    source="adjtimex", status="synchronised", host="here", offset_us=-3, error_us=250
)


@dataclass(slots=True)
class Machine:
    """A clock that runs and can be set, and what its keeper says of it."""

    moved_us: int = TIME_US
    reading: ClockReading = READING

    def now_us(self) -> int:
        return monotonic_us() + self.moved_us

    def config(self, dsn: str) -> LedgerConfig:
        return LedgerConfig(dsn=dsn, checkpoint_every_s=0, clock_source=lambda: self.reading)


def approved(decision: str) -> Draft:
    return Draft(
        stream=f"decision/{decision}",
        kind=Kind.APPROVAL_GIVEN,
        payload={"account": "acc", "decision_id": decision, "approver": "officer-1"},
        actor="gateway",
        idem_key="approval:0",
    )


@pytest.fixture
def reader(postgres_dsn: str) -> Iterator[LedgerReader]:
    """A decision over two processes: at the second's start the clock is an hour behind."""
    machine = Machine()
    run = started()
    run = replace(run, payload={**run.payload, "git": "c0ffee-dirty", "liability": dict(LIABLE)})
    with Ledger.open(machine.config(postgres_dsn), SIGNER, machine.now_us) as ledger:
        ledger.append(run)
        blob = ledger.put_blob(b"snapshot")
        ledger.append(opening("d", blob), opening("e", blob), note("between"))
    machine.moved_us -= 3_600_000_000
    machine.reading = replace(READING, status="unsynchronised", error_us=16_000_000)
    with Ledger.open(machine.config(postgres_dsn), SIGNER, machine.now_us) as ledger:
        ledger.append(approved("d"))
        ledger.append(sealed("d"), sealed("e"))
        ledger.append(note("later"))
        ledger.checkpoint_now()
    with Ledger.open(machine.config(postgres_dsn), SIGNER, machine.now_us) as ledger:
        ledger.append(note("what was said of the clock afterwards is no evidence"))
        ledger.checkpoint_now()
    found = LedgerReader(postgres_dsn)
    yield found
    found.close()


def test_show_says_of_each_record_how_good_its_clock_was(reader: LedgerReader) -> None:
    shown = decision_document(reader, TABLE, "d")
    first, second, _ = reader.records(kinds=(Kind.CLOCK_OBSERVED,))
    assert second.body["reason"] == "went_back"
    said = {"source": "adjtimex", "offset_us": -3, "host": "here"}
    (taken,) = reader.records(stream="decision/d", kinds=(Kind.INTENT_RECEIVED,))
    age_us = taken.recorded_at_us - first.recorded_at_us
    assert age_us > 0
    good = {**said, "status": "synchronised", "error_us": 250, "seq": first.seq, "age_us": age_us}
    lost = {**said, "status": "unsynchronised", "error_us": 16_000_000}
    assert [record["clock"] for record in shown["records"]] == [
        good,
        {**lost, "seq": second.seq, "age_us": 0},
        {**lost, "seq": second.seq, "age_us": 0},
    ]
    context = {record["seq"]: record["kind"] for record in shown["context"]}
    assert context == {
        first.seq: "clock_observed", first.seq + 1: "run_started", second.seq: "clock_observed"
    }  # fmt: skip


def test_show_says_who_answers_and_which_record_says_so(reader: LedgerReader) -> None:
    shown = decision_document(reader, TABLE, "d")
    (run,) = reader.records(kinds=(Kind.RUN_STARTED,))
    (approval,) = reader.records(kinds=(Kind.APPROVAL_GIVEN,))
    assert shown["liability"] == {
        "runs": [{"seq": run.seq, "run_id": "r1", **LIABLE, "code_commit": "c0ffee-dirty"}],
        "approvers": [{"seq": approval.seq, "kind": "approval_given", "approver": "officer-1"}],
        "policies": [],
    }


def test_a_bundle_proves_the_clock_and_both_verifiers_take_it(
    reader: LedgerReader, tmp_path: Path
) -> None:
    bundle = tmp_path / "e.zip"
    bundle.write_bytes(build_bundle(reader, "e"))
    wanted = [found.seq for found in reader.records(kinds=(Kind.CLOCK_OBSERVED,))][:2]
    held = verify.read_bundle(bundle.read_bytes()).records
    assert [int(stem.split("-")[0]) for stem in held if "clock_observed" in stem] == wanted
    assert verify.main([str(bundle), "--key", str(SIGNER.vkey)]) == verify.OK
    code, lines = second([str(bundle), "--key", str(SIGNER.vkey)])
    assert code == verify.OK, lines


def test_a_decision_of_which_nobody_kept_the_clock_says_so(postgres_dsn: str) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        ledger.append(opening("d", ledger.put_blob(b"snapshot")))
    reader = LedgerReader(postgres_dsn)
    shown = decision_document(reader, TABLE, "d")
    reader.close()
    assert [record["clock"] for record in shown["records"]] == [None]
    assert shown["liability"] == {"runs": [], "approvers": [], "policies": []}
