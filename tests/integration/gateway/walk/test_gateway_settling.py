"""What a broker may say: no message stops those behind it, no contradiction goes unnoticed.

Ledger, section, dispatch and settling are the product's; the broker's answers are made here.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from audit.errors import LaneFullError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.ledger import Ledger
from fix.durable.inbox import Entry
from gateway.clock import pause
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.strategies import AGENT_WISH, Wish, wish
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.launch.threads.settler import Settler
from gateway.telemetry.spans import Telemetry
from gateway.walk.decision import decide
from gateway.walk.dispatch import LATE_US, dispatch, withdraw_late
from gateway.walk.journal.persons import RAW_MAX
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.ports import Case
from gateway.walk.settlement import Received, SettleTools, settle
from risk.state.instrument import Instrument
from tests.doubles.answering_broker import framed
from tests.doubles.small_desk import RUN, SmallDesk

pytestmark = pytest.mark.postgres

TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"
AGENT = Caller(name="agent", role=Role.AGENT)
_numbers = itertools.count(1)


@dataclass
class Inbox:
    """An inbox of messages made here, one a byte."""

    messages: list[str]

    def inbox_since(self, offset: int) -> list[Entry]:
        """Return the messages from a place on."""
        return [
            Entry(place, place + 1, raw)
            for place, raw in enumerate(self.messages)
            if place >= offset
        ]


def rest(desk: SmallDesk) -> Standing:
    """Put an agent's order to rest at the broker."""
    number = next(_numbers)
    request = IntentRequest(
        client_key=f"settling-{number}",
        instrument="SPXN",
        target_exposure_bp=2_000,
        max_qty_lots=50 + number,
    )
    response = desk.desk.submit(AGENT, request)
    assert response.result == "approved", response
    return standing_of(desk, response.decision_id)


def standing_of(desk: SmallDesk, decision_id: str) -> Standing:
    """Return a decision's standing."""
    found = desk.desk.own.orders.get(decision_id)
    assert found is not None
    return found


def report(order: Standing, **changes: str) -> str:
    """Return a fill of one lot of an order at its limit, with some fields otherwise."""
    assert order.sending is not None
    sent = {int(tag): str(text) for tag, text in order.sending.body["fields"]}
    number = str(next(_numbers))
    fields = {
        49: "EMSSIM",
        56: "COUNTERSIGN",
        34: number,
        52: "20180102-15:00:00",
        37: "X1",
        11: order.cl_ord_id,
        17: f"S{number}",
        150: "F",
        39: "1",
        55: sent[55],
        54: sent[54],
        38: sent[38],
        32: "1",
        31: sent[44],
        151: "1",
        14: "1",
        6: sent[44],
        60: "20180102-15:00:00",
    }
    for name, text in changes.items():
        fields[int(name.removeprefix("t"))] = text
    return framed("8", tuple(fields.items()))


def settled(desk: SmallDesk, raw: str) -> list[Record]:
    """Settle one message and return what it left on record."""
    before = desk.ledger.size
    settle(Received(offset=1_000_000 + next(_numbers), raw=raw), desk.settling)
    return list(desk.reader.records(after_seq=before - 1))


def anomalies(records: list[Record]) -> list[str]:
    """Return the reasons of the anomalies among records."""
    return [str(r.body["reason"]) for r in records if r.kind is Kind.FIX_ANOMALY]


def fills(records: list[Record]) -> list[int]:
    """Return the lots that records book."""
    return [
        int(r.body["fill"]["qty_lots"])
        for r in records
        if r.kind is Kind.ORDER_REPORTED and r.body["fill"] is not None
    ]


POISON = {
    "a cancel after half a lot": {"t150": "4", "t39": "4", "t14": "10.5"},
    "a quantity of 18 digits": {"t32": "999999999999999999"},
    "a quantity that only the price makes too large": {"t32": "9000000000000"},
    "a price of 18 digits": {"t31": "999999999999999999"},
    "an ExecID longer than a key": {"t17": "E" * 300},
    "an ExecID with a control": {"t17": "E\x07"},
    "another instrument": {"t55": "NDXN"},
    "another side": {"t54": "2"},
}


ODD_FEES = {
    "a fee of 17 digits": {"t12": "99999999999999999", "t13": "3"},
    "a fee beyond what is booked": {"t12": "5000000000000", "t13": "3"},
    "a fee finer than a cent": {"t12": "0.001", "t13": "3"},
}


