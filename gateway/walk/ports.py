"""Ports and values that `decide`, `dispatch` and `settle` are given: Protocols, never a driver."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Protocol, TypeVar

from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import NO_HOOKS, Guard, Hooks, Lane
from fix.durable.inbox import Entry
from fix.orders.live import LiveOrder
from fix.session.link import HandResult, SessionState
from fix.wire.messages import Fields
from gateway.clock import MarketInstant
from inference.codec.codec import ReturnCodec
from inference.engine.port import Engine
from inference.forecast.forecast import Forecast
from inference.forecast.placebo import TableModel
from inference.snapshot import Snapshot
from inference.speculation.rounds import QTable
from risk.intent import Intent
from risk.sizing import Sizing, to_intent
from risk.state.book import Book
from risk.state.inputs.firm import Basket
from risk.state.instrument import Instrument
from risk.state.paths.joint import BookPaths
from risk.state.state import Quote, RiskState
from risk.verdict import Verdict


class LedgerPort(Protocol):
    """The append side of the ledger; everything returned is durable."""

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
        hooks: Hooks = NO_HOOKS,
    ) -> tuple[Record, ...]:
        """Commit all drafts in one transaction; raises what `Ledger.append` raises."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Store bytes; return their SHA-256 in hex."""
        ...


class OrderedLedger(LedgerPort, Protocol):
    """A ledger that says when every earlier append is decided."""

    def resolve(self, stream: str, idem_key: str, timeout_s: float = 5.0) -> Record | None:
        """Return a key's record, or None; every append before is decided then.

        Raises what `Ledger.resolve` raises.
        """
        ...


class BrokerPort(Protocol):
    """The FIX child as dispatch sees it."""

    def prepare(self, cl_ord_id: str, fields: tuple[tuple[int, str], ...]) -> None:
        """Let the child build an order that may be handed out soon; without `hand` none leaves."""
        ...

    def go(
        self,
        cl_ord_id: str,
        fields: tuple[tuple[int, str], ...],
        kill_epoch: int,
        send_before_us: int,
        until_us: int,
    ) -> Callable[[], HandResult]:
        """Hand out one order, never again; return what waits for the answer, within a deadline.

        It must leave before `send_before_us` (wall clock) and `until_us` (monotonic clock).
        """
        ...

    def hand(
        self,
        cl_ord_id: str,
        fields: tuple[tuple[int, str], ...],
        kill_epoch: int,
        send_before_us: int,
        until_us: int,
    ) -> HandResult:
        """Hand out one order as `go` does, and return the answer."""
        ...


