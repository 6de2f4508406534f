"""What a trade books for the order that was sent: whole lots and ticks. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, NamedTuple

from fix.errors import ReportError
from fix.wire.fees import Traded, charged
from fix.wire.reports import ExecutionReport, scaled
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.standing import BookedTrade, Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.asked import bounds_of
from risk.state.instrument import Instrument

NOTIONAL_MAX_MINOR: Final = 10**14
"""The most that one trade may be worth or cost, minor units; keeps sums from overflowing."""
TAG_SYMBOL, TAG_SIDE, TAG_CURRENCY, TAG_SETTLEMENT_CURRENCY = 55, 54, 15, 120
FEE_OPEN: Final = "fee_open"
"""The anomaly of a booked trade one of whose fees is not known."""
_STATE: Final = ("exec_type", "ord_status", "leaves_qty", "cum_qty")
_SAID_ANEW: Final = frozenset({"transact_time", "text"})
"""What a broker may say otherwise when it repeats a report without PossDupFlag (43)."""


def is_repeat(before: Mapping[str, object], again: Mapping[str, object]) -> bool:
    """Return whether two reports with one ExecID say the same of their order.

    Order, sort, quantities, prices, totals and fees must agree; some brokers repeat a report under
    a TransactTime (60) of its own.
    """
    return all(
        before.get(name, "") == again.get(name, "") for name in {*before, *again} - _SAID_ANEW
    )


def says_the_same(before: Mapping[str, object], again: Mapping[str, object]) -> bool:
    """Return whether two reports with one ExecID tell the same of their order's state."""
    return all(before.get(name, "") == again.get(name, "") for name in _STATE)


def has_it(
    report: ExecutionReport, standing: Standing, instruments: Callable[[str], Instrument]
) -> bool:
    """Return whether an order's booked trades have this one, which names another day.

    An ExecID may come again on another day; a total (14) no higher than what is booked says that
    nothing was traded since.
    """
    if not report.is_trade or standing.trade(report.exec_id) is None:
        return False
    said = Decimal(report.cum_qty or "0")
    return 0 < said <= standing.filled_lots * lot_of(standing, instruments)


def same_order(report: ExecutionReport, standing: Standing) -> None:
    """Refuse a report whose symbol or side differs from the order's.

    Raises:
        ReportError: when it is about another order.
    """
    if standing.sending is None:
        return
    sent = dict(OrderSending.of(standing.sending).fields)
    for tag, said in ((TAG_SYMBOL, report.symbol), (TAG_SIDE, report.side)):
        if said and said != sent.get(tag, said):
            raise ReportError(msg_type="8", problem=f"tag {tag} is {said[:24]}, not {sent[tag]}")


def completed(
    report: ExecutionReport,
    standing: Standing,
    undone: BookedTrade | None,
    instruments: Callable[[str], Instrument],
) -> ExecutionReport:
    """Return a trade that states no CumQty (14) with the one that follows from the book."""
    if report.cum_qty:
        return report
    lots = standing.filled_lots - (undone.lots if undone else 0)
    total = lots * lot_of(standing, instruments) + scaled(report.last_qty, 0)
    return replace(report, cum_qty=str(total))


def other_money(report: ExecutionReport, standing: Standing) -> str:
    """Return which field names another currency than the order's, in words; empty if none does."""
    if standing.sending is None:
        return ""
    expected = dict(OrderSending.of(standing.sending).fields).get(TAG_CURRENCY, "")
    said = {
        TAG_CURRENCY: report.currency,
        TAG_SETTLEMENT_CURRENCY: report.settlement_currency,
    }
    return "; ".join(
        f"tag {tag} is {money[:8]}, not {expected}"
        for tag, money in said.items()
        if money and expected and money != expected
    )


class Booked(NamedTuple):
    """What a report books, if anything, and in words each fee that it leaves open."""

    fill: Fill | None
    open_fees: tuple[str, ...] = ()


