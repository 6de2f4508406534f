"""Adjustments of a book beside its orders, signed by both officers, recorded before they count.

    opening   positions and cash before the first trade here
    split     of each b lots there are a now (`ratio` a:b), in every account that holds some; bars
              from before its first day (`effective`) are restated
    dividend  cash for a position; income
    fee       a cost (positive) or a rebate (negative) that no trade carries
    cash      a transfer in or out; no profit
    trade     a trade by phone
    give_up   lots of a trade that another broker takes over, at the trade's price
    mark      marks that were wrong: the book is as if they had been right, its peak too

Rules:

- An adjustment that would not apply is refused, with what is there instead; nothing is recorded.
- A split is refused while an order or a hold on its instrument lives, and if it leaves fractions.
- An account has a name (`ref`) once: the same terms again change nothing, others are refused.

Not here: a difference from the broker's reports (`resolution`), the effect (`risk.state`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from fix.errors import ReportError
from fix.wire.reports import scaled
from gateway.desk.bodies.booking import AdjustRequest
from gateway.desk.controls.statements import all_signed, statement
from gateway.desk.parts import DeskParts
from gateway.errors import AdjustmentRefusedError
from gateway.feeds.live.calendars import DAY_US
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.control.adjustment import (
    AdjustmentSort,
    BookAdjusted,
    PositionOpened,
    adjustment_key,
)
from gateway.walk.journal.run import MarkTaken
from gateway.walk.reconciliation.booking import NOTIONAL_MAX_MINOR
from risk.forms.money import money_text
from risk.intent import Side
from risk.state.book import Book
from risk.state.instrument import Instrument

PURPOSE: Final = "book adjustment"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effect:
    """What an adjustment does to one account."""

    lots: dict[str, int]
    amount_minor: int = 0
    fill: Fill | None = None
    split: tuple[int, int] | None = None
    positions: tuple[PositionOpened, ...] = ()
    effective_us: int | None = None
    marks: tuple[int, int] | None = None
    mark_ticks: int | None = None


def terms_of(request: AdjustRequest) -> dict[str, JSON]:
    """Return everything that the officers sign, as they wrote it."""
    terms: dict[str, JSON] = request.model_dump(mode="json", exclude={"signatures"})
    return terms


def adjustment_statement(log: str, request: AdjustRequest) -> bytes:
    """Return the bytes that both roles sign; the terms are JSON on one line."""
    return statement(
        PURPOSE,
        log,
        f"ref {request.ref}",
        f"sort {request.sort}",
        f"account {request.account or '-'}",
        f"terms {json.dumps(terms_of(request), sort_keys=True)}",
    )


def adjustments(own: DeskParts) -> dict[str, Any]:
    """Return the log id, and each account's cash and positions, for display and for a statement."""
    books = {name: own.section.book(name) for name in sorted(own.section.accounts)}
    return {
        "log_id": log_id(own.reader, own.origin),
        "accounts": {
            name: {
                "cash_minor": book.cash_minor,
                "deposit_minor": book.deposit_minor,
                "lots": {p.instrument: p.lots for p in book.positions},
            }
            for name, book in books.items()
        },
    }


