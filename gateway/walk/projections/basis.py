"""What a verdict rests on: one account's book and the intents judged before, up to a record."""

from collections.abc import Callable
from dataclasses import dataclass, field

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.verdict import VerdictGiven
from risk.state.activity import ActivityFold
from risk.state.book import Book
from risk.state.busts import BookFold, FoldEvent
from risk.state.state import SeenIntent, seen


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

    @property
    def book(self) -> Book:
        """The book at the last folded record."""
        return self.books.book

    def take(self, record: Record) -> None:
        """Apply one committed record."""
        for event in self.events(record):
            self.books.take(event)
            self.past.take(event)
        if record.kind is Kind.VERDICT_GIVEN:
            given = VerdictGiven.of(record)
            self.history.append(seen(given.intent, given.market_now_us))
