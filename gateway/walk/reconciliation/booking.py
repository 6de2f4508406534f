"""What a trade books for the order that was sent: whole lots and ticks. Pure."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from fix.errors import ReportError
from fix.wire.reports import ExecutionReport, scaled
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.asked import bounds_of
from gateway.walk.projections.standing import BookedTrade, Standing
from risk.state.instrument import Instrument

NOTIONAL_MAX_MINOR: Final = 10**14
"""The most that one trade may be worth or cost, minor units; keeps sums from overflowing."""
TAG_SYMBOL, TAG_SIDE = 55, 54
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


def fill_of(
    report: ExecutionReport,
    standing: Standing,
    undone: BookedTrade | None,
    *,
    instruments: Callable[[str], Instrument],
    minor_digits: int,
) -> Fill | None:
    """Return the fill of a trade or of a correction, or None for any other report.

    A correction without a commission keeps the trade's.

    Raises:
        ReportError: when it is not whole ticks and lots, or out of range.
    """
    if not (report.is_trade or report.is_correction) or standing.verdict is None:
        return None
    intent = VerdictGiven.of(standing.verdict).intent
    instrument = instruments(intent.instrument)
    quantity, price = scaled(report.last_qty, 0), scaled(report.last_price, minor_digits)
    if quantity <= 0 or quantity % instrument.lot or price <= 0 or price % instrument.tick_minor:
        raise ReportError(
            msg_type="8",
            problem=f"{report.last_qty}@{report.last_price} is not whole lots and ticks",
        )
    fee = scaled(report.commission or "0", minor_digits)
    if undone is not None and undone.fill is not None and not report.commission:
        fee = undone.fill.fee_minor
    if max(quantity * price * instrument.multiplier, abs(fee)) > NOTIONAL_MAX_MINOR:
        raise ReportError(
            msg_type="8",
            problem=f"{report.last_qty}@{report.last_price}, fee {report.commission}: out of range",
        )
    return Fill(
        instrument=instrument.symbol,
        side=intent.side,
        qty_lots=quantity // instrument.lot,
        price_ticks=price // instrument.tick_minor,
        fee_minor=fee,
        unit_minor=instrument.unit_minor,
    )


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
