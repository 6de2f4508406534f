"""One person under several pseudonyms: all are forgotten, or none; and what is said meanwhile."""

import shutil
import subprocess
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from audit.errors import ErasureRefusedError, SubjectRetiredError, VaultError
from audit.privacy.disclosures import Disclosures
from audit.privacy.retention import kept_until_us
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.ledger import Lane
from audit.upkeep.dump import verify_database
from gateway.installation.state import StateFolder
from gateway.launch import events
from gateway.privacy.erasure import clean_names, complete
from tests.doubles.audit_log import TIME_US, note
from tests.doubles.privacy_world import (
    NAME,
    OTHER,
    TRUSTED,
    YEARS,
    World,
    about,
    hits,
    world_at,
)

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(120)]
ALIAS = "Joerg Uebelhoer"


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    with world_at(postgres_dsn, tmp_path) as made:
        yield made


def erased_by(world: World, *subjects: str) -> list[Record]:
    records = world.reader.records(kinds=(Kind.SUBJECT_ERASED,))
    return [record for record in records if record.body["subject"] in subjects]


def test_a_refusal_of_one_refuses_all_and_names_which(world: World) -> None:
    world.said(NAME)
    kept = world.said(ALIAS, retention="order")
    held = world.said(OTHER)
    free, statute, hold = (world.vault.subject(name) for name in (NAME, ALIAS, OTHER))
    privacy = world.privacy()
    (placed,) = privacy.hold(f"subject:{OTHER}", reason="case", actor="operator")
    size = world.ledger.size
    with pytest.raises(ErasureRefusedError) as refused:
        privacy.erase(NAME, statute, OTHER, basis="GDPR", actor="operator")
    said = str(refused.value)
    assert f"{statute}: record {kept} (order) must be kept" in said
    assert f"{hold}: {placed.body['hold_id']}" in said
    assert said.endswith("none of them is erased")
    assert free not in said
    assert not any(name in said for name in (NAME, ALIAS, OTHER))
    with pytest.raises(ErasureRefusedError, match="subject 2 of 2: no person") as refused:
        privacy.erase(NAME, "Nobody Known", basis="GDPR", actor="operator")
    assert "Nobody" not in str(refused.value)
    assert world.ledger.size == size
    assert world.vault.subjects() == {free, statute, hold}
    assert [world.vault.find(name) for name in (NAME, ALIAS, OTHER)] == [free, statute, hold]
    assert world.said(NAME) > held, "and all are still in use"
    assert world.vault.subjects() == {free, statute, hold}


def test_all_are_erased_in_one_commit(world: World) -> None:
    seqs = [world.said(NAME), world.said(ALIAS, retention="order")]
    subjects = (world.vault.subject(NAME), world.vault.subject(ALIAS))
    stays = world.said(OTHER)
    world.now_us = kept_until_us(TIME_US, "order", YEARS)
    done = world.privacy().erase(
        subjects[0], ALIAS, NAME, basis="GDPR art. 17(1)(b)", actor="operator"
    )
    assert done.subjects == subjects, "each once"
    assert (done.fields, done.records, done.keys_destroyed, done.rows) == (2, 2, 2, 2)
    first, second = erased_by(world, *subjects)
    assert (first.seq, second.seq) == done.seqs
    assert second.seq == first.seq + 2, "with the record between that a statute has ended"
    assert first.recorded_at_us == second.recorded_at_us
    assert first.body["erased_us"] == second.body["erased_us"]
    assert [first.body["fields"], second.body["fields"]] == [[[seq, 0]] for seq in seqs]
    assert [first.body["retention_years"], second.body["retention_years"]] == [
        {"none": 0},
        {"order": 6},
    ]
    assert not hits(NAME, world.folder)
    assert not hits(ALIAS, world.folder)
    assert world.vault.find(OTHER) is not None
    assert Disclosures(world.dsn).of_record(stays)
    world.ledger.checkpoint_now()
    assert verify_database(world.dsn, TRUSTED).exit_code == 0


def test_a_name_reaches_all_that_are_called_so_in_any_case(world: World) -> None:
    capitals, decomposed = NAME.upper(), unicodedata.normalize("NFD", NAME.lower())
    seqs = [world.said(name) for name in (NAME, capitals, decomposed)]
    subjects = {world.vault.subject(name) for name in (NAME, capitals, decomposed)}
    assert len(subjects) == 3
    privacy = world.privacy()
    placed = privacy.hold(f"subject:{capitals}", reason="case", actor="operator")
    assert {hold.body["scope"] for hold in placed} == {f"subject:{one}" for one in subjects}
    with pytest.raises(ErasureRefusedError, match="none of them is erased"):
        privacy.erase(NAME, basis="GDPR", actor="operator")
    for hold in placed:
        privacy.lift(str(hold.body["hold_id"]), reason="over", actor="approver")
    done = privacy.erase(decomposed, basis="GDPR", actor="operator")
    assert set(done.subjects) == subjects
    assert done.rows == len(seqs)
    assert not hits(NAME, world.folder)
    assert world.vault.find(NAME) is None
    assert world.vault.find(capitals) is None


