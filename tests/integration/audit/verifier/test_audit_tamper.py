"""A superuser changes one byte of any stored column by SQL: verify says so and names the record."""
# ruff: noqa: S608 - table and column names are this file's own constants

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from audit.errors import LedgerError
from audit.evidence.bundle import NotYetSignedError, build_bundle
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.store.tables import connect
from audit.tlog.checkpoint import make_checkpoint
from audit.upkeep.dump import dump, verify_dump
from audit.verifier import verify
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED, verify_bundle
from tests.doubles.audit_log import (
    ORIGIN,
    OTHER_SIGNER,
    SIGNER,
    TIME_US,
    asked,
    cancelling,
    flipped,
    inbound,
    note,
    opening,
    policy,
    policy_digest,
    reported,
    sealed,
    started,
)
from tests.doubles.audit_spoiled import arm, disarm, verify_database

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
SEQS = range(7)
VERIFIER = Path(verify.__file__)


@pytest.fixture
def filled(postgres_dsn: str) -> str:
    with Ledger.open(
        LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0), SIGNER, lambda: TIME_US
    ) as ledger:
        blob = ledger.put_blob(b"snapshot")
        ledger.append(started(), opening("d1", blob))
        ledger.append(cancelling("d1"))
        ledger.append(note("b"))
        ledger.append(sealed("d1"))
        ledger.checkpoint_now()
    disarm(postgres_dsn)
    return postgres_dsn


@pytest.fixture
def reader(filled: str) -> Iterator[LedgerReader]:
    reader = LedgerReader(filled)
    yield reader
    reader.close()


def columns_of(admin: psycopg.Connection[tuple[object, ...]], table: str) -> list[str]:
    rows = admin.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'ledger' AND table_name = %s",
        (table,),
    )
    return [str(row[0]) for row in rows]


def test_every_column_of_every_record_is_guarded(filled: str) -> None:
    assert verify_database(filled, [KEY]).findings == 0
    with connect(filled) as admin:
        columns = [name for name in columns_of(admin, "entry") if name != "mac"]
        assert len(columns) == 15, "the MAC is for the gateway, which refuses another"
        for column in columns:
            by = "header" if column == "leaf" else "leaf"
            change = f"UPDATE ledger.entry SET {column} = %s WHERE {by} = %s".encode()
            for seq in (1, 5):
                row = admin.execute(
                    f"SELECT {column}, {by} FROM ledger.entry WHERE seq = {seq}".encode()
                ).fetchone()
                assert row is not None
                for value in list(flipped(row[0]))[:2]:
                    admin.execute(change, (value, row[1]))
                    report = verify_database(filled, [KEY])
                    assert report.exit_code == TAMPERED, (column, seq, value)
                    named = min(seq, int(str(value))) if column == "seq" else seq
                    assert report.first_bad_seq == named, (column, seq, report.lines)
                admin.execute(change, row)
    assert verify_database(filled, [KEY]).findings == 0


def forged_notes(note: bytes) -> Iterator[bytes]:
    """One byte changed in the text and in the log's line; a line of nobody's is not evidence."""
    line = note.index(b"\xe2\x80\x94 " + ORIGIN.encode())
    for place in (0, note.index(b"\n\n") - 3, line + 40, line + 110):
        yield note[:place] + bytes([note[place] ^ 1]) + note[place + 1 :]


@pytest.mark.parametrize("table", ["blob", "checkpoint", "head"])
def test_every_other_evidence_is_guarded(filled: str, table: str) -> None:
    with connect(filled) as admin:
        for column in columns_of(admin, table):
            if (table, column) in {("head", "id"), ("head", "fence")}:
                continue  # neither is evidence: a constant, and a counter of openings
            row = admin.execute(f"SELECT {column} FROM ledger.{table}".encode()).fetchone()
            assert row is not None
            for value in list(flipped(row[0]))[:2] if column != "note" else forged_notes(row[0]):
                admin.execute(f"UPDATE ledger.{table} SET {column} = %s".encode(), (value,))
                assert verify_database(filled, [KEY]).exit_code != OK, (table, column, value)
            admin.execute(f"UPDATE ledger.{table} SET {column} = %s".encode(), (row[0],))
    assert verify_database(filled, [KEY]).findings == 0


