"""A ledger with real witnesses in processes of their own, over real HTTP and a real database."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from audit.errors import TrustPolicyError, WitnessError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.merkle import Frontier
from audit.tlog.note import parse_note
from audit.tlog.policy import QuorumPolicy
from audit.verifier.verify import INCOMPLETE, OK, TAMPERED
from audit.witnesses.publisher import Publication, Publisher, PublisherConfig
from audit.witnesses.quorum_watch import Quorum
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, note
from tests.doubles.audit_server import now_us
from tests.doubles.audit_spoiled import arm, disarm, verify_database
from tests.doubles.cosigners import WITNESSES
from tests.doubles.witness_process import WitnessProcess, serving, witness_process

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)


@contextmanager
def published(
    dsn: str,
    policy: bytes | None,
    *,
    on_change: Callable[[Publication], None] = lambda _: None,
    timeout_s: float = 2.0,
    lost_after_s: float = 15.0,
) -> Iterator[tuple[Ledger, Publisher]]:
    """Open a ledger with its publisher; checkpoints are made on demand."""
    config = PublisherConfig(
        dsn=dsn,
        policy=None if policy is None else QuorumPolicy.parse(policy),
        timeout_s=timeout_s,
        lost_after_s=lost_after_s,
    )
    publisher = Publisher(config, SIGNER.vkey, now_us, on_change)
    ledger = Ledger.open(
        LedgerConfig(dsn=dsn, checkpoint_every_s=0), SIGNER, now_us, on_checkpoint=publisher.offer
    )
    if ledger.last_checkpoint is not None:
        publisher.offer(ledger.last_checkpoint)
    publisher.start()
    try:
        yield ledger, publisher
    finally:
        ledger.close()
        publisher.stop()


def grown(ledger: Ledger, records: int, name: str = "n") -> Checkpoint:
    """Append some records and sign."""
    ledger.append(*(note(f"{name}{ledger.size}.{number}") for number in range(records)))
    checkpoint = ledger.checkpoint_now()
    assert checkpoint is not None
    return checkpoint


def until(publisher: Publisher, good: Callable[[Publication], bool]) -> Publication:
    """Wait until the publisher stands as wanted."""
    deadline = time.monotonic() + 20
    while not good(standing := publisher.standing()):
        assert time.monotonic() < deadline, standing
        time.sleep(0.01)
    return standing


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], WitnessProcess]]:
    """Start witnesses with empty memories; they end with the module."""
    with ExitStack() as stack:

        def start() -> WitnessProcess:
            folder = tmp_path_factory.mktemp("w")
            return stack.enter_context(witness_process(folder, [KEY]))

        yield start


def test_every_checkpoint_is_cosigned_though_one_witness_is_dead(
    postgres_dsn: str, witness: Callable[[], WitnessProcess]
) -> None:
    first = witness()
    with serving(lambda _: time.sleep(0.5)) as hanging:
        lines = first.policy.decode().splitlines()
        keys = [line for line in lines if line.startswith("witness ")]
        dead = f"witness dead {WITNESSES[0].vkey} {hanging}"
        policy = "\n".join([*keys, dead, "group some 2 w1 w2 dead", "quorum some", ""]).encode()
        with published(postgres_dsn, policy, timeout_s=0.3) as (ledger, publisher):
            checkpoints = []
            standing = publisher.standing()
            for number in range(1, 31):
                checkpoints.append(grown(ledger, number * 2))
                size = checkpoints[-1].size
                standing = until(publisher, lambda now: now.cosigned_size >= size)  # noqa: B023 - used at once
                assert standing.quorum is Quorum.MET
            assert standing.lags.count == 30
            by_name = {w.name: w for w in standing.witnesses}
            assert by_name["w0.example"].trouble is not None
            ledger.append(note("last"))
    reader = LedgerReader(postgres_dsn)
    parsed = QuorumPolicy.parse(policy).with_logs([SIGNER.vkey])
    for checkpoint in reader.checkpoints():  # the last one too, made by closing
        satisfied = parsed.satisfied_by(parse_note(reader.cosigned_note(checkpoint)))
        assert satisfied.head.size == checkpoint.size
        assert {w.name for w in satisfied.witnesses} == {b"w1", b"w2"}
    assert len(reader.cosigned_checkpoints(limit=100)) == 31
    with psycopg.connect(postgres_dsn) as connection:
        rows = connection.execute("SELECT level, n FROM ledger.tile ORDER BY n").fetchall()
        assert rows == [(0, n) for n in range(reader.head().size // 256)]
    reader.close()


def test_a_witness_killed_between_memory_and_answer_is_asked_again(
    postgres_dsn: str, tmp_path: Path
) -> None:
    with witness_process(tmp_path / "w", [KEY], die=3) as process:
        port = int(process.url.rpartition(":")[2])
        with published(postgres_dsn, process.policy) as (ledger, publisher):
            for _ in range(2):
                size = grown(ledger, 3).size
                until(publisher, lambda now: now.cosigned_size >= size)  # noqa: B023 - used at once
            third = grown(ledger, 3)
            process.process.wait(10)  # it remembered the third, and died
            until(publisher, lambda now: now.witnesses[0].trouble is not None)
            fourth = grown(ledger, 3)
            with witness_process(tmp_path / "w", [KEY], port=port):
                # the cosignature counts a moment before the trouble is said to be over
                until(publisher, lambda now: now.cosigned_size >= fourth.size)
                standing = until(publisher, lambda now: now.witnesses[0].trouble is None)
                assert standing.lags.count == 4
    assert third.size < fourth.size


def test_a_history_that_was_cosigned_cannot_be_replaced(
    postgres_dsn: str, witness: Callable[[], WitnessProcess], tmp_path: Path
) -> None:
    """A superuser who has the log's key too: the database alone cannot tell, the witness can."""
    process = witness()
    with published(postgres_dsn, process.policy) as (ledger, publisher):
        early = grown(ledger, 5)
        cosigned = grown(ledger, 20)
        until(publisher, lambda now: now.cosigned_size >= cosigned.size)
    reader = LedgerReader(postgres_dsn)
    kept = reader.cosigned_note(cosigned)
    QuorumPolicy.parse(process.policy).satisfied_by(parse_note(kept))
    reader.close()
    (tmp_path / "kept").write_bytes(kept)
    assert verify_database(postgres_dsn, [KEY], [kept]).exit_code == OK

    # cut back to an earlier checkpoint, whose head and signature are genuine
    disarm(postgres_dsn)
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        for table, where in (("entry", "seq"), ("checkpoint", "size"), ("cosignature", "size")):
            operator = ">=" if table == "entry" else ">"
            admin.execute(
                f"DELETE FROM ledger.{table} WHERE {where} {operator} {early.size}".encode()  # noqa: S608 - names of this file
            )
        _put_head(admin, early)
    arm(postgres_dsn)
    assert verify_database(postgres_dsn, [KEY]).exit_code == OK, "the database alone looks sound"
    assert verify_database(postgres_dsn, [KEY], [kept]).exit_code == INCOMPLETE
    with published(postgres_dsn, process.policy) as (ledger, publisher):
        standing = until(publisher, lambda now: now.witnesses[0].trouble is not None)
        assert "rolled back" in str(standing.witnesses[0].trouble)
        assert standing.cosigned_size == 0

    # written anew from the first record, as long as before, signed by the log's own key
    disarm(postgres_dsn)
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        for table in ("entry", "checkpoint", "cosignature", "tile", "head"):
            admin.execute(f"DELETE FROM ledger.{table}".encode())  # noqa: S608 - as above
    arm(postgres_dsn)
    with published(postgres_dsn, process.policy) as (ledger, publisher):
        forked = grown(ledger, cosigned.size - 1, "other")  # a first record is the clock's
        assert forked.size == cosigned.size
        standing = until(publisher, lambda now: now.witnesses[0].trouble is not None)
        trouble = f"it has cosigned another tree of {cosigned.size} records: forked"
        assert standing.witnesses[0].trouble == trouble
        forged = grown(ledger, 5, "other")
        standing = until(publisher, lambda now: now.witnesses[0].trouble != trouble)
        assert "HTTP 422" in str(standing.witnesses[0].trouble)
        assert (standing.cosigned_size, standing.quorum) == (0, Quorum.STARTING)
    assert forged.size > cosigned.size
    assert verify_database(postgres_dsn, [KEY]).exit_code == OK, "the database alone looks sound"
    assert verify_database(postgres_dsn, [KEY], [kept]).exit_code == TAMPERED
    with pytest.raises(TrustPolicyError):
        QuorumPolicy.parse(process.policy).satisfied_by(parse_note(forged.note))


