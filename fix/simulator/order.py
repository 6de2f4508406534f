"""An order as the simulator keeps it, and its replies.

Not here: what happens to an order (`fix.simulator.market`).
"""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from fix.wire.messages import Fields

TERMINAL = frozenset("248C")
HALTED = frozenset("39B")
"""Done for the day, suspended, calculated: such an order does not trade."""
_OVER_FOR_TODAY = frozenset("3B")
LATER = True


class OrderOutcome(StrEnum):
    """What the published table, or a script, makes of an order."""

    FILL = "fill"
    PARTIAL = "partial"
    REJECT = "reject"
    SILENCE = "silence"
    BUST = "bust"
    CORRECT = "correct"
    SESSION_REJECT = "session_reject"
    BUSINESS_REJECT = "business_reject"
    REST = "rest"
    PENDING = "pending"
    SUSPEND = "suspend"
    DONE_FOR_DAY = "done_for_day"
    EXPIRE = "expire"
    STOP = "stop"
    RESTATE = "restate"
    REPEAT = "repeat"
    IGNORE = "ignore"
    DROP_BEFORE = "drop_before"
    DROP_AFTER = "drop_after"


class Manner(StrEnum):
    """How the broker answers requests to cancel or to replace."""

    CONFIRM = "confirm"
    PENDING = "pending"
    REJECT = "reject"
    IGNORE = "ignore"
    FILL = "fill"


class Execution(NamedTuple):
    """A trade that may be busted or corrected."""

    exec_id: str
    qty: int
    price: Decimal


@dataclass(slots=True, kw_only=True)
class Order:
    """One order; changes as it trades."""

    cl_ord_id: str
    order_id: str
    symbol: str
    side: str
    qty: int
    limit: Decimal
    tif: str
    account: str
    outcome: OrderOutcome
    status: str = "0"
    cum: int = 0
    value: Decimal = Decimal(0)
    held: list[Fields] = field(default_factory=list)
    trades: list[Execution] = field(default_factory=list)
    told: Fields = ()

    @property
    def is_live(self) -> bool:
        """Whether it may still trade."""
        return self.status not in TERMINAL

    @property
    def leaves(self) -> int:
        """Quantity still working."""
        works = self.is_live and self.status not in _OVER_FOR_TODAY
        return self.qty - self.cum if works else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Fields to send, at once or after the partial delay; `drop` cuts the connection instead."""

    fields: Fields
    later: bool = False
    drop: bool = False
