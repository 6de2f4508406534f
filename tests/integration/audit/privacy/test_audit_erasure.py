"""Erasure: refused while it must be, whole when it happens, and no proof notices."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from audit.errors import (
    DraftError,
    ErasureRefusedError,
    IdempotencyConflictError,
    LedgerTimeoutError,
    VaultError,
)
from audit.privacy.disclosures import Disclosures
from audit.privacy.retention import kept_until_us
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.personal import Personal, commitment, disclosure, fields_of, parse_disclosure
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.upkeep.dump import dump, verify_database
from audit.verifier.verify import main as verify_main
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, note
from tests.doubles.disclosing import discloses
from tests.doubles.privacy_world import NAME, OTHER, TRUSTED, YEARS, World, about, hits, world_at

pytestmark = pytest.mark.postgres


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    with world_at(postgres_dsn, tmp_path) as made:
        yield made


def outsider(world: World, *names: str) -> int:
    """Run the one-file verifier over the dump with these disclosures; return its exit code."""
    shown = [
        word for n in names for word in ("--disclosure", str(world.folder / f"{n}.disclosure"))
    ]
    return verify_main([str(world.folder / "shown.dump"), "--key", TRUSTED[0], *shown])


def test_value_is_committed_disclosed_and_forgotten(world: World) -> None:
    seq = world.said(NAME)
    record = world.reader.record(seq)
    assert record is not None
    header = json.loads(record.header)
    (named,) = fields_of(record.body)
    assert named.subject == world.vault.find(NAME)
    assert NAME.encode() not in record.header + record.payload

    privacy = world.privacy()
    (shown,) = privacy.disclose(seq, reader="auditor", reason="complaint 7")
    assert shown.value == NAME
    assert shown.disclosure is not None
    assert discloses(f"{shown.disclosure}\n".encode(), header["commitments"], 0)
    assert commitment(shown.disclosure) == header["commitments"][0]
    assert parse_disclosure(shown.disclosure)[1:] == ("text", NAME)
    world.ledger.checkpoint_now()
    dump(world.dsn, world.folder / "shown.dump")
    (world.folder / "0.disclosure").write_text(f"{shown.disclosure}\n")
    other = disclosure(bytes(32), "text", NAME)
    (world.folder / "1.disclosure").write_text(f"{other}\n")
    assert [outsider(world, "0"), outsider(world, "1"), outsider(world, "0", "1")] == [0, 1, 1]
    reads = list(world.reader.records(kinds=(Kind.PERSONAL_DISCLOSED,)))
    assert [r.body["seq"] for r in reads] == [seq]

    world.now_us += 1
    checkpoint = world.ledger.checkpoint_now()
    assert checkpoint is not None
    proof = world.reader.inclusion_proof(seq, checkpoint.size)
    done = privacy.erase(NAME, basis="GDPR art. 17(1)(b)", actor="operator")
    assert (done.fields, done.records, done.keys_destroyed, done.rows) == (1, 1, 1, 1)
    assert done.shown == (("auditor", reads[0].seq),), "who may hold a copy"
    erased = world.reader.record(done.seqs[-1])
    assert erased is not None
    assert erased.body["basis"] == "GDPR art. 17(1)(b)"
    assert erased.body["erased_by"] == "operator"
    assert erased.body["fields"] == [[seq, 0]]
    assert world.rows() == 0
    (gone,) = privacy.disclose(seq, reader="auditor", reason="again")
    assert gone.value is None
    assert world.reader.inclusion_proof(seq, checkpoint.size) == proof
    world.ledger.checkpoint_now()
    report = verify_database(world.dsn, TRUSTED, (checkpoint.note,))
    assert report.exit_code == 0, report.lines

    # a second time says so and does nothing; the name is not known any more, and means another
    again = privacy.erase(done.subjects[-1], basis="GDPR art. 17(1)(b)", actor="operator")
    assert (again.seqs[-1], again.keys_destroyed, again.rows) == (done.seqs[-1], 0, 0)
    assert again.shown == done.shown, "who asked when nothing was left has no copy"
    with pytest.raises(ErasureRefusedError, match="known here"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    assert world.vault.subject(NAME) != done.subjects[-1]


def test_a_retry_is_the_same_record_and_another_value_a_conflict(world: World) -> None:
    subject = world.vault.subject(NAME)
    first = world.ledger.append(about(subject, NAME, key="once"))[0]
    again = world.ledger.append(about(subject, NAME, key="once"))[0]
    assert again == first
    assert world.rows() == 1
    with pytest.raises(IdempotencyConflictError):
        world.ledger.append(about(world.vault.subject(OTHER), OTHER, key="once"))
    with pytest.raises(IdempotencyConflictError):
        world.ledger.append(about(subject, f"{NAME} said no", key="once"))
    agreed = world.ledger.append(note(f"{NAME} agreed", "words"))
    assert world.ledger.append(note(f"{NAME} agreed", "words")) == agreed
    with pytest.raises(IdempotencyConflictError):
        world.ledger.append(note(f"{NAME} refused", "words"))
    assert world.rows() == 2


def test_many_values_in_one_batch_share_its_commit(world: World) -> None:
    subject = world.vault.subject(NAME)
    drafts = [about(subject, f"{NAME} {n}") if n % 3 else note(f"plain {n}") for n in range(300)]
    records = world.ledger.append(*drafts, timeout_s=60.0)
    assert world.rows() == 200
    kept = Disclosures(world.dsn).places_of((subject,))
    assert {seq for _, seq, _ in kept} == {r.seq for n, r in enumerate(records) if n % 3}
    done = world.privacy().erase(subject, basis="GDPR", actor="operator")
    assert (done.fields, done.rows) == (200, 200)
    more = world.vault.subject(OTHER)
    world.ledger.append(*(about(more, f"{OTHER} {n}") for n in range(250)), timeout_s=60.0)
    listed = world.privacy().erase(more, basis="GDPR", actor="operator")
    body = world.reader.record(listed.seqs[-1])
    assert body is not None
    assert body.body["fields"] == 250
    blob = world.reader.blob(str(body.body["fields_blob"]))
    assert blob is not None
    assert len(json.loads(blob)) == 250


def test_no_value_is_ever_dropped_silently(postgres_dsn: str, tmp_path: Path) -> None:
    subject = Vault(tmp_path / "vault").subject(NAME)
    with (
        Ledger.open(LedgerConfig(dsn=postgres_dsn), SIGNER, lambda: TIME_US) as ledger,
        pytest.raises(DraftError, match="no vault") as refused,
    ):
        ledger.append(about(subject, NAME))
    assert NAME not in str(refused.value)


def test_statute_and_hold_come_before_erasure(world: World) -> None:
    privacy = world.privacy()
    seq = world.said(NAME, retention="order", stream="decision/d1")
    subject = world.vault.find(NAME)
    assert subject is not None
    before = world.ledger.size
    with pytest.raises(ErasureRefusedError, match=rf"record {seq} \(order\) must be kept until"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    world.now_us = kept_until_us(TIME_US, "order", YEARS) - 1
    with pytest.raises(ErasureRefusedError, match="must be kept"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    assert world.ledger.size == before
    world.now_us += 1
    world.said(NAME, stream="decision/d1")

    for scope in ("all", f"subject:{NAME}", "decision:d1"):
        (placed,) = privacy.hold(scope, reason="case 9", actor="operator")
        assert NAME.encode() not in placed.payload
        with pytest.raises(ErasureRefusedError, match=f"record {placed.seq}"):
            privacy.erase(NAME, basis="GDPR", actor="operator")
        hold_id = str(placed.body["hold_id"])
        with pytest.raises(ErasureRefusedError, match="somebody else"):
            privacy.lift(hold_id, reason="over", actor="operator")
        privacy.lift(hold_id, reason="over", actor="approver")
        with pytest.raises(ErasureRefusedError, match="in force, and no other is"):
            privacy.lift(hold_id, reason="over", actor="approver")
    world.said(OTHER, stream="decision/d2")
    privacy.hold("decision:d2", reason="another case", actor="operator")
    privacy.hold(f"subject:{world.vault.subject(OTHER)}", reason="other", actor="operator")
    with pytest.raises(
        ErasureRefusedError, match=r"in force: hold-\w+ on decision:d2, hold-\w+ on"
    ):
        privacy.lift("the one of May", reason="over", actor="approver")
    with pytest.raises(ErasureRefusedError, match="there is no record 100000"):
        privacy.disclose(100_000, reader="auditor", reason="complaint 7")

    done = privacy.erase(NAME, basis="GDPR", actor="operator")
    expired = world.reader.record(done.seqs[-1] - 1)
    assert expired is not None
    assert expired.kind is Kind.RETENTION_EXPIRED
    assert expired.body["kept_until_us"] == world.now_us
    assert expired.body["classes"] == ["order"]
    assert expired.body["retention_years"] == {"order": 6}
    erased = world.reader.record(done.seqs[-1])
    assert erased is not None
    assert erased.body["retention_years"] == {"none": 0, "order": 6}


def test_a_decisions_hold_keeps_the_brokers_messages_of_it(world: World) -> None:
    subject = world.vault.subject(NAME)
    inbound = Draft(
        stream="session/EMS",
        kind=Kind.FIX_INBOUND,
        payload={"offset": 70, "raw": "x", "msg_type": "8", "digest": "3" * 64},
        actor="fix",
        idem_key="inbound:70",
        personal=(Personal(subject=subject, path="raw/57", value=NAME, retention="none"),),
    )
    reported = Draft(
        stream="decision/d7",
        kind=Kind.ORDER_REPORTED,
        payload={
            "account": "acc",
            "cl_ord_id": "A",
            "report": {},
            "session": "EMS",
            "inbox_offset": 70,
        },
        actor="fix",
        idem_key="report:70",
    )
    world.ledger.append(inbound, reported)
    privacy = world.privacy()
    (hold,) = privacy.hold("decision:d7", reason="case", actor="operator")
    with pytest.raises(ErasureRefusedError, match=str(hold.body["hold_id"])):
        privacy.erase(subject, basis="GDPR", actor="operator")


@pytest.mark.parametrize(
    "reason", ["", "   ", f"asked by {NAME.upper()}", "x" * 301, "line\nbreak"]
)
def test_words_for_the_record_name_nobody(world: World, reason: str) -> None:
    world.said(NAME)
    size = world.ledger.size
    privacy = world.privacy()
    for ask in (
        lambda: privacy.erase(NAME, basis=reason, actor="operator"),
        lambda: privacy.hold("all", reason=reason, actor="operator"),
        lambda: privacy.disclose(0, reader="auditor", reason=reason),
    ):
        with pytest.raises(ErasureRefusedError):
            ask()
    assert world.ledger.size == size


@pytest.mark.parametrize(
    "scope",
    ["", "subject:Nobody", "decision:", "decision:typo", "decision:decision/d1", "record:1", "ALL"],
)
def test_a_hold_on_nothing_is_refused(world: World, scope: str) -> None:
    with pytest.raises(ErasureRefusedError):
        world.privacy().hold(scope, reason="case", actor="operator")
    assert world.ledger.size == 0


def test_an_erasure_cut_off_before_its_record_did_not_happen(
    postgres_dsn: str, tmp_path: Path
) -> None:
    with world_at(postgres_dsn, tmp_path) as world:
        world.said(NAME)
        world.fails_after = "erase.retired"
        with pytest.raises(KeyboardInterrupt):
            world.privacy().erase(NAME, basis="GDPR", actor="operator")
    with world_at(postgres_dsn, tmp_path) as world:
        assert world.privacy().complete() == 0
        assert world.rows() == 1
        assert world.said(NAME)
        assert world.privacy().erase(NAME, basis="GDPR", actor="operator").rows == 2


@pytest.mark.parametrize(
    "step", ["erase.recorded", "erase.cleaned", "erase.destroyed", "erase.deleted"]
)
def test_an_erasure_cut_off_anywhere_is_finished_by_the_next_start(
    postgres_dsn: str, tmp_path: Path, step: str
) -> None:
    with world_at(postgres_dsn, tmp_path) as world:
        world.said(NAME)
        subject = world.vault.subject(NAME)
        world.fails_after = step
        with pytest.raises(KeyboardInterrupt):
            world.privacy().erase(NAME, basis="GDPR", actor="operator")
    with world_at(postgres_dsn, tmp_path) as world:
        left = world.privacy().complete()
        assert left == (0 if step == "erase.deleted" else 1)
        assert subject not in world.vault.subjects()
        assert world.rows() == 0
        assert not hits(NAME, tmp_path)
        assert world.privacy().complete() == 0
        kinds = [r.kind for r in world.reader.records()]
        assert kinds.count(Kind.SUBJECT_ERASED) == 1
        # and asked again by the person who saw it fail, another way: the same record stands
        again = world.privacy().erase(subject, basis="asked twice", actor="approver")
        assert world.reader.record(again.seqs[-1]) is not None
        assert not again.keys_destroyed


def test_the_eraser_can_do_nothing_else(world: World) -> None:
    world.said(NAME)
    options = "-c role=countersign_eraser"
    with psycopg.connect(world.dsn, autocommit=True, options=options) as connection:
        for forbidden in (
            "SELECT * FROM ledger.entry",
            "UPDATE ledger.disclosure SET sealed = ''",
            "INSERT INTO ledger.disclosure VALUES (9, 0, 'x', '')",
            "TRUNCATE ledger.disclosure",
            "DELETE FROM ledger.entry",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(forbidden.encode())


def test_a_value_opens_only_in_its_own_place(world: World) -> None:
    seqs = (world.said(NAME), world.said(NAME))
    kept = [Disclosures(world.dsn).of_record(seq)[0] for seq in seqs]
    subject = world.vault.find(NAME)
    assert subject is not None
    place = {"log": ORIGIN, "stream": "control", "idem_key": kept[0].idem_key, "path": "text"}
    world.vault.open(kept[0].row, **place)
    for wrong in (
        {**place, "log": "other.example/log"},
        {**place, "idem_key": kept[1].idem_key},
        {**place, "path": "reason"},
        {**place, "stream": "session/x"},
    ):
        with pytest.raises(VaultError, match="does not decrypt"):
            world.vault.open(kept[0].row, **wrong)
    with pytest.raises(VaultError):
        world.vault.open(kept[1].row, **place)


@pytest.mark.parametrize("written", [False, None])
def test_an_erasure_whose_record_failed_can_be_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch, *, written: bool | None
) -> None:
    world.said(NAME)
    subject = world.vault.find(NAME)

    def busy(*_: Draft) -> None:
        raise LedgerTimeoutError("busy", written=written)

    with monkeypatch.context() as patch:
        patch.setattr(world.ledger, "append", busy)
        with pytest.raises(LedgerTimeoutError):
            world.privacy().erase(NAME, basis="GDPR", actor="operator")
    assert world.vault.find(NAME) == subject
    (noted,) = world.ledger.append(note(f"{NAME} called"))
    assert NAME.encode() not in noted.payload
    heard = world.vault.subject(NAME)
    assert (heard == subject) is (written is False), "in doubt, nothing goes under the old one"
    privacy = world.privacy()
    world.now_us = kept_until_us(TIME_US, "order", YEARS)
    placed = privacy.hold(f"subject:{NAME}", reason="case", actor="operator")
    scopes = [hold.body["scope"] for hold in placed]
    assert scopes == [f"subject:{one}" for one in dict.fromkeys((subject, heard))]
    for hold_id in privacy.holds():
        privacy.lift(hold_id, reason="over", actor="approver")
    done = privacy.erase(NAME, basis="GDPR", actor="operator")
    assert (done.subjects, done.rows) == ((subject, heard) if heard != subject else (heard,), 2)
    assert not world.vault.subjects()
    assert world.vault.find(NAME) is None
    assert not hits(NAME, world.folder)


def test_a_name_with_two_pseudonyms_is_forgotten_under_both(world: World, tmp_path: Path) -> None:
    first = world.vault.subject(NAME)
    world.vault.retire(first)
    assert world.vault.subject(NAME) != first
    reopened = Vault(tmp_path / "vault")
    assert len(reopened.find_all(NAME)) == 2
    reopened.destroy(reopened.find(NAME) or "")
    assert reopened.find(NAME) is not None, "the other one is still known by it"
    world.said(NAME)
    assert world.privacy().erase(NAME, basis="GDPR", actor="operator").records == 1
    assert not hits(NAME, world.folder)
