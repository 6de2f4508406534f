"""What is not in the tree is held against what is: no row of a backup comes back on its word."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from audit.errors import BackupError, LedgerWriteError
from audit.privacy.vault import Vault
from audit.records.canonical import JSON
from audit.records.personal import Personal
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import connect
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.upkeep.backup.backup import backup
from audit.upkeep.backup.form import TABLES
from audit.verifier.verify import INCOMPLETE, OK, TAMPERED, Outside
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, flipped, inbound, note
from tests.doubles.audit_spoiled import PERSONS, fill, silent
from tests.doubles.backup_world import (
    KEY,
    Line,
    back,
    content,
    empty_ledger,
    lines_of,
    packed,
    untouched,
)
from tests.doubles.cosigners import WITNESSES
from tests.doubles.privacy_world import world_at

pytestmark = pytest.mark.postgres
Change = Callable[[list[Line]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A sound backup, its keys, and an empty ledger to bring it back into."""

    folder: Path
    dsn: str
    empty: str
    lines: tuple[Line, ...]

    @property
    def vault(self) -> Vault:
        return Vault(self.folder / "vault")

    def changed(self, change: Change) -> Path:
        """Write a backup with a change in it, and a last line that fits."""
        lines = [(kind, dict(row)) for kind, row in self.lines]
        change(lines)
        path = self.folder / "changed.gz"
        path.write_bytes(packed(lines))
        return path


@pytest.fixture
def case(postgres_dsn: str, postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Case]:
    fill(postgres_dsn, Vault(tmp_path / "vault"))
    with connect(postgres_dsn) as admin:
        for size, signed in admin.execute("SELECT size, note FROM ledger.checkpoint").fetchall():
            text = bytes(signed).decode().partition("\n\n")[0] + "\n"
            for witness in WITNESSES[:2]:
                line = cosign(text, witness, 1_545_868_801)
                admin.execute(
                    "INSERT INTO ledger.cosignature VALUES (%s, %s, %s, %s, 5)",
                    (size, line.name, line.key_id, str(line).encode()),
                )
    backup(postgres_dsn, tmp_path / "backup.gz", TIME_US, silent)
    with empty_ledger(postgres) as empty:
        yield Case(
            folder=tmp_path,
            dsn=postgres_dsn,
            empty=empty,
            lines=tuple(lines_of(tmp_path / "backup.gz")),
        )


def rows(lines: list[Line], table: str) -> list[dict[str, Any]]:
    return [row for kind, row in lines if kind == table]


def with_value(number: int, **columns: object) -> Change:
    """Change columns of one encrypted value."""
    return lambda lines: rows(lines, "disclosure")[number].update(columns)


def with_cosignature(number: int, **columns: object) -> Change:
    """Change columns of one cosignature."""
    return lambda lines: rows(lines, "cosignature")[number].update(columns)


def one_more(table: str, after: int, **columns: object) -> Change:
    """Add a row after another of its table, which it resembles."""

    def change(lines: list[Line]) -> None:
        places = [at for at, (kind, _) in enumerate(lines) if kind == table]
        place = places[after]
        lines.insert(place + 1, (table, {**lines[place][1], **columns}))

    return change


def dropped(table: str, *numbers: int) -> Change:
    """Leave rows of a table out."""

    def change(lines: list[Line]) -> None:
        places = [at for at, (kind, _) in enumerate(lines) if kind == table]
        for number in sorted(numbers or range(len(places)), reverse=True):
            del lines[places[number]]

    return change


