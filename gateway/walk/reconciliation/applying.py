"""What a report does to its order: what it books, and the state that follows. Pure.

A report that cannot be booked still counts with its total and state. Not here: the table of states
(`fix.orders.state`), and the records (`walk.settlement`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from fix.errors import FixError
from fix.orders.state import Anomaly, OrderState, after_report, is_overtaken, lives_again
from fix.wire.reports import ExecutionReport, scaled, shares
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.standing import BookedTrade, Standing
from gateway.walk.projections.asked import agreed_of
from gateway.walk.reconciliation import booking
from gateway.walk.reconciliation.quarantine import odd_end
from risk.state.instrument import Instrument

MISSING_TRADES = "missing_trades"
"""The anomaly of an end whose total is higher than what is booked: the reservation stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a report books, or why (`odd`) it books nothing; its totals and state count anyway.

    `whole` is the report with the total that it leaves out, where that follows.
    """

    whole: ExecutionReport
    fill: Fill | None = None
    undone: BookedTrade | None = None
    open_fees: tuple[str, ...] = ()
    odd: str = ""
    detail: str = ""


def of_report(
    report: ExecutionReport,
    standing: Standing,
    instruments: Callable[[str], Instrument],
    minor_digits: int,
    *,
    reused: bool,
) -> Applied:
    """Return what a report books.

    Whether a `reused` ExecID is a trade of its own a person must say.
    """
    if report.doubled:
        return Applied(whole=report, odd="unbookable", detail=report.contradiction)
    if reused:
        return Applied(whole=report, odd="exec_id_reused", detail=report.exec_id)
    undone = standing.trade(report.exec_ref_id) if report.undoes else None
    if report.undoes and (undone is None or undone.fill is None):
        odd = "trade_undone_twice" if undone else "undoes_unknown_trade"
        return Applied(whole=report, odd=odd, detail=report.exec_ref_id)
    try:
        booking.same_order(report, standing)
        fill, open_fees = booking.booked_by(
            report, standing, undone, instruments, minor_digits=minor_digits
        )
        whole = booking.completed(report, standing, undone, instruments)
        scaled(whole.cum_qty, 0)
    except FixError as error:
        return Applied(whole=report, odd="unbookable", detail=str(error))
    return Applied(whole=whole, fill=fill, undone=undone, open_fees=open_fees)


def revives(report: ExecutionReport, standing: Standing) -> bool:
    """Return whether a report that undoes no trade reopens an ended order.

    One that is older than the order's fill does not (`is_overtaken`). A resent answer does not
    count either: the next answer gives the present state.
    """
    if standing.is_live or not lives_again(report):
        return False
    if report.undoes:  # one that undoes a trade of ours reopens by itself
        trade = standing.trade(report.exec_ref_id)
        return trade is None or trade.fill is None
    if report.is_status and report.envelope.poss_dup:
        return False
    filled = OrderState(standing.order_state) is OrderState.FILLED
    return not (filled and is_overtaken(report, agreed_of(standing).quantity))


def next_state(
    report: ExecutionReport,
    standing: Standing,
    known: int,
    instruments: Callable[[str], Instrument],
) -> tuple[OrderState, str | None]:
    """Return the order's state when `known` lots are accounted for, and the anomaly or None."""
    now = OrderState(standing.order_state)
    after = after_report(now, report)
    if after is None:
        return now, "unknown_status"
    if isinstance(after, Anomaly):
        return now, after.reason.value.lower()
    told = shares(report.cum_qty)  # shares; a lot has one or more
    lacking = told is None or (
        told > known and told > known * booking.lot_of(standing, instruments)
    )
    if after.is_terminal and lacking:
        return after, MISSING_TRADES
    return after, odd_end(report, standing, after)
