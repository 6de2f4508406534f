"""Clocks that leap, on a desk over a real ledger: no life is longer for it, and none is saved.

The wall clock is set back and ahead while holds wait and approvals lie unsent; the section's
monotonic clock goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import ApprovalRequest, IntentRequest
from gateway.desk.holds.answering import open_sheet
from gateway.desk.intake.strategies import AGENT_WISH, Wish, wish
from gateway.errors import ApprovalRefusedError
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.deadlines import Deadlines
from gateway.walk.decision import decide
from gateway.walk.dispatch import LATE_US, dispatch, withdraw_late
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.ports import Case
from gateway.walk.reconciliation.recovery import close_abandoned
from inference.weights.registry import read_table
from tests.doubles.set_clock import SetClock
from tests.doubles.small_desk import RUN, SmallDesk, small_desk

pytestmark = pytest.mark.postgres

TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"
AGENT = Caller(name="agent", role=Role.AGENT)
APPROVER = Caller(name="anna", role=Role.APPROVER)
DAY_US = 86_400_000_000
SEND_WITHIN_US = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A desk and its clocks."""

    made: SmallDesk
    clock: SetClock

    def standing(self, decision_id: str) -> Standing:
        found = self.made.desk.own.orders.get(decision_id)
        assert found is not None
        return found

    def hold(self, key: str) -> str:
        """Let an agent ask for so much that a person must agree."""
        request = IntentRequest(client_key=key, instrument="NDXN", target_exposure_bp=3_000)
        response = self.made.desk.submit(AGENT, request)
        assert response.result == "held", response
        return response.decision_id

    def approved(self, number: int) -> Standing:
        """Leave an approved order that nobody has sent yet."""
        own = self.made.desk.own
        instrument = own.instruments["NDXN"]
        wanted = Wish(target_exposure_bp=1_000, max_qty_lots=20 + number, limit_ticks=None)
        case = Case(
            decision_id=f"clock-{number}",
            tags=replace(self.made.tags, account=f"{RUN}.agent"),
            instrument=instrument,
            snapshot=own.market.session("NDXN").snapshot,
            strategy=AGENT_WISH,
            author=AGENT.name,
            tick=lambda: own.market.tick("NDXN"),
            propose=wish(own.section.policy.sizing, instrument, wanted),
        )
        decision = decide(case, own.tools, own.section)
        assert decision.judged is not None
        own.orders.catch_up((decision.judged.record,))
        return self.standing(decision.decision_id)

    def answer(self, decision_id: str) -> str:
        """Let an approver say yes to what he was shown; return the result."""
        verdict = self.standing(decision_id).verdict
        assert verdict is not None
        digest = str(verdict.body["intent_digest"])
        sheet = open_sheet(self.made.reader, self.made.desk.reads, APPROVER, decision_id)
        answer = ApprovalRequest(
            approve=True, intent_digest=digest, sheet_digest=sheet.digest, note="as discussed"
        )
        return str(self.made.desk.holds.answer(APPROVER, decision_id, answer)["result"])

    def withdrawn(self, decision_id: str) -> str:
        """Return why an approval was withdrawn."""
        stream = f"decision/{decision_id}"
        (record,) = self.made.reader.records(stream=stream, kinds=(Kind.ORDER_WITHDRAWN,))
        assert self.standing(decision_id).stage is Stage.SEALED
        return str(record.body["reason"])

    @property
    def ttl_us(self) -> int:
        return int(self.made.desk.own.section.policy.approval.ttl.value)


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    """A desk with an open market and clocks to move."""
    signer = FileSigner.generate(tmp_path / "ledger.key", "clocks.test")
    clock = SetClock()
    ledger = Ledger.open(
        LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0), signer, clock.wall_us
    )
    reader = LedgerReader(postgres_dsn)
    try:
        made = small_desk(
            ledger,
            reader,
            tmp_path,
            read_table(TABLE_FILE.read_bytes()),
            wall=clock.wall_us,
            monotonic=clock.monotonic_us,
        )
        made.play(2)
        yield World(made=made, clock=clock)
    finally:
        ledger.close()
        reader.close()