class ReconcilePort(Protocol):
    """A FIX session whose logon waits for its reconciliation; safe from any thread."""

    @property
    def state(self) -> SessionState:
        """The session's state."""
        ...

    def status_request(self, fields: Fields) -> HandResult:
        """Ask the broker for an order; the answer comes with the inbox."""
        ...

    def inbox_since(self, offset: int) -> list[Entry]:
        """Return the messages that arrived at or after an offset."""
        ...

    def live_orders(self) -> tuple[LiveOrder, ...]:
        """Return what the FIX child holds as live."""
        ...

    def set_reconciled(self, logon_no: int) -> bool:
        """Let new orders pass for this logon; return whether the logon still holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """The fields that every record of a decision carries: account, run, mode."""

    account: str
    run_id: str
    mode: str
    dev: bool

    def document(self) -> dict[str, str | bool]:
        """Return the fields as a payload holds them."""
        return {"account": self.account, "run_id": self.run_id, "mode": self.mode, "dev": self.dev}


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """How a forecast is sampled: seeded `paths` of `horizon` bars, `spec_k` drafts a round."""

    paths: int
    horizon: int
    spec_k: int
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A quote as the market feed delivered it."""

    quote: Quote
    instant: MarketInstant


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrativeReach:
    """Up to when the narrative behind a decision is complete.

    Attributes:
        absent: no feed delivers a narrative, so nothing is claimed of it.
        as_of_us: market time; None if it is absent or nobody knows.
    """

    absent: bool
    as_of_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JointNamed:
    """Joint paths on record: their set's id, and its record."""

    joint_id: str
    of_seq: int
    of_leaf: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The paths of the whole book, by digest; `named` is None where it is one instrument."""

    paths: BookPaths
    digest: str
    named: JointNamed | None = None

    def document(self) -> dict[str, JSON]:
        """Return it as `intent_proposed` and `placebo_judged` name it."""
        named = self.named
        return {
            "digest": self.digest,
            "n_paths": self.paths.n_paths,
            **({} if named is None else {"joint": {**asdict(named)}}),
        }


ALONE: Final = Basket(group="", others_minor=0)
"""The basket of an order by itself."""


class Filed(Protocol):
    """What the records of one decision, or of one attempt at a forecast, have in common."""

    @property
    def stream(self) -> str:
        """The stream in the ledger."""
        ...

    @property
    def tags(self) -> Tags:
        """The run that they are of."""
        ...

    @property
    def attempt(self) -> int:
        """The number in their keys: of the attempt, or of the renewal."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasting:
    """One attempt at a forecast, which belongs to no decision.

    Attributes:
        forecast_id: what `forecast_id` makes of the inputs; equal inputs have one forecast.
        attempt: how many attempts failed before.
        tags: the run; the account is empty.
        inputs: what the forecast depends on, each by its digest.
        opened_seq: the record that opened the first attempt, from which the seeds' root follows;
            None before there is one.
    """

    forecast_id: str
    attempt: int
    tags: Tags
    instrument: Instrument
    snapshot: Snapshot
    inputs: Mapping[str, JSON] = field(default_factory=dict)
    opened_seq: int | None = None

    @property
    def name(self) -> str:
        """The attempt's name, unique in the ledger."""
        return f"{self.forecast_id}.{self.attempt}"

    @property
    def stream(self) -> str:
        """The attempt's stream in the ledger."""
        return f"forecast/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One decision to make.

    Attributes:
        strategy: its strategy; the policy applies rules by strategy.
        author: name of the strategy or agent that wants it.
        tick: takes the quote, after the forecast.
        propose: turns forecast, book and quote into a sizing, which may be "no trade".
        attempt: 0, or the number of the renewal.
        taken_seq: the record that names its forecast; other instruments' paths come from before it.
        narrative: up to when the narrative is complete; None: up to the snapshot's own time, as the
            playback knows it.
        stood: the forecast that stood right before the snapshot was taken; None if nobody looked.
        joined: the paths of the whole book, once there is a forecast; None under a policy of format
            1, and where paths are missing.
        basket: the other orders that leave with this one, or none of them.
        labels: further fields of `forecast_taken` (session index and date).
    """

    decision_id: str
    tags: Tags
    instrument: Instrument
    snapshot: Snapshot
    strategy: str
    author: str
    tick: Callable[[], Tick]
    propose: Callable[[Forecast, Book, Quote, BookPaths | None], Sizing]
    directional: bool = False
    attempt: int = 0
    taken_seq: int | None = None
    narrative: NarrativeReach | None = None
    stood: str | None = None
    joined: "Joined | None" = None
    basket: Basket = ALONE
    labels: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def book_paths(self) -> BookPaths | None:
        """The paths of the whole book, or None."""
        return None if self.joined is None else self.joined.paths

    @property
    def stream(self) -> str:
        """The decision's stream in the ledger."""
        return f"decision/{self.decision_id}"

    @property
    def reach(self) -> NarrativeReach:
        """Up to when the narrative is complete."""
        own = NarrativeReach(absent=False, as_of_us=self.snapshot.as_of_us)
        return self.narrative or own

    def intent_of(self, sizing: Sizing) -> Intent | None:
        """Return the intent that a sizing leads to, or None."""
        return to_intent(
            sizing,
            decision_id=self.decision_id,
            account=self.tags.account,
            strategy=self.strategy,
            author=self.author,
            directional=self.directional,
        )


class RecordsPort(Protocol):
    """The part of the ledger's reader that a fold needs."""

    def records(
        self,
        *,
        stream: str | None = None,
        kinds: Iterable[Kind] | None = None,
        after_seq: int = -1,
        before_seq: int | None = None,
    ) -> Iterable[Record]:
        """Yield records in order."""
        ...


class BlobsPort(RecordsPort, Protocol):
    """A reader of records and blobs."""

    def blob(self, digest: str) -> bytes | None:
        """Return a blob by its SHA-256, or None."""
        ...


_Made = TypeVar("_Made")
_Made_co = TypeVar("_Made_co", covariant=True)


class Begun(Protocol[_Made_co]):
    """Work that belongs to a forecast, and ends with it."""

    def result(self) -> _Made_co:
        """Wait for the result; raise what the work raised.

        Raises:
            LateTwinError: it took longer than whoever does it allows.
        """
        ...

    def drop(self) -> None:
        """Do not begin it, if it is not begun: nobody waits for it any more."""
        ...


class Meanwhile(Protocol):
    """Does pure work while the walk waits for the engine."""

    def __call__(self, work: Callable[[], _Made]) -> Begun[_Made]:
        """Begin."""
        ...


@dataclass(frozen=True, slots=True)
class Afterwards(Begun[_Made]):
    """Does the work when its result is asked for: a `Meanwhile` without a thread."""

    work: Callable[[], _Made]

    @override
    def result(self) -> _Made:
        return self.work()

    @override
    def drop(self) -> None:
        """There is nothing to drop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The ports and pure parts that `forecast` and `decide` use; `model` digests the weights."""

    ledger: OrderedLedger
    engine: Engine
    model: str
    codec: ReturnCodec
    table: QTable
    placebo: TableModel
    plan: SamplingPlan
    seed_root: Callable[[int], tuple[bytes, int]]
    meanwhile: Meanwhile = Afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A committed verdict on an intent in a state; "approved", "held" or "rejected"."""

    record: Record
    intent: Intent
    verdict: Verdict
    result: str
    state: RiskState
