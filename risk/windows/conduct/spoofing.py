"""Spoofing: large orders that rest for a moment on one side, while the other side trades.

Source: rule R37; Regulation (EU) 596/2014, art. 12(2)(c); FINRA rule 5210.03.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from risk.intent import Side
from risk.windows.conduct.events import (
    SECOND_US,
    ConductAlarm,
    ConductEvent,
    Deed,
    Indicator,
    other,
)
from risk.windows.conduct.rolling import Rolling


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoofingLimits:
    """The thresholds.

    Attributes:
        span_us: How far back events count.
        times_pct: Cancelled lots against traded ones of the other side, percent.
        cancelled_pct: Cancelled lots against placed ones of the same side, percent.
        rest_us: A cancelled order counts if it rested for less.
        shown_pct: A cancelled order counts if it was at least this share of its price level.
        orders: Cancelled orders that count, at least.
        one_sided_pct: Cancelled lots against those of the other side, percent: who quotes both
            sides cancels on both.
    """

    span_us: int = 30 * SECOND_US
    times_pct: int = 300
    cancelled_pct: int = 80
    rest_us: int = 2 * SECOND_US
    shown_pct: int = 20
    orders: int = 2
    one_sided_pct: int = 200


@dataclass(slots=True)
class _SpoofCounts:
    placed: Rolling
    cancelled: Rolling
    traded: Rolling


@dataclass(slots=True)
class Spoofing:
    """The fold; one count for each owner, instrument and side."""

    limits: SpoofingLimits = field(default_factory=SpoofingLimits)
    _counts: dict[tuple[str, str, Side], _SpoofCounts] = field(init=False)
    _resting: dict[str, ConductEvent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin without events."""
        span = self.limits.span_us
        self._counts = defaultdict(
            lambda: _SpoofCounts(Rolling(span), Rolling(span), Rolling(span))
        )

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if the pattern is complete on the side with size."""
        own = self._counts[*event.place, event.side]
        match event.deed:
            case Deed.PLACED:
                own.placed.add(event.time_us, event.qty_lots, event.seq)
                self._resting[event.order] = event
                return None
            case Deed.TRADED:
                own.traded.add(event.time_us, event.qty_lots, event.seq)
                self._resting.pop(event.order, None)
                return self._judged(event, other(event.side))
            case Deed.CANCELLED:
                placed = self._resting.pop(event.order, None)
                if placed is not None and self._counts_as_shown(placed, event):
                    own.cancelled.add(event.time_us, event.qty_lots, event.seq)
                return self._judged(event, event.side)
            case Deed.WAITING | Deed.DROPPED:
                return None

    def _counts_as_shown(self, placed: ConductEvent, event: ConductEvent) -> bool:
        short = event.time_us - placed.time_us < self.limits.rest_us
        return short and placed.qty_lots * 100 >= self.limits.shown_pct * placed.level_lots

    def _judged(self, event: ConductEvent, side: Side) -> ConductAlarm | None:
        if not self._matches(event.place, side, event.time_us):
            return None
        shown, traded = self._counts[*event.place, side], self._counts[*event.place, other(side)]
        alarm = ConductAlarm(
            indicator=Indicator.SPOOFING,
            who=event.owner,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=tuple(sorted((*shown.cancelled.seqs, *traded.traded.seqs))),
        )
        for one in (shown.placed, shown.cancelled, traded.traded):
            one.clear()
        return alarm

    def _matches(self, place: tuple[str, str], side: Side, now_us: int) -> bool:
        """Return whether the counts match."""
        shown, opposite = self._counts[*place, side], self._counts[*place, other(side)]
        for one in (shown.placed, shown.cancelled, opposite.traded, opposite.cancelled):
            one.forget(now_us)
        cancelled, traded = shown.cancelled.total, opposite.traded.total
        return (
            traded > 0
            and shown.cancelled.count >= self.limits.orders
            and cancelled * 100 >= self.limits.times_pct * traded
            and cancelled * 100 >= self.limits.cancelled_pct * shown.placed.total
            and cancelled * 100 >= self.limits.one_sided_pct * opposite.cancelled.total
        )
