"""A small desk over a real ledger whose seeds are judged by replay and by both verifiers.

Its walk can be made to lie: to put other records on the ledger, or to take another root.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import NO_HOOKS, Guard, Hooks, Lane, Ledger
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.upkeep.dump import dump, verify_database
from audit.verifier import verify
from gateway.desk.bodies.requests import ApprovalRequest, IntentRequest
from gateway.desk.holds.answering import open_sheet
from gateway.desk.holds.sheet import Sheet
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.projections.forecasts import decision_records
from inference.weights.registry import read_table
from tests.doubles.second_verifier import second
from tests.doubles.small_desk import SmallDesk

TABLE_FILE = Path(__file__).parents[2] / "inference" / "models" / "pair_v1" / "table.safetensors"
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
        hooks: Hooks = NO_HOOKS,
    ) -> tuple[Record, ...]:
        changed = [self._change(one) for one in drafts]
        return self._ledger.append(
            *changed, lane=lane, guard=guard, timeout_s=timeout_s, hooks=hooks
        )

    def resolve(self, stream: str, idem_key: str, timeout_s: float = 5.0) -> Record | None:
        return self._ledger.resolve(stream, idem_key, timeout_s)

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

    def ask(self, key: str, exposure_bp: int = 0, *, anew: bool = True) -> str:
        """Submit an agent's intent; return the decision. `anew` has a forecast made for it."""
        if anew:
            self.other_inputs()
        request = IntentRequest(client_key=key, instrument="NDXN", target_exposure_bp=exposure_bp)
        return self.desk.desk.submit(AGENT, request).decision_id

    def other_inputs(self) -> None:
        """Let the market have other inputs from now on, so that the forecast is another one."""
        market = self.desk.desk.own.market
        session = market.session("NDXN")
        snapshot = replace(session.snapshot, bars=session.snapshot.bars[1:])
        market.open_session(replace(session, snapshot=snapshot))

    def opened(self, decision_id: str) -> Sheet:
        """Let the approver open a hold's sheet, which is a record of its own."""
        return open_sheet(self.reader, self.desk.desk.reads, APPROVER, decision_id)

    def agree(self, decision_id: str, sheet: Sheet | None = None) -> None:
        """Approve a hold."""
        (asked,) = self.of(decision_id, Kind.APPROVAL_REQUESTED)
        sheet = sheet or self.opened(decision_id)
        answer = ApprovalRequest(
            approve=True,
            intent_digest=str(asked.body["intent_digest"]),
            sheet_digest=sheet.digest,
            note="read it",
        )
        self.desk.desk.holds.answer(APPROVER, decision_id, answer)
        self.desk.answer()

    def of(self, decision_id: str, kind: Kind) -> list[Record]:
        """Return a decision's records of a kind, those of its forecasts among them."""
        return [one for one in decision_records(self.reader, decision_id) if one.kind is kind]

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
        code, lines = second([str(file), "--key", self.vkey])
        assert code == report.exit_code, (report.lines, lines)
        said = [line for line in lines[:-1] if "its seed" in line]
        assert [line for line in report.lines if "its seed" in line] == said


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
