"""Rows that lack a head, a key or a value: fsck, verify and verify of the dump agree."""
# ruff: noqa: S608 - table and column names are this file's own constants

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from audit.store.tables import RECORD_COLUMNS, TupleConnection
from audit.upkeep.dump import dump, verify_dump
from audit.upkeep.fsck.chunk import CHUNK
from audit.verifier.verify import INCOMPLETE, OK, TAMPERED, Report
from tests.doubles.audit_log import SIGNER
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
PARTS = ("entry", "head", "blob", "checkpoint")
UNDUMPED = {
    "tile": "INSERT INTO ledger.tile VALUES (0, 0, sha256(''))",
    "disclosure": "INSERT INTO ledger.disclosure VALUES (1, 0, 'somebody', '')",
    "cosignature": "INSERT INTO ledger.cosignature VALUES (7, 'w', '', '', 0)",
}
"""Tables that a dump does not hold, with a row that is left there."""
HEAD = ("origin", "size", "root", "frontier")
RECORD = 9
MORE = {"account": (0,), "payload": (6,), "recorded_at_us": (26,)}
"""Records that have an account, are a map, are a checkpoint's last."""
Judge = Callable[[], tuple[Report, Report, Report]]


@pytest.fixture
def judge(spoiled: Spoiled, tmp_path: Path) -> Judge:
    """Return what fsck, verify and verify of the dump say."""
    dsn, path = spoiled[0], tmp_path / "log.dump"
    widths = itertools.cycle((WIDTH, CHUNK))

    def run() -> tuple[Report, Report, Report]:
        dump(dsn, path)
        checked = fsck_database(dsn, plan_of(tmp_path, KEY, width=next(widths)), silent, None)
        return checked, verify_database(dsn, [KEY]), verify_dump(path, [KEY])

    return run


def restore(admin: TupleConnection, *tables: str) -> None:
    """Make tables what they were."""
    for table in tables:
        admin.execute(f"DELETE FROM ledger.{table}".encode())
        admin.execute(f"INSERT INTO ledger.{table} SELECT * FROM public.{table}".encode())


def codes(reports: Sequence[Report]) -> list[int]:
    """Return the exit codes."""
    return [report.exit_code for report in reports]


def test_rows_that_are_left_of_a_destroyed_ledger_are_tampered_with(
    spoiled: Spoiled, judge: Judge
) -> None:
    _, admin = spoiled
    assert codes(judge()) == [OK] * 3
    for count in range(1, len(PARTS) + 1):
        for gone in itertools.combinations(PARTS, count):
            for table in gone:
                admin.execute(f"DELETE FROM ledger.{table}".encode())
            all_gone = count == len(PARTS)
            code = TAMPERED if "head" in gone and not all_gone else INCOMPLETE
            reports = judge()
            assert codes(reports) == [code] * 3, (gone, reports[0].lines)
            if code == TAMPERED:
                assert "there is no head, but there are rows" in reports[0].reason
            restore(admin, *(() if all_gone else gone))
    for table, left in UNDUMPED.items():
        admin.execute(left.encode())
        *database, dumped = judge()
        assert codes(database) == [TAMPERED] * 2, table
        assert all(f"ledger.{table}" in report.reason for report in database)
        assert dumped.exit_code == INCOMPLETE  # there is nothing in it at all
        restore(admin, table)


def test_two_heads_are_tampered_with(spoiled: Spoiled, judge: Judge) -> None:
    _, admin = spoiled
    admin.execute("INSERT INTO ledger.head SELECT * FROM ledger.head")
    admin.execute("DELETE FROM ledger.entry")
    reports = judge()
    assert codes(reports) == [TAMPERED] * 3
    assert reports[0].reason == reports[1].reason == "there are several heads"


def test_a_head_without_a_value_or_under_another_id_is_tampered_with(
    spoiled: Spoiled, judge: Judge
) -> None:
    """A record is gone as well, so that nothing is left to hold the head against."""
    _, admin = spoiled
    admin.execute(f"DELETE FROM ledger.entry WHERE seq = {RECORD}".encode())
    assert codes(judge()) == [INCOMPLETE] * 3
    for change in ("id = 2", "id = NULL", *(f"{name} = NULL" for name in HEAD)):
        admin.execute(f"UPDATE ledger.head SET {change}".encode())
        assert codes(judge()) == [TAMPERED] * 3, change
        restore(admin, "head")


def test_a_value_that_is_missing_is_named_with_its_record(spoiled: Spoiled, judge: Judge) -> None:
    _, admin = spoiled
    columns = [*RECORD_COLUMNS, "account", "commitments"]
    assert len(columns) == 15
    for column in columns:
        for seq in (RECORD, *MORE.get(column, ())):
            change = f"UPDATE ledger.entry SET {column} = NULL WHERE seq = {seq}"
            admin.execute(change.encode())
            reports = judge()
            spared = column == "account" and seq != 0
            assert codes(reports) == [OK if spared else TAMPERED] * 3, (column, reports[0].lines)
            if column == "seq":
                assert all("a row without seq" in report.reason for report in reports[:2])
            elif not spared:
                named = [report.first_bad_seq for report in reports[:2]]
                assert named == [seq] * 2, (column, seq, reports[0].lines, reports[1].lines)
            restore(admin, "entry")


def test_a_checkpoint_or_blob_without_content_is_found(spoiled: Spoiled, judge: Judge) -> None:
    _, admin = spoiled
    line = "convert_to(U&'\\2014 w AAAAAAAA', 'UTF8')"  # one that nobody knows, and so no harm
    admin.execute(f"INSERT INTO ledger.cosignature VALUES (7, 'w', '', {line}, 0)".encode())
    assert codes(judge()) == [OK] * 3
    restore(admin, "cosignature")
    for change in (
        "UPDATE ledger.checkpoint SET note = ''",
        "UPDATE ledger.checkpoint SET note = NULL",
        "UPDATE ledger.checkpoint SET note = '' WHERE size = 7",
        "UPDATE ledger.checkpoint SET note = NULL WHERE size = 27",
        "INSERT INTO ledger.checkpoint VALUES (28, NULL)",
        "UPDATE ledger.blob SET data = NULL",
        "UPDATE ledger.blob SET data = ''",
        "INSERT INTO ledger.cosignature VALUES (7, 'w', '', NULL, 0)",
        f"INSERT INTO ledger.cosignature VALUES (7, NULL, '', {line}, 0)",
        f"INSERT INTO ledger.cosignature VALUES (7, 'w', NULL, {line}, 0)",
    ):
        admin.execute(change.encode())
        reports = judge()
        assert codes(reports) == [TAMPERED] * 3, (change, [report.lines for report in reports])
        restore(admin, "checkpoint", "blob", "cosignature")


def test_a_dump_of_commitments_that_no_header_lists_is_none(spoiled: Spoiled, judge: Judge) -> None:
    _, admin = spoiled
    for value in ("NULL", "'\\x00'", "sha256('')"):
        change = f"UPDATE ledger.entry SET commitments = {value} WHERE seq = {RECORD}"
        admin.execute(change.encode())
        reports = judge()
        assert codes(reports) == [TAMPERED] * 3, (value, reports[2].lines)
        assert [report.first_bad_seq for report in reports] == [RECORD] * 3
        restore(admin, "entry")
