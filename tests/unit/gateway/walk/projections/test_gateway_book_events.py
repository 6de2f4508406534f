"""Which records change a book, by how much, and what a session's numbers are by the ledger."""

from typing import Any

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.dialects.profile import Profile, Resets, simulator_profile
from fix.durable.resets import Reset, ResetCause
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.standing import BookedTrade, Stage, Standing
from gateway.walk.projections.book import BOOK_KINDS, Twin, book_events, twin_events
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.sequence import numbers, record_resets, recorded
from risk.intent import Side
from risk.state.adjustments import Split
from risk.state.book import DayStarted, Filled, Marked, MessageSent, OrderClosed, Released, Reserved
from risk.state.busts import FoldEvent, MarksCorrected, TradeUndone
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.replace_events import REPLACES
from tests.doubles.whole_records import whole

FILL: dict[str, Any] = {
    "instrument": "SPXN",
    "side": "SELL",
    "qty_lots": 7,
    "price_ticks": 101,
    "fee_minor": 3,
    "unit_minor": 2,
}


def record(kind: Kind, body: dict[str, Any], *, seq: int = 40) -> Record:
    return Record(
        seq=seq,
        stream="decision/d-1",
        stream_seq=0,
        kind=kind,
        version=1,
        recorded_at_us=1,
        actor="test",
        prev=bytes(32),
        payload_digest=bytes(32),
        header=b"",
        payload=canonical(whole(kind, body)),
        leaf=bytes(32),
        idem_key="",
    )


def filled(decision_id: str | None, time_us: int, trade: int) -> Filled:
    return Filled(
        decision_id=decision_id,
        instrument="SPXN",
        side=Side.SELL,
        qty_lots=7,
        price_ticks=101,
        unit_minor=2,
        fee_minor=3,
        time_us=time_us,
        trade=trade,
    )


MARK: dict[str, Any] = {"instrument": "SPXN", "price_ticks": 99, "market_time_us": 5}
MARKED = Marked(instrument="SPXN", price_ticks=99, time_us=5)
RESERVATION = {
    "instrument": "SPXN",
    "side": "SELL",
    "qty_lots": 9,
    "limit_ticks": 98,
    "unit_minor": 2,
}
RESERVED = Reserved(
    decision_id="d-2",
    instrument="SPXN",
    side=Side.SELL,
    qty_lots=9,
    limit_ticks=98,
    unit_minor=2,
    time_us=6,
)
REPORT: dict[str, Any] = {"fill": None, "terminal": False, "market_time_us": 8}
CLOSED = OrderClosed(decision_id="d-1", time_us=8)
RELEASED = Released(decision_id="d-1", time_us=8)
TIME: dict[str, Any] = {"market_time_us": 8}
SPLIT_TOLD = TIME | {"sort": "split", "instrument": "SPXN", "split": [2, 1]}
SPLIT = Split(instrument="SPXN", new=2, old=1, time_us=8)
REMARKED_TOLD = TIME | {"sort": "mark", "instrument": "SPXN", "marks": [7, 9], "mark_ticks": 98}
REMARKED = MarksCorrected(instrument="SPXN", first=7, last=9, price_ticks=98, time_us=8)
EVENTS: list[tuple[Kind, dict[str, Any], tuple[FoldEvent, ...]]] = [
    (Kind.MARK_TAKEN, MARK | {"kind": "close"}, (MARKED,)),
    (
        Kind.MARK_TAKEN,
        MARK | {"kind": "open", "session_date": "2018-01-02"},
        (DayStarted(day="2018-01-02", time_us=5), MARKED),
    ),
    (Kind.BOOK_ADJUSTED, REMARKED_TOLD, (REMARKED,)),
    (Kind.VERDICT_GIVEN, {"reservation": None}, ()),
    (
        Kind.VERDICT_GIVEN,
        {"reservation": RESERVATION, "decision_id": "d-2", "market_now_us": 6},
        (RESERVED,),
    ),
    (Kind.APPROVAL_REFUSED, TIME, (RELEASED,)),
    (Kind.RESERVATION_RELEASED, TIME, (RELEASED,)),
    (Kind.ORDER_WITHDRAWN, TIME, (RELEASED,)),
    (Kind.ORDER_REFUSED, TIME, (CLOSED,)),
    (Kind.ORDER_ENDED, TIME, (CLOSED,)),
    (Kind.ORDER_SENDING, {"market_now_us": 6}, (MessageSent(decision_id="d-1", time_us=6),)),
    (Kind.DIFFERENCE_RESOLVED, TIME, ()),
    (Kind.DIFFERENCE_RESOLVED, TIME | {"adjustment": FILL}, (filled(None, 8, 0),)),
    (Kind.ORDER_REPORTED, REPORT, ()),
    (Kind.ORDER_REPORTED, REPORT | {"terminal": True}, (CLOSED,)),
    (Kind.ORDER_REPORTED, REPORT | {"fill": FILL}, (filled("d-1", 8, 40),)),
    (
        Kind.ORDER_REPORTED,
        REPORT | {"fill": FILL, "terminal": True},
        (filled("d-1", 8, 40), CLOSED),
    ),
    (
        Kind.ORDER_REPORTED,
        REPORT | {"undoes_seq": 12, "reopens": True},
        (TradeUndone(decision_id="d-1", trade=12, instead=None, reopens=True, time_us=8),),
    ),
    (
        Kind.ORDER_REPORTED,
        REPORT | {"fill": FILL, "undoes_seq": 12, "reopens": False, "terminal": True},
        (
            TradeUndone(
                decision_id="d-1",
                trade=12,
                instead=filled("d-1", 8, 12),
                reopens=False,
                time_us=8,
            ),
            CLOSED,
        ),
    ),
    (Kind.BOOK_ADJUSTED, SPLIT_TOLD, (SPLIT,)),
    *REPLACES,
    (Kind.ORDER_SENT, TIME, ()),
    (Kind.DECISION_SEALED, TIME, ()),
]


