"""Where a seed's root comes from: the largest checkpoint not above the opening record, no other.

Held by the walk, which waits for a checkpoint in flight; by replay; and by the verifier, for one
decision's bundle and for the whole log.
"""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from audit import verify
from audit.canonical import JSON
from audit.checkpoint import Checkpoint
from audit.export import build_bundle
from audit.fsck import dump, verify_database
from audit.keys import FileSigner
from audit.kinds import Kind
from audit.ledger import Guard, Lane, Ledger, LedgerConfig
from audit.queries import LedgerReader
from audit.record import Draft, Record
from gateway.api.models import ApprovalRequest, IntentRequest
from gateway.clock import wall_us
from gateway.errors import ReplayDiffersError
from gateway.keyring import Caller
from gateway.replay import replay
from gateway.roles import Role
from inference.registry import read_table
from inference.seeds import decision_seed, trajectory_seeds
from tests.doubles.small_desk import RUN, SmallDesk, small_desk

pytestmark = pytest.mark.postgres

TABLE_FILE = Path(__file__).parents[2] / "inference" / "models" / "pair_v1" / "table.safetensors"
SECOND = Path(verify.__file__).with_suffix(".mjs")
TABLE = read_table(TABLE_FILE.read_bytes())
AGENT = Caller(name="agent", role=Role.AGENT)
APPROVER = Caller(name="anna", role=Role.APPROVER)
Change = Callable[[Draft], Draft]


