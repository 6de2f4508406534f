"""Records of alarms that reached nobody.

Not here: alarms themselves, which repeat what other records say (`gateway.telemetry.alarms`).
"""

from audit.records.record_kind import Filing, RecordKind


class AlarmLost(RecordKind, frozen=True, kw_only=True):
    """A notice to the webhook that was given up after some tries."""

    filing = Filing("control", "alarm_lost:{run_id}:{number}", early="detail")

    alarm: str
    event: str
    detail: str
    at_us: int
    tries: int
    reason: str
    run_id: str
