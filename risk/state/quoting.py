"""How long an account quoted both sides of an instrument today, folded from its book's events.

An order quotes from the message that sent it until it ends, whatever of it is left. The day begins
with the book's day; every hour since counts as continuous trading, because no source says when a
market paused. That makes a presence smaller, never larger.
"""

from dataclasses import dataclass, field

from risk.intent import Side
from risk.state.book import DayStarted, MessageSent, OrderClosed, Released, Reserved
from risk.state.busts import FoldEvent
from risk.state.inputs.activity import Quoting


@dataclass(slots=True, kw_only=True)
class QuotingFold:
    """Folds events in their order; each costs the number of live orders at most."""

    _day_us: int = 0
    _asked: dict[str, tuple[str, Side]] = field(default_factory=dict)
    _live: dict[str, tuple[str, Side]] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _two_way: dict[str, int] = field(default_factory=dict)

    def take(self, event: FoldEvent) -> None:
        """Apply one event; those that say nothing of quotes change nothing."""
        match event:
            case Reserved():
                self._asked[event.decision_id] = (event.instrument, Side(event.side))
            case Released():
                self._asked.pop(event.decision_id, None)
            case MessageSent():
                quote = self._asked.pop(event.decision_id or "", None)
                if quote is not None:
                    self._live[event.decision_id or ""] = quote
                    self._turn(quote[0], event.time_us)
            case OrderClosed():
                self._asked.pop(event.decision_id, None)
                quote = self._live.pop(event.decision_id, None)
                if quote is not None:
                    self._turn(quote[0], event.time_us)
            case DayStarted():
                self._day_us = event.time_us
                self._two_way.clear()
                self._since = dict.fromkeys(self._since, event.time_us)
            case _:
                pass

    def _turn(self, symbol: str, time_us: int) -> None:
        """Begin or end a two-way time, if this changed it."""
        sides = {side for name, side in self._live.values() if name == symbol}
        if len(sides) == len(Side):
            self._since.setdefault(symbol, time_us)
        elif symbol in self._since:
            begun = self._since.pop(symbol)
            self._two_way[symbol] = self._two_way.get(symbol, 0) + max(0, time_us - begun)

    def quoting(self, symbol: str, now_us: int) -> Quoting:
        """Return what counts for an intent in this instrument."""
        continuous = max(0, now_us - self._day_us) if self._day_us else 0
        open_us = max(0, now_us - self._since[symbol]) if symbol in self._since else 0
        two_way = self._two_way.get(symbol, 0) + open_us
        return Quoting(continuous_us=continuous, two_way_us=min(two_way, continuous))