def adjust(own: DeskParts, actor: str, request: AdjustRequest) -> dict[str, Any]:
    """Record an adjustment, one record for each account that it changes.

    Raises:
        AdjustmentRefusedError: it would not apply, a signature is missing, or the name is taken.
    """
    if (earlier := _earlier(own, request)) is not None:
        return {"ref": request.ref, "seqs": [earlier.seq], "again": True}
    log = log_id(own.reader, own.origin)
    given = {str(role): text for role, text in request.signatures.items()}
    if not all_signed(adjustment_statement(log, request), given, own.keyring.public_keys()):
        raise _refused(
            "both roles, risk and compliance, must sign these terms in this ledger:"
            " `countersign adjust` signs with --risk-key and --compliance-key"
        )
    accounts = sorted(own.section.accounts)
    if request.account and request.account not in accounts:
        raise _refused(f"account {request.account} is not open here: {', '.join(accounts)} are")

    def drafts(books: Mapping[str, Book]) -> Sequence[Draft]:
        effects = _effects(own, request, books)
        return [
            BookAdjusted(
                account=account,
                ref=request.ref,
                sort=AdjustmentSort(request.sort),
                adjusted_by=actor,
                reason=request.reason,
                evidence=request.evidence,
                terms=terms_of(request),
                signatures=given,
                market_time_us=own.market.now_us(),
                instrument=request.instrument,
                reference=request.reference,
                lots=effect.lots,
                amount_minor=effect.amount_minor,
                fill=effect.fill,
                split=effect.split,
                positions=effect.positions,
                effective_us=effect.effective_us,
                marks=effect.marks,
                mark_ticks=effect.mark_ticks,
                trade=_trade_text(request) if effect.fill is not None else None,
            ).draft()
            for account, effect in effects.items()
        ]

    # a crash before leaves every book as it was, a crash after leaves all adjusted: it is one batch
    records = own.section.adjust(request.account or accounts[0], drafts)
    own.orders.catch_up(records)
    own.section.differences.read(own.reader.log_size())
    for record in records:
        own.market.take_adjusted(BookAdjusted.of(record))
    return {"ref": request.ref, "seqs": [record.seq for record in records], "again": False}


def _earlier(own: DeskParts, request: AdjustRequest) -> Record | None:
    """Return the record of the same terms, if this name was used; refuse it for other terms."""
    for account in sorted(own.section.accounts):
        key = adjustment_key(account, request.ref)
        found = own.reader.by_key("control", key)
        if found is None or (request.account and request.account != account):
            continue
        if BookAdjusted.of(found).terms != terms_of(request):
            raise _refused(f"{request.ref} is the name of record {found.seq}: give another --ref")
        return found
    return None


def _effects(
    own: DeskParts, request: AdjustRequest, books: Mapping[str, Book]
) -> dict[str, _Effect]:
    """Return what the adjustment does to each account that it changes."""
    sort = AdjustmentSort(request.sort)
    unread = sorted(one for one in _PARTICULARS - _READ[sort] if getattr(request, one))
    if unread:
        said = ", ".join(f"--{one}" for one in unread)
        raise _refused(f"{said}: no part of a {sort.value}; leave it out")
    if sort is AdjustmentSort.SPLIT:
        return _split(own, request, books)
    if not request.account:
        raise _refused("name the account: --account")
    book = books[request.account]
    match sort:
        case AdjustmentSort.OPENING:
            effect = _opening(own, request, book)
        case AdjustmentSort.DIVIDEND | AdjustmentSort.FEE | AdjustmentSort.CASH:
            effect = _cash(own, request, book)
        case AdjustmentSort.MARK:
            effect = _mark(own, request)
        case _:
            effect = _trade(own, request, book)
    return {request.account: effect}


_ORDER: Final = frozenset({"instrument", "side", "quantity", "price", "fee"})
_READ: Final[Mapping[AdjustmentSort, frozenset[str]]] = {
    AdjustmentSort.OPENING: frozenset({"amount", "positions"}),
    AdjustmentSort.SPLIT: frozenset({"instrument", "ratio", "effective"}),
    AdjustmentSort.DIVIDEND: frozenset({"instrument", "amount"}),
    AdjustmentSort.FEE: frozenset({"instrument", "amount"}),
    AdjustmentSort.CASH: frozenset({"instrument", "amount"}),
    AdjustmentSort.TRADE: _ORDER,
    AdjustmentSort.GIVE_UP: _ORDER,
    AdjustmentSort.MARK: frozenset({"instrument", "marks", "price"}),
}
"""What of a request each sort reads, beside its name, account and words: the rest is refused, so
that nobody signs for what is not booked."""
_PARTICULARS: Final = frozenset[str]().union(*_READ.values())


