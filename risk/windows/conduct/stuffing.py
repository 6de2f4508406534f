"""Quote stuffing: many messages within a second, and nothing trades.

Source: rule R36; Regulation (EU) 596/2014, art. 12(2)(c)(i).
"""

from collections import defaultdict
from dataclasses import dataclass, field

from risk.windows.conduct.events import SECOND_US, ConductAlarm, ConductEvent, Deed, Indicator
from risk.windows.conduct.rolling import Rolling


@dataclass(frozen=True, slots=True, kw_only=True)
class StuffingLimits:
    """The thresholds: more than `messages` within `span_us`, and no trade within `quiet_us`."""

    span_us: int = SECOND_US
    messages: int = 20
    quiet_us: int = 5 * SECOND_US


@dataclass(slots=True)
class _Pace:
    messages: Rolling
    trades: Rolling


@dataclass(slots=True)
class Stuffing:
    """The fold; messages and trades of each owner and instrument."""

    limits: StuffingLimits = field(default_factory=StuffingLimits)
    _paces: dict[tuple[str, str], _Pace] = field(init=False)

    def __post_init__(self) -> None:
        """Begin without events."""
        span, quiet = self.limits.span_us, self.limits.quiet_us
        self._paces = defaultdict(lambda: _Pace(Rolling(span), Rolling(quiet)))

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if there were too many messages and no trade."""
        if event.deed in {Deed.WAITING, Deed.DROPPED}:  # no message left
            return None
        own = self._paces[event.place]
        if event.deed is Deed.TRADED:
            own.trades.add(event.time_us, 1, event.seq)
            return None
        own.messages.add(event.time_us, 1, event.seq)
        own.trades.forget(event.time_us)
        if own.messages.total <= self.limits.messages or own.trades.total:
            return None
        evidence = own.messages.seqs
        own.messages.clear()
        return ConductAlarm(
            indicator=Indicator.STUFFING,
            who=event.owner,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=evidence,
        )
