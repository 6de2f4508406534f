"""Worst-case exposure after an intent, over everything that may still execute.

Not here: limits.

Rules:
- Held, unsent and working quantity counts as executed if that increases the exposure.
- An order reduces risk only if the position shrinks without crossing zero, even after all pending
  orders of its side executed.
- On renewal the decision's own reservation is left out: it is the order being judged.
"""

from dataclasses import dataclass

from risk.intent import Side
from risk.rules.rule import RuleCase, RuleRefusal, positive, whole
from risk.state.book import Book
from risk.verdict import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
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
    quote = case.state.quote
    if quote is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    return positive(quote.bid_ticks), positive(quote.ask_ticks)


def order_minor(case: RuleCase) -> int:
    """Return the order's value at the worst of limit, bid and ask; measured once for an intent."""
    found = case.memo.get("order_minor")
    if type(found) is not int:
        case.memo["order_minor"] = found = _order_minor(case)
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
    found = case.memo.get("lots_around")
    if not isinstance(found, tuple):
        case.memo["lots_around"] = found = _lots_around(case)
    return found


def _lots_around(case: RuleCase) -> tuple[int, int, int]:
    book, symbol, skip = case.state.book, case.intent.instrument, own(case)
    pending = {Side.BUY: 0, Side.SELL: 0}
    for held in book.reservations:
        if held.instrument == symbol and (not skip or held.decision_id != skip):
            pending[Side(held.side)] += positive(held.open_lots)
    return whole(book.lots(symbol)), whole(pending[Side.BUY]), whole(pending[Side.SELL])


def reduces(case: RuleCase) -> bool:
    """Return whether the order can only shrink the position, with its side's pending orders."""
    found = case.memo.get("reduces")
    if type(found) is not bool:
        case.memo["reduces"] = found = _reduces(case)
    return found


def _reduces(case: RuleCase) -> bool:
    position, buys, sells = lots_around(case)
    side, qty = side_of(case), positive(case.intent.qty_lots)
    pending = buys if side is Side.BUY else sells
    return position * side.sign < 0 and qty + pending <= abs(position)


def exposure(case: RuleCase) -> Exposure:
    """Return the worst cases, or refuse; measured once for an intent."""
    found = case.memo.get("exposure")
    if not isinstance(found, Exposure):
        case.memo["exposure"] = found = _exposure(case)
    return found


def _exposure(case: RuleCase) -> Exposure:
    book, side, skip = case.state.book, side_of(case), own(case)
    order, qty = order_minor(case), positive(case.intent.qty_lots)
    position, buys, sells = lots_around(case)
    net = sum(whole(p.value_minor) for p in book.positions)
    gross = sum(abs(p.value_minor) for p in book.positions)
    pending = {Side.BUY: 0, Side.SELL: 0}
    for held in book.reservations:
        if skip and held.decision_id == skip:
            continue
        marked = book.position(held.instrument)
        price = max(positive(held.limit_ticks), 0 if marked is None else marked.mark_ticks)
        value = positive(held.open_lots) * price * positive(held.unit_minor)
        pending[Side(held.side)] += whole(value)
    buying, selling = (qty, 0) if side is Side.BUY else (0, qty)
    return Exposure(
        equity_minor=equity_minor(book),
        order_minor=order,
        high_lots=whole(position + buys + buying),
        low_lots=whole(position - sells - selling),
        gross_minor=whole(gross + pending[Side.BUY] + pending[Side.SELL] + order),
        net_high_minor=whole(net + pending[Side.BUY] + (order if side is Side.BUY else 0)),
        net_low_minor=whole(net - pending[Side.SELL] - (order if side is Side.SELL else 0)),
        reduces=reduces(case),
    )