@pytest.mark.parametrize("table", ["entry", "blob", "checkpoint", "head"])
def test_an_emptied_table_is_found(filled: str, table: str) -> None:
    with connect(filled) as admin:
        admin.execute(f"TRUNCATE ledger.{table}".encode())
    assert verify_database(filled, [KEY]).exit_code != OK


def test_an_emptied_database_is_found_with_a_checkpoint_kept_outside(filled: str) -> None:
    with connect(filled) as admin:
        row = admin.execute("SELECT note FROM ledger.checkpoint").fetchone()
        assert row is not None
        admin.execute("TRUNCATE ledger.entry, ledger.blob, ledger.checkpoint")
        admin.execute("UPDATE ledger.head SET size = 0, root = sha256(''), frontier = ''")
    assert verify_database(filled, [KEY]).exit_code == INCOMPLETE
    report = verify_database(filled, [KEY], [bytes(row[0])])
    assert (report.exit_code, report.first_bad_seq) == (INCOMPLETE, 0)


def test_a_dump_verifies_and_its_forgery_does_not(filled: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    told: list[tuple[int, int]] = []
    assert dump(filled, path, lambda *far: told.append(far)) == 6
    assert told == [(done, 6) for done in range(1, 7)]
    assert verify_dump(path, [KEY]).findings == 0
    with connect(filled) as admin:
        admin.execute("UPDATE ledger.entry SET actor = 'forged' WHERE seq = 2")
    dump(filled, path)
    report = verify_dump(path, [KEY])
    assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 2)


def test_the_command_says_why_and_exits_by_the_table(filled: str, tmp_path: Path) -> None:
    path, pub = tmp_path / "dump.jsonl", tmp_path / "log.pub"
    dump(filled, path)
    pub.write_text(KEY + "\n")

    def run(*options: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, str(VERIFIER), *options], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    assert run(str(path), "--key", KEY)[0] == OK
    assert run(str(path), "--key", str(pub))[0] == OK
    assert run(str(path), "--key", str(OTHER_SIGNER.vkey))[0] == TAMPERED
    code, text = run(str(path))
    last = "NOT CHECKABLE: no trusted key given: nothing says who wrote this"
    assert (code, text.splitlines()[-1]) == (NOT_CHECKABLE, last)
    assert run(str(tmp_path / "missing"), "--key", KEY)[0] == NOT_CHECKABLE


def test_a_bundle_verifies_alone_and_builds_the_same_twice(
    reader: LedgerReader, tmp_path: Path
) -> None:
    data = build_bundle(reader, "d1")
    assert data == build_bundle(reader, "d1")
    assert verify_bundle(data, [KEY]).findings == 0
    path = tmp_path / "d1.zip"
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, str(VERIFIER), str(path), "--key", KEY], check=False, cwd=tmp_path
    )
    assert done.returncode == OK


def test_a_bundle_without_a_key_or_with_another_is_not_ok(reader: LedgerReader) -> None:
    data = build_bundle(reader, "d1")
    assert verify_bundle(data, []).exit_code == NOT_CHECKABLE
    assert verify_bundle(data, [str(OTHER_SIGNER.vkey)]).exit_code == TAMPERED


def test_no_byte_of_a_bundle_can_change(reader: LedgerReader) -> None:
    data = build_bundle(reader, "d1")
    for place in range(0, len(data), 53):
        forged = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert verify_bundle(forged, [KEY]).exit_code == TAMPERED, place


@pytest.mark.parametrize("lost", ["decision_sealed", "cancel_requested", "intent_received"])
def test_a_bundle_with_a_record_cut_out_is_incomplete(reader: LedgerReader, lost: str) -> None:
    bundle = verify.read_bundle(build_bundle(reader, "d1"))
    kept = {stem: item for stem, item in bundle.records.items() if lost not in stem}
    assert len(kept) == len(bundle.records) - 1
    blobs = {} if lost == "intent_received" else bundle.blobs
    report = verify_bundle(replace(bundle, records=kept, blobs=blobs).to_zip(), [KEY])
    assert report.exit_code == INCOMPLETE