class Liar:
    """A ledger that puts something else on record than the walk asked for."""

    def __init__(self, ledger: Ledger, change: Change) -> None:
        self._ledger = ledger
        self._change = change

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
    ) -> tuple[Record, ...]:
        changed = [self._change(one) for one in drafts]
        return self._ledger.append(*changed, lane=lane, guard=guard, timeout_s=timeout_s)

    def put_blob(self, data: bytes) -> str:
        return self._ledger.put_blob(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A desk, its ledger, and the log's key."""

    desk: SmallDesk
    ledger: Ledger
    reader: LedgerReader
    dsn: str
    vkey: str
    folder: Path

    def ask(self, key: str, exposure_bp: int = 0) -> str:
        """Submit an agent's intent; return the decision."""
        request = IntentRequest(client_key=key, instrument="NDXN", target_exposure_bp=exposure_bp)
        return self.desk.desk.submit(AGENT, request).decision_id

    def agree(self, decision_id: str) -> None:
        """Approve a hold."""
        (asked,) = self.of(decision_id, Kind.APPROVAL_REQUESTED)
        answer = ApprovalRequest(approve=True, intent_digest=str(asked.body["intent_digest"]))
        self.desk.desk.answer_hold(APPROVER, decision_id, answer)
        self.desk.answer()

    def of(self, decision_id: str, kind: Kind) -> list[Record]:
        """Return a decision's records of a kind."""
        return list(self.reader.records(stream=f"decision/{decision_id}", kinds=(kind,)))

    def checkpoint(self) -> Checkpoint:
        """Make a checkpoint of now, with something new under it."""
        number = self.ledger.size
        text = Draft(
            stream="control",
            kind=Kind.ENGINE_EVENT,
            payload={"event": "tick", "detail": str(number)},
            actor="gateway",
            idem_key=f"tick:{number}",
        )
        self.ledger.append(text)
        made = self.ledger.checkpoint_now()
        assert made is not None
        return made

    @contextmanager
    def lying(self, change: Change) -> Iterator[None]:
        """Let the walk put other records on the ledger than it means to."""
        own = self.desk.desk.own
        tools = replace(own.tools, ledger=Liar(self.ledger, change))
        self.desk.desk.own = replace(own, tools=tools)
        try:
            yield
        finally:
            self.desk.desk.own = own

    @contextmanager
    def rooted(self, root: Callable[[int], tuple[bytes, int]]) -> Iterator[None]:
        """Let the walk take its seeds from another root."""
        own = self.desk.desk.own
        self.desk.desk.own = replace(own, tools=replace(own.tools, seed_root=root))
        try:
            yield
        finally:
            self.desk.desk.own = own

    def replays(self, decision_id: str) -> tuple[str, ...]:
        return replay(self.reader, TABLE, decision_id).lines

    def differs(self, decision_id: str) -> str:
        """Return where and why a decision does not replay."""
        with pytest.raises(ReplayDiffersError) as found:
            self.replays(decision_id)
        return str(found.value)

    def bundle(self, decision_id: str) -> bytes:
        self.ledger.checkpoint_now()
        return build_bundle(self.reader, decision_id)

    def judged(self, decision_id: str) -> verify.Report:
        """Let both verifiers judge a decision's bundle; they say the same."""
        file = self.folder / f"{decision_id}.zip"
        file.write_bytes(self.bundle(decision_id))
        report = verify.verify_bundle(file.read_bytes(), (self.vkey,))
        self._second_says_the_same(file, report)
        return report

    def whole(self) -> verify.Report:
        """Let both verifiers judge the whole log; they say the same."""
        self.ledger.checkpoint_now()
        file = self.folder / "dump.jsonl"
        dump(self.dsn, file)
        with file.open("rb") as lines:
            report = verify.verify_dump(lines, (self.vkey,))
        self._second_says_the_same(file, report)
        assert verify_database(self.dsn, (self.vkey,)).exit_code == report.exit_code
        return report

    def _second_says_the_same(self, file: Path, report: verify.Report) -> None:
        """Ask the verifier in JavaScript; of seeds it says the very words."""
        node = shutil.which("node")
        assert node is not None, "the second verifier's tests need Node 18 or later"
        call = [node, "--no-warnings", str(SECOND), str(file), "--key", self.vkey]
        done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == report.exit_code, (report.lines, done.stdout)
        said = [line for line in done.stdout.splitlines()[:-1] if "its seed" in line]
        assert [line for line in report.lines if "its seed" in line] == said


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


def edit(kind: Kind, make: Callable[[dict[str, JSON]], Mapping[str, JSON]]) -> Change:
    """Change the payload of drafts of a kind."""

    def change(draft: Draft) -> Draft:
        if draft.kind is not kind:
            return draft
        return replace_draft(draft, make(dict(draft.payload)))

    return change


def replace_draft(draft: Draft, payload: Mapping[str, JSON]) -> Draft:
    return Draft(
        stream=draft.stream,
        kind=draft.kind,
        payload=payload,
        actor=draft.actor,
        idem_key=draft.idem_key,
        personal=draft.personal,
    )


def test_the_root_is_that_of_the_largest_checkpoint_not_above_the_opening_record(
    world: World,
) -> None:
    world.checkpoint()
    newest = world.checkpoint()
    decision = world.ask("first")
    (opened,) = world.of(decision, Kind.INTENT_RECEIVED)
    (asked,) = world.of(decision, Kind.FORECAST_REQUESTED)
    assert newest.size <= opened.seq
    assert (asked.body["seed_size"], asked.body["seed_root"]) == (newest.size, newest.root.hex())
    assert asked.body["seed_rule"] == 2
    assert any(f"the last before record {opened.seq}" in line for line in world.replays(decision))
    report = world.judged(decision)
    assert report.exit_code == 0, report.lines
    said = f"its seed is the root of {newest.size}, the last before {opened.seq}"
    assert any(said in line for line in report.lines)
    assert world.whole().exit_code == 0


def test_a_checkpoint_made_after_the_opening_record_is_not_taken(world: World) -> None:
    before = world.checkpoint()
    late: list[Checkpoint] = []

    def another(draft: Draft) -> Draft:
        if draft.kind is Kind.SNAPSHOT_TAKEN:  # the request has opened the decision by now
            late.append(world.checkpoint())
        return draft

    with world.lying(another):
        decision = world.ask("late")
    (asked,) = world.of(decision, Kind.FORECAST_REQUESTED)
    assert late
    assert asked.body["seed_size"] == before.size
    world.replays(decision)
    assert world.judged(decision).exit_code == 0
    assert world.whole().exit_code == 0


def test_a_renewals_root_is_the_last_before_its_approval(world: World) -> None:
    world.checkpoint()
    decision = world.ask("renewed", 2_700)
    between = world.checkpoint()
    world.agree(decision)
    (given,) = world.of(decision, Kind.APPROVAL_GIVEN)
    first, second = world.of(decision, Kind.FORECAST_REQUESTED)
    assert first.body["seed_size"] < between.size == second.body["seed_size"] <= given.seq
    world.replays(decision)
    report = world.judged(decision)
    assert report.exit_code == 0, report.lines
    assert sum(", the last before" in line for line in report.lines) == 2
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
        seeds = payload["seeds"]
        assert isinstance(seeds, list)
        return {**payload, "seeds": [*seeds[:-1], "7"]}

    with world.lying(edit(Kind.FORECAST_REQUESTED, other)):
        decision = world.ask("chosen")
    assert "seeds" in world.differs(decision)
    for report in (world.judged(decision), world.whole()):
        assert report.exit_code == verify.TAMPERED, report.lines


def test_a_request_without_the_rule_is_refused_where_its_run_promised_it(world: World) -> None:
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


def test_a_run_of_an_earlier_version_replays_by_its_own_rule(
    postgres_dsn: str, tmp_path: Path
) -> None:
    signer = FileSigner.generate(tmp_path / "ledger.key", "seeds.test")
    with (
        Ledger.open(
            LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0), signer, wall_us
        ) as ledger,
    ):
        reader = LedgerReader(postgres_dsn)
        desk = small_desk(ledger, reader, tmp_path, TABLE, record_rules=None)
        world = World(
            desk=desk,
            ledger=ledger,
            reader=reader,
            dsn=postgres_dsn,
            vkey=str(signer.vkey),
            folder=tmp_path,
        )
        desk.play(2)
        old = world.checkpoint()
        world.checkpoint()

        def without(payload: dict[str, JSON]) -> Mapping[str, JSON]:
            return {name: value for name, value in payload.items() if name != "seed_rule"}

        with (
            world.rooted(lambda _: (old.root, old.size)),
            world.lying(edit(Kind.FORECAST_REQUESTED, without)),
        ):
            decision = world.ask("earlier")
        assert any("earlier rule" in line for line in world.replays(decision))
        for report in (world.judged(decision), world.whole()):
            assert report.exit_code == 0, report.lines
            assert any("is not checkable" in line for line in report.lines)
        reader.close()


def test_the_verifier_derives_the_same_seeds_as_the_walk() -> None:
    root, decision = bytes(range(32)), f"{RUN}-00001"
    for attempt in (0, 1, 7):
        again = verify.seeds_of(root, f"decision/{decision}", attempt, 5)
        seed = decision_seed(root, decision, attempt)
        assert again == [str(one) for one in trajectory_seeds(seed, 5)]
