"""What the three walk functions are given.

Ports to the ledger, engine, broker and clock, and one case.

Only Protocols and values stand here, so `decide`, `dispatch` and `settle` never see a driver.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from audit.records.canonical import JSON
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Guard, Lane
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
from risk.sizing import Sizing
from risk.state.book import Book
from risk.state.instrument import Instrument
from risk.state.state import Quote


class LedgerPort(Protocol):
    """The append side of the ledger; everything returned is durable."""

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
    ) -> tuple[Record, ...]:
        """Commit all drafts in one transaction; errors are those of `Ledger.append`."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Store content-addressed bytes; returns the SHA-256 in hex."""
        ...


class BrokerPort(Protocol):
    """The FIX child as dispatch sees it."""

    def hand(
        self,
        cl_ord_id: str,
        fields: tuple[tuple[int, str], ...],
        kill_epoch: int,
        send_before_us: int,
        until_us: int,
    ) -> HandResult:
        """Hand one order out, once ever; returns within the child's own deadline.

        It must have left before `send_before_us` (wall) and `until_us` (monotonic).
        """
        ...


class ReconcilePort(Protocol):
    """A FIX session whose logon is not yet reconciled; safe from any thread."""

    @property
    def state(self) -> SessionState:
        """Whether it waits to be reconciled still."""
        ...

    def status_request(self, fields: Fields) -> HandResult:
        """Ask the broker for an order; the answer comes with the inbox."""
        ...

    def inbox_since(self, offset: int) -> list[Entry]:
        """Return the messages that came in from an offset on."""
        ...

    def live_orders(self) -> tuple[LiveOrder, ...]:
        """Return what the FIX child holds as live."""
        ...

    def set_reconciled(self, logon_no: int) -> bool:
        """Let new orders pass for this logon; return whether it still holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """What every record of a decision carries: whose account, which run, which mode."""

    account: str
    run_id: str
    mode: str
    dev: bool

    def document(self) -> dict[str, str | bool]:
        """Return the fields as they stand in a payload."""
        return {"account": self.account, "run_id": self.run_id, "mode": self.mode, "dev": self.dev}


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """How a forecast is sampled: `paths` seeded requests of `horizon` bars.

    `spec_k` drafts a round.
    """

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
class Case:
    """One decision to be made.

    Attributes:
        strategy: the strategy whose intent it is; policy arms rules by it.
        author: who wants it (a strategy or an agent's name).
        request: an outside agent's request as recorded, or None for the playback strategy.
        tick: takes the quote, after the forecast stands.
        propose: turns forecast, book and quote into a sizing (which may say: no trade).
        attempt: 0 for the first forecast; part of the seed.
        opened_seq: the record before which the seed's checkpoint ends: the decision's first, for a
            renewal the approval's; None while there is none.
        labels: further fields of the snapshot's record (session index and date).
    """

    decision_id: str
    tags: Tags
    instrument: Instrument
    snapshot: Snapshot
    strategy: str
    author: str
    tick: Callable[[], Tick]
    propose: Callable[[Forecast, Book, Quote], Sizing]
    directional: bool = False
    attempt: int = 0
    opened_seq: int | None = None
    labels: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The ledger stream of this decision."""
        return f"decision/{self.decision_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The ports and pure parts that `decide` uses."""

    ledger: LedgerPort
    engine: Engine
    codec: ReturnCodec
    table: QTable
    placebo: TableModel
    plan: SamplingPlan
    seed_root: Callable[[int], tuple[bytes, int]]
