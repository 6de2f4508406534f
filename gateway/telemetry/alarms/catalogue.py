"""Every alarm: its condition in words, and how long it must hold. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final


class Alarm(StrEnum):
    """What operators are told of; a closed list."""

    KILL = "kill"
    SESSION_DOWN = "session_down"
    FEED_STALE = "feed_stale"
    REJECT_BURST = "reject_burst"
    WITNESS_LOST = "witness_lost"
    DISK = "disk"
    LEDGER_DOWN = "ledger_down"
    BOOK_DIFFERS = "book_differs"
    FOREIGN_ORDER = "foreign_order"
    TRADE_UNDONE = "trade_undone"
    ORDER_UNANSWERED = "order_unanswered"
    ENGINE_DOWN = "engine_down"
    ENGINE_SLOW = "engine_slow"
    QUEUE_OLD = "queue_old"
    MODEL_DRIFTED = "model_drifted"
    SAMPLER_DIFFERS = "sampler_differs"
    PART_DOWN = "part_down"


MEANING: Final[Mapping[Alarm, tuple[str, float]]] = {
    Alarm.KILL: ("a kill is in force", 0.0),
    Alarm.SESSION_DOWN: ("the FIX session takes no orders", 5.0),
    Alarm.FEED_STALE: ("a feed of quotes or bars is stale", 5.0),
    Alarm.REJECT_BURST: ("the broker refused many orders within a minute", 0.0),
    Alarm.WITNESS_LOST: ("the witnesses' quorum is lost", 0.0),
    Alarm.DISK: ("little room on the state folder's disk", 0.0),
    Alarm.LEDGER_DOWN: ("the ledger or its database does not answer", 5.0),
    Alarm.BOOK_DIFFERS: ("the book and the broker differ", 0.0),
    Alarm.FOREIGN_ORDER: ("an order at the broker is not ours", 0.0),
    Alarm.TRADE_UNDONE: ("the broker took a trade back or corrected it, lately", 0.0),
    Alarm.ORDER_UNANSWERED: ("an order was sent, and the broker has not answered for 30 s", 0.0),
    Alarm.ENGINE_DOWN: ("there is no engine, so no forecast", 60.0),
    Alarm.ENGINE_SLOW: ("the engine does not step, or is asked for more than it can do", 5.0),
    Alarm.QUEUE_OLD: ("an intent of now would be answered after its deadline", 5.0),
    Alarm.MODEL_DRIFTED: ("what came speaks against the model's forecasts", 0.0),
    Alarm.SAMPLER_DIFFERS: ("direct forecasts have another law than the engine's", 0.0),
    Alarm.PART_DOWN: ("another part of the gateway is not ready", 5.0),
}
"""Alarm -> its condition, and the seconds that it must hold before the alarm is raised."""

_PARTS: Final[Mapping[str, Alarm]] = {
    "kill": Alarm.KILL,
    "fix": Alarm.SESSION_DOWN,
    "witnesses": Alarm.WITNESS_LOST,
    "ledger": Alarm.LEDGER_DOWN,
    "database": Alarm.LEDGER_DOWN,
    "book": Alarm.BOOK_DIFFERS,
    "engine": Alarm.ENGINE_DOWN,
    "desk": Alarm.QUEUE_OLD,
}
READY: Final = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message to operators.

    Attributes:
        event: `raised` or `cleared`.
        detail: the condition's state in words; of a cleared alarm the last one.
    """

    alarm: Alarm
    event: str
    detail: str
    at_us: int

    def document(self) -> dict[str, Any]:
        """Return it as it is sent."""
        return {
            "alarm": self.alarm.value,
            "event": self.event,
            "meaning": MEANING[self.alarm][0],
            "detail": self.detail,
            "at_us": self.at_us,
        }


def of_parts(parts: Mapping[str, str]) -> dict[Alarm, str]:
    """Return the alarms that the readiness of parts asks for, with their states in words."""
    found: dict[Alarm, str] = {}
    for part, state in parts.items():
        if state == READY or state.startswith("waiting for the first quorum"):
            continue
        alarm = _PARTS.get(part, Alarm.PART_DOWN)
        said = f"{part}: {state}"
        found[alarm] = f"{found[alarm]}; {said}" if alarm in found else said
    return found
