"""The whole book compared with the broker's own messages, at reconciliations and at a run's end.

Two checks; the first does not trust our reading of a message, the second not our fold:
- Each order's last total (CumQty) from the broker equals what is booked for it.
- Each account holds the sum of its orders' booked trades and of the adjustments.

The messages are parsed again from their bytes. Not here: each message as it is settled
(`quarantine`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from audit.store.reader import LedgerReader
from fix.dialects.profile import ForeignTreatment
from fix.errors import FixError
from fix.orders.foreign import is_foreign
from fix.wire.reports import ExecutionReport, parse_inbound, scaled
from fix.wire.resends import Heard, word_of
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.session import FixInbound
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import LedgerPort
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.session_orders import SessionOrders
from gateway.walk.reconciliation.quarantine import sets_total, tells_total
from risk.state.book import Book
from risk.state.instrument import Instrument

TRIES: Final = 4
PAUSE_S: Final = 0.2
"""A report that is being settled makes the two sides differ for a moment."""


class BooksPort(Protocol):
    """The part of the section that the check needs."""

    @property
    def differences(self) -> Differences:
        """What is known to differ."""
        ...

    @property
    def accounts(self) -> frozenset[str]:
        """The accounts that are open."""
        ...

    def book(self, account: str) -> Book:
        """Return an account's book, folded to the last record."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTools:
    """What the check needs; `pause` waits so many seconds, `foreign` is the profile's word."""

    ledger: LedgerPort
    reader: LedgerReader
    orders: Orders
    books: BooksPort
    session: str
    instruments: Mapping[str, Instrument]
    pause: Callable[[float], None]
    foreign: ForeignTreatment = ForeignTreatment.SHOW

    @property
    def theirs(self) -> SessionOrders:
        """The orders that the session's broker may speak of."""
        return SessionOrders(self.orders, self.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Total:
    """The broker's last total of an order, under every ClOrdID it used; `at` counts messages."""

    names: tuple[str, ...]
    symbol: str
    quantity: int
    at: int


def traded_lots(orders: Orders) -> Mapping[tuple[str, str], int]:
    """Return the signed lots of all booked trades, by account and instrument."""
    traded: dict[tuple[str, str], int] = defaultdict(int)
    for standing in orders.traded():
        for trade in standing.trades:
            if trade.fill is not None:
                signed = trade.fill.side.sign * trade.lots
                traded[standing.account, trade.fill.instrument] += signed
    return traded


class BookCheck:
    """The check of one session; it reads each message once."""

    def __init__(self, tools: CheckTools) -> None:
        """Start with nothing read."""
        self._tools = tools
        self._totals: dict[str, _Total] = {}
        self._seen: set[tuple[str, ...]] = set()
        self._heard = Heard()
        self._seq = -1
        self._taken = 0

    def run(self, source: str) -> int:
        """Record every new difference, found at a `reconciliation` or `run_end` (`source`).

        Returns how many differences are open.

        Raises:
            audit.errors.AuditError: when the ledger cannot be read or takes no record.
            NotReadyError: when the orders are not folded.
        """
        tools, differences = self._tools, self._tools.books.differences
        found, size = tuple[Found, ...](), 0
        for number in range(TRIES):
            size = tools.reader.log_size()
            self._read(size)
            differences.read(size)
            found = tuple(one for one in self._apart() if differences.is_news(one, healing=False))
            if not found:
                break
            if number < TRIES - 1:
                tools.pause(PAUSE_S)
        drafts = [
            book_difference(one, session=tools.session, source=source, number=size) for one in found
        ]
        if drafts:
            tools.ledger.append(*drafts, lane=Lane.URGENT)
            differences.read(tools.reader.log_size())
        return len(differences.open())

    def _read(self, size: int) -> None:
        """Read the messages below a size of the log."""
        tools = self._tools
        for record in tools.reader.records(
            stream=f"session/{tools.session}",
            kinds=(Kind.FIX_INBOUND,),
            after_seq=self._seq,
            before_seq=size,
        ):
            self._take(FixInbound.of(record).raw)
        self._seq = size - 1

    def _take(self, raw: str) -> None:
        word = word_of(raw)
        old = self._heard.is_old(word)
        self._heard.take(word)
        if old:
            return  # a resend that is older than what is known
        undated = word is not None and word.resent and word.said is None
        try:
            report = parse_inbound(raw)
            if not isinstance(report, ExecutionReport):
                return
            quantity = scaled(report.cum_qty, 0)
        except FixError:
            return  # quarantined when it was settled
        told_names = (report.orig_cl_ord_id, report.cl_ord_id)
        standing = self._tools.theirs.told_of(told_names, report.order_id)
        if standing is None and self._is_strangers(report):
            return
        named = report.orig_cl_ord_id or report.cl_ord_id
        if standing is None and not named:
            return  # no order's total; its trades were told as they were settled
        name = named if standing is None else standing.cl_ord_id or named
        said = (report.exec_type, report.ord_status, report.leaves_qty, report.cum_qty)
        key = (report.transact_time[:8], report.exec_id, *said)
        if not report.is_status:
            if key in self._seen:
                return  # a report that is repeated may be older than the known total
            self._seen.add(key)
        before = self._totals.get(name)
        if not tells_total(report) and (before is None or quantity <= before.quantity):
            return
        if before is not None and (undated or not sets_total(report)):
            quantity = max(quantity, before.quantity)  # a trade that arrives late
        names = tuple(dict.fromkeys((name, report.orig_cl_ord_id or name, report.cl_ord_id)))
        symbol = report.symbol or ("" if before is None else before.symbol)
        self._taken += 1
        self._totals[name] = _Total(names=names, symbol=symbol, quantity=quantity, at=self._taken)

    def _is_strangers(self, report: ExecutionReport) -> bool:
        """Return whether an order can only be somebody else's, so that no book of ours has it."""
        tools = self._tools
        if tools.foreign is ForeignTreatment.BLOCK or not is_foreign(report):
            return False
        return tools.theirs.by_broker_id(report.order_id) is None

    def _apart(self) -> Iterator[Found]:
        """Yield both sides of every order and account."""
        tools, orders = self._tools, self._tools.theirs
        last: dict[str, tuple[_Total, Standing | None]] = {}
        for total in sorted(self._totals.values(), key=lambda one: one.at):
            standing = next(filter(None, map(orders.by_cl_ord_id, total.names)), None)
            one = total.names[0] if standing is None else standing.decision_id
            last[one] = (total, standing)  # read before the order was folded: under two names
        for total, standing in last.values():
            symbol = total.symbol
            if standing is not None and standing.verdict is not None:
                symbol = VerdictGiven.of(standing.verdict).instrument
            lot = tools.instruments[symbol].lot if symbol in tools.instruments else 1
            name = total.names[0] if standing is None else standing.cl_ord_id
            booked = 0 if standing is None else standing.filled_lots
            yield Found(
                cause=DifferenceCause.CUM_QTY,
                account="" if standing is None else standing.account,
                instrument=symbol,
                cl_ord_id=name,
                book_lots=booked + tools.books.differences.adjusted_of(name),
                broker_lots=total.quantity // lot,
                odd_units=total.quantity % lot,
            )
        yield from self._accounts_apart()

    def _accounts_apart(self) -> Iterator[Found]:
        books, traded = self._tools.books, traded_lots(self._tools.orders)
        for account in sorted(books.accounts):
            book = books.book(account)
            for symbol in sorted(self._tools.instruments):
                yield Found(
                    cause=DifferenceCause.ACCOUNT_LOTS,
                    account=account,
                    instrument=symbol,
                    cl_ord_id="",
                    book_lots=book.lots(symbol),
                    broker_lots=traded[account, symbol]
                    + books.differences.adjusted(account, symbol),
                )
