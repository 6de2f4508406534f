"""Front-running: an agent trades ahead of another agent's waiting order, then trades back.

An order waits from its verdict until it leaves: it is held for a person, or on its way. Another
agent, of any account, places orders of the same side in the meantime, they trade before the order
leaves, and what was traded is sold to the market that the order has moved.

Rules:
- Seen is only what waits here. A client's order before it is an intent, and orders elsewhere, are
  not; nor is what traded after the waiting order left.
- Who knew of the waiting order is not on record. Only orders of a later time count as ahead.
- Who places as much on the other side while the order waits quotes, and is not asked about.

Source: Regulation (EU) 596/2014, art. 7(1)(d) and 8; FINRA rule 5270.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRunningLimits:
    """The thresholds.

    Attributes:
        known_us: The order waits for at least this long before the one ahead is placed.
        times_pct: The waiting order's lots, of those traded ahead, at least, percent.
        one_sided_pct: Lots placed ahead, of those that this agent placed on the other side while
            the order waited, at least, percent.
        after_us: How long after the waiting order left trades back count.
        reversed_pct: What is traded back, of the lots ahead, at least, percent.
        gain_ticks: From the mean price ahead to the mean price back, in their favour, at least.
    """

    known_us: int = SECOND_US
    times_pct: int = 100
    one_sided_pct: int = 200
    after_us: int = 60 * SECOND_US
    reversed_pct: int = 50
    gain_ticks: int = 2


@dataclass(slots=True)
class _Ahead:
    """What one agent did while an order of another waited, and after it left."""

    orders: set[str] = field(default_factory=set)
    placed_lots: int = 0
    other_lots: int = 0
    lots: int = 0
    value: int = 0
    back_lots: int = 0
    back_value: int = 0
    seqs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _WaitingOrder:
    """An order that waits, or that left a moment ago; by agent, who was ahead of it."""

    order: ConductEvent
    left: ConductEvent | None = None
    ahead: dict[str, _Ahead] = field(default_factory=lambda: defaultdict(_Ahead))


@dataclass(slots=True)
class FrontRunning:
    """The fold; by instrument and name, the orders that wait and those that just left."""

    limits: FrontRunningLimits = field(default_factory=FrontRunningLimits)
    _waiting: dict[str, dict[str, _WaitingOrder]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if enough of what was traded ahead is traded back."""
        orders = self._waiting[event.instrument]
        match event.deed:
            case Deed.WAITING:
                orders[event.order] = _WaitingOrder(event)
            case Deed.DROPPED:
                orders.pop(event.order, None)
            case Deed.PLACED:
                self._leave(orders, event)
                self._note_order(orders, event)
            case Deed.TRADED:
                return self._note_trade(orders, event)
            case Deed.CANCELLED:
                pass
        return None

    def _leave(self, orders: dict[str, _WaitingOrder], event: ConductEvent) -> None:
        """Keep an order that leaves only if somebody traded ahead of it."""
        own = orders.get(event.order)
        if own is None:
            return
        own.left = event
        if not any(one.lots for one in own.ahead.values()):
            del orders[event.order]

    def _note_order(self, orders: dict[str, _WaitingOrder], event: ConductEvent) -> None:
        for one in orders.values():
            if one.left is not None or event.agent == one.order.agent:
                continue
            if self._goes_ahead(one, event):
                ahead = one.ahead[event.agent]
                ahead.orders.add(event.order)
                ahead.placed_lots += event.qty_lots
            elif event.side is not one.order.side:
                one.ahead[event.agent].other_lots += event.qty_lots

    def _note_trade(
        self, orders: dict[str, _WaitingOrder], event: ConductEvent
    ) -> ConductAlarm | None:
        alarm = None
        for name, one in [*orders.items()]:
            if one.left is not None and self._is_over(one.left, event):
                del orders[name]
                continue
            ahead = one.ahead.get(event.agent)
            if ahead is None:
                continue
            if one.left is None and event.order in ahead.orders:
                ahead.lots += event.qty_lots
                ahead.value += event.qty_lots * event.price_ticks
                ahead.seqs.append(event.seq)
            elif self._goes_back(one, event):
                complete = self._completes(one, ahead, event)
                ahead.back_lots += event.qty_lots
                ahead.back_value += event.qty_lots * event.price_ticks
                ahead.seqs.append(event.seq)
                if complete and alarm is None:
                    alarm = self._told(one, ahead, event)
        return alarm

    def _completes(self, one: _WaitingOrder, ahead: _Ahead, event: ConductEvent) -> bool:
        """Return whether enough is traded back at a gain, with all lots of this event."""
        back_lots = ahead.back_lots + event.qty_lots
        back_value = ahead.back_value + event.qty_lots * event.price_ticks
        gain = (back_value * ahead.lots - ahead.value * back_lots) * one.order.side.sign
        gained = gain >= self.limits.gain_ticks * ahead.lots * back_lots
        enough = back_lots * 100 >= self.limits.reversed_pct * ahead.lots
        return ahead.lots > 0 and enough and gained and self._counts(one, ahead)

    def _told(self, one: _WaitingOrder, ahead: _Ahead, event: ConductEvent) -> ConductAlarm:
        del one.ahead[event.agent]
        left = () if one.left is None else (one.left.seq,)
        return ConductAlarm(
            indicator=Indicator.FRONT_RUNNING,
            who=event.agent,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=tuple(sorted((one.order.seq, *left, *ahead.seqs))),
        )

    def _counts(self, one: _WaitingOrder, ahead: _Ahead) -> bool:
        """Return whether the waiting order is large enough, and the other one-sided."""
        large = one.order.qty_lots * 100 >= self.limits.times_pct * ahead.lots
        return large and ahead.placed_lots * 100 >= self.limits.one_sided_pct * ahead.other_lots

    def _goes_ahead(self, one: _WaitingOrder, event: ConductEvent) -> bool:
        late = event.time_us - one.order.time_us >= self.limits.known_us
        return one.left is None and late and event.side is one.order.side

    def _goes_back(self, one: _WaitingOrder, event: ConductEvent) -> bool:
        if one.left is None or self._is_over(one.left, event):
            return False
        return event.side is not one.order.side

    def _is_over(self, left: ConductEvent, event: ConductEvent) -> bool:
        return event.time_us - left.time_us > self.limits.after_us