@pytest.mark.parametrize("changes", ODD_FEES.values(), ids=ODD_FEES)
def test_a_fee_that_cannot_be_booked_stays_open_and_its_trade_is_booked(
    desk: SmallDesk, changes: dict[str, str]
) -> None:
    records = settled(desk, report(rest(desk), **changes))
    assert (fills(records), anomalies(records)) == ([1], ["fee_open"])
    (found,) = (r for r in records if r.kind is Kind.BOOK_DIFFERENCE)
    assert found.body["reason"] == "FEE_OPEN"


@pytest.mark.parametrize("changes", POISON.values(), ids=POISON)
def test_what_cannot_be_booked_is_an_anomaly_and_is_on_record_as_received(
    desk: SmallDesk, changes: dict[str, str]
) -> None:
    order = rest(desk)
    raw = report(order, **changes)
    records = settled(desk, raw)
    assert anomalies(records) == ["unbookable"]
    assert fills(records) == []
    assert [r.body["raw"] for r in records if r.kind is Kind.FIX_INBOUND] == [raw]
    assert standing_of(desk, order.decision_id).filled_lots == 0
    assert fills(settled(desk, report(order))) == [1], "the next one is booked"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"t31": "999.00"}, "price_beyond_limit"),
        ({"t32": "60000"}, "overfilled"),
        ({"t31": "999.00", "t32": "60000"}, "price_beyond_limit, overfilled"),
    ],
)
def test_a_fill_that_breaks_its_order_is_booked_and_an_alarm(
    desk: SmallDesk, changes: dict[str, str], reason: str
) -> None:
    order = rest(desk)
    assert anomalies(settled(desk, report(order))) == [], "a fill at the limit is none"
    records = settled(desk, report(order, **changes))
    assert anomalies(records) == [reason]
    assert fills(records) == [int(changes.get("t32", "1"))]
    (reported,) = (r for r in records if r.kind is Kind.ORDER_REPORTED)
    assert reported.body["anomaly"] == reason
    position = desk.desk.own.section.book(f"{RUN}.agent").position("SPXN")
    assert position is not None
    assert position.lots == 1 + fills(records)[0]


def test_a_fill_below_a_buying_limit_is_no_alarm(desk: SmallDesk) -> None:
    assert anomalies(settled(desk, report(rest(desk), t31="1.00"))) == []


def test_a_long_message_is_booked_and_one_longer_than_a_record_is_kept_whole(
    desk: SmallDesk,
) -> None:
    wordy = report(rest(desk), t58="x" * 2 * RAW_MAX)
    records = settled(desk, wordy)
    assert (fills(records), anomalies(records)) == ([1], [])
    assert [r.body["raw"] for r in records if r.kind is Kind.FIX_INBOUND] == [wordy]
    raw = report(rest(desk), t58="\x02" * 60_000)
    records = settled(desk, raw)
    (inbound,) = (r for r in records if r.kind is Kind.FIX_INBOUND)
    assert inbound.body["raw"] == raw[:RAW_MAX]
    assert desk.reader.blob(str(inbound.body["digest"])) == raw.encode("latin-1")
    assert anomalies(records) == ["unbookable"]


@contextmanager
def settling(desk: SmallDesk, messages: list[str], tools: SettleTools) -> Iterator[Settler]:
    """Yield a settler at work on an inbox."""
    settler = Settler(Inbox(messages), tools, desk.reader, Telemetry())
    assert settler.ready
    settler.start()
    try:
        yield settler
    finally:
        settler.stop()


def of_session(desk: SmallDesk, name: str, patch: pytest.MonkeyPatch) -> SettleTools:
    """Send through another session; nothing of it is on record, so its inbox begins at 0."""
    own = desk.desk.own
    profile = own.dispatching.profile.model_copy(update={"name": name})
    there = replace(own, dispatching=replace(own.dispatching, profile=profile))
    patch.setattr(desk.desk, "own", there)
    return replace(desk.settling, session=name)


def comes(settler: Settler, offset: int) -> bool:
    """Whether the settler gets that far soon."""
    for _ in range(200):
        if settler.offset == offset:
            return True
        pause(0.02)
    return False


