"""What a verdict rests on: one account's book so far, and what the rules of format 2 read besides.

Not here: what a rule makes of it (`risk.rules`). Nothing is gathered under a policy of format 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import Case
from gateway.walk.projections.book import Twin, twin_events
from gateway.walk.projections.differences import Difference
from inference.forecast.forecast import Forecast
from inference.snapshot import Bar
from risk.state.activity import ActivityFold
from risk.state.book import Book
from risk.state.busts import BookFold, FoldEvent
from risk.state.inputs.activity import Activity, Quoting
from risk.state.inputs.firm import Basket, Firm, OwnOrder
from risk.state.inputs.health import MachineLook
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.market import LastBars, MarketStress, SeenBars
from risk.state.inputs.model import ForecastScores
from risk.state.inputs.reconciliation import OpenDifferences
from risk.state.inputs.reference import Listed, Reference
from risk.state.quoting import QuotingFold
from risk.state.state import SeenIntent, seen


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmBooks:
    """The books of all accounts and what differs of them, folded at least up to a record.

    `held` are the decisions that wait for a person.
    """

    basis_seq: int
    books: tuple[Book, ...]
    differences: tuple[Difference, ...]
    pasts: tuple[ActivityFold, ...]
    held: frozenset[str]

    def reconciliation(self, account: str) -> OpenDifferences:
        """Return what is open of an account; a difference that names none counts for each."""
        return OpenDifferences(
            basis_seq=self.basis_seq,
            open_seqs=tuple(
                one.seq for one in self.differences if one.found.account in {account, ""}
            ),
        )

    def orders(self, symbol: str) -> tuple[OwnOrder, ...]:
        """Return what may meet another order in an instrument, by account and decision.

        What waits for a person is not among it: a yes has it judged again.
        """
        found = (
            OwnOrder(
                account=book.account,
                decision_id=one.decision_id,
                instrument=one.instrument,
                side=one.side.value,
                open_lots=one.open_lots,
                limit_ticks=one.limit_ticks,
            )
            for book in self.books
            for one in book.reservations
            if one.instrument == symbol and one.decision_id not in self.held
        )
        return tuple(sorted(found, key=lambda one: (one.account, one.decision_id)))


BARS: Final = 22
"""Bars that a verdict looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictMoment:
    """When a verdict is asked for, and what only this decision knows.

    Attributes:
        bars: the last bars behind it; a snapshot has at least one.
        quoting: how long the account quoted both sides of the instrument.
        model_digest: the model behind the forecast.
    """

    now_us: int
    bars: tuple[Bar, ...]
    basket: Basket
    quoting: Quoting
    model_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """The sources of a verdict's inputs.

    Attributes:
        listed: Rows of the instruments' table by symbol.
        table_digest: SHA-256 of the table's bytes, hex.
        listed_at_us: LastBars time at which the table was read.
        health: Looks at disk and clock; None if it cannot.
        seen: The newest bars of each instrument that a decision of this run has read.
        scores: What the scored forecasts of a model say; None if nobody scores.
    """

    listed: Mapping[str, Listed]
    table_digest: str
    listed_at_us: int
    health: Callable[[], MachineLook | None]
    seen: dict[str, SeenBars] = field(default_factory=dict)
    scores: Callable[[str], ForecastScores | None] = lambda _: None

    def inputs(
        self, symbol: str, book: Book, firm: FirmBooks, past: Activity, asked: VerdictMoment
    ) -> Inputs:
        """Return what the rules may read of an intent in this instrument, against this book."""
        closes = tuple(bar.close_ticks for bar in asked.bars)
        as_of_us = asked.bars[-1].close_time_us
        self.seen[symbol] = SeenBars(symbol=symbol, as_of_us=as_of_us, closes_ticks=closes)
        held = {position.instrument for position in book.positions}
        reserved = {reservation.instrument for reservation in book.reservations}
        wanted = sorted({symbol} | held | reserved)
        rows = tuple(self.listed[name] for name in wanted if name in self.listed)
        return Inputs(
            reference=Reference(
                as_of_us=self.listed_at_us, table_digest=self.table_digest, listed=rows
            ),
            activity=past,
            firm=Firm(
                basis_seq=firm.basis_seq,
                orders=firm.orders(symbol),
                fills=tuple(
                    fill for one in firm.pasts for fill in one.own_fills(symbol, asked.now_us)
                ),
            ),
            reconciliation=firm.reconciliation(book.account),
            market=LastBars(as_of_us=as_of_us, closes_ticks=closes),
            health=self.health(),
            basket=asked.basket,
            stress=MarketStress(instruments=tuple(self.seen[name] for name in sorted(self.seen))),
            quoting=asked.quoting,
            scores=self.scores(asked.model_digest),
        )


@dataclass(slots=True, kw_only=True)
class BasisFold:
    """One book and how far it has been folded."""

    books: BookFold
    kinds: tuple[Kind, ...]
    events: Callable[[Record], tuple[FoldEvent, ...]]
    account: str
    basis_seq: int = -1
    history: list[SeenIntent] = field(default_factory=list)
    past: ActivityFold = field(default_factory=ActivityFold)
    quoting: QuotingFold = field(default_factory=QuotingFold)
    held: set[str] = field(default_factory=set)

    @property
    def book(self) -> Book:
        """The book at the last folded record."""
        return self.books.book

    def take(self, record: Record) -> None:
        """Apply one committed record."""
        for event in self.events(record):
            self.books.take(event)
            self.past.take(event)
            self.quoting.take(event)
        if record.kind is Kind.VERDICT_GIVEN:
            given = VerdictGiven.of(record)
            (self.held.add if given.result == "held" else self.held.discard)(given.decision_id)
            self.history.append(seen(given.intent, given.market_now_us))


def twin_fold(twin: Twin, account: str, equity_minor: int) -> BasisFold:
    """Return the book of an account's twin, with the account's deposit."""
    return BasisFold(
        books=BookFold(Book.empty(twin.account(account), equity_minor)),
        kinds=twin.kinds,
        events=partial(twin_events, twin),
        account=account,
    )


def firm_books(folds: Sequence[BasisFold], differences: tuple[Difference, ...]) -> FirmBooks:
    """Return the books of these accounts together."""
    return FirmBooks(
        basis_seq=min(fold.basis_seq for fold in folds),
        books=tuple(fold.book for fold in folds),
        differences=differences,
        pasts=tuple(fold.past for fold in folds),
        held=frozenset().union(*(fold.held for fold in folds)),
    )


def moment_of(case: Case, fold: BasisFold, forecast: Forecast, now_us: int) -> VerdictMoment:
    """Return what only this decision knows, at a market time."""
    return VerdictMoment(
        now_us=now_us,
        bars=case.snapshot.bars[-BARS:],
        basket=case.basket,
        quoting=fold.quoting.quoting(case.instrument.symbol, now_us),
        model_digest=forecast.model_digest,
    )
