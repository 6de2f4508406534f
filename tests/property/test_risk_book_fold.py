"""Any order of fills, busts, corrections and adjustments gives the book of what survives."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.errors import BookError
from risk.intent import Side
from risk.state.book import (
    Book,
    DayStarted,
    Filled,
    Marked,
    MessageSent,
    OrderClosed,
    Reserved,
)
from risk.state.busts import Adjusted, BookFold, KeptEvent, Reopened, TradeUndone

DEPOSIT = 100_000_000
ORDERS = {
    "d-1": ("SPXN", Side.BUY, 100),
    "d-2": ("SPXN", Side.SELL, 70),
    "d-3": ("NDXN", Side.BUY, 9),
}
UNITS = {"SPXN": 1, "NDXN": 5}


@dataclass
class Told:
    """A story as it was told, and what is true at its end, kept by plain bookkeeping.

    `truth` is the list of events that would have been told had nothing been undone.
    """

    told: list[KeptEvent | TradeUndone | Reopened] = field(default_factory=list)
    truth: list[KeptEvent] = field(default_factory=list)
    alive: dict[int, Filled] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    adjusted: list[tuple[str, Filled]] = field(default_factory=list)
    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def both(self, event: KeptEvent) -> None:
        self.told.append(event)
        self.truth.append(event)

    def traded(self, decision_id: str) -> int:
        return sum(f.qty_lots for f in self.alive.values() if f.decision_id == decision_id)

    def fill(self, decision_id: str, lots: int, price: int, fee: int) -> None:
        name, side, quantity = ORDERS[decision_id]
        lots = min(lots, quantity - self.traded(decision_id))
        if decision_id in self.closed or lots <= 0:
            return
        number = self.tick()
        event = Filled(
            decision_id=decision_id,
            instrument=name,
            side=side,
            qty_lots=lots,
            price_ticks=price,
            unit_minor=UNITS[name],
            fee_minor=fee,
            time_us=number,
            trade=number,
        )
        self.both(event)
        self.alive[number] = event
        if self.traded(decision_id) == quantity:
            self.close(decision_id)

    def adjust(self, decision_id: str, lots: int, price: int) -> None:
        name, side, _ = ORDERS[decision_id]
        event = Filled(
            decision_id=None,
            instrument=name,
            side=side if lots > 0 else Side.SELL if side is Side.BUY else Side.BUY,
            qty_lots=abs(lots),
            price_ticks=price,
            unit_minor=UNITS[name],
            fee_minor=0,
            time_us=self.tick(),
        )
        self.both(Adjusted(decision_id=decision_id, fill=event))
        self.adjusted.append((decision_id, event))

    def executed(self, decision_id: str) -> int:
        adjusted = sum(
            f.qty_lots * f.side.sign * ORDERS[name][1].sign
            for name, f in self.adjusted
            if name == decision_id
        )
        return self.traded(decision_id) + adjusted

    def close(self, decision_id: str) -> None:
        if decision_id not in self.closed:
            self.both(OrderClosed(decision_id=decision_id, time_us=self.tick()))
            self.closed.add(decision_id)

    def reopen(self, decision_id: str) -> None:
        """The broker says that it works, whether it was over or not."""
        self.told.append(Reopened(decision_id=decision_id, time_us=self.tick()))
        self.forget_the_end(decision_id)

    def forget_the_end(self, decision_id: str) -> None:
        self.truth = [
            e
            for e in self.truth
            if not (isinstance(e, OrderClosed) and e.decision_id == decision_id)
        ]
        self.closed.discard(decision_id)

    def undo(self, place: int, lots: int | None, price: int, *, reopens: bool) -> None:
        if not self.alive:
            return
        number = sorted(self.alive)[place % len(self.alive)]
        was = self.alive[number]
        decision_id = str(was.decision_id)
        others = self.traded(decision_id) - was.qty_lots
        now: Filled | None = None
        if lots is not None:
            most = ORDERS[decision_id][2] - others
            now = replace(was, qty_lots=min(lots, most), price_ticks=price, fee_minor=lots)
        reopens = reopens and decision_id in self.closed
        self.told.append(
            TradeUndone(
                decision_id=decision_id,
                trade=number,
                # a correction names no time and no number of the first trade's
                instead=None if now is None else replace(now, time_us=self.tick(), trade=0),
                reopens=reopens,
                time_us=self.tick(),
            )
        )
        at = self.truth.index(was)
        self.truth[at : at + 1] = [] if now is None else [now]
        del self.alive[number]
        if now is not None:
            self.alive[number] = now
        if reopens:
            self.forget_the_end(decision_id)


@st.composite
def stories(draw: st.DrawFn) -> Told:
    story = Told()
    story.both(DayStarted(day="mon", time_us=story.tick()))
    for decision_id, (name, side, lots) in ORDERS.items():
        story.both(
            Reserved(
                decision_id=decision_id,
                instrument=name,
                side=side,
                qty_lots=lots,
                limit_ticks=100,
                unit_minor=UNITS[name],
                time_us=story.tick(),
            )
        )
        story.both(MessageSent(decision_id=decision_id, time_us=story.tick()))
    for _ in range(draw(st.integers(0, 25))):
        decision_id = draw(st.sampled_from(sorted(ORDERS)))
        lots, price = draw(st.integers(1, 60)), draw(st.integers(1, 500))
        sorts = ["fill", "fill", "adjust", "bust", "correct", "close", "reopen", "mark", "day"]
        match draw(st.sampled_from(sorts)):
            case "adjust":
                story.adjust(decision_id, lots * draw(st.sampled_from([1, -1])), price)
            case "fill":
                story.fill(decision_id, lots, price, draw(st.integers(-5, 9)))
            case "bust":
                story.undo(lots, None, price, reopens=draw(st.booleans()))
            case "correct":
                story.undo(lots, draw(st.integers(1, 60)), price, reopens=draw(st.booleans()))
            case "close":
                story.close(decision_id)
            case "reopen":
                story.reopen(decision_id)
            case "mark":
                name = ORDERS[decision_id][0]
                story.both(Marked(instrument=name, price_ticks=price, time_us=story.tick()))
            case _:
                story.both(DayStarted(day=f"day {lots}", time_us=story.tick()))
    return story


@given(stories())
def test_any_story_of_fills_busts_and_corrections_is_the_fold_of_what_survives(story: Told) -> None:
    fold = BookFold(Book.empty("run-1", DEPOSIT))
    for event in story.told:
        fold.take(event)
    expected = BookFold(Book.empty("run-1", DEPOSIT))
    for event in story.truth:
        expected.take(event)
    times = (e.fill.time_us if isinstance(e, Adjusted) else e.time_us for e in story.told)
    assert fold.book == replace(expected.book, as_of_us=max(times, default=0))


@given(stories())
def test_what_survives_adds_up_by_hand_too(story: Told) -> None:
    fold = BookFold(Book.empty("run-1", DEPOSIT))
    for event in story.told:
        fold.take(event)
    fills, book = [*story.alive.values(), *(f for _, f in story.adjusted)], fold.book
    assert book.cash_minor == DEPOSIT - sum(
        f.qty_lots * f.side.sign * f.price_ticks * f.unit_minor + f.fee_minor for f in fills
    )
    assert book.fees_minor == sum(f.fee_minor for f in fills)
    for name in UNITS:
        assert book.lots(name) == sum(
            f.qty_lots * f.side.sign for f in fills if f.instrument == name
        )
    open_lots = {
        name: quantity - story.executed(name)
        for name, (_, _, quantity) in ORDERS.items()
        if name not in story.closed and quantity > story.executed(name)
    }
    assert {r.decision_id: r.open_lots for r in book.reservations} == open_lots
    assert all(r.sent for r in book.reservations)


@pytest.mark.parametrize("number", [0, 99])
def test_a_trade_that_is_not_in_the_book_cannot_be_undone(number: int) -> None:
    fold = BookFold(Book.empty("run-1", DEPOSIT))
    undone = TradeUndone(decision_id="d-1", trade=number, instead=None, reopens=True, time_us=1)
    with pytest.raises(BookError, match="not in the book"):
        fold.take(undone)
    assert fold.book == Book.empty("run-1", DEPOSIT)
