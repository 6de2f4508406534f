"""What a pattern reads, and what it says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from risk.intent import Side

SECOND_US: Final = 1_000_000


class Deed(StrEnum):
    """What happened to an order.

    `WAITING`: a verdict let it pass, or a person holds it, and it has not left. `DROPPED`: an order
    that waited will not leave.
    """

    WAITING = "waiting"
    DROPPED = "dropped"
    PLACED = "placed"
    CANCELLED = "cancelled"
    TRADED = "traded"


class Indicator(StrEnum):
    """The indicator that events match, after Delegated Regulation (EU) 2016/522, Annex II."""

    SPOOFING = "spoofing"
    LAYERING = "layering"
    WASH = "wash"
    STUFFING = "quote stuffing"
    COORDINATION = "coordination"
    IGNITION = "momentum ignition"
    FRONT_RUNNING = "front-running"
    STOP_RUN = "stop run"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductEvent:
    """One event of one own order; events come in order of time.

    Attributes:
        seq: The record that says so: an alarm's evidence.
        owner: The beneficial owner, or the group that counts as one.
        price_ticks: The limit, or what was traded at.
        qty_lots: Placed, left at the cancel, or traded.
        level_lots: All lots shown at this price after the order was placed, its own too.
    """

    seq: int
    time_us: int
    deed: Deed
    order: str
    agent: str
    owner: str
    instrument: str
    side: Side
    qty_lots: int
    price_ticks: int
    level_lots: int = 0

    @property
    def place(self) -> tuple[str, str]:
        """Whose order in what."""
        return self.owner, self.instrument


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductAlarm:
    """Events that match an indicator.

    Attributes:
        who: The owner; for coordination both agents, for front-running the one that was ahead.
        evidence: The records that it rests on, oldest first.
    """

    indicator: Indicator
    who: str
    instrument: str
    time_us: int
    evidence: tuple[int, ...]


def other(side: Side) -> Side:
    """Return the opposite side."""
    return Side.SELL if side is Side.BUY else Side.BUY
