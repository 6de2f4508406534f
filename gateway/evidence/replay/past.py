"""What a replay knows of one decision: its records, run, policy, forecasts and books.

Not here: what a step recomputes (`taken`, `intent`, `order`), nor what is known of a forecast
(`forecasts.past`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches
from gateway.evidence.replay.forecasts.again import ForecastsAgain
from gateway.evidence.replay.forecasts.past import ForecastPast, control, in_force, instrument_of
from gateway.walk.journal.control.groups.baskets import BasketReceived
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.control.stops import FlattenAsked
from gateway.walk.journal.decision import (
    IntentReceived,
    QuoteTaken,
    book_digest,
    policy_named,
)
from gateway.walk.journal.forecast import SnapshotTaken
from gateway.walk.journal.run import RunStarted
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import ALONE, Case, Tags
from gateway.walk.projections.book import BOOK_KINDS, Twin, book_events, twin_events
from gateway.walk.projections.forecasts import ForecastsOnRecord, StandingForecast
from gateway.walk.sampled.joint import Joining, JointPaths
from inference.codec.text.codec import TextCodec
from inference.speculation.rounds import QTable
from risk.intent import Intent
from risk.policy.policy import Policy
from risk.rules.account.basket import worst_minor
from risk.state.book import Book
from risk.state.busts import BookFold, FoldEvent
from risk.state.inputs.firm import Basket
from risk.state.instrument import Instrument
from risk.state.state import Quote


@dataclass(slots=True, kw_only=True)
class Attempt:
    """What a decision, or its renewal, recomputed to so far.

    `made` is the forecast's own replay, None if nothing was asked for; `forecast` is None if there
    is none. `taken_seq` is the record that names it; the sizing used no older book. `proposed` says
    whether an `intent_proposed` is on record; its intent may be None.
    """

    made: ForecastPast | None
    taken_seq: int
    quote: Quote | None = None
    quote_seq: int = -1
    intent: Intent | None = None
    proposed: bool = False

    @property
    def forecast(self) -> StandingForecast | None:
        """The forecast as the walk read it; None if there is none."""
        return None if self.made is None else self.made.standing


class _Recomputed(ForecastsOnRecord):
    """The forecasts on record, each recomputed before it is joined."""

    def __init__(
        self, reader: LedgerReader, recomputed: Callable[[str], StandingForecast | None]
    ) -> None:
        super().__init__(reader)
        self._recomputed = recomputed

    @override
    def made(self, forecast_id: str, attempt: int) -> StandingForecast:
        found = self._recomputed(f"forecast/{forecast_id}.{attempt}")
        return super().made(forecast_id, attempt) if found is None else found


@dataclass(kw_only=True)
class Past:
    """One decision's records, and what was recomputed from them so far.

    `forecasts` may be shared, so that what several decisions name is recomputed once; `remarks` are
    those on the records of forecasts, until they are told.
    """

    reader: LedgerReader
    table: QTable
    decision_id: str
    records: tuple[Record, ...]
    run: RunStarted
    policy: Policy
    policy_named: Mapping[str, JSON]
    text: TextCodec | None = None  # the pair's own codec, where it is one of words
    case: Case | None = None
    attempts: list[Attempt] = field(default_factory=list)
    forecasts: ForecastsAgain = field(default_factory=ForecastsAgain)
    remarks: list[tuple[Record, str]] = field(default_factory=list)
    run_ids: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        reader: LedgerReader,
        table: QTable,
        decision_id: str,
        records: Sequence[Record],
        text: TextCodec | None = None,
    ) -> "Past":
        """Find the run and the policy that were in force when the decision began."""
        run, policy = in_force(reader, records[0].seq)
        return cls(
            reader=reader,
            table=table,
            decision_id=decision_id,
            records=tuple(records),
            run=run,
            policy=policy,
            policy_named=policy_named(policy),
            run_ids={run.run_id},
            text=text,
        )

    def resumed_by(self, run_id: str, *, before: Record) -> None:
        """Note that a later run kept the decision.

        Raises:
            ReplayDiffersError: when there was no such run, or it had other terms.
        """
        runs = [RunStarted.of(r) for r in control(self.reader, Kind.RUN_STARTED, before.seq)]
        if not any(one.run_id == run_id and one.terms == self.run.terms for one in runs):
            detail = f"run {run_id} is not on record with the terms of {self.run.run_id}"
            raise ReplayDiffersError(step=before.kind.value, detail=detail)
        self.run_ids.add(run_id)

    @cached_property
    def paths(self) -> JointPaths:
        """The joint paths, joined again; each set is compared with its record."""
        found = _Recomputed(self.reader, self._recomputed)
        return JointPaths(found, lambda: self.policy, self._joint_record)

    def _recomputed(self, stream: str) -> StandingForecast | None:
        """Return another instrument's forecast by its own replay; None if of another table.

        Such a one was made by an earlier pair, whose weights this replay does not have.
        """
        first = next(iter(self.reader.records(stream=stream)), None)
        if first is None or SnapshotTaken.of(first).inputs.get("table") != self.table.digest:
            return None
        return self.forecasts.of(self.reader, self.table, stream, self.text).past.standing

    def _joint_record(self, draft: Draft) -> Record:
        """Return the record of a set of joint paths, which must be the one that follows."""
        record = next(iter(self.reader.records(stream=draft.stream)), None)
        if record is None:
            detail = f"{draft.stream} is not on record"
            raise ReplayDiffersError(step=Kind.PATHS_JOINED.value, detail=detail)
        matches(record, draft)
        return record

    @property
    def received(self) -> Record | None:
        """The agent's request that opened the decision; None for the playback's own."""
        return self.first(Kind.INTENT_RECEIVED)

    @property
    def tags(self) -> Tags:
        """The tags that every record of the decision must carry."""
        return Tags(
            account=self._account(),
            run_id=self.run.run_id,
            mode=self.run.mode,
            dev=self.run.dev,
        )

    def _account(self) -> str:
        """Return the decision's account: the run's own, the agents', or that of the key's scope."""
        own = self.run.account
        if self.received is None:
            return own
        received = IntentReceived.of(self.received)
        if received.flattens:
            return self._flattened(received)
        if not received.scope_digest:
            return f"{own}.agent"
        scoped = self.reader.records(
            stream="control", kinds=(Kind.AGENT_SCOPED,), before_seq=self.received.seq
        )
        wanted = (received.author, received.scope_digest, received.account)
        for one in map(AgentScoped.of, scoped):
            if (one.key, one.scope_digest, one.account) == wanted:
                return f"{own}.{one.scope['account']}"
        raise ReplayDiffersError(
            step=Kind.INTENT_RECEIVED.value, detail="no agent_scoped before it has its scope"
        )

    def _flattened(self, received: IntentReceived) -> str:
        """Return the account of a position that a person asked to close."""
        before = None if self.received is None else self.received.seq
        position = (received.flattens, received.account, received.request.get("instrument"))
        for record in self.reader.records(
            stream="control", kinds=(Kind.FLATTEN_ASKED,), before_seq=before
        ):
            asked = FlattenAsked.of(record)
            named = ((asked.flatten_id, o["account"], o["instrument"]) for o in asked.orders)
            if asked.actor_name == received.author and position in named:
                return received.account
        raise ReplayDiffersError(
            step=Kind.INTENT_RECEIVED.value, detail="no flatten_asked before it names its position"
        )

    def basket(self, before_seq: int) -> Basket:
        """Return the basket that a verdict of the decision was given in: the legs before it.

        Raises:
            ReplayDiffersError: no `basket_received` before the decision names it as a leg.
        """
        named = "" if self.received is None else IntentReceived.of(self.received).basket_id
        if not named or self.received is None:
            return ALONE
        asked = self.reader.by_key("control", f"basket:{named}")
        legs = () if asked is None else BasketReceived.of(asked).legs
        if asked is None or asked.seq > self.received.seq or self.decision_id not in legs:
            step = Kind.INTENT_RECEIVED.value
            raise ReplayDiffersError(step=step, detail="no basket_received before it names it")
        worth = (self._worth_minor(one, before_seq) for one in legs[: legs.index(self.decision_id)])
        return Basket(group=named, others_minor=sum(worth))

    def _worth_minor(self, decision_id: str, before_seq: int) -> int:
        """Return what another leg's order counts as, at its worst price; 0 without an order."""
        kinds, stream = (Kind.QUOTE_TAKEN, Kind.VERDICT_GIVEN), f"decision/{decision_id}"
        found = {
            one.kind: one
            for one in self.reader.records(stream=stream, kinds=kinds, before_seq=before_seq)
        }
        if Kind.VERDICT_GIVEN not in found:
            return 0
        intent = VerdictGiven.of(found[Kind.VERDICT_GIVEN]).intent
        unit_minor = self.instrument(intent.instrument).unit_minor
        return worst_minor(intent, QuoteTaken.of(found[Kind.QUOTE_TAKEN]).quote, unit_minor)

    @property
    def standing(self) -> Standing:
        """The decision's standing before any of its records."""
        return Standing(
            decision_id=self.decision_id, account=self.tags.account, mode=self.tags.mode
        )

    def instrument(self, symbol: str) -> Instrument:
        """Return an instrument of the run."""
        return instrument_of(self.run, symbol)

    def first(self, kind: Kind) -> Record | None:
        """Return the decision's first record of a kind."""
        return next((r for r in self.records if r.kind is kind), None)

    def last(self, kind: Kind, *, before: Record) -> Record:
        """Return the decision's last record of a kind before another record.

        Raises:
            ReplayDiffersError: when there is none.
        """
        found = [r for r in self.records if r.kind is kind and r.seq < before.seq]
        if not found:
            raise ReplayDiffersError(step=before.kind.value, detail=f"no {kind.value} before it")
        return found[-1]

    def opened(self, record: Record) -> Case:
        """Return the case, which follows from the request and the forecast."""
        if self.case is None:
            raise ReplayDiffersError(step=record.kind.value, detail="no forecast_taken before it")
        return self.case

    def attempt(self, record: Record, number: int | None = None) -> Attempt:
        """Return the decision itself (0) or its renewal; by default the last."""
        if not self.attempts or (number is not None and number not in range(len(self.attempts))):
            raise ReplayDiffersError(step=record.kind.value, detail="no forecast_taken before it")
        return self.attempts[-1 if number is None else number]

    def forecast(self, record: Record, number: int | None = None) -> StandingForecast:
        """Return the forecast that the decision, or its renewal, rests on."""
        found = self.attempt(record, number).forecast
        if found is None:
            raise ReplayDiffersError(step=record.kind.value, detail="no forecast was taken")
        return found

    def joining(self, record: Record, kind: Kind, number: int | None = None) -> Joining:
        """Return what joins target or twin with what stood when the forecast was taken."""
        return self.paths.joining(self.forecast(record, number), kind, self.opened(record))

    def books(self, *, account: str, after: int, before: int) -> Iterator[Book]:
        """Yield the account's book at record `after`, and after each record until `before`."""
        return self._folds(account, Book.empty(account, self.run.equity_minor), after, before)

    def twin_books(self, twin: Twin, *, account: str, after: int, before: int) -> Iterator[Book]:
        """Yield a twin's books likewise."""
        book = Book.empty(twin.account(account), self.run.equity_minor)
        return self._folds(account, book, after, before, twin)

    def _folds(
        self, account: str, book: Book, after: int, before: int, twin: Twin | None = None
    ) -> Iterator[Book]:
        kinds: tuple[Kind, ...] = BOOK_KINDS if twin is None else twin.kinds
        events: Callable[[Record], tuple[FoldEvent, ...]] = (
            book_events if twin is None else partial(twin_events, twin)
        )
        fold, begun = BookFold(book), False
        for record in self.reader.records(kinds=kinds, account=account, before_seq=before):
            if record.seq > after:
                yield fold.book
                begun = True
            for event in events(record):
                fold.take(event)
        if begun or before > after:
            yield fold.book


def named(books: Iterator[Book], digest: object, record: Record) -> Book:
    """Return the book that a recorded digest names.

    Raises:
        ReplayDiffersError: when none of these books has it.
    """
    for book in books:
        if book_digest(book) == digest:
            return book
    raise ReplayDiffersError(step=record.kind.value, detail="book_digest")
