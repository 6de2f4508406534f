"""Momentum ignition: own trades of one side that move the price, then trades back.

Source: rule R40; Delegated Regulation (EU) 2016/522, Annex II: trades that raise or lower a price,
followed by trades that profit from it.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnitionLimits:
    """The thresholds.

    Attributes:
        span_us: The trades of the run lie within this time.
        trades: Trades of one side in a row, at least; a trade of the other side ends the run.
        move_ticks: From the first price of the run to its last, in their direction, at least.
        after_us: How long after the run trades back count.
        reversed_pct: What is traded back, of the run's lots, at least, percent.
    """

    span_us: int = 30 * SECOND_US
    trades: int = 4
    move_ticks: int = 10
    after_us: int = 60 * SECOND_US
    reversed_pct: int = 50


@dataclass(slots=True)
class _MovedRun:
    """A run that moved the price, and what was traded back since."""

    side: Side
    time_us: int
    lots: int
    seqs: tuple[int, ...]
    back_lots: int = 0
    back_seqs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Momentum:
    run: deque[ConductEvent] = field(default_factory=deque)
    moved: _MovedRun | None = None


@dataclass(slots=True)
class Ignition:
    """The fold; trades of each owner and instrument."""

    limits: IgnitionLimits = field(default_factory=IgnitionLimits)
    _trades: dict[tuple[str, str], _Momentum] = field(
        default_factory=lambda: defaultdict(_Momentum)
    )

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if enough of a run that moved the price is traded back."""
        if event.deed is not Deed.TRADED:
            return None
        own = self._trades[event.place]
        moved = own.moved
        if moved is not None and self._goes_back(moved, event):
            moved.back_lots += event.qty_lots
            moved.back_seqs.append(event.seq)
            if moved.back_lots * 100 >= self.limits.reversed_pct * moved.lots:
                del self._trades[event.place]
                return ConductAlarm(
                    indicator=Indicator.IGNITION,
                    who=event.owner,
                    instrument=event.instrument,
                    time_us=event.time_us,
                    evidence=(*moved.seqs, *moved.back_seqs),
                )
        self._extend(own, event)
        return None

    def _goes_back(self, moved: _MovedRun, event: ConductEvent) -> bool:
        near = event.time_us - moved.time_us <= self.limits.after_us
        return near and event.side is not moved.side

    def _extend(self, own: _Momentum, event: ConductEvent) -> None:
        if own.run and own.run[-1].side is not event.side:
            own.run.clear()
        own.run.append(event)
        while own.run[0].time_us < event.time_us - self.limits.span_us:
            own.run.popleft()
        far = (event.price_ticks - own.run[0].price_ticks) * event.side.sign
        if len(own.run) >= self.limits.trades and far >= self.limits.move_ticks:
            own.moved = _MovedRun(
                side=event.side,
                time_us=event.time_us,
                lots=sum(one.qty_lots for one in own.run),
                seqs=tuple(one.seq for one in own.run),
            )