LEFT = {1: 0, 2: 2, 3: 2, 4: 2, 5: 1, 6: 1, 7: 0}
"""Subjects that a start finds half erased, after so many steps of an erasure of two."""


@pytest.mark.parametrize(
    ("cut", "starts"), [*((cut, False) for cut in LEFT), *((cut, True) for cut in (2, 4, 5, 6))]
)
def test_an_erasure_of_two_cut_off_anywhere_goes_on_to_its_end(
    postgres_dsn: str, tmp_path: Path, cut: int, *, starts: bool
) -> None:
    with world_at(postgres_dsn, tmp_path) as world:
        world.said(NAME)
        world.said(ALIAS)
        subjects = (world.vault.subject(NAME), world.vault.subject(ALIAS))
        world.cut_at = cut
        with pytest.raises(KeyboardInterrupt):
            world.privacy().erase(*subjects, basis="GDPR", actor="operator")
        assert len(world.steps) == cut
    with world_at(postgres_dsn, tmp_path) as world:
        if starts:
            assert world.privacy().complete() == LEFT[cut]
            assert world.vault.subjects() == frozenset()
        again = world.privacy().erase(*subjects, basis="GDPR", actor="operator")
        assert again.subjects == subjects
        assert world.vault.subjects() == frozenset()
        assert world.rows() == 0
        assert len(erased_by(world, *subjects)) == 2
        assert not hits(NAME, tmp_path)
        assert not hits(ALIAS, tmp_path)
        assert world.privacy().complete() == 0


def test_a_log_that_cannot_be_written_keeps_the_key_and_stops_no_start(
    world: World, tmp_path: Path
) -> None:
    state = StateFolder(root=tmp_path, keys=tmp_path, vault=tmp_path / "vault")
    state.logs.mkdir()
    running = state.logs / "running"
    shutil.copy(shutil.which("sleep") or "", running)
    world.said(NAME)
    privacy = world.privacy(lambda names: clean_names(state, names))
    said: list[str] = []
    with subprocess.Popen([running, "60"]) as process:  # nobody may write what is being run
        with pytest.raises(VaultError, match="left in a log"):
            privacy.erase(NAME, basis="GDPR", actor="operator")
        complete(privacy, said.append)
        process.kill()
    assert "NOT complete: names are left in a log: Text file busy" in said.pop()
    assert world.rows() == 1
    assert len(world.vault.subjects()) == 1
    complete(privacy, said.append)
    assert "is complete" in said.pop()
    assert world.rows() == 0
    complete(privacy, said.append)
    assert not said


