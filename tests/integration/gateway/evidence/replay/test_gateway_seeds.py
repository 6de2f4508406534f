"""Where a seed's root comes from: the largest checkpoint not above the opening record, no other.

The record is the one that opened the first attempt at the forecast. Held by the walk, which waits
for a checkpoint in flight; by replay; and by the verifier, for one decision's bundle and for the
whole log.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.verifier import verify
from gateway.clock import wall_us
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadlineError
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from tests.doubles.row_engine import RowEngine
from tests.doubles.seed_world import TABLE, World, edit
from tests.doubles.small_desk import small_desk

pytestmark = pytest.mark.postgres


class Late(RowEngine):
    """No answer comes within the deadline."""

    @override
    def sample(self, request: SampleRequest) -> Samples:
        raise EngineDeadlineError(f"{request.request_id}: late")


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    signer = FileSigner.generate(tmp_path / "ledger.key", "seeds.test")
    ledger = Ledger.open(LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0), signer, wall_us)
    reader = LedgerReader(postgres_dsn)
    try:
        desk = small_desk(ledger, reader, tmp_path, TABLE)
        desk.play(2)
        yield World(
            desk=desk,
            ledger=ledger,
            reader=reader,
            dsn=postgres_dsn,
            vkey=str(signer.vkey),
            folder=tmp_path,
        )
    finally:
        ledger.close()
        reader.close()


def test_the_root_is_that_of_the_largest_checkpoint_not_above_the_opening_record(
    world: World,
) -> None:
    world.checkpoint()
    newest = world.checkpoint()
    decision = world.ask("first")
    (opened,) = world.of(decision, Kind.SNAPSHOT_TAKEN)
    (asked,) = world.of(decision, Kind.FORECAST_REQUESTED)
    assert newest.size <= opened.seq
    assert (asked.body["seed_size"], asked.body["seed_root"]) == (newest.size, newest.root.hex())
    assert asked.body["seed_rule"] == 3
    assert any(f"the last before record {opened.seq}" in line for line in world.replays(decision))
    report = world.judged(decision)
    assert report.exit_code == 0, report.lines
    said = f"its seed is the root of {newest.size}, the last before {opened.seq}"
    assert any(said in line for line in report.lines)
    assert world.whole().exit_code == 0


def test_a_checkpoint_made_after_the_opening_record_is_not_taken(world: World) -> None:
    before = world.checkpoint()
    late: list[Checkpoint] = []
    real = world.desk.desk.own.tools.seed_root

    def another(opened_seq: int) -> tuple[bytes, int]:
        late.append(world.checkpoint())  # the forecast is opened by now
        return real(opened_seq)

    with world.rooted(another):
        decision = world.ask("late")
    (asked,) = world.of(decision, Kind.FORECAST_REQUESTED)
    assert late
    assert asked.body["seed_size"] == before.size
    world.replays(decision)
    assert world.judged(decision).exit_code == 0
    assert world.whole().exit_code == 0


def test_a_forecast_that_stands_has_no_other_root(world: World) -> None:
    """Nobody draws again by asking again, nor by agreeing to a hold."""
    world.checkpoint()
    first = world.ask("first", 2_700)
    sheet = world.opened(first)
    world.checkpoint()
    world.agree(first, sheet)
    second = world.ask("second", 2_700, anew=False)
    (asked,) = world.of(first, Kind.FORECAST_REQUESTED)
    assert world.of(second, Kind.FORECAST_REQUESTED) == [asked]
    for decision, said in ((first, ", the last before"), (second, "is not checkable")):
        world.replays(decision)
        report = world.judged(decision)
        assert report.exit_code == 0, report.lines
        lines = [line for line in report.lines if "its seed" in line]
        assert sum(said in line for line in lines) == 1, "the first request is not shown"
    assert world.whole().exit_code == 0


def test_a_renewal_by_other_inputs_has_the_root_of_its_own_forecast(world: World) -> None:
    world.checkpoint()
    decision = world.ask("renewed", 2_700)
    sheet = world.opened(decision)
    between = world.checkpoint()
    world.other_inputs()
    world.agree(decision, sheet)
    first, second = world.of(decision, Kind.FORECAST_REQUESTED)
    _, opened = world.of(decision, Kind.SNAPSHOT_TAKEN)
    assert first.body["seed_size"] < between.size == second.body["seed_size"] <= opened.seq
    world.replays(decision)
    report = world.judged(decision)
    assert report.exit_code == 0, report.lines
    assert sum(", the last before" in line for line in report.lines) == 2
    assert world.whole().exit_code == 0


def test_a_second_attempt_has_the_root_of_the_first(world: World) -> None:
    before = world.checkpoint()
    own = world.desk.desk.own
    late = Late(table=TABLE, codec=own.tools.codec)
    world.desk.desk.own = replace(own, tools=replace(own.tools, engine=late))
    failed = world.ask("failed")
    world.desk.desk.own = own
    newer = world.checkpoint()
    decision = world.ask("again", anew=False)
    (first,), (second,) = (world.of(one, Kind.FORECAST_REQUESTED) for one in (failed, decision))
    assert [one.body["attempt"] for one in (first, second)] == [0, 1]
    assert second.body["seed_size"] == first.body["seed_size"] == before.size < newer.size
    assert first.body["seeds_digest"] != second.body["seeds_digest"]
    for one in (failed, decision):
        world.replays(one)
        report = world.judged(one)
        assert report.exit_code == 0, report.lines
    assert world.whole().exit_code == 0


def test_an_earlier_root_is_refused_by_replay_and_verifier(world: World) -> None:
    old = world.checkpoint()
    newer = world.checkpoint()
    with world.rooted(lambda _: (old.root, old.size)):
        decision = world.ask("ground")
    assert "the last checkpoint before record" in world.differs(decision)
    for report in (world.judged(decision), world.whole()):
        assert report.exit_code == verify.TAMPERED, report.lines
    assert newer.size > old.size


def test_a_later_root_is_refused(world: World) -> None:
    later: list[Checkpoint] = []

    def take(_: int) -> tuple[bytes, int]:
        later.append(world.checkpoint())
        return later[-1].root, later[-1].size

    with world.rooted(take):
        decision = world.ask("later")
    assert "later root" in world.differs(decision)
    for report in (world.judged(decision), world.whole()):
        assert report.exit_code == verify.TAMPERED, report.lines


def test_a_root_that_nobody_signed_is_refused(world: World) -> None:
    newest = world.checkpoint()
    with world.rooted(lambda _: (bytes(32), newest.size)):
        decision = world.ask("nobody")
    assert "no checkpoint of that size and root" in world.differs(decision)
    for report in (world.judged(decision), world.whole()):
        assert report.exit_code == verify.TAMPERED, report.lines


def test_seeds_that_do_not_follow_from_the_root_are_refused(world: World) -> None:
    def other(payload: dict[str, JSON]) -> Mapping[str, JSON]:
        return {**payload, "seeds_digest": "7" * 64}

    with world.lying(edit(Kind.FORECAST_REQUESTED, other)):
        decision = world.ask("chosen")
    assert "seeds" in world.differs(decision)
    for report in (world.judged(decision), world.whole()):
        assert report.exit_code == verify.TAMPERED, report.lines


def test_a_request_without_the_rule_is_refused(world: World) -> None:
    def without(payload: dict[str, JSON]) -> Mapping[str, JSON]:
        return {name: value for name, value in payload.items() if name != "seed_rule"}

    with world.lying(edit(Kind.FORECAST_REQUESTED, without)):
        decision = world.ask("without")
    assert "seed_rule" in world.differs(decision)
    for report in (world.judged(decision), world.whole()):
        assert report.exit_code == verify.TAMPERED, report.lines


def test_what_an_auditor_read_in_between_is_not_shown_and_said_to_be_uncheckable(
    world: World,
) -> None:
    newest = world.checkpoint()
    note = Draft(
        stream="control",
        kind=Kind.OPERATOR_NOTE,
        payload={"text": "somebody read another decision"},
        actor="gateway",
        idem_key="note:between",
    )
    world.ledger.append(note)
    decision = world.ask("between")
    (asked,) = world.of(decision, Kind.FORECAST_REQUESTED)
    assert asked.body["seed_size"] == newest.size
    world.replays(decision)
    data = world.bundle(decision)
    assert b"somebody read" not in data
    report = verify.verify_bundle(data, (world.vkey,))
    assert report.exit_code == 0, report.lines
    assert any("is not checkable" in line for line in report.lines)
    assert world.whole().exit_code == 0


def test_a_checkpoint_in_flight_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    real = FileSigner.sign

    def slowly(self: FileSigner, message: bytes) -> bytes:
        begun.set()
        assert go_on.wait(20.0)
        return real(self, message)

    monkeypatch.setattr(FileSigner, "sign", slowly)
    made: list[Checkpoint] = []
    maker = threading.Thread(target=lambda: made.append(world.checkpoint()))
    maker.start()
    assert begun.wait(20.0)
    decided: list[str] = []
    walk = threading.Thread(target=lambda: decided.append(world.ask("waits")))
    walk.start()
    walk.join(0.5)
    assert not decided, "it did not wait for the checkpoint that is being signed"
    go_on.set()
    maker.join(20.0)
    walk.join(20.0)
    (asked,) = world.of(decided[0], Kind.FORECAST_REQUESTED)
    assert asked.body["seed_size"] == made[0].size
    world.replays(decided[0])


def test_the_verifier_derives_the_same_seeds_as_the_walk() -> None:
    root, prompt = bytes(range(32)), [7, 300, 0]
    for attempt in (0, 1, 7):
        again = verify.seeds_of(root, prompt, attempt, 5)
        seed = decision_seed(root, prompt_label(prompt), attempt)
        assert again == [str(one) for one in trajectory_seeds(seed, 5)]
