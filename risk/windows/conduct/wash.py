"""Wash: trades of one owner that meet each other and change nothing.

Source: rule R42; Annex II of Delegated Regulation (EU) 2016/522, indicator A(c); FINRA rule 6140.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator
from risk.windows.conduct.rolling import Rolling


@dataclass(frozen=True, slots=True, kw_only=True)
class WashLimits:
    """The thresholds.

    Attributes:
        within_us: Both trades of a pair lie within this time.
        ticks: How far apart their prices are at most.
        qty_pct: How far apart their lots are at most, percent of the larger.
        pairs: Pairs that make the pattern, within `span_us`.
        paired_pct: Share of all traded lots that the pairs make up at least, percent.
        net_pct: What all trades change the position by at most, percent of what was traded.
    """

    within_us: int = 60 * SECOND_US
    ticks: int = 1
    qty_pct: int = 10
    pairs: int = 3
    span_us: int = 600 * SECOND_US
    paired_pct: int = 80
    net_pct: int = 5


@dataclass(slots=True)
class _Trades:
    pairs: Rolling
    gross: Rolling
    net: Rolling
    single: dict[Side, deque[ConductEvent]]


@dataclass(slots=True)
class Wash:
    """The fold; trades of each owner and instrument."""

    limits: WashLimits = field(default_factory=WashLimits)
    _trades: dict[tuple[str, str], _Trades] = field(init=False)

    def __post_init__(self) -> None:
        """Begin without events."""
        span = self.limits.span_us
        self._trades = defaultdict(
            lambda: _Trades(
                Rolling(span), Rolling(span), Rolling(span), {side: deque() for side in Side}
            )
        )

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if the pairs are enough and change nothing."""
        if event.deed is not Deed.TRADED:
            return None
        own = self._trades[event.place]
        own.gross.add(event.time_us, event.qty_lots, event.seq)
        own.net.add(event.time_us, event.side.sign * event.qty_lots, event.seq)
        met = self._met(own, event)
        if met is None:
            own.single[event.side].append(event)
            return None
        own.single[met.side].remove(met)
        own.pairs.add(event.time_us, met.qty_lots + event.qty_lots, event.seq)
        still = abs(own.net.total) * 100 <= self.limits.net_pct * own.gross.total
        most = own.pairs.total * 100 >= self.limits.paired_pct * own.gross.total
        if own.pairs.count < self.limits.pairs or not (still and most):
            return None
        evidence = own.gross.seqs
        for one in (own.pairs, own.gross, own.net):
            one.clear()
        return ConductAlarm(
            indicator=Indicator.WASH,
            who=event.owner,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=evidence,
        )

    def _met(self, own: _Trades, event: ConductEvent) -> ConductEvent | None:
        """Return the oldest single trade of the other side that this one pairs with."""
        opposite = own.single[Side.SELL if event.side is Side.BUY else Side.BUY]
        while opposite and opposite[0].time_us < event.time_us - self.limits.within_us:
            opposite.popleft()
        for one in opposite:
            larger = max(one.qty_lots, event.qty_lots)
            near = abs(one.price_ticks - event.price_ticks) <= self.limits.ticks
            apart = abs(one.qty_lots - event.qty_lots) * 100
            if near and apart <= self.limits.qty_pct * larger:
                return one
        return None
