"""Records of alarms that reached nobody.

Not here: alarms themselves, which repeat what other records say (`gateway.telemetry.alarms`).
"""

from collections.abc import Mapping
from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.decision import GATEWAY


def alarm_lost(
    notice: Mapping[str, Any], *, run_id: str, number: int, tries: int, reason: str
) -> Draft:
    """A notice to the webhook that was given up after some tries."""
    return Draft(
        stream="control",
        kind=Kind.ALARM_LOST,
        payload={
            "alarm": notice["alarm"],
            "event": notice["event"],
            "detail": notice["detail"],
            "at_us": notice["at_us"],
            "tries": tries,
            "reason": reason,
            "run_id": run_id,
        },
        actor=GATEWAY,
        idem_key=f"alarm_lost:{run_id}:{number}",
    )
