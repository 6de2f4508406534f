"""Ranges that the parameters of planted episodes are drawn from: inside and outside.

Inside is what the thresholds were chosen on; outside was not looked at then.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from risk.windows.conduct.events import Indicator


@dataclass(frozen=True, slots=True)
class Span:
    """A range of whole numbers from which a parameter is drawn."""

    low: int
    high: int

    def draw(self, rng: random.Random) -> int:
        """Return one of the numbers."""
        return rng.randint(self.low, self.high)


Spans = Mapping[str, Span]
INSIDE: Final[Mapping[Indicator, Spans]] = {
    Indicator.SPOOFING: {
        "orders": Span(3, 6),
        "lots": Span(200, 400),
        "shown_pct": Span(50, 80),
        "rest_ms": Span(300, 1_200),
        "trade": Span(20, 60),
    },
    Indicator.LAYERING: {
        "levels": Span(4, 6),
        "build_ms": Span(1_000, 5_000),
        "cancel_ms": Span(500, 2_000),
    },
    Indicator.WASH: {"pairs": Span(4, 6), "gap_s": Span(1, 20), "apart_pct": Span(0, 4)},
    Indicator.STUFFING: {"messages": Span(30, 60)},
    Indicator.COORDINATION: {"orders": Span(40, 60), "share_pct": Span(80, 100)},
    Indicator.IGNITION: {
        "trades": Span(5, 8),
        "ticks": Span(15, 30),
        "back_s": Span(5, 40),
        "back_pct": Span(70, 100),
    },
    Indicator.FRONT_RUNNING: {
        "wait_s": Span(10, 60),
        "ahead_s": Span(3, 8),
        "ahead_pct": Span(20, 60),
        "gain": Span(5, 15),
        "back_s": Span(2, 40),
        "back_pct": Span(70, 100),
    },
    Indicator.STOP_RUN: {
        "trades": Span(2, 5),
        "through": Span(5, 12),
        "gain": Span(6, 15),
        "back_s": Span(2, 40),
        "back_pct": Span(70, 100),
    },
}
"""What the thresholds were chosen on."""
OUTSIDE: Final[Mapping[Indicator, Spans]] = {
    Indicator.SPOOFING: {
        "orders": Span(2, 3),
        "lots": Span(150, 200),
        "shown_pct": Span(30, 49),
        "rest_ms": Span(1_201, 1_800),
        "trade": Span(61, 90),
    },
    Indicator.LAYERING: {
        "levels": Span(3, 3),
        "build_ms": Span(5_001, 9_000),
        "cancel_ms": Span(2_001, 4_500),
    },
    Indicator.WASH: {"pairs": Span(3, 3), "gap_s": Span(21, 50), "apart_pct": Span(5, 8)},
    Indicator.STUFFING: {"messages": Span(22, 29)},
    Indicator.COORDINATION: {"orders": Span(25, 39), "share_pct": Span(60, 79)},
    Indicator.IGNITION: {
        "trades": Span(4, 4),
        "ticks": Span(11, 14),
        "back_s": Span(41, 55),
        "back_pct": Span(55, 69),
    },
    Indicator.FRONT_RUNNING: {
        "wait_s": Span(4, 9),
        "ahead_s": Span(1, 2),
        "ahead_pct": Span(61, 95),
        "gain": Span(3, 4),
        "back_s": Span(41, 55),
        "back_pct": Span(55, 69),
    },
    Indicator.STOP_RUN: {
        "trades": Span(1, 1),
        "through": Span(3, 4),
        "gain": Span(4, 5),
        "back_s": Span(41, 55),
        "back_pct": Span(55, 69),
    },
}
"""Ranges that were not used when the thresholds were chosen."""
