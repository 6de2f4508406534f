"""The FIX session as persons and monitors see it, made from what the child last told.

Not here: the child and its supervisor; HTML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fix.dialects.profile import Profile
from fix.session.link import Frame, Json, SessionState

TYPES: Final = {
    "0": "Heartbeat",
    "1": "TestRequest",
    "2": "ResendRequest",
    "3": "Reject",
    "4": "SequenceReset",
    "5": "Logout",
    "A": "Logon",
    "8": "ExecutionReport",
    "9": "OrderCancelReject",
    "j": "BusinessMessageReject",
    "r": "OrderMassCancelReport",
    "D": "NewOrderSingle",
    "F": "OrderCancelRequest",
    "G": "OrderCancelReplaceRequest",
    "q": "OrderMassCancelRequest",
    "H": "OrderStatusRequest",
    "AF": "OrderMassStatusRequest",
    "V": "MarketDataRequest",
    "W": "MarketDataSnapshot",
    "X": "MarketDataIncrement",
    "Y": "MarketDataRequestReject",
}
_RESEND: Final = "2"
_MILLI_US: Final = 1_000


class SessionRate(NamedTuple):
    """Messages sent in the last second, the most in any second, and the profile's limit."""

    what: str
    last_s: int
    most: int
    limit: int | None


class SessionGap(NamedTuple):
    """A resend request or a gap fill, milliseconds ago."""

    ago_ms: int
    what: str


class SessionMessage(NamedTuple):
    """One message; `about` is its ClOrdID with the ExecType and state of a report."""

    ago_ms: int
    direction: str
    what: str
    number: int
    again: bool
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """One session.

    Attributes:
        told_ms: age of the child's figures; None if there are none.
        missing: the broker's messages that are known to be missing: first number, or None.
        received_ms, sent_ms: since the last message in each direction; None before the first.
        answered, asked: orders in the newest reconciliation.
        foreign: orders at the broker that are not ours and may trade.
    """

    name: str
    ours: str
    theirs: str
    address: str
    heartbeat_s: int
    state: str
    detail: str
    logon_no: int
    told_ms: int | None = None
    next_sender: int = 0
    next_target: int = 0
    missing: tuple[int, int] | None = None
    received_ms: int | None = None
    sent_ms: int | None = None
    received: int = 0
    sent: int = 0
    answered: int = 0
    asked: int = 0
    foreign: int = 0
    rates: tuple[SessionRate, ...] = ()
    gaps: tuple[SessionGap, ...] = ()
    recent: tuple[SessionMessage, ...] = ()

    @property
    def is_logged_on(self) -> bool:
        """Whether figures of a reconciliation are this logon's, not those of the logon before."""
        return self.state in {SessionState.READY.value, SessionState.RECONCILING.value}

    @property
    def reconciliation(self) -> str:
        """How far this logon is reconciled, for a person."""
        if not self.is_logged_on:
            return "no: the session is not logged on"
        orders = f"{self.answered} of {self.asked} orders answered"
        if self.state != SessionState.READY.value:
            return f"under way; {orders}" if self.asked else "under way"
        return orders if self.asked else "yes; no open order"

    def summary(self) -> dict[str, Any]:
        """Return what a monitor needs: no order, no name."""
        return {
            "state": self.state,
            "next_sender": self.next_sender,
            "next_target": self.next_target,
            "missing": list(self.missing) if self.missing else None,
            "received_ms_ago": self.received_ms,
            "sent_ms_ago": self.sent_ms,
            "told_ms_ago": self.told_ms,
            "reconciled": [self.answered, self.asked] if self.is_logged_on else None,
            "detail": self.detail,
            "foreign_orders": self.foreign,
        }


def session_status(
    profile: Profile,
    vitals: Frame,
    *,
    state: SessionState,
    detail: str,
    logon_no: int,
    reconciled: tuple[int, int],
    now_us: int,
) -> SessionStatus:
    """Return the session's status; `vitals` may be empty, `now_us` is monotonic."""
    answered, asked = reconciled
    common: dict[str, Any] = {
        "name": profile.name,
        "ours": profile.sender_comp_id,
        "theirs": profile.target_comp_id,
        "address": f"{profile.host}:{profile.port}",
        "heartbeat_s": profile.heartbeat_s,
        "state": state.value,
        "detail": detail,
        "logon_no": logon_no,
        "answered": answered,
        "asked": asked,
    }
    if not vitals:
        return SessionStatus(**common)
    expected, highest = _whole(vitals, "next_target"), _whole(vitals, "highest_in")
    return SessionStatus(
        **common,
        told_ms=_ago(now_us, vitals.get("at_us")),
        next_sender=_whole(vitals, "next_sender"),
        next_target=expected,
        missing=(expected, highest) if highest >= expected else None,
        received_ms=_ago(now_us, vitals.get("in_us")),
        sent_ms=_ago(now_us, vitals.get("out_us")),
        received=_whole(vitals, "received"),
        sent=_whole(vitals, "sent"),
        rates=_rates(profile, _map(vitals, "last_s"), _map(vitals, "most")),
        gaps=tuple(_gap(now_us, one) for one in reversed(_rows(vitals, "gaps"))),
        recent=tuple(_message(now_us, one) for one in reversed(_rows(vitals, "recent"))),
    )


def _rates(
    profile: Profile, last_s: Mapping[str, int], most: Mapping[str, int]
) -> tuple[SessionRate, ...]:
    pace = profile.pace
    limits = {"F": pace.cancels_per_s, "H": pace.questions_per_s}
    kinds = ("D", *(kind for kind in ("F", "q", "H", "AF", "G") if kind in most or kind in limits))
    return tuple(
        SessionRate(TYPES[kind], last_s.get(kind, 0), most.get(kind, 0), limits.get(kind))
        for kind in kinds
    )


def _gap(now_us: int, row: Sequence[Json]) -> SessionGap:
    at_us, direction, kind, first, last = row
    who = "we" if direction == "out" else "the broker"
    until = "on" if last in {"0", ""} else f"to {last}"
    what = (
        f"{who} asked for {first} {until}"
        if kind == _RESEND
        else f"{who} filled {first} up to {last}"
    )
    return SessionGap(_ago(now_us, at_us) or 0, what)


def _message(now_us: int, row: Sequence[Json]) -> SessionMessage:
    at_us, direction, kind, number, again, about = row
    return SessionMessage(
        _ago(now_us, at_us) or 0,
        str(direction),
        TYPES.get(str(kind), str(kind)),
        number if isinstance(number, int) else 0,
        again is True,
        str(about),
    )


def _ago(now_us: int, at_us: Json) -> int | None:
    if not isinstance(at_us, int) or at_us <= 0:
        return None
    return max(0, now_us - at_us) // _MILLI_US


def _whole(vitals: Frame, name: str) -> int:
    value = vitals.get(name)
    return value if isinstance(value, int) else 0


def _map(vitals: Frame, name: str) -> dict[str, int]:
    found = vitals.get(name)
    if not isinstance(found, dict):
        return {}
    return {kind: count for kind, count in found.items() if isinstance(count, int)}


def _rows(vitals: Frame, name: str) -> list[list[Json]]:
    found = vitals.get(name)
    return [one for one in found if isinstance(one, list)] if isinstance(found, list) else []