def _put_head(admin: "psycopg.Connection[tuple[object, ...]]", to: Checkpoint) -> None:
    """Set the head back as if nothing had followed."""
    frontier = Frontier()
    for (leaf,) in admin.execute("SELECT leaf FROM ledger.entry ORDER BY seq"):
        assert isinstance(leaf, bytes)
        frontier = frontier.append(leaf)
    assert frontier.root() == to.root
    admin.execute(
        "UPDATE ledger.head SET size = %s, root = %s, frontier = %s",
        (frontier.size, frontier.root(), frontier.to_bytes()),
    )


def test_a_quorum_lost_and_met_is_told_once_each(
    postgres_dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "audit.witnesses.publisher")
    told: list[Quorum | None] = []
    with witness_process(tmp_path / "w", [KEY]) as process:
        port = int(process.url.rpartition(":")[2])
        with published(
            postgres_dsn,
            process.policy,
            on_change=lambda standing: told.append(standing.quorum),
            lost_after_s=0.8,
            timeout_s=0.5,
        ) as (ledger, publisher):
            size = grown(ledger, 3).size
            until(publisher, lambda now: now.cosigned_size >= size)
            until(publisher, lambda _: told == [Quorum.MET])
            process.kill()
            for _ in range(3):
                size = grown(ledger, 1).size
            until(publisher, lambda _: told == [Quorum.MET, Quorum.LOST])
            assert publisher.standing().waiting_s > 0.8
            with witness_process(tmp_path / "w", [KEY], port=port):
                until(publisher, lambda now: now.cosigned_size >= size)
                until(publisher, lambda _: told == [Quorum.MET, Quorum.LOST, Quorum.MET])
    assert len(told) == 3
    logged = [(r.levelname, r.getMessage()) for r in caplog.records if "quorum" in r.message]
    levels = ["INFO", "WARNING", "WARNING"]
    assert logged == [*zip(levels, ["quorum_met", "quorum_lost", "quorum_met"], strict=True)]


def test_a_policy_must_say_where_its_witnesses_are(postgres_dsn: str) -> None:
    for url in ("", " ftp://w.example"):
        policy = f"witness w {WITNESSES[0].vkey}{url}\nquorum w\n".encode()
        with pytest.raises(WitnessError), published(postgres_dsn, policy):
            pass
    with published(postgres_dsn, f"log {OTHER_SIGNER.vkey}\nquorum none\n".encode()) as (
        ledger,
        publisher,
    ):
        grown(ledger, 3)
        assert publisher.standing().quorum is None