@pytest.mark.parametrize(
    ("before_us", "after_us"),
    [(400 * DAY_US, -400 * DAY_US), (0, -DAY_US), (0, 0)],
    ids=["ahead before the hold, back after", "back while it waits", "none"],
)
def test_a_hold_ends_when_its_time_has_passed_whatever_the_wall_clock_says(
    world: World, before_us: int, after_us: int
) -> None:
    world.clock.leap(before_us)  # the ledger's times never go back: the hold is recorded far ahead
    decision_id = world.hold("leap")
    world.clock.leap(after_us)
    world.clock.passes(world.ttl_us - 5_000_000)
    assert world.made.desk.holds.expire() == 0
    world.clock.passes(5_000_000)
    with pytest.raises(ApprovalRefusedError, match="expired"):
        world.answer(decision_id)
    assert world.made.desk.holds.expire() == 1
    assert world.standing(decision_id).stage is Stage.SEALED


def test_a_leap_ahead_does_not_prolong_a_hold(world: World) -> None:
    world.hold("ahead")
    world.clock.leap(400 * DAY_US)
    assert world.made.desk.holds.expire() == 1


@pytest.mark.parametrize("leap_us", [-DAY_US, 0])
def test_an_approval_that_lay_too_long_is_not_sent_after_the_clock_was_set_back(
    world: World, leap_us: int
) -> None:
    standing = world.approved(1)
    sent = len(world.made.broker.orders)
    world.clock.passes(SEND_WITHIN_US)
    world.clock.leap(leap_us)
    assert dispatch(standing, world.made.desk.own.dispatching) is None
    assert len(world.made.broker.orders) == sent
    assert world.withdrawn(standing.decision_id) == "send_before_passed"


@pytest.mark.parametrize("leap_us", [-DAY_US, 0])
def test_a_clock_set_back_does_not_keep_a_late_approval_reserved(
    world: World, leap_us: int
) -> None:
    standing = world.approved(2)
    world.clock.leap(leap_us)
    world.clock.passes(SEND_WITHIN_US + LATE_US - 1_000_000)
    assert withdraw_late(world.made.desk.own.dispatching) == 0
    world.clock.passes(1_000_000)
    assert withdraw_late(world.made.desk.own.dispatching) == 1
    assert world.withdrawn(standing.decision_id) == "send_before_passed"


def test_an_approval_of_an_earlier_process_is_withdrawn_however_young_it_looks(
    world: World,
) -> None:
    standing = world.approved(3)
    other = Deadlines(world.clock.monotonic_us)
    after_a_start = replace(world.made.desk.own.dispatching, deadlines=other)
    assert dispatch(standing, after_a_start) is None
    assert world.withdrawn(standing.decision_id) == "approved_before_this_start"


def test_a_start_withdraws_what_it_finds_unsent(world: World) -> None:
    standing, own = world.approved(4), world.made.desk.own
    assert (
        close_abandoned(
            own.tools.ledger,
            own.orders,
            own.section.differences,
            market_time_us=own.market.now_us(),
        )
        == 1
    )
    assert world.withdrawn(standing.decision_id) == "restart"
    book = own.section.book(standing.account)
    assert standing.decision_id not in {one.decision_id for one in book.reservations}
    sent = world.made.reader.records(kinds=(Kind.ORDER_SENDING,))
    assert standing.decision_id not in {record.stream.partition("/")[2] for record in sent}


def test_a_persons_agreement_is_renewed_and_sent_within_its_life(world: World) -> None:
    decision_id = world.hold("agreed")
    world.clock.leap(-DAY_US)
    assert world.answer(decision_id) == "approved"
    records = world.made.reader.records(stream=f"decision/{decision_id}")
    found = {r.kind: r.body for r in records}
    agreed, sending = found[Kind.APPROVAL_GIVEN], found[Kind.ORDER_SENDING]
    assert sending["send_before_us"] <= agreed["expires_us"]
    assert found[Kind.ORDER_SENT]["decision_to_wire_us"] >= 0


def test_a_policy_that_has_expired_does_not_come_back_with_the_clock(world: World) -> None:
    section = world.made.desk.own.section
    assert section.status().standing == "ACTIVE"
    left_us = section.policy.expires_us - world.clock.wall_us()
    world.clock.passes(left_us)
    world.clock.leap(-DAY_US)
    assert section.status().standing == "EXPIRED"