def test_a_value_that_no_record_commits_to_is_not_restored(case: Case) -> None:
    seqs = [row["seq"] for row in rows([*case.lines], "disclosure")]
    assert seqs == [2, 4, 4], "one value of one record and two of another"
    ada = rows([*case.lines], "disclosure")[0]["subject"]
    assert ada == case.vault.find(PERSONS[0])
    bare = "commits to none there"
    for name, change, code, said in (
        ("another subject", with_value(2, subject=ada), TAMPERED, "names another subject"),
        ("nobody", with_value(0, subject=""), TAMPERED, "names another subject"),
        ("a place without commitment", with_value(0, position=1), TAMPERED, bare),
        ("a record without commitments", one_more("disclosure", 0, seq=3), TAMPERED, bare),
        ("no record", one_more("disclosure", 2, seq=27), TAMPERED, bare),
        ("far from any record", one_more("disclosure", 2, seq=2**60), TAMPERED, bare),
        ("a value more", one_more("disclosure", 2, position=2), TAMPERED, bare),
        ("no sealed value", with_value(0, sealed=b"sealed"), TAMPERED, "in no form"),
        ("nothing in it", with_value(1, sealed=b""), TAMPERED, "in no form"),
        ("one missing", dropped("disclosure", 1), INCOMPLETE, "1 values about"),
        ("a person missing", dropped("disclosure", 0, 1), INCOMPLETE, "2 values about"),
        ("all missing", dropped("disclosure"), INCOMPLETE, "no erasure of that subject"),
    ):
        report = back(case.empty, case.changed(change)).report
        assert report.exit_code == code, (name, report.lines)
        assert any(said in line for line in report.lines), (name, report.lines)
        assert untouched(case.empty), name
    for change in (one_more("disclosure", 1), with_value(1, seq=1)):
        with pytest.raises(BackupError, match="out of order"):
            back(case.empty, case.changed(change))
    assert untouched(case.empty)


def test_a_value_must_open_in_its_place_where_its_key_is_at_hand(case: Case) -> None:
    first, second, _ = rows([*case.lines], "disclosure")
    flipped = bytearray(second["sealed"])
    flipped[40] ^= 1
    other = with_value(1, sealed=first["sealed"])
    lie = Personal(subject=second["subject"], path="tag 1", value="a lie", retention="none")
    lies = case.vault.seal(ORIGIN, replace(inbound(1), personal=(lie,)))[1]
    in_place = with_value(1, sealed=lies[0].sealed)  # opens there, and to another value
    for change in (other, with_value(1, sealed=bytes(flipped)), in_place):
        report = back(case.empty, case.changed(change), vault=case.vault).report
        assert report.exit_code == TAMPERED, report.lines
        assert report.first_bad_seq == 4
        assert any("does not open to" in line for line in report.lines)
        assert not any(PERSONS[0] in line for line in report.lines)
        assert untouched(case.empty)
    case.vault.destroy(first["subject"])
    report = back(case.empty, case.changed(other), vault=case.vault).report
    assert report.exit_code == OK, "without the key nobody can tell"
    assert any("1 were opened" in line for line in report.lines), report.lines