def booked_by(
    report: ExecutionReport,
    standing: Standing,
    undone: BookedTrade | None,
    instruments: Callable[[str], Instrument],
    *,
    minor_digits: int,
) -> Booked:
    """Return the fill of a trade or of a correction; no fill for any other report.

    A correction that states no fee keeps the trade's. A fee that is not understood stays open, and
    the trade is booked all the same.

    Raises:
        ReportError: when it is not whole ticks and lots, out of range, or in another currency.
    """
    if not (report.is_trade or report.is_correction) or standing.verdict is None:
        return Booked(None)
    if other := other_money(report, standing):
        raise ReportError(msg_type="8", problem=other)
    intent = VerdictGiven.of(standing.verdict).intent
    instrument = instruments(intent.instrument)
    quantity, price = _quantity(report, instrument), _price(report, instrument, minor_digits)
    worth = quantity * price * instrument.multiplier
    if worth > NOTIONAL_MAX_MINOR:
        raise ReportError(
            msg_type="8", problem=f"{report.last_qty}@{report.last_price}: out of range"
        )
    trade = Traded(
        currency=instrument.currency,
        digits=minor_digits,
        quantity=quantity,
        price=price,
        multiplier=instrument.multiplier,
    )
    fee_minor, open_fees = _fees(report, trade)
    if undone is not None and undone.fill is not None and not report.fees:
        fee_minor = undone.fill.fee_minor
    fill = Fill(
        instrument=instrument.symbol,
        side=intent.side,
        qty_lots=quantity // instrument.lot,
        price_ticks=price // instrument.tick_minor,
        fee_minor=fee_minor,
        unit_minor=instrument.unit_minor,
    )
    return Booked(fill, open_fees)


def _quantity(report: ExecutionReport, instrument: Instrument) -> int:
    """Return LastQty (32) in units; whole lots.

    Raises:
        ReportError: it is anything else.
    """
    quantity = scaled(report.last_qty, 0)
    if quantity <= 0 or quantity % instrument.lot:
        lots = f"{report.last_qty} units are no whole lots of {instrument.lot}"
        raise ReportError(msg_type="8", problem=f"tag 32: {lots}, so they cannot be booked")
    return quantity


def _price(report: ExecutionReport, instrument: Instrument, minor_digits: int) -> int:
    """Return LastPx (31) in minor units; whole ticks.

    Raises:
        ReportError: it is anything else, such as a price between two ticks.
    """
    try:
        price = scaled(report.last_price, minor_digits)
    except ReportError:
        price = 0
    if price <= 0 or price % instrument.tick_minor:
        tick = format(Decimal(instrument.tick_minor).scaleb(-minor_digits), "f")
        raise ReportError(
            msg_type="8",
            problem=f"tag 31: {report.last_price[:24]} is not whole ticks of {tick}; a midpoint or"
            " average price cannot be booked: operate.md, 'A price between ticks'",
        )
    return price


def _fees(report: ExecutionReport, trade: Traded) -> tuple[int, tuple[str, ...]]:
    """Return the sum of the fees that are understood, minor units, and the others in words."""
    found = [(fee, charged(fee, trade)) for fee in report.fees]
    total = sum(one for _, one in found if isinstance(one, int))
    if abs(total) > NOTIONAL_MAX_MINOR:
        return 0, tuple(f"{fee.text}: out of range" for fee, _ in found)
    return total, tuple(one for _, one in found if isinstance(one, str))


def notes_on(
    report: ExecutionReport,
    standing: Standing,
    breaches: Sequence[str],
    open_fees: Sequence[str],
) -> list[tuple[str, str]]:
    """Return (reason, detail) of everything that is odd about an applied report."""
    booked = f"booked: {report.last_qty} at {report.last_price}"
    told = [(one, booked) for one in breaches]
    told += [(FEE_OPEN, one) for one in open_fees]
    if report.unread:
        tags = ", ".join(map(str, report.unread))
        told.append(("read_in_part", f"cannot be read: tag {tags}"))
    if other := other_money(report, standing):
        told.append(("other_currency", other))
    return told


def breaches_of(standing: Standing, fill: Fill | None, booked: int) -> tuple[str, ...]:
    """Return in what a trade that leads to `booked` lots breaks its order."""
    if fill is None or standing.verdict is None:
        return ()
    most_lots, limit_ticks = bounds_of(standing)
    found = {
        "price_beyond_limit": fill.side.sign * (fill.price_ticks - limit_ticks) > 0,
        "overfilled": booked > most_lots,
    }
    return tuple(name for name, true in found.items() if true)


def lot_of(standing: Standing, instruments: Callable[[str], Instrument]) -> int:
    """Return the shares per lot of an order's instrument."""
    if standing.verdict is None:
        return 1
    return instruments(VerdictGiven.of(standing.verdict).instrument).lot