def test_the_operators_journal_says_what_is_on_record(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    subject = world.vault.subject(NAME)
    events.note(world.ledger, "EMS", "run", "alarm", f"{NAME} says no")
    events.note(world.ledger, "EMS", "run", "alarm", "nobody does")
    (said, plain) = world.reader.records(kinds=(Kind.SESSION_EVENT,))
    assert (said.body["detail"], plain.body["detail"]) == (subject, "nobody does")
    assert [line.getMessage() for line in caplog.records] == [
        f"alarm: {subject}",
        "alarm: nobody does",
    ]


class Gate:
    """Holds the sequencer before a commit, when closed."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self.open.set()

    def __call__(self, step: str) -> None:
        if step == "ledger.before_commit" and not self.open.is_set():
            self.reached.set()
            assert self.open.wait(30.0)

    def close(self) -> None:
        self.reached.clear()
        self.open.clear()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def gated(postgres_dsn: str, tmp_path: Path, gate: Gate) -> Iterator[World]:
    with world_at(postgres_dsn, tmp_path, gate) as made:
        yield made
        gate.open.set()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20.0
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("lane", Lane)
def test_what_is_sealed_before_and_reaches_the_ledger_later_is_refused_there(
    gated: World, gate: Gate, lane: Lane
) -> None:
    """Sealed, then retired, then up for its commit: not written, so nothing is left unlisted."""
    first = gated.said(NAME)
    subject = gated.vault.subject(NAME)
    late = about(subject, f"{NAME} said more", key="late")
    with ThreadPoolExecutor() as threads:
        gate.close()
        busy = threads.submit(gated.ledger.append, note("holds the sequencer up"))
        assert gate.reached.wait(20.0)
        sealed = threads.submit(gated.ledger.append, late, lane=lane, timeout_s=30.0)
        until(lambda: waiting(gated) == 1)
        erasing = threads.submit(gated.privacy().erase, subject, basis="GDPR", actor="operator")
        until(lambda: "erase.retired" in gated.steps)
        gate.open.set()
        with pytest.raises(SubjectRetiredError, match="is being erased"):
            sealed.result(30.0)
        done = erasing.result(30.0)
        busy.result(30.0)
    (record,) = erased_by(gated, subject)
    assert (done.fields, record.body["fields"]) == (1, [[first, 0]])
    assert gated.reader.by_key("control", "late") is None
    assert gated.rows() == 0
    # said again it is about somebody new, as everything that is heard after an erasure
    gated.ledger.append(about(gated.vault.subject(NAME), f"{NAME} said more", key="late"))
    assert gated.rows() == 1


def test_words_that_lose_the_race_are_said_again_under_another_pseudonym(
    gated: World, gate: Gate
) -> None:
    """An operator's reason must not be lost: the ledger itself looks who is named, once more."""
    gated.said(NAME)
    subject = gated.vault.subject(NAME)
    with ThreadPoolExecutor() as threads:
        gate.close()
        busy = threads.submit(gated.ledger.append, note("holds the sequencer up"))
        assert gate.reached.wait(20.0)
        words = threads.submit(gated.ledger.append, note(f"{NAME} called"), timeout_s=30.0)
        until(lambda: waiting(gated) == 1)
        erasing = threads.submit(gated.privacy().erase, subject, basis="GDPR", actor="operator")
        until(lambda: "erase.retired" in gated.steps)
        gate.open.set()
        (said,) = words.result(30.0)
        assert erasing.result(30.0).subjects == (subject,)
        busy.result(30.0)
    another = gated.vault.find(NAME)
    assert another not in {None, subject}
    assert said.body["text"] == another
    assert gated.rows() == 1


@pytest.mark.parametrize("retention", ["none", "order"])
def test_what_is_being_committed_when_a_person_is_retired_counts(
    gated: World, gate: Gate, retention: str
) -> None:
    """In its commit, then retired: it is listed, and a statute that keeps it refuses it all."""
    gated.said(OTHER)
    first = gated.said(NAME)
    subject = gated.vault.subject(NAME)
    with ThreadPoolExecutor() as threads:
        gate.close()
        sealed = threads.submit(
            gated.ledger.append,
            about(subject, f"{NAME} said more", key="late", retention=retention),
            timeout_s=30.0,
        )
        assert gate.reached.wait(20.0)
        erasing: Future[object] = threads.submit(
            gated.privacy().erase, subject, OTHER, basis="GDPR", actor="operator"
        )
        until(lambda: "erase.retired" in gated.steps)
        until(lambda: waiting(gated) == 1)
        gate.open.set()
        (written,) = sealed.result(30.0)
        if retention == "order":
            with pytest.raises(ErasureRefusedError, match=rf"record {written.seq} \(order\)"):
                erasing.result(30.0)
        else:
            erasing.result(30.0)
    if retention == "order":
        assert erased_by(gated, subject) == []
        assert gated.vault.find(NAME) == subject
        assert gated.said(NAME)
        assert gated.said(OTHER)
        assert gated.rows() == 5, "all that was said is there, under the same pseudonyms"
        assert len(gated.vault.subjects()) == 2
    else:
        (record,) = erased_by(gated, subject)
        assert record.body["fields"] == [[first, 0], [written.seq, 0]]
        assert gated.rows() == 0


def waiting(world: World) -> int:
    """How many requests wait for the sequencer."""
    queues = world.ledger._lanes._queues  # noqa: SLF001 - nothing outside needs to know it
    return sum(len(queue) for queue in queues.values())


def test_a_record_that_is_there_is_given_back_while_its_person_is_erased(world: World) -> None:
    subject = world.vault.subject(NAME)
    draft = about(subject, NAME, key="once")
    (first,) = world.ledger.append(draft)
    world.vault.retire(subject)
    assert world.ledger.append(draft) == (first,), "asked again, as after a lost answer"
    with pytest.raises(SubjectRetiredError, match="is being erased"):
        world.ledger.append(about(subject, NAME, key="twice"))
    with pytest.raises(SubjectRetiredError, match="is being erased"):
        world.ledger.append(draft, about(subject, NAME, key="twice"))
    assert world.rows() == 1
