"""Marking the close: a large aggressive share of the last minutes before the close.

Source: rule R43; Annex II of Delegated Regulation (EU) 2016/522, indicator A(e).
"""

from collections import defaultdict
from dataclasses import dataclass, field

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingLimits:
    """The thresholds.

    Attributes:
        window_us: How long before the close the window begins.
        share_pct: Own aggressive lots of one side against all traded lots, percent.
        trades: Aggressive trades of one side, at least.
        market_lots: Below this volume of the market nothing is said.
    """

    window_us: int = 600 * SECOND_US
    share_pct: int = 20
    trades: int = 3
    market_lots: int = 1_000


@dataclass(slots=True)
class _Window:
    lots: int = 0
    seqs: list[int] = field(default_factory=list)
    begun_us: int = 0
    told: bool = False


@dataclass(slots=True)
class Closing:
    """The fold; aggressive trades of each owner, instrument and side in the closing window."""

    limits: ClosingLimits = field(default_factory=ClosingLimits)
    _windows: dict[tuple[str, str, Side], _Window] = field(
        default_factory=lambda: defaultdict(_Window)
    )

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return one alarm for a window in which the share is too large."""
        if event.deed is not Deed.TRADED or not (event.aggressive and self._near(event)):
            return None
        own = self._window(event)
        own.lots += event.qty_lots
        own.seqs.append(event.seq)
        if own.told or len(own.seqs) < self.limits.trades or not self._large(own.lots, event):
            return None
        own.told = True
        return ConductAlarm(
            indicator=Indicator.CLOSING,
            who=event.owner,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=tuple(own.seqs),
        )

    def blocks(self, order: ConductEvent) -> bool:
        """Return whether an aggressive order would make the share too large."""
        if not (order.aggressive and self._near(order)):
            return False
        own = self._window(order)
        enough = len(own.seqs) + 1 >= self.limits.trades
        return enough and self._large(own.lots + order.qty_lots, order)

    def _near(self, event: ConductEvent) -> bool:
        left = event.to_close_us
        return left is not None and 0 <= left <= self.limits.window_us

    def _window(self, event: ConductEvent) -> _Window:
        """Return the counts of this day's window: an older one is over."""
        key = (*event.place, event.side)
        if event.time_us - self._windows[key].begun_us > self.limits.window_us:
            self._windows[key] = _Window(begun_us=event.time_us)
        return self._windows[key]

    def _large(self, lots: int, event: ConductEvent) -> bool:
        market = max(event.market_lots, lots)
        return market >= self.limits.market_lots and lots * 100 > self.limits.share_pct * market