def test_a_bundle_re_sealed_with_another_key_is_tampered(filled: str) -> None:
    """Whoever owns the database writes the whole history anew, but has not the key."""
    with connect(filled) as admin:
        admin.execute("TRUNCATE ledger.entry, ledger.checkpoint, ledger.head")
    arm(filled)
    with Ledger.open(LedgerConfig(dsn=filled), OTHER_SIGNER, lambda: TIME_US) as ledger:
        taken = opening("d1", sha256(b"snapshot").hexdigest())
        ledger.append(started(), taken, cancelling("d1"), sealed("d1"))
    reader = LedgerReader(filled)
    data = build_bundle(reader, "d1")
    reader.close()
    assert verify_bundle(data, [str(OTHER_SIGNER.vkey)]).exit_code == OK
    assert verify_bundle(data, [KEY]).exit_code == TAMPERED


def test_a_bundle_holds_the_fix_messages_as_text(whole_decision: bytes) -> None:
    data = whole_decision
    assert b"8=FIX.4.4|\n" in data
    manifest = {
        "dev": True,
        "format": "countersign-bundle/2",
        "stream": "decision/d1",
        "verifier_sha256": sha256(VERIFIER.read_bytes()).hexdigest(),
    }
    assert json.dumps(manifest, separators=(",", ":")).encode() in data


def test_an_unsigned_or_unknown_decision_has_no_bundle(postgres_dsn: str) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        ledger.append(sealed("d1"))
        reader = LedgerReader(postgres_dsn)
        with pytest.raises(NotYetSignedError):
            build_bundle(reader, "d1")
        ledger.checkpoint_now()
        assert verify_bundle(build_bundle(reader, "d1"), [KEY]).exit_code == OK
        with pytest.raises(LedgerError, match="no decision"):
            build_bundle(reader, "d2")
        reader.close()


@pytest.fixture
def whole_decision(postgres_dsn: str) -> bytes:
    """A bundle of a decision that names a run, a policy and an inbound message."""
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        blob = ledger.put_blob(b"snapshot")
        digest = policy_digest("first")
        ledger.append(started(), policy("first"), asked("d1", digest), opening("d1", blob))
        ledger.append(policy("second"), cancelling("d1"))
        ledger.append(inbound(7), reported("d1", 7), sealed("d1"))
        ledger.checkpoint_now()
    reader = LedgerReader(postgres_dsn)
    data = build_bundle(reader, "d1")
    reader.close()
    return data


def test_a_bundle_holds_the_policy_that_judged_and_not_a_later_one(whole_decision: bytes) -> None:
    bundle = verify.read_bundle(whole_decision)
    policies = [stem for stem in bundle.records if "policy_activated" in stem]
    assert policies == ["000000000001-policy_activated"]
    assert verify_bundle(whole_decision, [KEY]).findings == 0


@pytest.mark.parametrize("lost", ["run_started", "policy_activated", "fix_inbound"])
def test_a_bundle_without_what_its_decision_names_is_incomplete(
    whole_decision: bytes, lost: str
) -> None:
    bundle = verify.read_bundle(whole_decision)
    kept = {stem: item for stem, item in bundle.records.items() if lost not in stem}
    assert len(kept) == len(bundle.records) - 1
    forged = replace(bundle, records=kept).to_zip()
    report = verify_bundle(forged, [KEY])
    assert report.exit_code == INCOMPLETE
    assert any("missing" in line for line in report.lines)


def test_a_blob_that_no_record_names_is_refused(whole_decision: bytes) -> None:
    bundle = verify.read_bundle(whole_decision)
    extra = b"any document"
    blobs = {**bundle.blobs, sha256(extra).hexdigest(): extra}
    forged = replace(bundle, blobs=blobs).to_zip()
    assert verify_bundle(forged, [KEY]).exit_code == TAMPERED


def test_a_bundle_is_held_against_a_kept_checkpoint_of_its_size(whole_decision: bytes) -> None:
    note = verify.read_bundle(whole_decision).note
    origin, size, root = verify.read_head(verify.read_note(note).text)
    assert origin == ORIGIN
    forked = make_checkpoint(size, bytes(32), SIGNER).note
    later = make_checkpoint(size + 1, root, SIGNER).note
    unsigned = make_checkpoint(size, root, OTHER_SIGNER).note
    for kept, code in (
        (note, OK),
        (forked, TAMPERED),
        (later, NOT_CHECKABLE),
        (unsigned, TAMPERED),
        (b"no checkpoint", TAMPERED),
    ):
        assert verify_bundle(whole_decision, [KEY], notes=[kept]).exit_code == code, kept


