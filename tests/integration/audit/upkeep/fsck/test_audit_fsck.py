"""fsck and verify give one verdict; what is resumed ends as what was never stopped."""
# ruff: noqa: S608 - table and column names are this file's own constants

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from psycopg.rows import dict_row

from audit.errors import FsckStateError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import connect
from audit.tlog.checkpoint import make_checkpoint
from audit.upkeep.dump import dump, verify_dump
from audit.upkeep.fsck.chunk import CHUNK
from audit.upkeep.fsck.columns import COLUMNS, HEX_COLUMNS, Columns
from audit.upkeep.fsck.database import DatabaseSnapshot
from audit.upkeep.fsck.dump import fsck_dump
from audit.upkeep.fsck.headers import rebuilt_headers
from audit.upkeep.fsck.plan import FsckPlan
from audit.upkeep.fsck.readers import Inline, Readers
from audit.verifier.verify import INCOMPLETE, OK, TAMPERED, LogVerifier, Outside, Report
from tests.doubles.audit_log import ORIGIN, OTHER_SIGNER, SIGNER, TIME_US, flipped, note
from tests.doubles.audit_spoiled import (
    WIDTH,
    disarm,
    fill,
    fsck_database,
    mutations,
    plan_of,
    silent,
    verify_database,
)
from tests.doubles.cosigners import WITNESSES

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]
KEY = str(SIGNER.vkey)
PAYLOAD_COLUMNS = {"header", "payload", "account"}


@pytest.fixture
def filled(postgres_dsn: str) -> str:
    """A log whose database no longer defends itself."""
    fill(postgres_dsn)
    disarm(postgres_dsn)
    return postgres_dsn


@pytest.fixture
def check(filled: str, tmp_path: Path) -> Callable[..., Report]:
    """Run fsck on the log."""

    def run(*keys: str, **changes: Any) -> Report:  # noqa: ANN401 - FsckPlan's own
        return fsck_database(filled, plan_of(tmp_path, *(keys or (KEY,)), **changes), silent, None)

    return run


def test_fsck_and_verify_give_one_verdict_on_every_mutation(
    filled: str, check: Callable[..., Report], tmp_path: Path
) -> None:
    whole = check()
    assert (whole.exit_code, whole.findings) == (OK, 0), whole.lines
    assert verify_database(filled, [KEY]).exit_code == OK
    with connect(filled) as admin:
        for table in ("entry", "head", "checkpoint", "blob"):
            admin.execute(f"CREATE TABLE public.{table} AS TABLE ledger.{table}".encode())
        for name, statements, values in list(mutations(admin)):
            for statement, value in zip(statements, values, strict=False):
                admin.execute(statement, value)
            expected, found = verify_database(filled, [KEY]), check()
            assert expected.exit_code != OK, name
            assert found.exit_code == expected.exit_code, (name, found.lines, expected.lines)
            named = found.first_bad_seq, expected.first_bad_seq
            assert named[0] == named[1], (name, found.lines, expected.lines)
            dump(filled, tmp_path / "log.dump")
            dumped = verify_dump(tmp_path / "log.dump", [KEY])
            assert dumped.exit_code == expected.exit_code, (name, dumped.lines)
            fast = check(payloads=False)
            if name.split(" of ")[0] in PAYLOAD_COLUMNS or "blob" in name:
                assert fast.exit_code == OK, name
            else:
                assert fast.exit_code == expected.exit_code, (name, fast.lines)
            for table in ("entry", "head", "checkpoint", "blob"):
                admin.execute(f"TRUNCATE ledger.{table}".encode())
                admin.execute(f"INSERT INTO ledger.{table} SELECT * FROM public.{table}".encode())
    assert check().exit_code == OK


class Interrupted(Exception):  # noqa: N818 - a Ctrl-C of the test
    pass


def stop_after(count: int) -> Callable[[str, int, int], None]:
    """Return a progress that interrupts at its n-th call."""
    calls = itertools.count(1)

    def progress(*_: object) -> None:
        if next(calls) >= count:
            raise Interrupted

    return progress


def interrupted(dsn: str, plan: FsckPlan, after: int) -> bool:
    """Begin a check and stop it; say whether it was stopped before its end."""
    try:
        fsck_database(dsn, plan, stop_after(after), None)
    except Interrupted:
        return True
    return False


