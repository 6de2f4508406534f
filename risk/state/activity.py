"""An account's recent past, folded from the events of its book; pure.

A message of the same microsecond as `now` counts. A time after `now` counts too: whoever sets the
clock back does not get a new allowance.

Not here: what a rule makes of it.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from risk.intent import Side
from risk.state.book import (
    DayStarted,
    Filled,
    MessageSent,
    OrderClosed,
    Released,
    Reserved,
    Resized,
)
from risk.state.busts import FoldEvent
from risk.state.inputs.activity import Activity, OwnFill, SentOrder, Withdrawn

ORDERS: Final = 50
LAST: Final = 100
"""How many executions, and how many orders that ended with a rest, are remembered."""
SECOND_US: Final = 1_000_000
WINDOW_US: Final = 30_000_000
REPEAT_US: Final = 600_000_000
BURST_SIZES: Final = (5, 6, 7, 8, 9, 10)
"""Sizes of a burst that a policy may ask about."""


@dataclass(slots=True, kw_only=True)
class _Live:
    """An order that was sent and has not ended."""

    instrument: str
    side: Side
    lots: int
    sent_us: int
    executed: int = 0


@dataclass(slots=True, kw_only=True)
class _Instrument:
    """The recent past of one instrument."""

    orders: deque[SentOrder] = field(default_factory=lambda: deque(maxlen=ORDERS))
    messages: deque[int] = field(default_factory=deque)
    fills: deque[OwnFill] = field(default_factory=lambda: deque(maxlen=LAST))
    withdrawn: deque[Withdrawn] = field(default_factory=lambda: deque(maxlen=LAST))
    day_lots: int = 0


@dataclass(slots=True, kw_only=True)
class ActivityFold:
    """Folds events in their order; each costs the same, however many there were."""

    _as_of_us: int = 0
    _asked: dict[str, Reserved] = field(default_factory=dict)
    _live: dict[str, _Live] = field(default_factory=dict)
    _by: dict[str, _Instrument] = field(default_factory=dict)
    _messages: deque[int] = field(default_factory=deque)
    _fills: deque[int] = field(default_factory=deque)
    _unburst: dict[int, deque[int]] = field(
        default_factory=lambda: {size: deque(maxlen=size) for size in BURST_SIZES}
    )
    _bursts: Counter[int] = field(default_factory=Counter)
    _day: str = ""
    _messages_day: int = 0
    _fills_day: int = 0
    _orders_day: int = 0
    _brief_day: int = 0

    def take(self, event: FoldEvent) -> None:
        """Apply one event; those that say nothing of activity change nothing."""
        match event:
            case Reserved():
                self._asked[event.decision_id] = event
            case Released():
                self._asked.pop(event.decision_id, None)
            case OrderClosed():
                self._closed(event)
            case Resized():
                live = self._live.get(event.decision_id)
                if live is not None:
                    live.lots += event.add_lots
            case MessageSent():
                self._sent(event)
            case Filled():
                self._filled(event)
            case DayStarted():
                self._start_day(event)
            case _:
                pass

    def _of(self, symbol: str) -> _Instrument:
        return self._by.setdefault(symbol, _Instrument())

    def _start_day(self, event: DayStarted) -> None:
        if event.day <= self._day:  # as the book has it: the same day begins once
            return
        self._day = event.day
        for one in self._by.values():
            one.day_lots = 0
        self._messages_day = self._fills_day = self._orders_day = self._brief_day = 0
        self._bursts.clear()
        self._seen(event.time_us)

    def _sent(self, event: MessageSent) -> None:
        self._messages.append(event.time_us)
        self._messages_day += 1
        self._burst(event.time_us)
        asked = None if event.decision_id is None else self._asked.pop(event.decision_id, None)
        if asked is not None:
            value = asked.qty_lots * asked.limit_ticks * asked.unit_minor
            own = self._of(asked.instrument)
            own.orders.append(SentOrder(lots=asked.qty_lots, value_minor=value))
            own.day_lots += asked.qty_lots
            self._orders_day += 1
            self._live[asked.decision_id] = _Live(
                instrument=asked.instrument,
                side=Side(asked.side),
                lots=asked.qty_lots,
                sent_us=event.time_us,
            )
        live = self._live.get(event.decision_id or "")
        if live is not None:
            times = self._of(live.instrument).messages
            times.append(event.time_us)
            while times[0] < event.time_us - SECOND_US:
                times.popleft()
        self._seen(event.time_us)

    def _burst(self, time_us: int) -> None:
        for size, times in self._unburst.items():
            times.append(time_us)
            if len(times) == size and time_us - times[0] < SECOND_US:
                self._bursts[size] += 1
                times.clear()

    def _filled(self, event: Filled) -> None:
        self._fills.append(event.time_us)
        self._fills_day += 1
        live = self._live.get(event.decision_id or "")
        if live is not None:
            live.executed += event.qty_lots
        self._of(event.instrument).fills.append(
            OwnFill(
                decision_id=event.decision_id or "",
                side=Side(event.side).value,
                lots=event.qty_lots,
                price_ticks=event.price_ticks,
                time_us=event.time_us,
            )
        )
        self._seen(event.time_us)

    def _closed(self, event: OrderClosed) -> None:
        self._asked.pop(event.decision_id, None)
        live = self._live.pop(event.decision_id, None)
        if live is None or live.executed >= live.lots:
            return
        rest_us = event.time_us - live.sent_us
        if not live.executed and rest_us <= SECOND_US:
            self._brief_day += 1
        self._of(live.instrument).withdrawn.append(
            Withdrawn(
                decision_id=event.decision_id,
                side=live.side.value,
                lots=live.lots - live.executed,
                rest_us=rest_us,
                time_us=event.time_us,
            )
        )
        self._seen(event.time_us)

    def _seen(self, time_us: int) -> None:
        self._as_of_us = max(self._as_of_us, time_us)
        for times in (self._messages, self._fills):
            while times and times[0] < self._as_of_us - WINDOW_US:
                times.popleft()

    def own_fills(self, symbol: str, now_us: int) -> tuple[OwnFill, ...]:
        """Return the executions in an instrument in the ten minutes that end now."""
        fills = self._by[symbol].fills if symbol in self._by else ()
        return tuple(one for one in fills if one.time_us > now_us - REPEAT_US)

    def activity(self, symbol: str, now_us: int) -> Activity:
        """Return what counts for an intent in this instrument."""
        own = self._by.get(symbol) or _Instrument()
        return Activity(
            as_of_us=self._as_of_us,
            orders=tuple(own.orders),
            day_lots=own.day_lots,
            messages_second=sum(1 for t in self._messages if t > now_us - SECOND_US),
            messages_window=sum(1 for t in self._messages if t > now_us - WINDOW_US),
            fills_window=sum(1 for t in self._fills if t > now_us - WINDOW_US),
            messages_day=self._messages_day,
            fills_day=self._fills_day,
            orders_day=self._orders_day,
            brief_day=self._brief_day,
            bursts_day=tuple(self._bursts[size] for size in BURST_SIZES),
            own_messages_second=sum(1 for t in own.messages if t > now_us - SECOND_US),
            own_fills=self.own_fills(symbol, now_us),
            withdrawn=tuple(one for one in own.withdrawn if one.time_us > now_us - WINDOW_US),
        )