def test_the_command_reads_a_kept_checkpoint_for_bundles_and_misses_a_lost_one(
    whole_decision: bytes, tmp_path: Path
) -> None:
    path, kept = tmp_path / "d1.zip", tmp_path / "kept.txt"
    path.write_bytes(whole_decision)
    kept.write_bytes(verify.read_bundle(whole_decision).note)
    asked = [str(path), "--key", KEY, "--checkpoint"]
    assert verify.main([*asked, str(kept)]) == OK
    assert verify.main([*asked, str(tmp_path / "lost")]) == NOT_CHECKABLE
    kept.write_bytes(make_checkpoint(1, bytes(32), SIGNER).note)
    assert verify.main([*asked, str(kept)]) == NOT_CHECKABLE


def with_map(bundle: verify.Bundle, body: bytes) -> verify.Bundle:
    """Put another payload, rehashed, into the bundle's stream-head map."""
    stem = next(stem for stem in bundle.records if "stream_heads" in stem)
    header, _, path = bundle.records[stem]
    head = json.loads(header)
    head["payload_sha256"] = sha256(body).hexdigest()
    return replace(bundle, records={**bundle.records, stem: (verify.canonical(head), body, path)})


@pytest.mark.parametrize(
    "body",
    [
        b'{"heads":[[]],"part":0,"parts":1}',
        b'{"heads":[["decision/d1"]],"part":0,"parts":1}',
        b'{"heads":[["decision/d1",true,"x"]],"part":0,"parts":1}',
        b'{"heads":[],"part":"0","parts":1}',
        b"{}",
        *(b'{"a":' + b"[" * n + b"]" * n + b"}" for n in (400, 900, 950, 990, 100_000)),
    ],
)
def test_an_odd_map_in_a_bundle_is_tampered(whole_decision: bytes, body: bytes) -> None:
    bundle = with_map(verify.read_bundle(whole_decision), body)
    files = {
        "checkpoint.txt": bundle.note,
        "manifest.json": verify.canonical({"stream": bundle.stream}),
    }
    files |= {f"blobs/{name}": data for name, data in bundle.blobs.items()}
    for stem, (header, payload, path) in bundle.records.items():
        files[f"records/{stem}.header.json"] = header
        files[f"records/{stem}.payload.json"] = payload
        files[f"proofs/{stem}.json"] = verify.canonical([node.hex() for node in path])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            archive.writestr(name, files[name])
    report = verify_bundle(out.getvalue(), [KEY])
    assert report.exit_code == TAMPERED
    assert report.lines


def test_a_running_log_may_owe_the_checkpoint_of_its_newest_records_only(postgres_dsn: str) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    lag_us = verify.TAIL_S * 1_000_000
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("signed"))
        ledger.checkpoint_now()
        assert verify_database(postgres_dsn, [KEY]).exit_code == OK
        ledger.append(note("not signed"))
        for now_us, code in (
            (None, INCOMPLETE),
            (TIME_US, OK),
            (TIME_US + lag_us, OK),
            (TIME_US + lag_us + 1, INCOMPLETE),
            (TIME_US - lag_us - 1, INCOMPLETE),
        ):
            report = verify_database(postgres_dsn, [KEY], now_us=now_us)
            assert report.exit_code == code, now_us
            assert any("records from 2 on are not signed yet" in line for line in report.lines)
        ledger.checkpoint_now()
        assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_a_table_of_other_types_is_tampered_not_a_traceback(filled: str) -> None:
    arm(filled)
    with connect(filled) as admin:
        admin.execute("ALTER TABLE ledger.head DROP CONSTRAINT head_root_check")
        admin.execute("ALTER TABLE ledger.head ALTER COLUMN root TYPE text USING 'x'")
    report = verify_database(filled, [KEY])
    assert report.exit_code == TAMPERED
