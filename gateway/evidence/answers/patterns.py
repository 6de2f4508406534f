"""Records of orders to the events that patterns of conduct read; a fold, in ledger order.

Rules:
- An order waits from its first verdict, held or not, until it leaves or is dropped.
- An order is placed when it left or may have left, cancelled when it ended with a rest after
  somebody here asked for its cancel, traded with each fill. Its time is the market's.
- An account and those of its agents (`NAME`, `NAME.agent`) are one owner. The agent of
  an order is its intent's author.
- An order's own end at the broker (IOC, end of day) is no cancel: nobody decided it.

Not here: the market's volume, its close and the size at a level, which no record tells: marking
the close is never found, and every short-lived order counts as a large part of its level.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.order import OrderReported, OrderSending
from gateway.walk.journal.verdict import VerdictGiven
from risk.intent import Intent
from risk.windows.conduct.events import ConductEvent, Deed

FLOW_KINDS: Final = (
    Kind.VERDICT_GIVEN,
    Kind.APPROVAL_REFUSED,
    Kind.RESERVATION_RELEASED,
    Kind.ORDER_SENDING,
    Kind.ORDER_SENT,
    Kind.ORDER_UNKNOWN,
    Kind.ORDER_REFUSED,
    Kind.ORDER_WITHDRAWN,
    Kind.CANCEL_REQUESTED,
    Kind.ORDER_REPORTED,
    Kind.ORDER_ENDED,
)


@dataclass(slots=True)
class _OrderSoFar:
    """One decision's order so far."""

    intent: Intent
    sent_us: int = 0
    left_lots: int = 0
    left: bool = False
    cancel_asked: bool = False


@dataclass(slots=True)
class PatternFlow:
    """The fold; it forgets an order when it has ended."""

    _known: dict[str, _OrderSoFar] = field(default_factory=dict)
    _newest_us: int = 0

    def take(self, record: Record) -> Iterator[ConductEvent]:
        """Yield what a record says of an order."""
        name = record.stream.removeprefix("decision/")
        if record.kind is Kind.VERDICT_GIVEN:
            yield from self._judged(name, record, VerdictGiven.of(record))
            return
        known = self._known.get(name)
        if known is None:
            return
        match record.kind:
            case Kind.ORDER_SENDING:
                known.sent_us = OrderSending.of(record).market_now_us
            case Kind.ORDER_SENT | Kind.ORDER_UNKNOWN:
                known.left, known.left_lots = True, known.intent.qty_lots
                yield _event(record, known, Deed.PLACED, known.left_lots, known.sent_us)
            case Kind.CANCEL_REQUESTED:
                known.cancel_asked = True
            case Kind.ORDER_REPORTED:
                yield from self._reported(record, known, OrderReported.of(record))
            case _:
                yield from self._dropped(name, record)  # or the broker refused the message

    def _judged(self, name: str, record: Record, given: VerdictGiven) -> Iterator[ConductEvent]:
        self._newest_us = max(self._newest_us, given.market_now_us)
        if given.reservation is None:
            if name in self._known:  # a renewal was rejected
                yield from self._dropped(name, record)
            return
        waits = name in self._known
        self._known[name] = known = _OrderSoFar(given.intent)
        if not waits:
            lots = given.intent.qty_lots
            yield _event(record, known, Deed.WAITING, lots, given.market_now_us)

    def _dropped(self, name: str, record: Record) -> Iterator[ConductEvent]:
        known = self._known.pop(name)
        if not known.left:
            yield _event(record, known, Deed.DROPPED, known.intent.qty_lots, self._newest_us)

    def _reported(
        self, record: Record, known: _OrderSoFar, report: OrderReported
    ) -> Iterator[ConductEvent]:
        time_us = report.market_time_us
        if report.is_trade and report.fill is not None:
            known.left_lots = max(0, known.left_lots - report.fill.qty_lots)
            price = report.fill.price_ticks
            yield _event(record, known, Deed.TRADED, report.fill.qty_lots, time_us, price)
        if report.terminal:
            if known.cancel_asked and known.left_lots:
                yield _event(record, known, Deed.CANCELLED, known.left_lots, time_us)
            self._known.pop(record.stream.removeprefix("decision/"), None)


def _event(
    record: Record,
    known: _OrderSoFar,
    deed: Deed,
    lots: int,
    time_us: int,
    price: int | None = None,
) -> ConductEvent:
    intent = known.intent
    return ConductEvent(
        seq=record.seq,
        time_us=time_us,
        deed=deed,
        order=intent.decision_id,
        agent=intent.author,
        owner=intent.account.partition(".")[0],
        instrument=intent.instrument,
        side=intent.side,
        qty_lots=lots,
        price_ticks=intent.limit_ticks if price is None else price,
    )
