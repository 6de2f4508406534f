"""The small desk over a ledger in memory: the walk in milliseconds, without a server.

The wall clock, the kill word, the rules, signatures, section, dispatch and settling are the
product's. A test sets `wall.now_us` ahead to let time pass.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from typing_extensions import override

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.session.link import HandResult
from gateway import clock
from gateway.desk.bodies.requests import ApprovalRequest, IntentRequest, IntentResponse
from gateway.desk.holds.answering import sheet_in
from gateway.desk.holds.sheet import object_of
from gateway.desk.intake.strategies import AGENT_WISH, Wish, wish
from gateway.feeds.market import Market
from gateway.feeds.sessions import PlaybackSession
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.decision import Result, decide
from gateway.walk.dispatch import dispatch
from gateway.walk.journal.standing import Standing
from gateway.walk.ports import Case, Tick
from gateway.walk.projections.book import Twin
from gateway.walk.settlement import Received, settle
from inference.weights.registry import read_table
from risk.forms.documents import document_of
from tests.doubles.answering_broker import framed
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.small_desk import RUN, SmallDesk, small_desk

TABLE = read_table(
    (Path(__file__).parents[2] / "inference/models/pair_v1/table.safetensors").read_bytes()
)
AGENT = Caller(name="agent", role=Role.AGENT)
APPROVER = Caller(name="approver", role=Role.APPROVER)
AGENT_ACCOUNT = f"{RUN}.agent"


@dataclass(slots=True)
class Wall:
    """A wall clock that can be set ahead."""

    ahead_us: int = 0

    def __call__(self) -> int:
        """Return the time, microseconds UTC."""
        return clock.wall_us() + self.ahead_us


@dataclass(frozen=True, slots=True)
class Still(clock.MarketInstant):
    """A tick after which no time passes."""

    @override
    def now_us(self) -> int:
        """Return the tick's own time."""
        return self.tick_us


class StillMarket(Market):
    """The playback's market with a clock that stands still between its ticks.

    A machine that stops for a while makes no quote too old here.
    """

    def __init__(self) -> None:
        """Start before the first session."""
        super().__init__()
        self.time_us = 0

    @override
    def open_session(self, session: PlaybackSession) -> None:
        """Set a standing quote."""
        super().open_session(session)
        self.time_us = max(self.time_us, session.market_time_us)

    @override
    def close_session(self, close_time_us: int) -> None:
        """Move the clock to a close."""
        super().close_session(close_time_us)
        self.time_us = max(self.time_us, close_time_us)

    @override
    def now_us(self) -> int:
        """Return the time of the last tick."""
        return self.time_us

    @override
    def tick(self, instrument: str) -> Tick:
        """Return the standing quote, at its own time."""
        quote = replace(super().tick(instrument).quote, time_us=self.time_us)
        return Tick(quote=quote, instant=Still(tick_us=self.time_us, seen_us=0))