def test_the_settler_outlives_every_poison(
    desk: SmallDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = of_session(desk, "POISON", monkeypatch)
    order = rest(desk)
    messages = [report(order, **changes) for changes in POISON.values()]
    messages += ["", "8=FIX.4.4", report(order)]
    with settling(desk, messages, tools) as settler:
        assert comes(settler, len(messages))
        assert settler.ready
    assert standing_of(desk, order.decision_id).filled_lots == 1


class Refusing:
    """A ledger whose notebook is full until told otherwise."""

    def __init__(self, ledger: Ledger) -> None:
        """Refuse at first."""
        self.full = True
        self._ledger = ledger
        self.put_blob = ledger.put_blob

    def append(self, *drafts: object, **how: object) -> tuple[Record, ...]:
        """Refuse, or append."""
        if self.full:
            raise LaneFullError("full")
        return self._ledger.append(*drafts, **how)  # type: ignore[arg-type]


def test_a_ledger_that_is_full_for_a_while_delays_and_is_no_fault_of_the_settler(
    desk: SmallDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Refusing(desk.ledger)
    tools = replace(of_session(desk, "FULL", monkeypatch), ledger=ledger)
    order = rest(desk)
    with settling(desk, [report(order)], tools) as settler:
        pause(0.4)
        assert (settler.offset, settler.ready) == (0, True)
        ledger.full = False
        assert comes(settler, 1)
    assert standing_of(desk, order.decision_id).filled_lots == 1


def test_while_reports_are_stuck_no_order_leaves_and_the_settler_recovers(
    desk: SmallDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = of_session(desk, "STUCK", monkeypatch)
    order = rest(desk)
    broken = [True]

    def instrument(symbol: str) -> Instrument:
        if broken:
            raise RuntimeError("a fault that nobody foresaw")
        return desk.settling.instrument(symbol)

    tools = replace(theirs, instrument=instrument)
    with settling(desk, [report(order)], tools) as settler:
        for _ in range(100):
            if not settler.ready:
                break
            pause(0.02)
        assert settler.state == "stuck at 0: RuntimeError"
        sent = len(desk.broker.orders)
        waiting = approved(desk)
        dispatching = replace(desk.desk.own.dispatching, settling=lambda: settler.ready)
        assert dispatch(waiting, dispatching) is None
        assert len(desk.broker.orders) == sent
        assert reason_of_withdrawal(desk, waiting) == "reports_not_settled"
        broken.clear()
        assert comes(settler, 1)
        assert settler.ready
        assert dispatch(approved(desk), dispatching) is not None
    assert standing_of(desk, order.decision_id).filled_lots == 1


def approved(desk: SmallDesk) -> Standing:
    """Leave an approved order that nobody sends: its verdict came when its thread had gone."""
    own = desk.desk.own
    number = next(_numbers)
    instrument = own.instruments["NDXN"]
    wanted = Wish(target_exposure_bp=1_000, max_qty_lots=20 + number, limit_ticks=None)
    case = Case(
        decision_id=f"lost-{number}",
        tags=replace(desk.tags, account=f"{RUN}.agent"),
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
    standing = standing_of(desk, decision.decision_id)
    assert standing.stage is Stage.APPROVED, decision
    return standing


def reason_of_withdrawal(desk: SmallDesk, standing: Standing) -> str:
    """Return why an approval was withdrawn; it is sealed and reserves nothing."""
    stream = f"decision/{standing.decision_id}"
    (record,) = desk.reader.records(stream=stream, kinds=(Kind.ORDER_WITHDRAWN,))
    assert standing_of(desk, standing.decision_id).stage is Stage.SEALED
    book = desk.desk.own.section.book(standing.account)
    assert book.reservation(standing.decision_id) is None
    return str(record.body["reason"])


def test_an_approval_whose_thread_gave_it_up_is_withdrawn_when_it_is_late(desk: SmallDesk) -> None:
    own = desk.desk.own
    standing = approved(desk)
    sent = len(desk.broker.orders)
    assert standing.approving is not None
    before_us = int(str(standing.approving.body["send_before_us"]))
    early = replace(own.dispatching, wall_us=lambda: before_us + LATE_US - 1)
    assert withdraw_late(early) == 0
    assert standing_of(desk, standing.decision_id).stage is Stage.APPROVED
    late = replace(own.dispatching, wall_us=lambda: before_us + LATE_US)
    assert withdraw_late(late) == 1
    assert reason_of_withdrawal(desk, standing) == "send_before_passed"
    assert withdraw_late(late) == 0
    assert len(desk.broker.orders) == sent
