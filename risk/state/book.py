"""The book of one account, folded from committed events: positions, losses, reservations.

Not here: average cost (`holding`), limits (`risk/policy`), the records behind events (the gateway).

Rules:
- `apply` is pure: the same events in the same order give the same book.
- Cash follows fills exactly: deposit + realised - fees = cash + cost of the positions.
- A reservation keeps its worst case from the verdict to the end of its order. Only the broker ends
  an order that was sent; releasing it changes nothing.
- A replace adds to the reservation before it leaves, and takes away when the broker answered.
- A late fill (no reservation, or more than was open) is booked and counted.
- No event lowers the peak; after a bust or a corrected mark all is folded again (`busts`).
"""

from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, assert_never

from risk.errors import BookError
from risk.intent import Side
from risk.state.holding import Position, positive, trade, within

MESSAGE_MEMORY_US: Final = 120_000_000
"""How long sent messages are remembered; rules may not look further back."""

DAY_MEMORY: Final = 5
"""How many finished days' losses are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReservation:
    """Quantity that a held, unsent or working order may still execute; `open_lots` is positive."""

    decision_id: str
    instrument: str
    side: Side
    open_lots: int
    limit_ticks: int
    unit_minor: int
    sent: bool
    reserved_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """A trading day's equity: where it started and its lowest point."""

    day: str
    start_minor: int
    low_minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """State of one account; money in minor units, times in market microseconds.

    Attributes:
        realised_minor: Realised profit and loss at average cost, before fees.
        positions: Sorted by instrument.
        reservations: Sorted by decision id.
        message_times_us: Messages of the last two minutes, oldest first.
        peak_minor: Highest equity so far.
        past_days: The last finished days, oldest first.
        late_fills: Number of fills that no reservation covered.
    """

    account: str
    deposit_minor: int
    cash_minor: int
    realised_minor: int
    fees_minor: int
    positions: tuple[Position, ...]
    reservations: tuple[OpenReservation, ...]
    message_times_us: tuple[int, ...]
    peak_minor: int
    day: DayResult
    past_days: tuple[DayResult, ...]
    as_of_us: int
    late_fills: int

    @classmethod
    def empty(cls, account: str, equity_minor: int) -> "Book":
        """Return a flat book with its deposit, before the first day."""
        deposit = within(equity_minor, "deposit")
        return cls(
            account=account,
            deposit_minor=deposit,
            cash_minor=deposit,
            realised_minor=0,
            fees_minor=0,
            positions=(),
            reservations=(),
            message_times_us=(),
            peak_minor=deposit,
            day=DayResult(day="", start_minor=deposit, low_minor=deposit),
            past_days=(),
            as_of_us=0,
            late_fills=0,
        )

    @property
    def equity_minor(self) -> int:
        """Cash plus market value at last marks."""
        return self.cash_minor + sum(position.value_minor for position in self.positions)

    def position(self, instrument: str) -> Position | None:
        """Return the position in an instrument, None if it was never traded."""
        return next((p for p in self.positions if p.instrument == instrument), None)

    def lots(self, instrument: str) -> int:
        """Return the signed quantity held."""
        position = self.position(instrument)
        return 0 if position is None else position.lots

    def reservation(self, decision_id: str) -> OpenReservation | None:
        """Return the open reservation of a decision, or None."""
        return next((r for r in self.reservations if r.decision_id == decision_id), None)

    def pending_lots(self, instrument: str, side: Side) -> int:
        """Return the unexecuted quantity on one side."""
        return sum(
            r.open_lots for r in self.reservations if r.instrument == instrument and r.side is side
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A verdict approved or held an intent; a second one for the decision replaces the first."""

    decision_id: str
    instrument: str
    side: Side
    qty_lots: int
    limit_ticks: int
    unit_minor: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """An unsent order was refused, withdrawn or expired."""

    decision_id: str
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """A replace was asked for, or ended: the order's worst case is so many lots more or less.

    `limit_ticks` is the highest limit that it may have now. The other fields are those of the
    order, whose reservation may be used up by fills.
    """

    decision_id: str
    instrument: str
    side: Side
    unit_minor: int
    add_lots: int
    limit_ticks: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent:
    """A message was sent to the broker; `decision_id` is set if it was that decision's order."""

    decision_id: str | None
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """An execution; quantity positive, fee as charged (negative is a rebate).

    `trade` is the number by which it can be busted or corrected; 0 if it never is.
    """

    decision_id: str | None
    instrument: str
    side: Side
    qty_lots: int
    price_ticks: int
    unit_minor: int
    fee_minor: int
    time_us: int
    trade: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderClosed:
    """The broker ended an order: filled, cancelled, rejected or expired."""

    decision_id: str
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A price at which positions are valued; `mark` is its number for a correction, or 0."""

    instrument: str
    price_ticks: int
    time_us: int
    mark: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayStarted:
    """A trading day, an ISO date, begins at the last marks; the same or an earlier one does not."""

    day: str
    time_us: int


BookEvent: TypeAlias = (
    Reserved | Released | Resized | MessageSent | Filled | OrderClosed | Marked | DayStarted
)


def apply(book: Book, event: BookEvent) -> Book:
    """Return the book after one more event; frequent ones set its time, for a copy costs most.

    Raises:
        BookError: A quantity, price or unit cannot be booked.
    """
    as_of_us = max(book.as_of_us, within(event.time_us, "time"))
    match event:
        case Reserved():
            after = _reserve(book, event, as_of_us)
        case Released():
            held = book.reservation(event.decision_id)
            after = book if held is None or held.sent else without(book, event.decision_id)
        case Resized():
            after = _resize(book, event)
        case MessageSent():
            after = _send(book, event, as_of_us)
        case Filled():
            after = _fill(book, event, as_of_us)
        case OrderClosed():
            after = without(book, event.decision_id)
        case Marked():
            after = _mark(book, event, as_of_us)
        case DayStarted():
            after = _start_day(book, event)
        case _:
            assert_never(event)
    return after if after.as_of_us == as_of_us else replace(after, as_of_us=as_of_us)


def without(book: Book, decision_id: str) -> Book:
    """Return the book without a decision's reservation."""
    left = tuple(r for r in book.reservations if r.decision_id != decision_id)
    return book if len(left) == len(book.reservations) else replace(book, reservations=left)


def reserving(book: Book, held: OpenReservation, as_of_us: int = 0) -> Book:
    """Return the book with this reservation, in place of the decision's earlier one."""
    kept = [r for r in book.reservations if r.decision_id != held.decision_id]
    found = tuple(sorted((*kept, held), key=lambda r: r.decision_id))
    return replace(book, as_of_us=max(as_of_us, book.as_of_us), reservations=found)


def reservation_of(event: Reserved) -> OpenReservation:
    """Return the reservation of an order that was not sent yet.

    Raises:
        BookError: A quantity, limit or unit is not positive.
    """
    return OpenReservation(
        decision_id=event.decision_id,
        instrument=event.instrument,
        side=Side(event.side),
        open_lots=positive(event.qty_lots, "quantity"),
        limit_ticks=positive(event.limit_ticks, "limit"),
        unit_minor=positive(event.unit_minor, "unit"),
        sent=False,
        reserved_at_us=event.time_us,
    )


def _reserve(book: Book, event: Reserved, as_of_us: int) -> Book:
    reservation = reservation_of(event)
    before = book.reservation(event.decision_id)
    if before is not None and before.sent:
        raise BookError("an order that was sent cannot be reserved again")
    return reserving(book, reservation, as_of_us)


def _resize(book: Book, event: Resized) -> Book:
    """Change what an order that was sent may still execute; never below nothing."""
    held = book.reservation(event.decision_id)
    open_lots = event.add_lots + (0 if held is None else held.open_lots)
    if open_lots <= 0:
        return without(book, event.decision_id)
    limit_ticks = positive(event.limit_ticks, "limit")
    if held is not None:
        return reserving(book, replace(held, open_lots=open_lots, limit_ticks=limit_ticks))
    return reserving(
        book,
        OpenReservation(
            decision_id=event.decision_id,
            instrument=event.instrument,
            side=Side(event.side),
            open_lots=within(open_lots, "quantity"),
            limit_ticks=limit_ticks,
            unit_minor=positive(event.unit_minor, "unit"),
            sent=True,
            reserved_at_us=event.time_us,
        ),
    )


def _send(book: Book, event: MessageSent, as_of_us: int) -> Book:
    # Sorted, so that a record committed late gives the same book.
    oldest = as_of_us - MESSAGE_MEMORY_US
    times = sorted(t for t in (*book.message_times_us, event.time_us) if t >= oldest)
    held = tuple(
        replace(r, sent=True) if r.decision_id == event.decision_id else r
        for r in book.reservations
    )
    return replace(book, as_of_us=as_of_us, message_times_us=tuple(times), reservations=held)


def _execute(book: Book, event: Filled) -> tuple[tuple[OpenReservation, ...], int]:
    """Return the reservations without what the fill executed, and the late fills, with this one."""
    qty = positive(event.qty_lots, "quantity")
    held = None if event.decision_id is None else book.reservation(event.decision_id)
    fits = held is not None and held.instrument == event.instrument and held.side is event.side
    if held is None or not fits:
        return book.reservations, book.late_fills + 1
    if qty < held.open_lots:
        left = reserving(book, replace(held, open_lots=held.open_lots - qty, sent=True))
        return left.reservations, book.late_fills
    rest = tuple(r for r in book.reservations if r.decision_id != held.decision_id)
    return rest, book.late_fills + (qty > held.open_lots)


def _fill(book: Book, event: Filled, as_of_us: int) -> Book:
    reservations, late_fills = _execute(book, event)
    price, unit = positive(event.price_ticks, "price"), positive(event.unit_minor, "unit")
    fee = within(event.fee_minor, "fee")
    before = book.position(event.instrument) or Position(
        instrument=event.instrument,
        lots=0,
        cost_minor=0,
        unit_minor=unit,
        mark_ticks=price,
        mark_time_us=event.time_us,
    )
    if before.unit_minor != unit:
        raise BookError("the instrument's unit changed under an open position")
    signed = event.qty_lots * Side(event.side).sign
    position, realised = trade(before, signed, price)
    others = (p for p in book.positions if p.instrument != event.instrument)
    positions = tuple(sorted((*others, position), key=lambda p: p.instrument))
    cash = within(book.cash_minor - signed * price * unit - fee, "cash")
    peak, day = _measured(book, cash, positions)
    return replace(
        book,
        cash_minor=cash,
        realised_minor=book.realised_minor + realised,
        fees_minor=book.fees_minor + fee,
        positions=positions,
        reservations=reservations,
        peak_minor=peak,
        day=day,
        as_of_us=as_of_us,
        late_fills=late_fills,
    )


def _mark(book: Book, event: Marked, as_of_us: int) -> Book:
    price = positive(event.price_ticks, "price")
    positions = tuple(
        replace(p, mark_ticks=price, mark_time_us=event.time_us)
        if p.instrument == event.instrument
        else p
        for p in book.positions
    )
    peak, day = _measured(book, book.cash_minor, positions)
    return replace(book, as_of_us=as_of_us, positions=positions, peak_minor=peak, day=day)


def _measured(
    book: Book, cash_minor: int, positions: tuple[Position, ...]
) -> tuple[int, DayResult]:
    """Return the peak and the day with the equity of this cash and these positions."""
    value = sum(one.value_minor for one in positions)
    equity, day = within(cash_minor + value, "equity"), book.day
    if equity < day.low_minor:
        day = DayResult(day=day.day, start_minor=day.start_minor, low_minor=equity)
    return max(book.peak_minor, equity), day


def _start_day(book: Book, event: DayStarted) -> Book:
    if event.day <= book.day.day:
        return book
    equity = book.equity_minor
    day = DayResult(day=event.day, start_minor=equity, low_minor=equity)
    return replace(book, past_days=(*book.past_days, book.day)[-DAY_MEMORY:], day=day)
