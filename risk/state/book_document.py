"""The book as a document and back: what a state digest covers and what a replay compares.

Not here: how a book changes (`risk/state/book.py`).
"""

from risk.canonical import JSON, Reader, number
from risk.intent import side_from_text
from risk.state.book import Book, DayResult, Reservation
from risk.state.holding import Position


def book_document(book: Book) -> dict[str, JSON]:
    """Write a book as a document.

    Raises:
        DocumentError: A number field holds something else.
    """
    return {
        "account": book.account,
        "deposit_minor": number(book.deposit_minor),
        "cash_minor": number(book.cash_minor),
        "realised_minor": number(book.realised_minor),
        "fees_minor": number(book.fees_minor),
        "positions": [_position_document(position) for position in book.positions],
        "reservations": [_reservation_document(held) for held in book.reservations],
        "message_times_us": [number(time_us) for time_us in book.message_times_us],
        "peak_minor": number(book.peak_minor),
        "day": _day_document(book.day),
        "past_days": [_day_document(day) for day in book.past_days],
        "as_of_us": number(book.as_of_us),
        "late_fills": number(book.late_fills),
    }


def book_from_document(document: object) -> Book:
    """Read a book back.

    Raises:
        DocumentError: Not a book's document.
    """
    read = Reader(document)
    book = Book(
        account=read.text("account"),
        deposit_minor=read.number("deposit_minor"),
        cash_minor=read.number("cash_minor"),
        realised_minor=read.number("realised_minor"),
        fees_minor=read.number("fees_minor"),
        positions=tuple(_position(item) for item in read.items("positions")),
        reservations=tuple(_reservation(item) for item in read.items("reservations")),
        message_times_us=read.numbers("message_times_us"),
        peak_minor=read.number("peak_minor"),
        day=_day(read.inner("day")),
        past_days=tuple(_day(item) for item in read.items("past_days")),
        as_of_us=read.number("as_of_us"),
        late_fills=read.number("late_fills"),
    )
    read.done()
    return book


def _position_document(position: Position) -> dict[str, JSON]:
    return {
        "instrument": position.instrument,
        "lots": number(position.lots),
        "cost_minor": number(position.cost_minor),
        "unit_minor": number(position.unit_minor),
        "mark_ticks": number(position.mark_ticks),
        "mark_time_us": number(position.mark_time_us),
    }


def _position(document: object) -> Position:
    read = Reader(document)
    position = Position(
        instrument=read.text("instrument"),
        lots=read.number("lots"),
        cost_minor=read.number("cost_minor"),
        unit_minor=read.number("unit_minor"),
        mark_ticks=read.number("mark_ticks"),
        mark_time_us=read.number("mark_time_us"),
    )
    read.done()
    return position


def _reservation_document(held: Reservation) -> dict[str, JSON]:
    return {
        "decision_id": held.decision_id,
        "instrument": held.instrument,
        "side": str(held.side),
        "open_lots": number(held.open_lots),
        "limit_ticks": number(held.limit_ticks),
        "unit_minor": number(held.unit_minor),
        "sent": held.sent,
        "reserved_at_us": number(held.reserved_at_us),
    }


def _reservation(document: object) -> Reservation:
    read = Reader(document)
    held = Reservation(
        decision_id=read.text("decision_id"),
        instrument=read.text("instrument"),
        side=side_from_text(read.text("side")),
        open_lots=read.number("open_lots"),
        limit_ticks=read.number("limit_ticks"),
        unit_minor=read.number("unit_minor"),
        sent=read.flag("sent"),
        reserved_at_us=read.number("reserved_at_us"),
    )
    read.done()
    return held


def _day_document(day: DayResult) -> dict[str, JSON]:
    return {
        "day": day.day,
        "start_minor": number(day.start_minor),
        "low_minor": number(day.low_minor),
    }


def _day(document: object) -> DayResult:
    read = Reader(document)
    day = DayResult(
        day=read.text("day"),
        start_minor=read.number("start_minor"),
        low_minor=read.number("low_minor"),
    )
    read.done()
    return day
