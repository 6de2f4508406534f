"""An account's recent past, folded from the events of its book; pure.

A message of the same microsecond as `now` counts. A time after `now` counts too: whoever sets the
clock back does not get a new allowance.

Not here: what a rule makes of it.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from risk.state.book import DayStarted, Filled, MessageSent, OrderClosed, Released, Reserved
from risk.state.busts import FoldEvent
from risk.state.inputs.activity import Activity, SentOrder

ORDERS: Final = 50
SECOND_US: Final = 1_000_000
WINDOW_US: Final = 30_000_000


@dataclass(slots=True, kw_only=True)
class ActivityFold:
    """Folds events in their order; each costs the same, however many there were."""

    _as_of_us: int = 0
    _asked: dict[str, Reserved] = field(default_factory=dict)
    _orders: dict[str, deque[SentOrder]] = field(default_factory=dict)
    _messages: deque[int] = field(default_factory=deque)
    _fills: deque[int] = field(default_factory=deque)
    _day_lots: Counter[str] = field(default_factory=Counter)
    _messages_day: int = 0
    _fills_day: int = 0

    def take(self, event: FoldEvent) -> None:
        """Apply one event; those that say nothing of activity change nothing."""
        match event:
            case Reserved():
                self._asked[event.decision_id] = event
            case Released() | OrderClosed():
                self._asked.pop(event.decision_id, None)
            case MessageSent():
                self._sent(event)
            case Filled():
                self._fills.append(event.time_us)
                self._fills_day += 1
                self._seen(event.time_us)
            case DayStarted():
                self._day_lots.clear()
                self._messages_day = self._fills_day = 0
                self._seen(event.time_us)
            case _:
                pass

    def _sent(self, event: MessageSent) -> None:
        self._messages.append(event.time_us)
        self._messages_day += 1
        self._seen(event.time_us)
        asked = None if event.decision_id is None else self._asked.pop(event.decision_id, None)
        if asked is not None:
            value = asked.qty_lots * asked.limit_ticks * asked.unit_minor
            kept = self._orders.setdefault(asked.instrument, deque(maxlen=ORDERS))
            kept.append(SentOrder(lots=asked.qty_lots, value_minor=value))
            self._day_lots[asked.instrument] += asked.qty_lots

    def _seen(self, time_us: int) -> None:
        self._as_of_us = max(self._as_of_us, time_us)
        for times in (self._messages, self._fills):
            while times and times[0] < self._as_of_us - WINDOW_US:
                times.popleft()

    def activity(self, symbol: str, now_us: int) -> Activity:
        """Return what counts for an intent in this instrument."""
        return Activity(
            as_of_us=self._as_of_us,
            orders=tuple(self._orders.get(symbol, ())),
            day_lots=self._day_lots.get(symbol, 0),
            messages_second=sum(1 for t in self._messages if t > now_us - SECOND_US),
            messages_window=sum(1 for t in self._messages if t > now_us - WINDOW_US),
            fills_window=sum(1 for t in self._fills if t > now_us - WINDOW_US),
            messages_day=self._messages_day,
            fills_day=self._fills_day,
        )
