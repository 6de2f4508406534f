"""Worst-case exposure after an intent, over everything that may still execute.

Not here: limits.

Rules:
- Held, unsent and working quantity counts as executed if that increases the exposure.
- An order reduces risk only if the position shrinks without crossing zero, even after all pending
  orders of its side executed.
- On renewal the decision's own reservation is left out: it is the order being judged.
"""

from typing import Final, NamedTuple

from msgspec import Struct

from risk.intent import Side
from risk.rules.rule import RuleCase, RuleRefusal, positive, whole
from risk.state.book import Book
from risk.verdict import Reason

_BUY: Final = Side.BUY


class Exposure(Struct, frozen=True, kw_only=True, gc=False):
    """Worst cases for one intent, which each includes; money in minor units, quantities in lots.

    Attributes:
        order_minor: Value of the order at its worst price.
        high_lots: Position if all buys execute.
        low_lots: Position if all sells execute.
        gross_minor: Absolute value of everything held and pending.
        net_high_minor: Signed value if all buys execute.
        net_low_minor: Signed value if all sells execute.
        reduces: Whether the order can only shrink the position.
    """

    equity_minor: int
    order_minor: int
    high_lots: int
    low_lots: int
    gross_minor: int
    net_high_minor: int
    net_low_minor: int
    reduces: bool


def side_of(case: RuleCase) -> Side:
    """Return the intent's side, or refuse."""
    side = case.intent.side
    if type(side) is not Side:
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    return side


def touch(case: RuleCase) -> tuple[int, int]:
    """Return bid and ask, both positive, or refuse."""
    found = case.memo.touch
    if found is None:
        quote = case.state.quote
        if quote is None:
            raise RuleRefusal(Reason.INPUT_MISSING)
        case.memo.touch = found = positive(quote.bid_ticks), positive(quote.ask_ticks)
    return found


def order_minor(case: RuleCase) -> int:
    """Return the order's value at the worst of limit, bid and ask; measured once for an intent."""
    found = case.memo.order_minor
    if found is None:
        case.memo.order_minor = found = _order_minor(case)
    return found


def _order_minor(case: RuleCase) -> int:
    instrument = case.state.instrument
    worst = max(positive(case.intent.limit_ticks), *touch(case))
    unit = positive(instrument.lot) * positive(instrument.tick_minor)
    return whole(positive(case.intent.qty_lots) * worst * unit * positive(instrument.multiplier))


def equity_minor(book: Book) -> int:
    """Return the equity at last marks, positive, or refuse."""
    equity = whole(book.cash_minor)
    for position in book.positions:
        equity += (
            whole(position.lots) * positive(position.mark_ticks) * positive(position.unit_minor)
        )
    if whole(equity) <= 0:
        raise RuleRefusal(Reason.NO_EQUITY)
    return equity


def equity_of(case: RuleCase) -> int:
    """Return the equity of the book judged, positive, or refuse; measured once for an intent."""
    found = case.memo.equity
    if found is None:
        case.memo.equity = found = equity_minor(case.state.book)
    return found


def own(case: RuleCase) -> str:
    """Return the decision whose reservation is left out: the intent's own on renewal, or empty."""
    return case.intent.decision_id if is_renewal(case) else ""


def is_renewal(case: RuleCase) -> bool:
    """Return whether this is a renewal; anything but a boolean is refused."""
    if type(case.state.renewal) is not bool:
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    return case.state.renewal


def lots_around(case: RuleCase) -> tuple[int, int, int]:
    """Return position, pending buys and pending sells of the intent's instrument, in lots."""
    found = case.memo.lots_around
    if found is None:
        case.memo.lots_around = found = _lots_around(case)
    return found


def _lots_around(case: RuleCase) -> tuple[int, int, int]:
    book, symbol, skip = case.state.book, case.intent.instrument, own(case)
    buys = sells = 0
    for held in book.reservations:
        if held.instrument == symbol and (not skip or held.decision_id != skip):
            if Side(held.side) is _BUY:
                buys += positive(held.open_lots)
            else:
                sells += positive(held.open_lots)
    return whole(book.lots(symbol)), whole(buys), whole(sells)


def reduces(case: RuleCase) -> bool:
    """Return whether the order can only shrink the position, with its side's pending orders."""
    found = case.memo.reduces
    if found is None:
        case.memo.reduces = found = _reduces(case)
    return found


def _reduces(case: RuleCase) -> bool:
    position, buys, sells = lots_around(case)
    side, qty = side_of(case), positive(case.intent.qty_lots)
    if side is _BUY:
        return position < 0 and qty + buys <= -position
    return position > 0 and qty + sells <= position


class Pending(NamedTuple):
    """What a reservation may still execute, at the worse of its limit and the last mark."""

    instrument: str
    value_minor: int


def pending(case: RuleCase) -> list[Pending]:
    """Return what is pending in every instrument, without the order judged, or refuse."""
    found: list[Pending] | None = case.memo.pending
    if found is None:
        exposure(case)  # which measures it on its way
        found = case.memo.pending or []
    return found


def exposure(case: RuleCase) -> Exposure:
    """Return the worst cases, or refuse; measured once for an intent."""
    found: Exposure | None = case.memo.exposure
    if found is None:
        case.memo.exposure = found = _exposure(case)
    return found


def _exposure(case: RuleCase) -> Exposure:
    book, side, skip = case.state.book, side_of(case), own(case)
    order, qty = order_minor(case), positive(case.intent.qty_lots)
    position, buys, sells = lots_around(case)
    values = [whole(p.value_minor) for p in book.positions]
    waiting: list[Pending] = []
    pending_buys = pending_sells = 0
    for held in book.reservations:
        if skip and held.decision_id == skip:
            continue
        marked = book.position(held.instrument)
        price = max(positive(held.limit_ticks), 0 if marked is None else marked.mark_ticks)
        value = positive(held.open_lots) * price * positive(held.unit_minor)
        bought = Side(held.side) is _BUY
        waiting.append(Pending(held.instrument, whole(value)))
        if bought:
            pending_buys += value
        else:
            pending_sells += value
    net, gross = sum(values), sum(map(abs, values))
    buying, paid = (qty, order) if side is _BUY else (0, 0)
    found = Exposure(
        equity_minor=equity_of(case),
        order_minor=order,
        high_lots=whole(position + buys + buying),
        low_lots=whole(position - sells - (qty - buying)),
        gross_minor=whole(gross + pending_buys + pending_sells + order),
        net_high_minor=whole(net + pending_buys + paid),
        net_low_minor=whole(net - pending_sells - (order - paid)),
        reduces=reduces(case),
    )
    case.memo.pending = waiting
    return found
