"""Layering: several own price levels on one side that go soon after a trade on the other.

Source: rule R38; FINRA rule 5210.03: orders at several levels, a trade on the other side, cancels.
"""

from collections import defaultdict
from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeringLimits:
    """The thresholds.

    Attributes:
        levels: Own price levels on one side when the other side trades.
        built_us: The levels count if all were placed within this time before the trade.
        after_us: Cancels count within this time after the trade.
        cancelled_pct: Share of the layered orders that must go, percent.
    """

    levels: int = 3
    built_us: int = 10 * SECOND_US
    after_us: int = 5 * SECOND_US
    cancelled_pct: int = 80


@dataclass(slots=True)
class _Layers:
    """The layered side at the moment of a trade: which orders there were, and which went."""

    trade: ConductEvent
    orders: Mapping[str, int]
    gone: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class Layering:
    """The fold; live orders of each owner, instrument and side."""

    limits: LayeringLimits = field(default_factory=LayeringLimits)
    _live: dict[tuple[str, str, Side], dict[str, ConductEvent]] = field(init=False)
    _layers: dict[tuple[str, str, Side], _Layers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin without events."""
        self._live = defaultdict(dict)

    def take(self, event: ConductEvent) -> ConductAlarm | None:
        """Read an event; return an alarm if the layers are gone."""
        key = (*event.place, event.side)
        match event.deed:
            case Deed.PLACED:
                self._live[key][event.order] = event
            case Deed.TRADED:
                self._live[key].pop(event.order, None)
                self._watch(event)
            case Deed.CANCELLED:
                self._live[key].pop(event.order, None)
                return self._gone(event)
            case Deed.WAITING | Deed.DROPPED:
                pass
        return None

    def _fresh(self, key: tuple[str, str, Side], now_us: int) -> dict[str, ConductEvent]:
        """Return the orders of this side that are open and were placed a moment ago."""
        since = now_us - self.limits.built_us
        return {one.order: one for one in self._live[key].values() if one.time_us >= since}

    def _watch(self, trade: ConductEvent) -> None:
        """Remember the other side's layers, if it has enough of them."""
        key = (*trade.place, other(trade.side))
        fresh = self._fresh(key, trade.time_us)
        if len({one.price_ticks for one in fresh.values()}) >= self.limits.levels:
            orders = {name: one.seq for name, one in fresh.items()}
            self._layers.setdefault(key, _Layers(trade=trade, orders=orders))

    def _gone(self, event: ConductEvent) -> ConductAlarm | None:
        key = (*event.place, event.side)
        layers = self._layers.get(key)
        if layers is None:
            return None
        if event.time_us - layers.trade.time_us > self.limits.after_us:
            del self._layers[key]
            return None
        if event.order in layers.orders:
            layers.gone.append((event.order, event.seq))
        if len(layers.gone) * 100 < self.limits.cancelled_pct * len(layers.orders):
            return None
        del self._layers[key]
        evidence = (layers.trade.seq, *layers.orders.values(), *(seq for _, seq in layers.gone))
        return ConductAlarm(
            indicator=Indicator.LAYERING,
            who=event.owner,
            instrument=event.instrument,
            time_us=event.time_us,
            evidence=tuple(sorted(evidence)),
        )
