"""What a verdict rests on: one account's book so far, and what the rules of format 2 read besides.

Not here: what a rule makes of it (`risk.rules`). Nothing is gathered under a policy of format 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.oversight.justifications import FairnessSources
from gateway.walk.journal.control.oversight.publications import OwnPublications
from gateway.walk.journal.forecast import forecasts_behind
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.journal.words import EVERY
from gateway.walk.ports import Case, RecordsPort
from gateway.walk.projections.book import BOOK_KINDS, Twin, book_events, twin_events
from gateway.walk.projections.differences import Difference
from inference.forecast.forecast import Forecast
from inference.snapshot import Bar
from risk.intent import Side
from risk.numbers.lexicon import FairnessLexicon
from risk.policy.policy import Policy
from risk.state.activity import LAST, ActivityFold
from risk.state.book import Book, Filled
from risk.state.busts import BookFold, FoldEvent
from risk.state.inputs.activity import Activity, OwnFill, Quoting
from risk.state.inputs.firm import Basket, Crowd, Firm, ModelGross, OwnOrder
from risk.state.inputs.health import MachineLook
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.market import LastBars, MarketStress, SeenBars, SessionClock
from risk.state.inputs.model import ForecastScores
from risk.state.inputs.reconciliation import OpenDifferences
from risk.state.inputs.reference import Listed, Reference
from risk.state.quoting import QuotingFold
from risk.state.state import SeenIntents, seen


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmBooks:
    """The books of all accounts and what differs of them, folded at least up to a record.

    Attributes:
        held: The decisions that wait for a person.
        moved: The decision of the last execution, by account and instrument.
        wished: The side of the last intent, by account, strategy and instrument.
    """

    basis_seq: int
    books: tuple[Book, ...]
    differences: tuple[Difference, ...]
    pasts: tuple[ActivityFold, ...]
    held: frozenset[str]
    moved: Mapping[tuple[str, str], str] = field(default_factory=dict)
    wished: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    def reconciliation(self, account: str) -> OpenDifferences:
        """Return what is open of an account.

        A difference that names no account counts for each, unless it names its instrument: that
        one takes no order on any account, and the others go on.
        """
        return OpenDifferences(
            basis_seq=self.basis_seq,
            open_seqs=tuple(
                one.seq
                for one in self.differences
                if one.found.account == account
                or (not one.found.account and one.found.instrument in {"", EVERY})
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

    def crowd(self, model_of: Callable[[str], str]) -> Crowd:
        """Return what the strategies have in common; `model_of` takes a decision.

        A position belongs to the model of its last execution; two strategies are a pair in each
        instrument in which both have an intent on record.
        """
        gross: dict[str, int] = {}
        for book in self.books:
            for position in book.positions:
                if position.lots:
                    moved = self.moved.get((book.account, position.instrument), "")
                    model = model_of(moved) if moved else ""
                    gross[model] = gross.get(model, 0) + abs(position.value_minor)
        pairs = agreeing = 0
        for symbol in {name for _, _, name in self.wished}:
            sides = [side for (_, _, name), side in self.wished.items() if name == symbol]
            pairs += _pairs(len(sides))
            agreeing += sum(_pairs(sides.count(one.value)) for one in Side)
        return Crowd(
            basis_seq=self.basis_seq,
            accounts=tuple(sorted(book.account for book in self.books)),
            models=tuple(
                ModelGross(model_digest=name, gross_minor=gross[name]) for name in sorted(gross)
            ),
            pairs=pairs,
            agreeing=agreeing,
        )


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


class ModelsBehind:
    """The model of each decision's first forecast, which is on record before any order."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._found: dict[str, str] = {}

    def of(self, decision_id: str) -> str:
        """Return the model's digest; empty for a decision without a forecast."""
        found = self._found.get(decision_id)
        if found is None:
            made = forecasts_behind(self._reader, decision_id)
            found = next((one.model_digest for one in made), "")
            if found:
                self._found[decision_id] = found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReading:
    """How far a session is, and what all participants traded in its last ten minutes.

    `volume_age_us` is the age of the newest volume that a feed delivered.
    """

    since_open_us: int
    to_close_us: int
    market_lots: int
    volume_age_us: int

    def clock(self, fills: Sequence[OwnFill]) -> SessionClock | None:
        """Return it with what the account executed; None if older executions are forgotten."""
        if len(fills) >= LAST:
            return None
        return SessionClock(
            since_open_us=self.since_open_us,
            to_close_us=self.to_close_us,
            own_lots=sum(one.lots for one in fills),
            market_lots=self.market_lots,
            volume_age_us=self.volume_age_us,
        )