def _split(own: DeskParts, request: AdjustRequest, books: Mapping[str, Book]) -> dict[str, _Effect]:
    if not request.ratio:
        raise _refused("give the ratio of a split: --ratio 2:1 makes two lots of each one")
    new, old = (int(part) for part in request.ratio.split(":"))
    symbol = request.instrument
    held = {name: book.lots(symbol) for name, book in books.items() if book.lots(symbol)}
    if request.account:
        raise _refused("a split is of every account that holds the instrument: leave out --account")
    if new == old:
        raise _refused(f"{request.ratio} splits nothing")
    if not held and not (symbol and request.effective):
        raise _refused(
            f"no account holds {symbol or 'an instrument without a name'} to split; name its first"
            " day with --effective to restate its bars alone"
        )
    effective_us = _first_day(own, request)
    live = sorted(
        reserved.decision_id
        for book in books.values()
        for reserved in book.reservations
        if reserved.instrument == symbol
    )
    if live:
        raise _refused(f"orders and holds on {symbol} live: {', '.join(live)}; end them first")
    broken = sorted(name for name, lots in held.items() if lots * new % old)
    if broken:
        raise _refused(
            f"{request.ratio} leaves fractions in {', '.join(broken)}: book what is paid for"
            " them as a trade first"
        )
    if not held:  # a twin may hold some, and the bars are restated
        empty = _Effect(lots={}, split=(new, old), effective_us=effective_us)
        return dict.fromkeys(sorted(books), empty)
    return {
        name: _Effect(
            lots={symbol: lots * new // old - lots}, split=(new, old), effective_us=effective_us
        )
        for name, lots in held.items()
    }


def _first_day(own: DeskParts, request: AdjustRequest) -> int:
    """Return until when bars are from before a split: its first day's beginning (UTC), or now."""
    _instrument(own, request.instrument)
    now_us = own.market.now_us()
    if not request.effective:
        return now_us
    try:
        day = datetime.fromisoformat(request.effective).replace(tzinfo=UTC)
    except ValueError:
        raise _refused(f"--effective {request.effective} is not a day: write 2026-11-20") from None
    day_us = int(day.timestamp()) * 1_000_000
    if day_us > now_us + DAY_US:
        raise _refused(f"--effective {request.effective} has not begun: record the split then")
    return day_us


def _mark(own: DeskParts, request: AdjustRequest) -> _Effect:
    instrument = _instrument(own, request.instrument)
    if not request.marks:
        raise _refused("name the first and last record of the wrong marks: --marks 1041-1099")
    first, last = (int(part) for part in request.marks.split("-"))
    ticks = _ticks(own, instrument, request.price) if request.price else None
    found = own.reader.records(
        kinds=(Kind.MARK_TAKEN,),
        account=request.account,
        after_seq=first - 1,
        before_seq=last + 1,
    )
    if not any(MarkTaken.of(one).instrument == instrument.symbol for one in found):
        raise _refused(
            f"records {request.marks} hold no mark of {instrument.symbol} in {request.account}"
        )
    return _Effect(lots={}, marks=(first, last), mark_ticks=ticks)


def _opening(own: DeskParts, request: AdjustRequest, book: Book) -> _Effect:
    cash = _minor(own, request.amount, "--cash")
    lines = []
    for line in request.positions:
        instrument = _instrument(own, line.instrument)
        lots, ticks = _lots(instrument, line.quantity), _ticks(own, instrument, line.price)
        if abs(lots) * ticks * instrument.unit_minor > NOTIONAL_MAX_MINOR:
            raise _refused(f"{line.instrument}: {line.quantity} at {line.price} is out of range")
        lines.append(
            PositionOpened(
                instrument=line.instrument,
                lots=lots,
                price_ticks=ticks,
                unit_minor=instrument.unit_minor,
            )
        )
    if len({line.instrument for line in lines}) < len(lines):
        raise _refused("an instrument stands twice in the file")
    traded = book.positions or book.reservations or book.realised_minor or book.fees_minor
    if traded or book.cash_minor != book.deposit_minor:
        raise _refused(_apart(book, cash, lines))
    return _Effect(
        lots={line.instrument: line.lots for line in lines},
        amount_minor=cash,
        positions=tuple(lines),
    )


def _apart(book: Book, cash: int, lines: Sequence[PositionOpened]) -> str:
    """Return how a file differs from a book that is open already."""
    wanted = {line.instrument: line.lots for line in lines}
    symbols = sorted({*wanted, *(p.instrument for p in book.positions if p.lots)})
    apart = [
        f"{symbol} {book.lots(symbol)} lots here, {wanted.get(symbol, 0)} in the file"
        for symbol in symbols
        if book.lots(symbol) != wanted.get(symbol, 0)
    ]
    if book.cash_minor != cash:
        apart.append(f"cash {book.cash_minor} here, {cash} in the file, minor units")
    if not apart:
        return "the account is open already, and the file agrees with its book: nothing to record"
    return f"the account is open already: {'; '.join(apart)}. Adjust what is wrong by itself"


def _cash(own: DeskParts, request: AdjustRequest, book: Book) -> _Effect:
    amount = _minor(own, request.amount, "--amount")
    if not amount:
        raise _refused("give an amount that is not zero: --amount 12.50, or -12.50 to take out")
    if request.sort == "dividend":
        _instrument(own, request.instrument)
        if book.position(request.instrument) is None:
            raise _refused(f"{request.account} never held {request.instrument}")
    if request.sort == "fee":
        amount = -amount
    if request.sort == "cash" and book.cash_minor + amount < min(0, book.cash_minor):
        raise _refused(f"there are {book.cash_minor} minor units of cash, fewer than go out")
    return _Effect(lots={}, amount_minor=amount)


def _trade(own: DeskParts, request: AdjustRequest, book: Book) -> _Effect:
    instrument = _instrument(own, request.instrument)
    if not request.side:
        raise _refused("name the side: --side BUY or SELL")
    side, lots = Side(request.side), _lots(instrument, request.quantity)
    ticks = _ticks(own, instrument, request.price)
    held = book.lots(instrument.symbol)
    if lots <= 0:
        raise _refused("give a positive --quantity; --side says whether it is bought or sold")
    if request.sort == "give_up" and not 0 < lots <= -side.sign * held:
        raise _refused(
            f"a give-up takes out what is held: {request.account} holds {held} lots of"
            f" {instrument.symbol}; --side is the opposite of the trade's"
        )
    fee = _minor(own, request.fee or "0", "--fee")
    if max(lots * ticks * instrument.unit_minor, abs(fee)) > NOTIONAL_MAX_MINOR:
        raise _refused(f"{request.quantity} at {request.price}, fee {fee}: out of range")
    fill = Fill(
        instrument=instrument.symbol,
        side=side,
        qty_lots=lots,
        price_ticks=ticks,
        fee_minor=fee,
        unit_minor=instrument.unit_minor,
    )
    return _Effect(lots={instrument.symbol: side.sign * lots}, fill=fill)


def _trade_text(request: AdjustRequest) -> dict[str, str]:
    return {
        "instrument": request.instrument,
        "side": request.side,
        "quantity": str(request.quantity),
        "price": request.price,
    }


def _instrument(own: DeskParts, symbol: str) -> Instrument:
    found = own.instruments.get(symbol)
    if found is None:
        raise _refused(f"instrument {symbol or '(none)'} is not in this gateway's table")
    return found


def _lots(instrument: Instrument, quantity: int) -> int:
    if quantity % instrument.lot:
        raise _refused(f"{instrument.symbol}: {quantity} is not whole lots of {instrument.lot}")
    return quantity // instrument.lot


def _ticks(own: DeskParts, instrument: Instrument, price: str) -> int:
    minor = _minor(own, price, "--price")
    if minor <= 0 or minor % instrument.tick_minor:
        raise _refused(
            f"{instrument.symbol}: {price or 'no price'} is not a positive price in ticks"
        )
    return minor // instrument.tick_minor


def _minor(own: DeskParts, text: str, option: str) -> int:
    digits = own.dispatching.profile.minor_digits
    try:
        return scaled(text, digits)
    except ReportError:
        like = money_text(1250 * 10**digits, digits)
        raise _refused(f"{option}: {text[:24] or 'missing'}: write an amount like {like}") from None


def _refused(problem: str) -> AdjustmentRefusedError:
    return AdjustmentRefusedError(problem=problem)
