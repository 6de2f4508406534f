"""A superuser who also holds the log's key rewrites everything: what is seen, and by whom.

The honest table, which docs/ledger.md repeats:

    attack                                  key alone   + kept checkpoint   + witness policy
    a record changed in place               1           1                   1
    a decision's last record deleted        2           2                   2
    everything written anew and re-sealed   0           1                   1 or 2
    the tail deleted, head set back         0           2                   0 if it was cosigned
    all tables emptied                      2           2                   2

So a key alone shows who signed, never that he did not sign twice; a policy alone shows that others
saw a history, never that it is the newest one. A kept checkpoint shows both.
"""
# ruff: noqa: S608 - sizes and table names are this file's own

from dataclasses import dataclass

import pytest

from audit.evidence.bundle import build_bundle
from audit.evidence.receipt import build_receipt
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.store.tables import connect
from audit.tlog.cosignature import cosign
from audit.tlog.merkle import Frontier
from audit.tlog.note import parse_note
from audit.verifier.verify import (
    INCOMPLETE,
    OK,
    TAMPERED,
    Outside,
    Report,
    verify_bundle,
    verify_proof,
)
from tests.doubles.audit_log import SIGNER, TIME_US, cancelling, note, opening, sealed, started
from tests.doubles.audit_spoiled import armed, disarm, verify_database
from tests.doubles.cosigners import WITNESSES

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
WITNESS = WITNESSES[0]
POLICY = f"log {KEY}\nwitness w {WITNESS.vkey}\nquorum w\n".encode()
TABLES = ("entry", "blob", "checkpoint", "head", "tile", "cosignature")


@dataclass(frozen=True, slots=True)
class World:
    """A database, and the checkpoints that somebody elsewhere kept of it."""

    dsn: str
    kept: tuple[bytes, ...]

    def verify(self, *, kept: bool = False, policy: bool = False) -> Report:
        """Verify the database with the key and what else is trusted."""
        outside = Outside(policy=POLICY if policy else None)
        return verify_database(self.dsn, [KEY], self.kept if kept else (), outside=outside)

    def run(self, *statements: str) -> None:
        """Do as a superuser does."""
        with connect(self.dsn) as admin:
            for statement in statements:
                admin.execute(statement.encode())


def write(dsn: str, third: str) -> None:
    """Write a history of two decisions under two checkpoints."""
    config = LedgerConfig(dsn=dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        blob = ledger.put_blob(b"snapshot")
        ledger.append(started(), opening("d1", blob))
        batches: list[list[Draft]] = [[cancelling("d1")], [note(third)], [sealed("d1")]]
        for batch in batches:
            ledger.append(*batch)
        ledger.checkpoint_now()
        ledger.append(opening("d2", blob), cancelling("d2"), sealed("d2"))
        ledger.checkpoint_now()


@pytest.fixture
def world(postgres_dsn: str) -> World:
    write(postgres_dsn, "as it was")
    with connect(postgres_dsn) as admin:
        rows = admin.execute("SELECT size, note FROM ledger.checkpoint ORDER BY size").fetchall()
        for size, text in rows:
            line = cosign(parse_note(bytes(text)).text, WITNESS, TIME_US // 1_000_000)
            admin.execute(
                "INSERT INTO ledger.cosignature VALUES (%s, %s, %s, %s, %s)",
                (size, line.name, line.key_id, str(line).encode(), TIME_US),
            )
    disarm(postgres_dsn)
    world = World(postgres_dsn, tuple(bytes(text) for _, text in rows))
    for kept in (True, False):
        for policy in (True, False):
            assert world.verify(kept=kept, policy=policy).findings == 0
    return world


def codes(world: World) -> tuple[int, int, int, int]:
    """Return the exit codes: key alone, with kept checkpoints, with a policy, with both."""
    return (
        world.verify().exit_code,
        world.verify(kept=True).exit_code,
        world.verify(policy=True).exit_code,
        world.verify(kept=True, policy=True).exit_code,
    )


def rewritten(world: World, *, keep_cosignatures: bool) -> None:
    """Write another third record and everything after it anew, with the log's own key."""
    gone = [f"ledger.{t}" for t in TABLES if t != "cosignature" or not keep_cosignatures]
    world.run(f"TRUNCATE {', '.join(gone)}")
    with armed(world.dsn):
        write(world.dsn, "as he wishes it had been")


def test_a_history_written_anew_is_seen_by_what_was_kept_or_cosigned(world: World) -> None:
    rewritten(world, keep_cosignatures=False)
    assert codes(world) == (OK, TAMPERED, INCOMPLETE, TAMPERED)
    report = world.verify(kept=True)
    assert any("the tree of" in line or "differ" in line for line in report.lines)
    assert any("quorum is not met" in line for line in world.verify(policy=True).lines)


def test_old_cosignatures_do_not_fit_a_history_written_anew(world: World) -> None:
    rewritten(world, keep_cosignatures=True)
    assert codes(world) == (OK, TAMPERED, TAMPERED, TAMPERED)


def test_a_tail_that_is_cut_off_is_seen_by_what_was_kept(world: World) -> None:
    first = parse_note(world.kept[0]).text.split("\n")[1]
    world.run(
        f"DELETE FROM ledger.entry WHERE seq >= {first}",
        f"DELETE FROM ledger.checkpoint WHERE size > {first}",
        f"DELETE FROM ledger.cosignature WHERE size > {first}",
    )
    with connect(world.dsn) as admin:
        leaves = admin.execute("SELECT leaf FROM ledger.entry ORDER BY seq").fetchall()
    set_head(world, [bytes(leaf) for (leaf,) in leaves])
    assert codes(world) == (OK, INCOMPLETE, OK, INCOMPLETE)
    report = world.verify(kept=True)
    assert report.first_bad_seq == int(first)


def set_head(world: World, leaves: list[bytes]) -> None:
    """Store the head that a log of these leaves would have."""
    frontier = Frontier()
    for leaf in leaves:
        frontier = frontier.append(leaf)
    with connect(world.dsn) as admin:
        admin.execute(
            "UPDATE ledger.head SET size = %s, root = %s, frontier = %s",
            (frontier.size, frontier.root(), frontier.to_bytes()),
        )


def test_emptied_tables_are_seen_in_any_case(world: World) -> None:
    world.run(f"TRUNCATE {', '.join(f'ledger.{table}' for table in TABLES)}")
    assert codes(world) == (INCOMPLETE,) * 4
    assert world.verify(kept=True).first_bad_seq == 0


def test_a_record_changed_in_place_is_named_in_any_case(world: World) -> None:
    world.run("UPDATE ledger.entry SET actor = 'somebody else' WHERE seq = 3")
    assert codes(world) == (TAMPERED,) * 4
    assert world.verify().first_bad_seq == 3


def test_a_decision_without_its_last_record_is_incomplete_everywhere(world: World) -> None:
    reader = LedgerReader(world.dsn)
    outside = Outside(vkeys=[KEY], policy=POLICY)
    try:
        assert verify_bundle(build_bundle(reader, "d1"), outside=outside).findings == 0
        assert verify_proof(build_receipt(reader, "d1"), outside).findings == 0
    finally:
        reader.close()
    world.run("DELETE FROM ledger.entry WHERE stream = 'decision/d1' AND kind = 'decision_sealed'")
    assert codes(world) == (INCOMPLETE,) * 4
    report = world.verify()
    assert report.first_bad_seq == 4
    assert any("decision/d1 ends at 1 here, at 2 in the map" in line for line in report.lines)