BARS: Final = 22
"""Bars that a verdict looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictMoment:
    """When a verdict is asked for, and what only this decision knows.

    Attributes:
        bars: the last bars behind it; a snapshot has at least one.
        quoting: how long the account quoted both sides of the instrument.
        model_digest: the model behind the forecast.
        decision_id: the decision.
        headlines: of the news in its snapshot.
        lexicon: the policy's words of fairness; None without.
    """

    now_us: int
    bars: tuple[Bar, ...]
    basket: Basket
    quoting: Quoting
    model_digest: str
    decision_id: str = ""
    headlines: tuple[str, ...] = ()
    lexicon: FairnessLexicon | None = None


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
        session: How far an instrument's session is; None where no feed or calendar says so.
        due: When the session after an instrument's bar opens; None where nobody knows.
        said: The firm's own publications; None where nobody reads them.
        models: The model behind a decision; None where nobody knows.
        fairness: What the fairness gate reads; None where nobody reads it.
    """

    listed: Mapping[str, Listed]
    table_digest: str
    listed_at_us: int
    health: Callable[[], MachineLook | None]
    seen: dict[str, SeenBars] = field(default_factory=dict)
    scores: Callable[[str], ForecastScores | None] = lambda _: None
    session: Callable[[str], SessionReading | None] = lambda _: None
    due: Callable[[str, int], int | None] = lambda _, __: None
    said: OwnPublications | None = None
    models: ModelsBehind | None = None
    fairness: FairnessSources | None = None

    def reading(self, reader: RecordsPort) -> "Gathering":
        """Return it with the sources that are records."""
        return replace(
            self,
            said=OwnPublications(reader),
            models=ModelsBehind(reader),
            fairness=FairnessSources(reader),
        )

    def inputs(
        self, symbol: str, book: Book, firm: FirmBooks, past: Activity, asked: VerdictMoment
    ) -> Inputs:
        """Return what the rules may read of an intent in this instrument, against this book."""
        closes = tuple(bar.close_ticks for bar in asked.bars)
        as_of_us = asked.bars[-1].close_time_us
        due_us = self.due(symbol, as_of_us)
        self.seen[symbol] = SeenBars(
            symbol=symbol, as_of_us=as_of_us, closes_ticks=closes, due_us=due_us
        )
        held = {position.instrument for position in book.positions}
        reserved = {reservation.instrument for reservation in book.reservations}
        wanted = sorted({symbol} | held | reserved)
        rows = tuple(self.listed[name] for name in wanted if name in self.listed)
        session = self.session(symbol)
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
            market=LastBars(as_of_us=as_of_us, closes_ticks=closes, due_us=due_us),
            health=self.health(),
            basket=asked.basket,
            stress=MarketStress(instruments=tuple(self.seen[name] for name in sorted(self.seen))),
            quoting=asked.quoting,
            scores=self.scores(asked.model_digest),
            session=None if session is None else session.clock(past.own_fills),
            crowd=None if self.models is None else firm.crowd(self.models.of),
            publications=None if self.said is None else self.said.until(firm.basis_seq, symbol),
            fairness=None
            if self.fairness is None or asked.lexicon is None
            else self.fairness.look(
                asked.lexicon,
                asked.decision_id,
                asked.headlines,
                (firm.basis_seq, asked.now_us),
            ),
        )


@dataclass(slots=True, kw_only=True)
class BasisFold:
    """One book and how far it has been folded."""

    books: BookFold
    kinds: tuple[Kind, ...]
    events: Callable[[Record], tuple[FoldEvent, ...]]
    account: str
    basis_seq: int = -1
    history: SeenIntents = field(default_factory=SeenIntents)
    past: ActivityFold = field(default_factory=ActivityFold)
    quoting: QuotingFold = field(default_factory=QuotingFold)
    held: set[str] = field(default_factory=set)
    moved: dict[tuple[str, str], str] = field(default_factory=dict)
    wished: dict[tuple[str, str, str], str] = field(default_factory=dict)

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
            if isinstance(event, Filled):
                self.moved[self.account, event.instrument] = event.decision_id or ""
        if record.kind is Kind.VERDICT_GIVEN:
            given = VerdictGiven.of(record)
            (self.held.add if given.result == "held" else self.held.discard)(given.decision_id)
            self.history.add(seen(given.intent, given.market_now_us))
            named = (self.account, given.intent.strategy, given.intent.instrument)
            self.wished[named] = given.intent.side.value


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
        moved={key: name for fold in folds for key, name in fold.moved.items()},
        wished={key: side for fold in folds for key, side in fold.wished.items()},
    )


def crowd_of(
    reader: RecordsPort, equity_minor: int, accounts: Sequence[str], basis_seq: int
) -> Crowd:
    """Return what strategies had in common at a record, folded anew from the records up to it."""
    folds = {
        account: BasisFold(
            books=BookFold(Book.empty(account, equity_minor)),
            kinds=BOOK_KINDS,
            events=book_events,
            account=account,
            basis_seq=basis_seq,
        )
        for account in accounts
    }
    for record in reader.records(kinds=BOOK_KINDS, before_seq=basis_seq + 1):
        if (fold := folds.get(record.body.get("account", ""))) is not None:
            fold.take(record)
    return firm_books([*folds.values()], ()).crowd(ModelsBehind(reader).of)


def moment_of(
    case: Case, fold: BasisFold, forecast: Forecast, now_us: int, policy: Policy
) -> VerdictMoment:
    """Return what only this decision knows, at a market time."""
    return VerdictMoment(
        now_us=now_us,
        bars=case.snapshot.bars[-BARS:],
        basket=case.basket,
        quoting=fold.quoting.quoting(case.instrument.symbol, now_us),
        model_digest=forecast.model_digest,
        decision_id=case.decision_id,
        headlines=headlines(case),
        lexicon=None if policy.families is None else policy.families.fairness,
    )


def headlines(case: Case) -> tuple[str, ...]:
    """Return the headlines of the news behind a decision."""
    return tuple(one.headline for one in case.snapshot.news)