def test_a_resumed_check_ends_as_a_whole_one(filled: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, KEY)
    again = replace(plan, resume=True)
    with connect(filled) as admin:
        for change in (
            "SELECT 1",
            "UPDATE ledger.entry SET actor = 'x' WHERE seq IN (5, 23)",
            "DELETE FROM ledger.entry WHERE seq = 20",
            "UPDATE ledger.entry SET payload = payload || '\\x20' WHERE seq = 25",
            "DELETE FROM ledger.checkpoint WHERE size = 27",
        ):
            admin.execute(change.encode())
            whole = fsck_database(filled, plan, silent, None)
            stops = 0
            for after in (33, 34, 36, 38):
                if not interrupted(filled, plan, after):
                    break
                stops += 1
                assert plan.state.exists()
                report = fsck_database(filled, again, silent, None)
                assert report.exit_code == whole.exit_code, (change, after)
                assert report.first_bad_seq == whole.first_bad_seq, (change, after)
                assert report.findings == whole.findings, (change, after, report.lines)
                assert report.lines[-1] == whole.lines[-1]
                assert not plan.state.exists()
            assert stops >= 3, change


def test_resuming_hides_no_change_below_and_takes_no_other_check(
    filled: str, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, KEY)
    again = replace(plan, resume=True)
    with pytest.raises(FsckStateError, match="nothing to resume"):
        fsck_database(filled, again, silent, None)
    for after, word in ((33, "record 0: the blobs checked"), (37, "record 16: the leaves below")):
        assert interrupted(filled, plan, after)
        assert f"at {word}" in "".join(fsck_database(filled, again, silent, None).lines)
    assert interrupted(filled, plan, 37)
    with pytest.raises(FsckStateError, match="another check"):
        fsck_database(filled, replace(again, payloads=False), silent, None)
    other = Outside(vkeys=[str(OTHER_SIGNER.vkey)])
    with pytest.raises(FsckStateError, match="another check"):
        fsck_database(filled, replace(again, outside=other), silent, None)
    with connect(filled) as admin:
        admin.execute("UPDATE ledger.entry SET leaf = sha256(leaf) WHERE seq = 2")
    report = fsck_database(filled, again, silent, None)
    assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 2)
    assert "checked again" in report.lines[-1]


def test_keys_policy_and_kept_checkpoints_count_as_they_do_in_verify(
    filled: str, check: Callable[..., Report]
) -> None:
    with connect(filled) as admin:
        rows = admin.execute("SELECT note FROM ledger.checkpoint ORDER BY size").fetchall()
    first, last = bytes(rows[1][0]), bytes(rows[-1][0])
    forged = make_checkpoint(20, bytes(32), SIGNER).note
    later = make_checkpoint(400, bytes(32), SIGNER).note
    strict = f"log {KEY}\nwitness w1 {WITNESSES[0].vkey}\nquorum w1\n".encode()
    for outside in (
        Outside(),
        Outside(vkeys=[str(OTHER_SIGNER.vkey)]),
        Outside(vkeys=[KEY], notes=[first, last]),
        Outside(vkeys=[KEY], notes=[forged]),
        Outside(vkeys=[KEY], notes=[later]),
        Outside(vkeys=[KEY], notes=[b"no checkpoint"]),
        Outside(policy=strict),
    ):
        log = LogVerifier((), (), outside)
        expected = judged_rows(filled, log)
        found = check(outside=outside)
        assert (found.exit_code, found.first_bad_seq) == (
            expected.exit_code,
            expected.first_bad_seq,
        ), (outside, found.lines, expected.lines)


def judged_rows(dsn: str, log: LogVerifier) -> Report:
    """Give a database to the outsider's verifier row by row, as a dump would."""
    with connect(dsn) as reader, reader.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute("SELECT origin, size, root, frontier FROM ledger.head"):
            log.head(row)
        for row in cursor.execute("SELECT size, note FROM ledger.checkpoint ORDER BY size"):
            log.checkpoint(row["size"], row["note"])
        for row in cursor.execute("SELECT * FROM ledger.blob"):
            log.blob(row["digest"], row["data"])
        for row in cursor.execute("SELECT * FROM ledger.entry ORDER BY seq"):
            log.entry(row)
    return log.finish()