@pytest.mark.parametrize("number", range(len(EVENTS)))
def test_what_a_record_does_to_a_book(number: int) -> None:
    kind, body, events = EVENTS[number]
    assert book_events(record(kind, body)) == events
    assert not events or kind in BOOK_KINDS, "else no query would find it"


def test_every_kind_that_is_asked_for_means_something() -> None:
    assert set(BOOK_KINDS) == {kind for kind, _, events in EVENTS if events}
    assert set(Twin.PLACEBO.kinds) == {Kind.MARK_TAKEN, Kind.PLACEBO_JUDGED, Kind.BOOK_ADJUSTED}


@pytest.mark.parametrize(
    ("kind", "body", "events"),
    [
        (Kind.MARK_TAKEN, MARK | {"kind": "close"}, (MARKED,)),
        (Kind.PLACEBO_JUDGED, {"fill": FILL, "market_now_us": 6}, (filled(None, 6, 0),)),
        (Kind.PLACEBO_JUDGED, {"fill": None, "market_now_us": 6}, ()),
        (Kind.PLACEBO_JUDGED, {"market_now_us": 6}, ()),
        (Kind.ORDER_REPORTED, REPORT | {"fill": FILL}, ()),
        (Kind.BOOK_ADJUSTED, TIME | {"sort": "trade", "fill": FILL}, ()),
        (Kind.BOOK_ADJUSTED, SPLIT_TOLD, (SPLIT,)),
    ],
)
def test_what_a_record_does_to_the_twins_book(
    kind: Kind, body: dict[str, Any], events: tuple[FoldEvent, ...]
) -> None:
    assert twin_events(Twin.PLACEBO, record(kind, body)) == events


@pytest.mark.parametrize(
    ("report", "trade"),
    [
        ({"fill": FILL}, True),
        ({"fill": FILL, "undoes_seq": None}, True),
        ({"fill": FILL, "undoes_seq": 3}, False),
        ({"fill": None}, False),
        ({"fill": None, "undoes_seq": 3}, False),
    ],
)
def test_a_correction_is_no_new_trade(report: dict[str, Any], *, trade: bool) -> None:
    assert OrderReported.of(record(Kind.ORDER_REPORTED, REPORT | report)).is_trade is trade


# standings


def told(seq: int, exec_id: str, **body: Any) -> Record:  # noqa: ANN401 - any field
    given = {
        "terminal": False,
        "order_state": "PARTIAL",
        "last_lots": 0,
        "ord_status": "1",
        "session": "s",
        "trade_date": "20180102",
        "exec_id": exec_id,
        "report": {},
    }
    return record(Kind.ORDER_REPORTED, given | body, seq=seq)


