"""Records of the stops apart from the kill, and of cancelling all orders.

Not here: who may stop and resume (`gateway.desk.officers.stops`), which stops are in force
(`walk.projections.stops`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import GATEWAY, digest_of
from risk.state.state import Stop


def stop_begun(stop: Stop, stop_id: str, actor: str, reason: str) -> Draft:
    """A stop is in force from this record on, for every verdict."""
    begun = StopBegun(stop=stop.value, stop_id=stop_id, actor_name=actor, reason=reason)
    return begun.draft(actor=actor if actor == GATEWAY else f"person:{actor}")


class StopBegun(RecordKind, frozen=True, kw_only=True):
    """A stop that is in force, by a person or by the gateway."""

    filing = Filing("control", "stop:{stop_id}", firm_wide=True)

    stop: str
    stop_id: str
    actor_name: str
    reason: str


def stop_ended(
    stop_ids: Sequence[str],
    actor: str,
    reason: str,
    *,
    log: str = "",
    signatures: Mapping[str, str],
) -> Draft:
    """These stops are over; an officer signed unless each was the actor's own."""
    return StopEnded(
        stop_ids=tuple(stop_ids),
        ended_by=actor,
        reason=reason,
        log_id=log if signatures else None,
        signatures=dict(signatures) or None,
    ).draft(digest=digest_of(list(stop_ids))[:32])


class StopEnded(RecordKind, frozen=True, kw_only=True):
    """Stops that are over, with an officer's signature unless each was the person's own."""

    filing = Filing("control", "stop_ended:{digest}", "person:{ended_by}", firm_wide=True)

    stop_ids: tuple[str, ...]
    ended_by: str
    reason: str
    log_id: str | None = None
    signatures: dict[str, str] | None = None


class CancelAllAsked(RecordKind, frozen=True, kw_only=True):
    """A person asked to cancel every order; `live` are the ClOrdIDs that may work at that time."""

    filing = Filing("control", "cancel_all:{cancel_id}", "person:{actor_name}")

    cancel_id: str
    actor_name: str
    reason: str
    live: tuple[str, ...]


class FlattenAsked(RecordKind, frozen=True, kw_only=True):
    """A person asked to close positions: `orders` are asked for, `left` cannot be judged."""

    filing = Filing("control", "flatten:{flatten_id}", "person:{actor_name}")

    flatten_id: str
    actor_name: str
    reason: str
    orders: tuple[dict[str, Any], ...]
    left: tuple[dict[str, Any], ...]


class CancelAllOutcome(RecordKind, frozen=True, kw_only=True):
    """How cancelling every order ended: ClOrdIDs by what became of them."""

    filing = Filing("control", "cancel_all_outcome:{cancel_id}", "fix")

    cancel_id: str
    confirmed: tuple[str, ...]
    unknown: tuple[str, ...]
    open: tuple[str, ...]