def test_reader_processes_and_a_live_log_give_the_same_verdict(filled: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, KEY, readers=2)
    snapshot = DatabaseSnapshot(filled)
    try:
        with Readers(2, filled, snapshot.export()) as readers:
            tasks = [
                {"do": "chunk", "first": first, "width": WIDTH, "log": ORIGIN, "sizes": [7]}
                | {"payloads": True}
                for first in range(0, 28, WIDTH)
            ]
            apart = [answer for _, answer in readers.ask(tasks)]
            assert apart == [answer for _, answer in Inline(snapshot).ask(tasks)]
            (first, *_) = (answer for _, answer in readers.ask(tasks))
            assert first == apart[0]
            assert json.loads(next(readers.ask([{"do": "blobs", "first": 0}]))[1])[1] == []
    finally:
        snapshot.close()
    with connect(filled) as admin:
        admin.execute("DELETE FROM ledger.checkpoint WHERE size = 27")
    assert fsck_database(filled, plan, silent, None).exit_code == INCOMPLETE
    live = fsck_database(filled, plan, silent, TIME_US + 1_000_000)
    assert live.exit_code == OK
    assert live.unsigned_from == verify_database(filled, [KEY], now_us=TIME_US).unsigned_from


def test_a_tile_that_is_not_the_trees_is_found(filled: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, KEY, width=CHUNK)
    with connect(filled) as admin:
        for level, n in ((0, 0), (0, 3), (2, 0), (1, -1)):
            admin.execute("INSERT INTO ledger.tile VALUES (%s, %s, %s)", (level, n, bytes(8192)))
            report = fsck_database(filled, plan, silent, None)
            assert report.exit_code == TAMPERED
            assert f"tile {level}/{n} is of records that are not there" in "\n".join(report.lines)
            admin.execute("DELETE FROM ledger.tile")
    assert fsck_database(filled, plan, silent, None).exit_code == OK


def test_each_tile_of_a_large_log_is_held_against_the_tree(
    postgres_dsn: str, tmp_path: Path
) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        ledger.append(*(note(str(number)) for number in range(600)))
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        leaves = [row[0] for row in admin.execute("SELECT leaf FROM ledger.entry ORDER BY seq")]
        for width in (CHUNK, 256, 64):
            for n in (0, 1):
                tile = b"".join(leaves[n << 8 : (n + 1) << 8])
                wrong = tile[:-1] + bytes([tile[-1] ^ 1])
                plan = plan_of(tmp_path, KEY, width=width)
                for stored, code in ((tile, OK), (wrong, TAMPERED)):
                    admin.execute("INSERT INTO ledger.tile VALUES (0, %s, %s)", (n, stored))
                    assert fsck_database(postgres_dsn, plan, silent, None).exit_code == code
                    admin.execute("DELETE FROM ledger.tile")


def test_a_dump_checks_and_resumes_as_verify_does(filled: str, tmp_path: Path) -> None:
    path = tmp_path / "log.dump"
    dump(filled, path)
    plan = replace(plan_of(tmp_path, KEY), state=tmp_path / "dump.state")
    assert fsck_dump(path, plan, silent).findings == 0
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 34
    for number in (0, 2, 5, 7, 20, 33):
        path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        expected, found = verify_dump(path, [KEY]), fsck_dump(path, plan, silent)
        assert (found.exit_code, found.first_bad_seq) == (
            expected.exit_code,
            expected.first_bad_seq,
        ), number
        path.write_bytes(b"".join(lines[:number]) + b"{}\n")
        assert fsck_dump(path, plan, silent).exit_code == verify_dump(path, [KEY]).exit_code
    path.write_bytes(b"".join(lines))