def standing_of(*records: Record) -> Standing:
    orders = Orders()
    orders.fold(records)
    found = orders.get("d-1")
    assert found is not None
    return found


def test_busts_and_corrections_change_the_trade_that_they_name() -> None:
    other = FILL | {"qty_lots": 5}
    three = (
        told(1, "E1", fill=FILL, last_lots=7),
        told(2, "E2", fill=other, last_lots=5),
        told(3, "E3", fill=FILL | {"qty_lots": 2}, last_lots=-5, undoes_seq=1),
    )
    standing = standing_of(*three)
    assert standing.trades == (
        BookedTrade(seq=1, exec_ids=("E1", "E3"), fill=Fill.read(FILL | {"qty_lots": 2})),
        BookedTrade(seq=2, exec_ids=("E2",), fill=Fill.read(other)),
    )
    assert (standing.filled_lots, [one.lots for one in standing.trades]) == (7, [2, 5])
    assert standing.trade("E1") == standing.trade("E3") == standing.trades[0]
    assert standing.trade("E2") == standing.trades[1]
    assert standing.trade("") is None
    assert standing.trade("E9") is None
    gone = standing_of(*three, told(4, "E4", fill=None, last_lots=-2, undoes_seq=1))
    assert (gone.trades[0].fill, gone.trades[0].lots, gone.filled_lots) == (None, 0, 5)


def test_a_report_that_reopens_unseals_and_the_next_seal_is_another() -> None:
    last = told(1, "E1", fill=FILL, last_lots=7, terminal=True, order_state="FILLED")
    sealed = record(Kind.DECISION_SEALED, {}, seq=2)
    standing = standing_of(last, sealed)
    assert (standing.stage, standing.sealed, standing.seals) == (Stage.SEALED, True, 1)
    bust = told(3, "E2", last_lots=-7, undoes_seq=1, reopens=True, order_state="NEW")
    standing = standing_of(last, sealed, bust)
    assert (standing.stage, standing.sealed, standing.order_state) == (Stage.SENT, False, "NEW")
    standing = standing_of(last, sealed, bust, record(Kind.DECISION_SEALED, {}, seq=4))
    assert (standing.stage, standing.seals) == (Stage.SEALED, 2)
    kept = standing_of(last, sealed, told(3, "E2", last_lots=-7, undoes_seq=1, reopens=False))
    assert (kept.stage, kept.sealed) == (Stage.SEALED, True)


@pytest.mark.parametrize("epoch", [0, 3])
def test_orders_are_found_by_the_number_they_left_under(epoch: int) -> None:
    orders = Orders()
    sent = {"msg_seq_num": 8, **({"session_epoch": epoch} if epoch else {})}
    orders.fold(
        (
            record(Kind.ORDER_SENDING, {"cl_ord_id": "A"}, seq=1),
            record(Kind.ORDER_SENT, sent, seq=2),
        )
    )
    found = orders.by_msg_seq_num("ANY", epoch, 8)
    assert found is not None
    assert found.cl_ord_id == "A"
    assert orders.by_msg_seq_num("ANY", epoch, 7) is None
    assert orders.by_msg_seq_num("ANY", epoch + 1, 8) is None, "the numbers have begun anew since"
    assert [one.decision_id for one in orders.live()] == ["d-1"]


@pytest.mark.parametrize("kind", [None, Kind.ORDER_SENT, Kind.ORDER_UNKNOWN])
def test_whatever_was_announced_may_live(kind: Kind | None) -> None:
    orders = Orders()
    orders.fold((record(Kind.ORDER_SENDING, {"cl_ord_id": "A"}, seq=1),))
    if kind is not None:
        orders.fold((record(kind, {"msg_seq_num": 2}, seq=2),))
    assert len(orders.live()) == 1
    assert len(orders.in_doubt()) == (0 if kind is Kind.ORDER_SENT else 1)


def test_a_sealed_order_is_in_nobodys_doubt() -> None:
    orders = Orders()
    orders.fold((record(Kind.ORDER_SENDING, {"cl_ord_id": "A"}, seq=1),))
    orders.fold((record(Kind.DECISION_SEALED, {}, seq=2),))
    assert (orders.in_doubt(), orders.live()) == ((), ())


# the numbers of a session

