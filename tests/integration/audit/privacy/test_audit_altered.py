"""Columns and values that a superuser changes for a moment: nothing is erased on their word."""
# ruff: noqa: S608 - statements are this file's own

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.errors import ErasureRefusedError
from audit.privacy.retention import kept_until_us
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.store.tables import connect
from audit.verifier.verify import INCOMPLETE, OK, TAMPERED
from gateway.privacy.erasure import complete
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import (
    arm,
    disarm,
    fill,
    fsck_database,
    plan_of,
    silent,
    verify_database,
)
from tests.doubles.privacy_world import NAME, OTHER, TRUSTED, YEARS, World, world_at

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    with world_at(postgres_dsn, tmp_path) as made:
        yield made


def altered(dsn: str, *statements: str) -> None:
    """Do as a superuser does, from the log as it was at first."""
    disarm(dsn)
    with connect(dsn) as admin:
        for table in ("entry", "disclosure"):
            copy = f"CREATE TABLE IF NOT EXISTS public.{table} AS TABLE ledger.{table}"
            admin.execute(copy.encode())
            admin.execute(f"DELETE FROM ledger.{table}".encode())
            admin.execute(f"INSERT INTO ledger.{table} TABLE public.{table}".encode())
        for statement in statements:
            admin.execute(statement.encode())


def test_retention_is_judged_by_what_was_hashed(world: World) -> None:
    privacy = world.privacy()
    seq = world.said(NAME, retention="order")
    world.ledger.append(note("of nobody"))
    disarm(world.dsn)
    gone = "DELETE FROM ledger.disclosure"
    lie = "convert_to(replace(convert_from(payload, 'UTF8'), 'order', 'none'), 'UTF8')"
    other = (
        "UPDATE ledger.entry e SET payload = convert_to(replace(convert_from(payload, 'UTF8'),"
        " subject, 'psn-aaaaaaaaaaaaaaaa'), 'UTF8') FROM ledger.disclosure d WHERE d.seq = e.seq"
    )
    record, hashed = f"WHERE seq = {seq}", "is not what its hash says"
    for change, said in (
        ((f"UPDATE ledger.entry SET recorded_at_us = 0 {record}",), hashed),
        ((f"UPDATE ledger.entry SET recorded_at_us = 0 {record}", gone), hashed),
        ((f"UPDATE ledger.entry SET payload = {lie} {record}",), hashed),
        ((f"UPDATE ledger.entry SET payload = {lie}, payload_digest = sha256({lie})",), hashed),
        ((other, gone), hashed),
        ((f"UPDATE ledger.entry SET stream = 'decision/d9' {record}",), hashed),
        ((f"UPDATE ledger.entry SET header = NULL {record}",), hashed),
        ((f"UPDATE ledger.entry SET seq = NULL {record}",), hashed),
        ((f"UPDATE ledger.entry SET commitments = '' {record}", gone), "must be kept until"),
        ((f"UPDATE ledger.entry SET header = '{{}}' {record}", gone), hashed),
        ((f"DELETE FROM ledger.entry {record}",), "which is not there"),
        (("UPDATE ledger.disclosure SET subject = 'psn-aaaaaaaaaaaaaaaa'",), "must be kept until"),
        ((gone,), "must be kept until"),
    ):
        altered(world.dsn, *change)
        size = world.ledger.size
        with pytest.raises(ErasureRefusedError, match=said):
            privacy.erase(NAME, basis="GDPR", actor="operator")
        assert world.ledger.size == size, change
        assert world.vault.find(NAME) is not None
    altered(world.dsn, gone)
    world.now_us = kept_until_us(TIME_US, "order", YEARS)
    done = privacy.erase(NAME, basis="GDPR", actor="operator")
    assert (done.fields, done.keys_destroyed, done.rows) == (1, 1, 0)


def test_what_lost_its_number_keeps_a_person_though_the_catalogue_denies_it(world: World) -> None:
    """A planner that believes NOT NULL answers `IS NULL` without looking."""
    privacy = world.privacy()
    kept = world.said(NAME, retention="order")
    world.said(OTHER)
    (hold,) = privacy.hold(f"subject:{OTHER}", reason="case", actor="approver")
    altered(
        world.dsn,
        f"UPDATE ledger.entry SET seq = NULL WHERE seq IN ({kept}, {hold.seq})",
        "DELETE FROM ledger.disclosure",
    )
    arm(world.dsn)
    for name in (NAME, OTHER):
        with pytest.raises(ErasureRefusedError, match="is not what its hash says"):
            privacy.erase(name, basis="GDPR", actor="operator")
    for column in ("seq", "position"):
        altered(world.dsn, f"UPDATE ledger.disclosure SET {column} = NULL WHERE seq = {kept}")
        arm(world.dsn)
        with pytest.raises(ErasureRefusedError, match="without the number"):
            privacy.erase(NAME, OTHER, basis="GDPR", actor="operator")
    assert None not in (world.vault.find(NAME), world.vault.find(OTHER))