def test_a_dump_with_what_no_database_holds_is_judged_as_verify_judges_it(
    filled: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.dump"
    dump(filled, path)
    text = path.read_bytes()
    plan = replace(plan_of(tmp_path, KEY), state=tmp_path / "dump.state")
    for sound, forged in (
        (b'"stream":"control"', b'"stream":"\\ud800"'),
        (b'"stream":"control"', b'"stream":"a\\u0000"'),
        (b'"stream_seq":1,', b'"stream_seq":%d,' % 2**70),
        (b'"seq":3,', b'"seq":-%d,' % 2**70),
    ):
        assert sound in text
        path.write_bytes(text.replace(sound, forged, 1))
        expected, found = verify_dump(path, [KEY]), fsck_dump(path, plan, silent)
        assert (found.exit_code, found.first_bad_seq) == (TAMPERED, expected.first_bad_seq), forged
        assert expected.exit_code == TAMPERED


def test_a_dump_resumed_at_any_line_ends_as_a_whole_one(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.dump"
    with connect(filled) as admin:
        admin.execute("UPDATE ledger.entry SET actor = 'x' WHERE seq = 9")
    dump(filled, path)
    plan = replace(plan_of(tmp_path, KEY), state=tmp_path / "dump.state")
    whole = fsck_dump(path, plan, silent)
    assert (whole.exit_code, whole.first_bad_seq) == (TAMPERED, 9)
    monkeypatch.setattr("audit.upkeep.fsck.dump.SAVE_BYTES", 1)
    monkeypatch.setattr("audit.upkeep.fsck.dump.SHOW_BYTES", 1)
    for after in (7, 12, 20, 30):
        with pytest.raises(Interrupted):
            fsck_dump(path, plan, stop_after(after))
        report = fsck_dump(path, replace(plan, resume=True), silent)
        assert (report.exit_code, report.first_bad_seq, report.findings) == (
            whole.exit_code,
            whole.first_bad_seq,
            whole.findings,
        )
        assert report.lines[-1] == whole.lines[-1]
    with pytest.raises(Interrupted):
        fsck_dump(path, plan, stop_after(20))
    text = path.read_bytes()
    path.write_bytes(text.replace(b"decision/d2", b"decision/d7", 1))
    report = fsck_dump(path, replace(plan, resume=True), silent)
    assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 7)
    assert "checked again" in report.lines[-1]


def test_a_fast_path_that_skips_a_field_is_caught(
    filled: str, check: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Teeth: each mutant reads one column from the sound log instead of from the row."""
    with connect(filled) as admin:
        rows = admin.execute(
            f"SELECT {', '.join(COLUMNS)} FROM ledger.entry ORDER BY seq".encode()
        ).fetchall()
        sound = {
            place: [
                (bytes(row[place]).hex() if name in HEX_COLUMNS else str(row[place])).encode()
                for row in rows
            ]
            for place, name in enumerate(COLUMNS)
        }
        for place, column in enumerate(COLUMNS[1:-1], 1):
            row = admin.execute(f"SELECT {column} FROM ledger.entry WHERE seq = 9".encode())
            (value,) = row.fetchone() or (None,)
            admin.execute(
                f"UPDATE ledger.entry SET {column} = %s WHERE seq = 9".encode(),
                (next(flipped(value)),),
            )
            assert check().exit_code == TAMPERED

            def blind(records: Columns, log: str, place: int = place) -> list[bytes]:
                known = [*records.texts]
                known[place] = [sound[place][int(seq)] for seq in known[0]]
                return rebuilt_headers(Columns(known), log)

            with monkeypatch.context() as mutant:
                mutant.setattr("audit.upkeep.fsck.headers.rebuilt_headers", blind)
                fooled = check(payloads=False)
            caught = column in {"stream", "stream_seq", "prev"}  # by the chain, the map
            assert (fooled.exit_code != OK) == caught, (column, fooled.lines)
            admin.execute(f"UPDATE ledger.entry SET {column} = %s WHERE seq = 9".encode(), (value,))


def test_values_that_would_shift_the_joined_columns_are_found(
    filled: str, check: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pair of changes leaves the joined column as it was: only its parts have moved."""
    shifts = (
        ("actor = NULL", "actor = first.actor || E'\\n' || entry.actor"),
        ("commitments = NULL", "commitments = first.commitments || entry.commitments"),
        ("prev = substr(prev, 1, 31)", "prev = substr(first.prev, 32) || entry.prev"),
        ("leaf = substr(leaf, 1, 31)", "leaf = substr(first.leaf, 32) || entry.leaf"),
    )
    with connect(filled) as admin:
        admin.execute("CREATE TABLE public.entry AS TABLE ledger.entry")
        for here, next_one in shifts:
            admin.execute(f"UPDATE ledger.entry SET {here} WHERE seq = 9".encode())
            admin.execute(
                f"UPDATE ledger.entry SET {next_one} FROM public.entry AS first"
                " WHERE entry.seq = 10 AND first.seq = 9".encode()
            )
            found = check(payloads=False)
            assert (found.exit_code, found.first_bad_seq) == (TAMPERED, 9), (here, found.lines)
            with monkeypatch.context() as mutant:  # teeth: without the count it would pass
                mutant.setattr("audit.upkeep.fsck.columns._whole", lambda *_: True)
                assert (check(payloads=False).exit_code == OK) == ("commitments" not in here)
            admin.execute("TRUNCATE ledger.entry")
            admin.execute("INSERT INTO ledger.entry SELECT * FROM public.entry")
    assert check(payloads=False).exit_code == OK