PROFILE = simulator_profile(1)
NIGHTLY = PROFILE.model_copy(
    update={"resets": Resets.NIGHTLY, "session_start": "22:00:00", "session_end": "21:00:00"}
)
DAY_US, BEGINS_US = 86_400_000_000, 22 * 3_600_000_000


class Log:
    """A log in memory with a clock."""

    def __init__(self) -> None:
        self.now_us = 1
        self.log = MemoryLedger(lambda: self.now_us)
        self.ledger: Ledger = self.log  # type: ignore[assignment]
        self.reader: LedgerReader = self.log  # type: ignore[assignment]

    def sent(self, number: int, *, epoch: int = 0, at_us: int = 1) -> None:
        self.now_us = at_us
        payload: dict[str, Any] = {
            "account": "a",
            "decision_id": f"d-{self.log.size}",
            "cl_ord_id": f"N{self.log.size}",
            "msg_seq_num": number,
            "raw": "",
            "raw_digest": "",
            "decision_to_wire_us": 0,
        }
        if epoch:
            payload["session_epoch"] = epoch
        self.log.append(
            Draft(
                stream=f"decision/d-{self.log.size}",
                kind=Kind.ORDER_SENT,
                payload=payload,
                actor="gateway",
                idem_key="sent",
            )
        )


def reset(number: int, *, allowed: bool = True, new_sender: int = 1, at_us: int = 1) -> Reset:
    return Reset(
        reset_no=number,
        cause=ResetCause.BY_BROKER,
        allowed=allowed,
        old_sender=9,
        old_target=8,
        new_sender=new_sender,
        new_target=1,
        at_us=at_us,
    )


def stands(
    log: Log, *found: Reset, profile: Profile = PROFILE, now_us: int = 5
) -> tuple[int, int, int, Reset | None]:
    now = numbers(log.reader, profile, found, now_us)
    return now.epoch, now.last_reset, now.next_sender, now.refused


def test_a_session_of_which_nothing_is_known_begins_at_one() -> None:
    assert stands(Log()) == (0, 0, 1, None)


def test_the_next_number_is_above_every_one_on_record() -> None:
    log = Log()
    for number in (2, 7, 5):
        log.sent(number)
    assert stands(log) == (0, 0, 8, None)


def test_numbers_count_from_the_last_beginning_that_was_allowed() -> None:
    log = Log()
    log.sent(90)
    log.sent(3, epoch=1)
    log.sent(6, epoch=2)
    assert stands(log, reset(1), reset(2)) == (2, 2, 7, None)
    assert stands(log, reset(2), reset(1)) == (2, 2, 7, None), "in any order"
    assert stands(log, reset(1), reset(2, new_sender=20)) == (2, 2, 20, None)
    no = reset(3, allowed=False)
    assert stands(log, reset(1), reset(2), no) == (2, 3, 7, no)
    assert stands(log, no, reset(1), reset(2), reset(4, new_sender=2)) == (4, 4, 2, None)


def test_a_beginning_is_on_record_once_and_read_back() -> None:
    log = Log()
    log.now_us = 77
    both = (reset(1, new_sender=4), reset(2, allowed=False))
    record_resets(log.ledger, PROFILE.name, "run-1", both)
    record_resets(log.ledger, PROFILE.name, "run-2", both)
    found = recorded(log.reader, PROFILE.name)
    assert [one.allowed for one in found] == [True, False]
    assert [one.reset_no for one in found] == [1, 2]
    assert (found[0].new_sender, found[0].old_sender, found[0].old_target) == (4, 9, 8)
    assert (found[0].new_target, found[0].at_us, found[0].cause) == (1, 77, ResetCause.BY_BROKER)
    assert recorded(log.reader, "other") == ()
    assert stands(log) == (1, 2, 4, found[1])


@pytest.mark.parametrize(("before", "floor"), [(1, 1), (0, 8)])
def test_a_schedule_begins_the_numbers_anew_by_itself(before: int, floor: int) -> None:
    log = Log()
    log.sent(7, at_us=3 * DAY_US + BEGINS_US - before)
    now_us = 3 * DAY_US + BEGINS_US + 50
    assert stands(log, profile=NIGHTLY, now_us=now_us)[2] == floor
    assert stands(log, profile=PROFILE, now_us=now_us)[2] == 8