@dataclass
class MemoryDesk:
    """A desk in memory, with an open market."""

    small: SmallDesk
    log: MemoryLedger
    wall: Wall
    keys: int = field(default=0)
    messages: int = field(default=0)

    def ask(self, lots: int = 50, *, exposure_bp: int = 2_000, key: str = "") -> IntentResponse:
        """Submit an agent's intent to buy at most so many lots."""
        return self.small.desk.submit(AGENT, self.request(lots, exposure_bp=exposure_bp, key=key))

    def request(self, lots: int = 50, *, exposure_bp: int = 2_000, key: str = "") -> IntentRequest:
        """Return an agent's intent to buy at most so many lots, another one each time."""
        self.keys += 1
        return IntentRequest(
            client_key=key or f"key-{self.keys}",
            instrument="SPXN",
            target_exposure_bp=exposure_bp,
            max_qty_lots=lots + self.keys,
        )

    def rest(self, lots: int = 50) -> Standing:
        """Put an agent's order to rest at the broker."""
        response = self.ask(lots)
        if response.result != "approved":
            raise AssertionError(f"not approved: {response}")
        return self.standing(response.decision_id)

    def approved(self, decision_id: str = "") -> Standing:
        """Leave an approved order that nobody has sent yet."""
        self.keys += 1
        own = self.small.desk.own
        wanted = Wish(target_exposure_bp=1_000, max_qty_lots=20 + self.keys % 300, limit_ticks=None)
        case = Case(
            decision_id=decision_id or f"unsent-{self.keys}",
            tags=replace(self.small.tags, account=AGENT_ACCOUNT),
            instrument=own.instruments["SPXN"],
            snapshot=own.market.session("SPXN").snapshot,
            strategy=AGENT_WISH,
            author=AGENT.name,
            tick=lambda: own.market.tick("SPXN"),
            propose=wish(own.section.policy.sizing, own.instruments["SPXN"], wanted),
        )
        decision = decide(case, own.tools, own.section)
        if decision.result is not Result.APPROVED:
            worst = () if decision.judged is None else decision.judged.verdict.worst
            raise AssertionError(f"not approved: {decision.result} {worst}")
        if decision.judged is not None:
            own.orders.catch_up((decision.judged.record,))
        return self.standing(case.decision_id)

    def dispatch(self, standing: Standing) -> HandResult | None:
        """Send an approved order as the desk does."""
        return dispatch(standing, self.small.desk.own.dispatching)

    def withdrawn(self, decision_id: str) -> str:
        """Return why an approval was withdrawn; empty if it was not."""
        found = self.log.records(stream=f"decision/{decision_id}", kinds=(Kind.ORDER_WITHDRAWN,))
        return next((str(one.body["reason"]) for one in found), "")

    def standing(self, decision_id: str) -> Standing:
        """Return a decision's standing."""
        found = self.small.desk.own.orders.get(decision_id)
        if found is None:
            raise AssertionError(f"{decision_id} is not known")
        return found

    def answer(
        self, decision_id: str, *, approve: bool = True, by: Caller = APPROVER, note: str = "read"
    ) -> str:
        """Answer a hold and return what became of it."""
        digest = str(self.verdict(decision_id).body["intent_digest"])
        sheet = sheet_in(cast("LedgerReader", self.log), decision_id)
        if sheet is not None:
            self.small.desk.reads.note(by, object_of(decision_id))
        answer = ApprovalRequest(
            approve=approve,
            intent_digest=digest,
            sheet_digest="" if sheet is None else sheet.digest,
            note=note,
        )
        return str(self.small.desk.holds.answer(by, decision_id, answer)["result"])

    def other_inputs(self) -> None:
        """Let the market have other inputs from now on, so that the forecast is another one."""
        market = self.small.desk.own.market
        opened = market.session("SPXN")
        snapshot = replace(opened.snapshot, bars=opened.snapshot.bars[1:])
        market.open_session(replace(opened, snapshot=snapshot))

    def hold(self) -> str:
        """Leave a decision that waits for a person, and return its id."""
        response = self.ask(1_000, exposure_bp=2_800)
        if response.result != "held":
            raise AssertionError(f"not held: {response}")
        return response.decision_id

    def verdict(self, decision_id: str) -> Record:
        """Return a decision's last verdict."""
        found = list(
            self.log.records(stream=f"decision/{decision_id}", kinds=(Kind.VERDICT_GIVEN,))
        )
        return found[-1]

    def kinds(self, decision_id: str) -> list[Kind]:
        """Return the kinds of a decision's records, in order."""
        return [one.kind for one in self.log.records(stream=f"decision/{decision_id}")]

    def outcome(self, decision_id: str) -> str:
        """Return the word that seals a decision; empty while none does."""
        sealed = self.log.records(stream=f"decision/{decision_id}", kinds=(Kind.DECISION_SEALED,))
        return next((str(one.body["outcome"]) for one in sealed), "")

    def after(self) -> dict[str, Any]:
        """Return what stands now: every decision, and the books."""
        own = self.small.desk.own
        ids = sorted(
            {
                one.stream.removeprefix("decision/")
                for one in self.log.records()
                if one.stream.startswith("decision/")
            }
        )
        standings = [self.standing(name) for name in ids]
        lists = {
            "unsent": own.orders.unsent(),
            "in_doubt": own.orders.in_doubt(),
            "live": own.orders.live(),
            "held": own.orders.held(),
            "unsealed": tuple(own.orders.unsealed()),
        }
        return {
            "decisions": [
                {
                    "id": one.decision_id,
                    "account": one.account,
                    "stage": one.stage.value,
                    "order_state": one.order_state,
                    "filled_lots": one.filled_lots,
                    "report_status": one.report_status,
                    "sealed": one.sealed,
                    "approved": one.approving is not None,
                    "named": one.cl_ord_id,
                    "found": own.orders.by_cl_ord_id(one.cl_ord_id) == one,
                }
                for one in standings
            ],
            "lists": {name: [one.decision_id for one in found] for name, found in lists.items()},
            "books": [
                document_of(book)
                for account in (RUN, AGENT_ACCOUNT)
                for book in (
                    own.section.book(account),
                    own.section.twin_book(Twin.PLACEBO, account),
                )
            ],
        }

    def lots(self) -> int:
        """Return what the agents' book holds of the instrument."""
        return self.small.desk.own.section.book(AGENT_ACCOUNT).lots("SPXN")

    def reserved(self) -> int:
        """Return what the agents' book has reserved, lots."""
        book = self.small.desk.own.section.book(AGENT_ACCOUNT)
        return sum(held.open_lots for held in book.reservations)

    def settled(self, raw: str, *, offset: int | None = None) -> list[Record]:
        """Settle one message, by default the next of the inbox; returns what it left on record."""
        self.messages += 1
        before = self.log.size
        place = 1_000_000 + self.messages if offset is None else offset
        settle(Received(offset=place, raw=raw), self.small.settling)
        return list(self.log.records(after_seq=before - 1))

    def report(self, order: Standing, **changes: str) -> str:
        """Return a report of a fill of one lot at an order's limit, with other fields (`t39`)."""
        if order.sending is None:
            raise AssertionError("it was never sent")
        sent = {int(tag): str(text) for tag, text in order.sending.body["fields"]}
        self.messages += 1
        fields = {
            49: "EMSSIM",
            56: "COUNTERSIGN",
            34: str(self.messages),
            52: "20180102-15:00:00",
            37: "X1",
            11: order.cl_ord_id,
            17: f"M{self.messages}",
            150: "F",
            39: "1",
            55: sent[55],
            54: sent[54],
            38: sent[38],
            32: "1",
            31: sent[44],
            151: "1",
            14: str(order.filled_lots + 1),
            6: sent[44],
            60: "20180102-15:00:00",
        }
        for name, text in changes.items():
            fields[int(name.removeprefix("t"))] = text
        return framed("8", tuple(fields.items()))


def memory_desk(folder: Path, *, live: bool = True, send_within_us: int = 10_000_000) -> MemoryDesk:
    """Put a desk together over an empty log; with `live` the first day's market is open."""
    wall = Wall()
    log = MemoryLedger(wall)
    ledger, reader = cast("Ledger", log), cast("LedgerReader", log)
    small = small_desk(ledger, reader, folder, TABLE, wall, send_within_us, market=StillMarket())
    if live:
        for session in small.playback.sessions(2):
            small.desk.own.market.open_session(session)
    return MemoryDesk(small=small, log=log, wall=wall)
