"""What a superuser may leave in the tables that no writer would: fsck judges it as verify does."""
# ruff: noqa: S608 - table and column names are this file's own constants

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from audit.errors import FsckStateError
from audit.records.canonical import canonical
from audit.store.tables import TupleConnection
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash
from audit.upkeep.fsck import state as fsck_state
from audit.upkeep.fsck.chunk import CHUNK
from audit.verifier.verify import OK, TAMPERED, Report
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER
from tests.doubles.audit_spoiled import (
    WIDTH,
    Spoiled,
    fsck_database,
    plan_of,
    silent,
    verify_database,
)

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
TABLES = ("head", "checkpoint", "cosignature", "entry")
AGAIN = "INSERT INTO ledger.checkpoint VALUES (7, %s)"
COSIGNED = (
    "INSERT INTO ledger.cosignature (size, name, key_id, line, received_at_us)"
    " VALUES (7, 'w', '\\x00', %s, 0)"
)
MAKE_NULL = (
    *(("checkpoint", "note", 7), ("head", "origin", 27), ("head", "size", 27)),
    *(("head", "frontier", 27), ("head", "root", 27)),
)
Change = tuple[str, bytes | None]


def rewritten(admin: TupleConnection, seq: int, payload: bytes = b"", **fields: str) -> None:
    """Change a record's columns, header and leaf so that they fit each other."""
    row = admin.execute("SELECT header FROM ledger.entry WHERE seq = %s", (seq,)).fetchone()
    assert row is not None
    head = {**json.loads(row[0]), **fields}
    if payload:
        digest = sha256(payload)
        head["payload_sha256"] = digest.hexdigest()
        change = "UPDATE ledger.entry SET payload = %s, payload_digest = %s, account = NULL"
        admin.execute(f"{change} WHERE seq = {seq}".encode(), (payload, digest.digest()))
    for name, value in fields.items():
        admin.execute(f"UPDATE ledger.entry SET {name} = %s WHERE seq = {seq}".encode(), (value,))
    header = canonical(head)
    change = f"UPDATE ledger.entry SET header = %s, leaf = %s WHERE seq = {seq}"
    admin.execute(change.encode(), (header, leaf_hash(header)))


def changes(honest: bytes) -> Iterator[list[Change]]:
    """Yield each attack that `verify` calls tampered: statements with their value."""
    for signer in (SIGNER, OTHER_SIGNER):
        forged = make_checkpoint(7, bytes(32), signer).note
        for order in ((forged, honest), (honest, forged)):
            gone: Change = ("DELETE FROM ledger.checkpoint WHERE size = 7", None)
            yield [gone, *((AGAIN, note) for note in order)]
    for size in (-(2**63), -1, 0, 2**63 - 1):
        yield [(f"INSERT INTO ledger.checkpoint VALUES ({size}, 'junk')", None)]
    yield [("INSERT INTO ledger.checkpoint VALUES (70000, NULL)", None)]
    yield [(COSIGNED, b"")]
    yield [(COSIGNED, None)]
    for table, column, _ in MAKE_NULL:
        yield [(f"UPDATE ledger.{table} SET {column} = NULL", None)]
    for leaf in ("NULL", "substr(leaf, 1, 31)", "leaf || '\\x00'", "''"):
        for seq in (5, 9, 26):
            yield [(f"UPDATE ledger.entry SET leaf = {leaf} WHERE seq = {seq}", None)]
    for first, last, size in ((12, 21, 20), (0, 8, 7)):  # a gap of whole chunks
        spoil = f"UPDATE ledger.checkpoint SET note = set_byte(note, 90, 33) WHERE size = {size}"
        gap = f"DELETE FROM ledger.entry WHERE seq BETWEEN {first} AND {last}"
        yield [(gap, None), (spoil, None)]
    deep = "UPDATE ledger.entry SET header = %s WHERE seq = 0"
    yield [("DELETE FROM ledger.head", None), (deep, b"[" * 60_000)]


def judged(dsn: str, folder: Path) -> list[Report]:
    """Return fsck's reports, with and without borders inside the log."""
    plans = [plan_of(folder, KEY, width=width) for width in (WIDTH, CHUNK)]
    return [fsck_database(dsn, plan, silent, None) for plan in plans]


def restore(admin: TupleConnection) -> None:
    """Make the tables what they were."""
    for table in TABLES:
        admin.execute(f"TRUNCATE ledger.{table} CASCADE".encode())
        admin.execute(f"INSERT INTO ledger.{table} SELECT * FROM public.{table}".encode())


def test_whatever_verify_calls_tampered_fsck_does_too(spoiled: Spoiled, tmp_path: Path) -> None:
    dsn, admin = spoiled
    assert [report.exit_code for report in judged(dsn, tmp_path)] == [OK, OK]
    row = admin.execute("SELECT note FROM ledger.checkpoint WHERE size = 7").fetchone()
    assert row is not None
    for statements in changes(row[0]):
        for statement, value in statements:
            values = (value,) if "%s" in statement else None
            admin.execute(statement.encode(), values)
        assert verify_database(dsn, [KEY]).exit_code == TAMPERED, statements
        for report in judged(dsn, tmp_path):
            assert report.exit_code == TAMPERED, (statements, report.lines)
        restore(admin)


def test_a_record_that_was_written_anew_is_named(spoiled: Spoiled, tmp_path: Path) -> None:
    dsn, admin = spoiled
    for seq in (1, 5, 9, 18, 21, 22, 23):
        rewritten(admin, seq, actor="mallory")
        assert verify_database(dsn, [KEY]).first_bad_seq == seq
        assert [report.first_bad_seq for report in judged(dsn, tmp_path)] == [seq, seq]
        restore(admin)


def test_a_statement_that_says_nothing_is_found_and_resumed_over(
    spoiled: Spoiled, tmp_path: Path
) -> None:
    dsn, admin = spoiled
    for payload in (b"{}", b'{"statement":"x"}', b'{"statement":1}'):
        admin.execute("UPDATE ledger.entry SET actor = 'x' WHERE seq = 2")
        rewritten(admin, 9, payload, kind="key_rotated")
        whole = fsck_database(dsn, plan_of(tmp_path, KEY), silent, None)
        assert (whole.exit_code, whole.first_bad_seq) == (TAMPERED, 2)
        plan = plan_of(tmp_path, KEY, resume=True)

        def stop(stage: str, done: int, _: int) -> None:
            if (stage, done) == ("records", 16):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fsck_database(dsn, plan_of(tmp_path, KEY), stop, None)
        assert plan.state.exists()
        again = fsck_database(dsn, plan, silent, None)
        for report in (whole, again):
            report.conclude()
        assert (again.exit_code, again.first_bad_seq, again.findings, again.lines[-1]) == (
            whole.exit_code,
            whole.first_bad_seq,
            whole.findings,
            whole.lines[-1],
        )
        restore(admin)


def test_a_state_file_that_cannot_grow_is_no_verdict(
    spoiled: Spoiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, _ = spoiled
    full = fsck_state._SCHEMA + "PRAGMA max_page_count = 4;"  # noqa: SLF001 - as a full disk
    monkeypatch.setattr(fsck_state, "_SCHEMA", full)
    monkeypatch.setattr(fsck_state, "FORMAT", "a state of more than a page" * 1000)
    with pytest.raises(FsckStateError, match=r"cannot keep the state in .* full"):
        fsck_database(dsn, plan_of(tmp_path, KEY), silent, None)
