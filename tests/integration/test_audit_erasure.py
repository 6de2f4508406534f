"""Erasure: refused while it must be, whole when it happens, and no proof notices.

The bar is a byte search: after an erasure the value stands nowhere in PostgreSQL's folder, a copy
of it made before, a dump or the state folder, in any of the usual encodings.
"""

import base64
import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from audit.disclosures import Disclosures
from audit.erasure import Privacy
from audit.errors import DraftError, ErasureRefusedError, IdempotencyConflictError, VaultError
from audit.fsck import dump, verify_database, verify_dump
from audit.kinds import Kind
from audit.ledger import Ledger, LedgerConfig
from audit.personal import Personal, commitment, discloses, fields_of, parse_disclosure
from audit.queries import LedgerReader
from audit.record import Draft
from audit.retention import kept_until_us
from audit.tables import migrate
from audit.vault import Vault
from gateway.postgres import EmbeddedPostgres
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, note

pytestmark = pytest.mark.postgres

NAME = "Jörg Übelhör-Namenlos"
OTHER = "Dorothea Anderswo"
YEARS = {"order": 6, "communication": 5, "supervision": 5, "none": 0}
TRUSTED = (str(SIGNER.vkey),)
_numbers = itertools.count()


def forms(value: str) -> dict[str, bytes]:
    """Return a value as bytes in the encodings in which it could stand on a disk."""
    plain = value.encode()
    found = {
        "utf-8": plain,
        "latin-1": value.encode("latin-1"),
        "utf-16-le": value.encode("utf-16-le"),
        "utf-16-be": value.encode("utf-16-be"),
        "hex": plain.hex().encode(),
        "hex upper": plain.hex().upper().encode(),
        "json": json.dumps(value)[1:-1].encode(),
    }
    for shift in range(3):  # the three ways in which base64 may cut it, edges left out
        for name, encode in (("b64", base64.b64encode), ("b64url", base64.urlsafe_b64encode)):
            whole = encode(b"x" * shift + plain)
            found[f"{name} {shift}"] = whole[4 if shift else 0 : len(whole) // 4 * 4 - 4]
    return found


def hits(value: str, *roots: Path) -> list[str]:
    """Return where a value stands in any file under some folders, and in which encoding."""
    wanted = forms(value)
    files = [p for root in roots for p in ([root] if root.is_file() else root.rglob("*"))]
    return [
        f"{path.name} as {name}"
        for path in files
        if path.is_file()
        for data in (path.read_bytes(),)
        for name, form in wanted.items()
        if form in data
    ]


@dataclass
class World:
    """A ledger with a vault, and what an erasure works with."""

    dsn: str
    folder: Path
    ledger: Ledger
    reader: LedgerReader
    vault: Vault
    now_us: int = TIME_US
    steps: list[str] = field(default_factory=list)
    fails_after: str = ""

    def privacy(self) -> Privacy:
        return Privacy(
            log=ORIGIN,
            ledger=self.ledger,
            reader=self.reader,
            vault=self.vault,
            disclosures=Disclosures(self.dsn),
            years=YEARS,
            now_us=lambda: self.now_us,
            on_step=self.step,
        )

    def step(self, name: str) -> None:
        self.steps.append(name)
        if name == self.fails_after:
            raise KeyboardInterrupt(name)

    def said(
        self, name: str, *, retention: str = "none", stream: str = "control", value: str = ""
    ) -> int:
        """Put a record about a person on the ledger; return its number."""
        draft = about(self.vault.subject(name), value or name, retention=retention, stream=stream)
        return self.ledger.append(draft)[0].seq

    def rows(self) -> int:
        with psycopg.connect(self.dsn) as connection:
            row = connection.execute("SELECT count(*) FROM ledger.disclosure").fetchone()
        assert row is not None
        return int(row[0])


def about(
    subject: str, value: str, *, retention: str = "none", stream: str = "control", key: str = ""
) -> Draft:
    name = key or f"n{next(_numbers)}"
    personal = (Personal(subject=subject, path="text", value=value, retention=retention),)
    if stream == "control":
        plain = note("said by somebody", name)
    else:
        plain = Draft(
            stream=stream,
            kind=Kind.DECISION_SEALED,
            payload={"outcome": "filled"},
            actor="gateway",
            idem_key=name,
        )
    return Draft(
        stream=plain.stream,
        kind=plain.kind,
        payload=plain.payload,
        actor=plain.actor,
        idem_key=plain.idem_key,
        personal=personal,
    )


@contextmanager
def world_at(dsn: str, folder: Path) -> Iterator[World]:
    vault = Vault(folder / "vault")
    made: list[World] = []
    ledger = Ledger.open(
        LedgerConfig(dsn=dsn, checkpoint_every_s=0),
        SIGNER,
        lambda: made[0].now_us if made else TIME_US,
        vault=vault,
    )
    reader = LedgerReader(dsn)
    made.append(World(dsn=dsn, folder=folder, ledger=ledger, reader=reader, vault=vault))
    try:
        yield made[0]
    finally:
        ledger.close()
        reader.close()


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    with world_at(postgres_dsn, tmp_path) as made:
        yield made


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
    reads = list(world.reader.records(kinds=(Kind.PERSONAL_DISCLOSED,)))
    assert [r.body["seq"] for r in reads] == [seq]

    world.now_us += 1
    checkpoint = world.ledger.checkpoint_now()
    assert checkpoint is not None
    proof = world.reader.inclusion_proof(seq, checkpoint.size)
    done = privacy.erase(NAME, basis="GDPR art. 17(1)(b)", actor="operator")
    assert (done.fields, done.records, done.key_destroyed, done.rows) == (1, 1, True, 1)
    erased = world.reader.record(done.seq)
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
    again = privacy.erase(done.subject, basis="GDPR art. 17(1)(b)", actor="operator")
    assert (again.seq, again.key_destroyed, again.rows) == (done.seq, False, 0)
    with pytest.raises(ErasureRefusedError, match="known here"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    assert world.vault.subject(NAME) != done.subject


def test_a_retry_with_new_salts_is_the_same_record(world: World) -> None:
    subject = world.vault.subject(NAME)
    first = world.ledger.append(about(subject, NAME, key="once"))[0]
    again = world.ledger.append(about(subject, NAME, key="once"))[0]
    assert again == first
    assert world.rows() == 1
    with pytest.raises(IdempotencyConflictError):
        world.ledger.append(about(world.vault.subject(OTHER), OTHER, key="once"))
    assert world.rows() == 1


def test_many_values_in_one_batch_share_its_commit(world: World) -> None:
    subject = world.vault.subject(NAME)
    drafts = [about(subject, f"{NAME} {n}") if n % 3 else note(f"plain {n}") for n in range(300)]
    records = world.ledger.append(*drafts, timeout_s=60.0)
    assert world.rows() == 200
    kept = Disclosures(world.dsn).of_subject(subject)
    assert {one.seq for one in kept} == {r.seq for n, r in enumerate(records) if n % 3}
    done = world.privacy().erase(subject, basis="GDPR", actor="operator")
    assert (done.fields, done.rows) == (200, 200)
    more = world.vault.subject(OTHER)
    world.ledger.append(*(about(more, f"{OTHER} {n}") for n in range(250)), timeout_s=60.0)
    listed = world.privacy().erase(more, basis="GDPR", actor="operator")
    body = world.reader.record(listed.seq)
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

    for scope in ("all", f"subject:{NAME}", "decision:d1"):
        placed = privacy.hold(scope, reason="case 9", actor="operator")
        assert NAME.encode() not in placed.payload
        with pytest.raises(ErasureRefusedError, match=f"record {placed.seq}"):
            privacy.erase(NAME, basis="GDPR", actor="operator")
        hold_id = str(placed.body["hold_id"])
        with pytest.raises(ErasureRefusedError, match="somebody else"):
            privacy.lift(hold_id, reason="over", actor="operator")
        privacy.lift(hold_id, reason="over", actor="approver")
        with pytest.raises(ErasureRefusedError, match="in force"):
            privacy.lift(hold_id, reason="over", actor="approver")
    privacy.hold("decision:d2", reason="another case", actor="operator")
    privacy.hold(f"subject:{world.vault.subject(OTHER)}", reason="other", actor="operator")

    done = privacy.erase(NAME, basis="GDPR", actor="operator")
    expired = world.reader.record(done.seq - 1)
    assert expired is not None
    assert expired.kind is Kind.RETENTION_EXPIRED
    assert expired.body["kept_until_us"] == world.now_us
    assert expired.body["classes"] == ["order"]


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
    hold = privacy.hold("decision:d7", reason="case", actor="operator")
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


@pytest.mark.parametrize("scope", ["", "subject:Nobody", "decision:", "record:1", "ALL"])
def test_a_hold_on_nothing_is_refused(world: World, scope: str) -> None:
    with pytest.raises(ErasureRefusedError):
        world.privacy().hold(scope, reason="case", actor="operator")
    assert world.ledger.size == 0


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
        assert world.reader.record(again.seq) is not None
        assert not again.key_destroyed


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
        with pytest.raises(VaultError, match="does not open"):
            world.vault.open(kept[0].row, **wrong)
    with pytest.raises(VaultError):
        world.vault.open(kept[1].row, **place)


def test_no_byte_of_an_erased_person_is_left(tmp_path: Path) -> None:
    """Data directory, WAL, a copy made before, dumps and the state folder; with its control."""
    tmp_path.chmod(0o711)
    state = Path(tempfile.mkdtemp(prefix="countersign-erasure-"))
    state.chmod(0o711)
    server = EmbeddedPostgres(state)
    copied = tmp_path / "copied"
    try:
        dsn = server.start()
        migrate(dsn)
        with world_at(dsn, state) as world:
            seq = world.said(NAME)
            world.said(OTHER)
            world.ledger.checkpoint_now()
            dump(dsn, tmp_path / "before.dump")
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("CHECKPOINT")
            # the value is in the vault, and nowhere else: the search does find what is there
            assert {hit.split(" as ")[0] for hit in hits(NAME, state)} == {
                f"{world.vault.find(NAME)}.subject"
            }
            planted = tmp_path / "planted"
            for form in forms(NAME).values():
                planted.write_bytes(b"some text" + form + b"more")
                assert hits(NAME, planted)
            planted.unlink()
            shutil.copytree(
                state, copied, ignore=shutil.ignore_patterns("vault", "*.sock*", ".s.*")
            )
            world.privacy().erase(NAME, basis="GDPR art. 17(1)(b)", actor="operator")
            world.ledger.checkpoint_now()
            dump(dsn, tmp_path / "after.dump")
            assert verify_database(dsn, TRUSTED).exit_code == 0
            world.now_us += 1
            (gone,) = world.privacy().disclose(seq, reader="auditor", reason="check")
            assert gone.value is None
        for name in ("before.dump", "after.dump"):
            assert verify_dump(tmp_path / name, TRUSTED).exit_code == 0
        assert any(path.name == "pg_wal" for path in copied.rglob("*"))
        assert hits(NAME, state, copied, tmp_path / "before.dump", tmp_path / "after.dump") == []
        assert hits(OTHER, state), "the other person stays"
    finally:
        server.stop()
        shutil.rmtree(state, ignore_errors=True)
