"""Records of reads and of refused callers, one a window.

Not here: when a record is appended (`reads`, `refusals`).
"""

from audit.records.record_kind import Filing, RecordKind


class ReadRecorded(RecordKind, frozen=True, kw_only=True):
    """A caller read an object in the window that begins at `from_us`."""

    filing = Filing("control", "read:{reader}:{role}:{object}:{from_us}")

    reader: str
    role: str
    object: str
    from_us: int
    window_s: int


class AccessRefused(RecordKind, frozen=True, kw_only=True):
    """A caller was refused `count` times for one reason in the window."""

    filing = Filing("control", "refused:{from_us}:{who}:{reason}:{random}")

    who: str
    reason: str
    count: int
    from_us: int
    window_s: int