def test_lists_that_no_vault_wrote_name_no_values(case: Case) -> None:
    fields = {"path": "text", "retention": "none", "subject": "psn-aaaaaaaaaaaaaaaa"}
    lists: tuple[JSON, ...] = ([{**fields, "index": 1}, {**fields, "index": -1}], ["x"], {}, None)
    config = LedgerConfig(dsn=case.dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        for number, listed in enumerate(lists):
            plain = note(f"by hand {number}")
            payload = {**plain.payload, "personal": listed}
            ledger.append(replace(plain, payload=payload, commitments=("ab" * 32,)))
    path = case.folder / "by-hand.gz"
    assert backup(case.dsn, path, TIME_US, silent).size == 32
    result = back(case.empty, path)
    assert result.report.exit_code == OK, result.report.lines
    assert content(case.empty) == content(case.dsn)


def test_a_cosignature_that_is_not_what_it_is_stored_as_is_not_restored(case: Case) -> None:
    sizes = [row["size"] for row in rows([*case.lines], "cosignature")]
    assert len(sizes) == 2 * len(set(sizes)) > 4
    first, second = rows([*case.lines], "cosignature")[:2]
    last = rows([*case.lines], "cosignature")[-1]["line"]
    policy = f"log {KEY}\nwitness w0 {WITNESSES[0].vkey}\nwitness w1 {WITNESSES[1].vkey}\n"
    outside = Outside(policy=f"{policy}group g any w0 w1\nquorum g\n".encode())
    none = "is not a signature line"
    for name, change, said in (
        ("no line", with_cosignature(0, line=b"\xff\xfe"), none),
        ("nothing", with_cosignature(0, line=b""), none),
        ("a text", with_cosignature(0, line=b"hello\n"), none),
        ("two lines", with_cosignature(0, line=first["line"] + second["line"]), none),
        ("text before", with_cosignature(0, line=b"\n" + first["line"]), none),
        ("another's line", with_cosignature(0, line=second["line"]), "another name or key"),
        ("another key id", with_cosignature(0, key_id=b"abcd"), "another name or key"),
        ("another name", with_cosignature(1, name="zz"), "another name or key"),
        ("no checkpoint", one_more("cosignature", -1, size=40), "no such checkpoint"),
        ("of no checkpoint", with_cosignature(0, size=1), "no such checkpoint"),
        ("of another", with_cosignature(0, line=last), ""),
    ):
        report = back(case.empty, case.changed(change), outside).report
        assert report.exit_code == TAMPERED, (name, report.lines)
        assert any(said in line for line in report.lines), (name, report.lines)
        assert untouched(case.empty), name
    left = case.changed(dropped("checkpoint", 0))
    assert back(case.empty, left).report.exit_code == TAMPERED
    assert untouched(case.empty)


def others(value: object, sort: str) -> list[object]:
    """Return values that a column of a type can hold as well."""
    if isinstance(value, bytes):
        return [next(flipped(value)), b"", value + b"\0", bytes(70_000)]
    if isinstance(value, int):
        top = (1 << {"int8": 63, "int4": 31, "int2": 15}[sort]) - 1
        return [value + 1, -1, top, -top - 1]
    return [f"{value}x", "", "\u0001", "ü" * 300]


def with_column(table: str, number: int, column: dict[str, object], lines: list[Line]) -> None:
    """Change a column of one row; the first line goes on saying what the head says."""
    rows(lines, table)[number].update(column)
    if table == "head":
        lines[0][1].update({n: v for n, v in column.items() if n in lines[0][1]})


def test_no_other_value_in_any_column_comes_back(case: Case) -> None:
    names = [f"witness w{n} {WITNESSES[n].vkey}\n" for n in range(2)]
    policy = f"log {KEY}\n{''.join(names)}group g all w0 w1\nquorum g\n"
    outside = Outside(policy=policy.encode())
    tried = 0
    columns = [(table, *column) for table in TABLES for column in TABLES[table].items()]
    columns.remove(("cosignature", "received_at_us", "int8"))  # on nobody's word but the file's
    for (table, name, sort), number in product(columns, (0, -1)):
        value = rows([*case.lines], table)[number][name]
        for other in others(value, sort):
            if other == value:
                continue
            column = {name: other}
            path = case.changed(partial(with_column, table, number, column))
            tried += 1
            try:
                result = back(case.empty, path, outside, vault=case.vault)
            except (BackupError, LedgerWriteError):
                continue
            assert result.report.exit_code != OK, (table, number, column)
    assert untouched(case.empty)
    assert tried > 150
    plain = case.changed(lambda _: None)
    assert back(case.empty, plain, outside, vault=case.vault).report.exit_code == OK


def test_a_checkpoint_beyond_the_head_shows_that_the_end_was_lost(case: Case) -> None:
    with connect(case.dsn) as admin:
        admin.execute(
            "INSERT INTO ledger.checkpoint VALUES (40, %s)",
            (make_checkpoint(40, bytes(32), SIGNER).note,),
        )
    backup(case.dsn, case.folder / "cut.gz", TIME_US, silent)
    report = back(case.empty, case.folder / "cut.gz").report
    assert report.exit_code == INCOMPLETE, report.lines
    assert any("a checkpoint of 40 is signed" in line for line in report.lines)
    assert untouched(case.empty)


def test_values_may_be_missing_once_their_erasure_is_signed(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "erased.gz"
    with world_at(case.dsn, tmp_path) as world:
        world.fails_after = "erase.recorded"
        with pytest.raises(KeyboardInterrupt):
            world.privacy().erase(PERSONS[0], basis="GDPR", actor="operator")
        with pytest.raises(BackupError, match="an erasure, is signed by nobody yet"):
            backup(case.dsn, path, TIME_US, silent)
        assert not path.exists()
        world.fails_after = ""
        assert world.privacy().complete() == 1
        assert world.rows() == 1
        world.ledger.checkpoint_now()
        backup(case.dsn, path, TIME_US, silent)
        result = back(case.empty, path, vault=world.vault)
        assert result.report.exit_code == OK, result.report.lines
        assert content(case.empty) == content(case.dsn)
    said = result.report.lines
    assert any("1 encrypted values" in line and "2 are erased" in line for line in said), said
