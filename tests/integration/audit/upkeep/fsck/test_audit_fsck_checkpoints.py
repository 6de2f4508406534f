"""Checkpoints of records that are not there, however many: all are read, and few are kept."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.tlog.checkpoint import make_checkpoint
from audit.upkeep.fsck.chunk import CHUNK
from audit.upkeep.fsck.database import ROWS_MAX
from audit.upkeep.fsck.judge import ChunkVerifier
from audit.upkeep.fsck.state import FsckState
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED, Outside
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
LATE = 100
INSERT = "INSERT INTO ledger.checkpoint SELECT %s, %s FROM generate_series(1, %s)"
FORGED = make_checkpoint(LATE + 9, bytes(32), OTHER_SIGNER).note


def test_the_last_of_many_late_checkpoints_counts(spoiled: Spoiled, tmp_path: Path) -> None:
    """Without a key, so that nothing of this costs a signature's time."""
    dsn, admin = spoiled
    honest = make_checkpoint(LATE, bytes(32), SIGNER).note
    admin.execute(INSERT, (LATE, honest, ROWS_MAX))
    for code in (INCOMPLETE, TAMPERED):
        assert verify_database(dsn, []).exit_code == code
        report = fsck_database(dsn, plan_of(tmp_path), silent, None)
        assert report.exit_code == code, report.lines
        admin.execute(INSERT, (LATE + 9, b"no note", 1))


def test_late_checkpoints_are_judged_as_verify_judges_them(
    spoiled: Spoiled, tmp_path: Path
) -> None:
    dsn, admin = spoiled
    other = make_checkpoint(LATE, bytes([1]) * 32, SIGNER).note
    widths = itertools.cycle((WIDTH, CHUNK))
    large = make_checkpoint(2**53, bytes(32), SIGNER).note
    admin.execute("CREATE TABLE public.kept AS TABLE ledger.checkpoint")
    for gap, rows, code in (
        (b"false", [(LATE, make_checkpoint(LATE, bytes(32), SIGNER).note)], INCOMPLETE),
        (
            b"false",
            [(LATE, other), (LATE, make_checkpoint(LATE, bytes(32), SIGNER).note)],
            TAMPERED,
        ),
        (b"false", [(LATE + 9, FORGED)], TAMPERED),
        (b"false", [(LATE, FORGED)], TAMPERED),
        (b"false", [(2**53, large)], TAMPERED),
        (b"false", [(LATE, b"")], TAMPERED),
        (b"size BETWEEN 8 AND 24", [], INCOMPLETE),
        (b"size BETWEEN 8 AND 24", [(13, make_checkpoint(13, bytes(32), SIGNER).note)], INCOMPLETE),
        (b"false", [(13, make_checkpoint(13, bytes(32), OTHER_SIGNER).note)], TAMPERED),
    ):
        admin.execute(b"DELETE FROM ledger.checkpoint WHERE " + gap)
        for size, note in rows:
            admin.execute(INSERT, (size, note, 1))
        if gap != b"false" or (rows and rows[0][0] < LATE):
            admin.execute("CREATE TABLE public.gone AS SELECT * FROM ledger.entry")
            admin.execute("DELETE FROM ledger.entry WHERE seq BETWEEN 9 AND 22")
        for keys in ([KEY], [str(OTHER_SIGNER.vkey), KEY], []):
            expected = verify_database(dsn, keys)
            if keys == [KEY]:
                assert expected.exit_code == code, (rows, expected.lines)
            plan = plan_of(tmp_path, *keys, width=next(widths))
            found = fsck_database(dsn, plan, silent, None)
            assert found.exit_code == expected.exit_code, (keys, rows, plan, found.lines)
        if admin.execute("SELECT to_regclass('public.gone')").fetchone() != (None,):
            admin.execute("DELETE FROM ledger.entry")
            admin.execute("INSERT INTO ledger.entry SELECT * FROM public.gone")
            admin.execute("DROP TABLE public.gone")
        admin.execute("DELETE FROM ledger.checkpoint")
        admin.execute("INSERT INTO ledger.checkpoint SELECT * FROM public.kept")
    assert verify_database(dsn, [KEY]).exit_code == OK


def test_a_gap_that_was_checked_before_keeps_its_checkpoints(
    spoiled: Spoiled, tmp_path: Path
) -> None:
    """The forged one lies in a gap of whole chunks, below the place where the check goes on."""
    dsn, admin = spoiled
    admin.execute("DELETE FROM ledger.entry WHERE seq BETWEEN 6 AND 17")
    admin.execute(INSERT, (13, make_checkpoint(13, bytes(32), OTHER_SIGNER).note, 1))
    reached = itertools.count(1)

    def stop(stage: str, *_: object) -> None:
        if stage == "records" and next(reached) == 5:
            raise KeyboardInterrupt

    plan = plan_of(tmp_path, KEY)
    with pytest.raises(KeyboardInterrupt):
        fsck_database(dsn, plan, stop, None)
    report = fsck_database(dsn, plan_of(tmp_path, KEY, resume=True), silent, None)
    whole = fsck_database(dsn, plan, silent, None)
    assert (report.exit_code, report.findings) == (whole.exit_code, whole.findings)
    assert "checkpoint of 13 is signed by no trusted key" in report.reason


def test_late_checkpoints_leave_only_the_newest_behind(tmp_path: Path) -> None:
    def left(count: int, make: Callable[[int], bytes], *keys: str) -> tuple[int, int]:
        state = FsckState(tmp_path / "state", (), resume=False)
        log = ChunkVerifier(Outside(vkeys=keys), state)
        log.late_notes((size, make(size)) for size in range(1, count + 1))
        kept = log.to_state()
        held = len(kept["notes"]) + len(kept["unsigned"]) + len(log.kept_sizes())
        report = log.finish()
        state.close(keep=False)
        assert f", {count} checkpoints" in report.lines[-1]
        return held, report.exit_code

    def honest(size: int) -> bytes:
        return make_checkpoint(size, bytes(32), SIGNER).note

    def forged(size: int) -> bytes:
        return make_checkpoint(size, bytes(32), OTHER_SIGNER).note

    def mixed(size: int) -> bytes:
        return (honest, forged)[size % 2](size)

    for make, code in ((honest, INCOMPLETE), (forged, TAMPERED), (mixed, TAMPERED)):
        assert left(200, make, KEY) == left(40, make, KEY)
        assert left(200, make, KEY)[1] == code
        assert left(200, make)[0] == left(40, make)[0]
    assert left(40, honest)[1] in {INCOMPLETE, NOT_CHECKABLE}
