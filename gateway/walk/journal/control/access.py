"""Records of reads and of refused callers, one a window.

Not here: when a record is appended (`reads`, `refusals`).
"""

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY


def read_recorded(reader: str, role: str, what: str, *, from_us: int, window_s: int) -> Draft:
    """A caller read an object in the window that begins at `from_us`."""
    return Draft(
        stream="control",
        kind=Kind.READ_RECORDED,
        payload={
            "reader": reader,
            "role": role,
            "object": what,
            "from_us": from_us,
            "window_s": window_s,
        },
        actor=GATEWAY,
        idem_key=f"read:{reader}:{role}:{what}:{from_us}",
    )


class ReadRecorded(Contents, frozen=True, kw_only=True):
    reader: str
    object: str


def access_refused(
    who: str, reason: str, count: int, *, from_us: int, window_s: int, idem_key: str
) -> Draft:
    """A caller was refused `count` times for one reason in the window."""
    return Draft(
        stream="control",
        kind=Kind.ACCESS_REFUSED,
        payload={
            "who": who,
            "reason": reason,
            "count": count,
            "from_us": from_us,
            "window_s": window_s,
        },
        actor=GATEWAY,
        idem_key=idem_key,
    )


class AccessRefused(Contents, frozen=True, kw_only=True):
    who: str
    reason: str
    count: int
