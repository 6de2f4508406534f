"""Four books of one account, whose differences are the columns scale, words and execution.

    scale      the table's twin less the GJR twin: the fitted scale with the table's law of moves
    words      the target as simulated less the table's twin: what the target adds to its table
    execution  the account less the target as simulated: rules, people, prices, fees

The columns sum to the account less its GJR twin, to the minor unit.

The *target as simulated* aims at the targets on record from a book of its own, and fills at the
touch with the paper broker's fee, as both twins do. An order that was refused, or of which nothing
traded, says nothing about words: there it does what the table's twin did, so that the gap between
the two stays, and what was missed is execution. So is a decision that no forecast moved.

Not here: which decisions differ, intervals, texts (`gateway.evidence.answers.engine_adds`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.contents import Fill
from gateway.walk.journal.control.difference import DifferenceResolved
from gateway.walk.journal.decision import SizedBeside
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.run import MarkTaken
from gateway.walk.projections.book import (
    BOOK_KINDS,
    Twin,
    book_events,
    filled,
    shared_events,
    twin_events,
)
from gateway.walk.sampled.placebo import assumed_fill
from risk.forms.documents import value_of
from risk.intent import Side
from risk.policy.policy import SizingPolicy
from risk.sizing import Sizing, SizingBasis, size_toward, sizing_of
from risk.state.book import Book
from risk.state.busts import BookFold
from risk.state.instrument import Instrument
from risk.state.state import Quote

COLUMN_KINDS: Final = tuple(dict.fromkeys((*BOOK_KINDS, *Twin.PLACEBO.kinds, *Twin.GJR.kinds)))
"""The kinds that move one of the books."""
_DAY_US: Final = 86_400_000_000


class AddedParts(NamedTuple):
    """The columns in minor units."""

    scale: int = 0
    words: int = 0
    execution: int = 0


def traded_lots(records: Iterator[Record]) -> Counter[str]:
    """Return what was executed of each decision's order, by stream; busted trades do not count."""
    traded: Counter[str] = Counter()
    for record in records:
        if record.kind is Kind.ORDER_REPORTED:
            traded[record.stream] += OrderReported.of(record).last_lots
        elif record.kind is Kind.DIFFERENCE_RESOLVED:
            resolved = DifferenceResolved.of(record)
            if resolved.adjustment is not None and resolved.decision_id is not None:
                traded[f"decision/{resolved.decision_id}"] += resolved.adjustment.qty_lots
    return traded


@dataclass(slots=True, kw_only=True)
class FourBooks:
    """Folds one account's records in ledger order.

    Attributes:
        traded: Executed lots of each decision's order, by stream.
        days: Each column's value at the end of each UTC day of the market, in order.
    """

    account: str
    equity_minor: int
    traded: Mapping[str, int]
    days: dict[int, AddedParts] = field(default_factory=dict)
    real: BookFold = field(init=False)
    simulated: BookFold = field(init=False)
    twins: dict[Twin, BookFold] = field(init=False)
    _judged: dict[str, SizedBeside] = field(default_factory=dict)
    _day: int = 0

    def __post_init__(self) -> None:
        """Open the books with the account's deposit."""
        self.real, self.simulated = self._opened(""), self._opened(".simulated")
        self.twins = {twin: self._opened(f".{twin.value}") for twin in Twin}

    def take(self, record: Record) -> None:
        """Fold one record of the account into every book.

        Raises:
            ValueError: it does not read.
            BookError: it cannot be booked.
        """
        if record.kind is Kind.MARK_TAKEN:
            self._day = max(self._day, MarkTaken.of(record).market_time_us // _DAY_US)
        if record.kind is Kind.PLACEBO_JUDGED:
            self._judged[record.stream] = SizedBeside.of(record)
        for event in book_events(record):
            self.real.take(event)
        for event in shared_events(record):
            self.simulated.take(event)
        for twin, book in self.twins.items():
            for event in twin_events(twin, record):
                book.take(event)
        self.days[self._day] = self.parts

    def propose(
        self, stream: str, own: SizedBeside, policy: SizingPolicy, instrument: Instrument
    ) -> SizedBeside | None:
        """Trade the target as simulated at a decision's intent; return the table's own verdict.

        Raises:
            ValueError: a sizing or quote does not read.
        """
        table = self._judged.pop(stream, None)
        if table is None or table.quote is None or own.sizing is None:
            return None
        quote, sizing = value_of(Quote, table.quote), sizing_of(own.sizing)
        fill = table.fill
        if sizing.basis is SizingBasis.VOLATILITY and self.counts(stream, own):
            fill = self._toward(policy, sizing, instrument, quote)
        if fill is not None:
            self.simulated.take(filled(None, fill, quote.time_us))
            self.days[self._day] = self.parts
        return table

    def counts(self, stream: str, own: SizedBeside) -> bool:
        """Return whether a decision's order traded, or it wanted none."""
        return own.intent is None or self.traded.get(stream, 0) != 0

    @property
    def made_minor(self) -> dict[str, int]:
        """What each book made."""
        real, simulated, table, gjr = (pnl_minor(one.book) for one in self._books())
        return {"account": real, "simulated": simulated, "table": table, "gjr": gjr}

    @property
    def parts(self) -> AddedParts:
        """The columns as of the last record."""
        real, simulated, table, gjr = (pnl_minor(one.book) for one in self._books())
        return AddedParts(scale=table - gjr, words=simulated - table, execution=real - simulated)

    def _books(self) -> tuple[BookFold, BookFold, BookFold, BookFold]:
        return self.real, self.simulated, self.twins[Twin.PLACEBO], self.twins[Twin.GJR]

    def _opened(self, beside: str) -> BookFold:
        return BookFold(Book.empty(self.account + beside, self.equity_minor))

    def _toward(
        self, policy: SizingPolicy, sizing: Sizing, instrument: Instrument, quote: Quote
    ) -> Fill | None:
        delta = size_toward(policy, sizing, self.simulated.book, instrument, quote).delta_qty
        if not delta:
            return None
        return assumed_fill(instrument, Side.BUY if delta > 0 else Side.SELL, abs(delta), quote)


def pnl_minor(book: Book) -> int:
    """Return what a book made: its equity less what was paid in."""
    return book.equity_minor - book.deposit_minor