def test_a_hold_and_an_erasure_count_as_they_were_hashed(world: World) -> None:
    privacy = world.privacy()
    world.said(NAME)
    world.said(OTHER)
    subject = world.vault.subject(NAME)
    (placed,) = privacy.hold(f"subject:{NAME}", reason="case", actor="operator")
    disarm(world.dsn)
    for change in (
        "SET kind = 'operator_note'",
        "SET kind = 'hold_lifted'",
        "SET stream = 'session/x'",
        "SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'psn-', 'psm-'), 'UTF8')",
    ):
        altered(world.dsn, f"UPDATE ledger.entry {change} WHERE seq = {placed.seq}")
        with pytest.raises(ErasureRefusedError, match="is not what its hash says"):
            privacy.erase(NAME, basis="GDPR", actor="operator")
    body = f'convert_to(\'{{"fields":[],"records":0,"subject":"{subject}"}}\', \'UTF8\')'
    altered(
        world.dsn,
        "INSERT INTO ledger.entry (seq, stream, stream_seq, kind, version, recorded_at_us, actor,"
        " idem_key, prev, payload_digest, leaf, header, payload)"
        " SELECT NULL, 'control', 999, 'subject_erased', 1, recorded_at_us, actor,"
        f" 'erased:{subject}', prev, sha256({body}), leaf, header, {body}"
        " FROM ledger.entry WHERE seq = 0",
    )
    with pytest.raises(ErasureRefusedError, match=r"what its hash says|somebody else"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    altered(world.dsn, f"UPDATE ledger.entry SET kind = 'subject_erased' WHERE seq = {placed.seq}")
    said: list[str] = []
    complete(privacy, said.append)
    assert "NOT complete" in said[0]
    assert "run `countersign fsck`" in said[0]
    assert world.vault.find(NAME) == subject
    altered(world.dsn)
    with pytest.raises(ErasureRefusedError, match="somebody else"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    assert privacy.erase(OTHER, basis="GDPR", actor="operator").keys_destroyed == 1


def test_fsck_sees_values_that_are_gone_or_were_put_elsewhere(
    postgres_dsn: str, tmp_path: Path
) -> None:
    fill(postgres_dsn, Vault(tmp_path / "vault"))

    def codes() -> tuple[int, int]:
        return (
            fsck_database(postgres_dsn, plan_of(tmp_path, KEY), silent, None).exit_code,
            fsck_database(
                postgres_dsn, plan_of(tmp_path, KEY, payloads=False), silent, None
            ).exit_code,
        )

    assert codes() == (OK, OK)
    for change, code in (
        ("DELETE FROM ledger.disclosure", INCOMPLETE),
        ("DELETE FROM ledger.disclosure WHERE position = 1", INCOMPLETE),
        ("UPDATE ledger.disclosure SET position = 2 WHERE position = 1", TAMPERED),
        ("UPDATE ledger.disclosure SET sealed = 'x' WHERE position = 1", TAMPERED),
        ("UPDATE ledger.disclosure SET seq = 7777 WHERE position = 1", TAMPERED),
    ):
        altered(postgres_dsn, change)
        assert codes() == (code, OK), change
    altered(postgres_dsn)
    arm(postgres_dsn)
    with world_at(postgres_dsn, tmp_path) as world:
        done = world.privacy().erase("Ada Lovelace", basis="GDPR", actor="operator")
        assert done.rows == 2
        report = fsck_database(postgres_dsn, plan_of(tmp_path, KEY), silent, None)
        assert report.exit_code == INCOMPLETE, "signed by nobody yet"
        world.ledger.checkpoint_now()
        report = fsck_database(postgres_dsn, plan_of(tmp_path, KEY), silent, None)
        assert report.exit_code == OK, report.lines
        assert any("2 are erased, on record" in line for line in report.lines)
        assert [r.body["fields"] for r in world.reader.records(kinds=(Kind.SUBJECT_ERASED,))] == [
            [[2, 0], [4, 0]]
        ]
    assert verify_database(postgres_dsn, TRUSTED).exit_code == OK
