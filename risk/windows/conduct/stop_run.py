"""Stop run: own trades through a price where stops are likely, then trades back at a gain.

Stops stand beyond the highest and the lowest price of the last minutes. Own trades of one side that
go through such a price set them off, and what follows is traded against them at a better price.
A round price that nobody traded at in that time lies beyond the same extreme.

Rules:
- The extremes are those of own executions, of all accounts. The market's own are not read here,
  and nobody sees where stops stand.
- Too few executions make no extreme.

Source: rule R41; Regulation (EU) 596/2014, art. 12(1)(a) and Annex I A.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from risk.intent import Side
from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRunLimits:
    """The thresholds.

    Attributes:
        gap_us: Trades of one side in a row make one run while each follows the last within this.
        prior_us: The extreme is that of this time before the run.
        prior_trades: Executions in it, at least; with fewer there is no extreme.
        through_ticks: How far beyond the extreme the run trades, at least.
        after_us: How long after the run trades back count.
        reversed_pct: What is traded back, of the run's lots, at least, percent.
        gain_ticks: From the run's mean price to the mean price back, in their favour, at least.
    """

    gap_us: int = 10 * SECOND_US
    prior_us: int = 600 * SECOND_US
    prior_trades: int = 10
    through_ticks: int = 3
    after_us: int = 60 * SECOND_US
    reversed_pct: int = 50
    gain_ticks: int = 3


@dataclass(slots=True)
class _Extremes:
    """The highest and lowest price of a rolling time; each price enters once and leaves once.

    `high` and `low` keep only prices that can still become the extreme.
    """

    span_us: int
    times: deque[int] = field(default_factory=deque)
    high: deque[tuple[int, int]] = field(default_factory=deque)
    low: deque[tuple[int, int]] = field(default_factory=deque)

    def add(self, time_us: int, price: int) -> None:
        self.times.append(time_us)
        while self.high and self.high[-1][1] <= price:
            self.high.pop()
        self.high.append((time_us, price))
        while self.low and self.low[-1][1] >= price:
            self.low.pop()
        self.low.append((time_us, price))

    def forget(self, now_us: int) -> None:
        since = now_us - self.span_us
        while self.times and self.times[0] < since:
            self.times.popleft()
        for kept in (self.high, self.low):
            while kept and kept[0][0] < since:
                kept.popleft()


@dataclass(slots=True)
class _LevelRun:
    """Own trades of one side in a row, and what was traded back once they went through.

    Attributes:
        level: The extreme before the run; None where too little was traded.
    """

    side: Side
    level: int | None
    time_us: int = 0
    lots: int = 0
    value: int = 0
    through: bool = False
    back_lots: int = 0
    back_value: int = 0
    seqs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _LevelRuns:
    """The run that goes on, and the newest that went through an extreme; maybe the same."""

    run: _LevelRun | None = None
    through: _LevelRun | None = None


@dataclass(slots=True)
class StopRun:
    """The fold; runs of each owner and instrument, and the extremes of each instrument."""

    limits: StopRunLimits = field(default_factory=StopRunLimits)
    _runs: dict[tuple[str, str], _LevelRuns] = field(
        default_factory=lambda: defaultdict(_LevelRuns)
    )
    _extremes: dict[str, _Extremes] = field(init=False)

    def __post_init__(self) -> None:
        """Begin without events."""
        self._extremes = defaultdict(lambda: _Extremes(self.limits.prior_us))

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if enough of a run through an extreme is traded back."""
        if event.deed is not Deed.TRADED:
            return None
        own, extremes = self._runs[event.place], self._extremes[event.instrument]
        extremes.forget(event.time_us)
        alarm = self._back(own, event)
        self._extend(own, extremes, event)
        extremes.add(event.time_us, event.price_ticks)
        return alarm

    def _goes_back(self, run: _LevelRun, event: ConductEvent) -> bool:
        near = event.time_us - run.time_us <= self.limits.after_us
        return near and event.side is not run.side

    def _back(self, own: _LevelRuns, event: ConductEvent) -> ConductAlarm | None:
        run = own.through
        if run is None or not self._goes_back(run, event):
            return None
        complete = self._completes(run, event)
        run.back_lots += event.qty_lots
        run.back_value += event.qty_lots * event.price_ticks
        run.seqs.append(event.seq)
        if not complete:
            return None
        own.through = None
        return ConductAlarm(
            indicator=Indicator.STOP_RUN,
            who=event.owner,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=tuple(run.seqs),
        )

    def _completes(self, run: _LevelRun, event: ConductEvent) -> bool:
        """Return whether enough is traded back at a gain, with all lots of this event."""
        back_lots = run.back_lots + event.qty_lots
        back_value = run.back_value + event.qty_lots * event.price_ticks
        gain = (back_value * run.lots - run.value * back_lots) * run.side.sign
        enough = back_lots * 100 >= self.limits.reversed_pct * run.lots
        return enough and gain >= self.limits.gain_ticks * run.lots * back_lots

    def _extend(self, own: _LevelRuns, extremes: _Extremes, event: ConductEvent) -> None:
        run = own.run
        apart = run is not None and event.time_us - run.time_us > self.limits.gap_us
        if run is None or apart or run.side is not event.side:
            run = own.run = _LevelRun(side=event.side, level=self._level(extremes, event.side))
        run.time_us = event.time_us
        run.lots += event.qty_lots
        run.value += event.qty_lots * event.price_ticks
        run.seqs.append(event.seq)
        if run.level is None:
            return
        if (event.price_ticks - run.level) * event.side.sign >= self.limits.through_ticks:
            own.through = run

    def _level(self, extremes: _Extremes, side: Side) -> int | None:
        if len(extremes.times) < self.limits.prior_trades:
            return None
        return (extremes.high if side is Side.BUY else extremes.low)[0][1]
