"""Records of the stops apart from the kill, and of cancelling all orders.

Not here: who may stop and resume (`gateway.desk.officers.stops`), which stops are in force
(`walk.projections.stops`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY, digest_of
from risk.state.state import Stop


def stop_begun(stop: Stop, stop_id: str, actor: str, reason: str) -> Draft:
    """A stop is in force from this record on, for every verdict."""
    return Draft(
        stream="control",
        kind=Kind.STOP_BEGUN,
        payload={
            "stop": stop.value,
            "stop_id": stop_id,
            "actor_name": actor,
            "reason": reason,
        },
        actor=actor if actor == GATEWAY else f"person:{actor}",
        idem_key=f"stop:{stop_id}",
    )


class StopBegun(Contents, frozen=True, kw_only=True):
    stop: str
    stop_id: str
    actor_name: str
    reason: str = ""


def stop_ended(
    stop_ids: Sequence[str],
    actor: str,
    reason: str,
    *,
    log: str = "",
    signatures: Mapping[str, str],
) -> Draft:
    """These stops are over; an officer signed unless each was the actor's own."""
    payload: dict[str, JSON] = {
        "stop_ids": list(stop_ids),
        "ended_by": actor,
        "reason": reason,
    }
    if signatures:
        payload |= {"log_id": log, "signatures": dict(signatures)}
    return Draft(
        stream="control",
        kind=Kind.STOP_ENDED,
        payload=payload,
        actor=f"person:{actor}",
        idem_key=f"stop_ended:{digest_of(list(stop_ids))[:32]}",
    )


class StopEnded(Contents, frozen=True, kw_only=True):
    stop_ids: tuple[str, ...]
    ended_by: str = ""


def cancel_all_asked(cancel_id: str, actor: str, reason: str, live: Sequence[str]) -> Draft:
    """A person asked to cancel every order; `live` are the ClOrdIDs that may work at that time."""
    return Draft(
        stream="control",
        kind=Kind.CANCEL_ALL_ASKED,
        payload={
            "cancel_id": cancel_id,
            "actor_name": actor,
            "reason": reason,
            "live": list(live),
        },
        actor=f"person:{actor}",
        idem_key=f"cancel_all:{cancel_id}",
    )


class CancelAllAsked(Contents, frozen=True, kw_only=True):
    cancel_id: str
    actor_name: str
    live: tuple[str, ...]


def flatten_asked(
    flatten_id: str, actor: str, reason: str, split: Mapping[str, Sequence[JSON]]
) -> Draft:
    """A person asked to close positions: ``orders`` are asked for, ``left`` cannot be judged."""
    return Draft(
        stream="control",
        kind=Kind.FLATTEN_ASKED,
        payload={
            "flatten_id": flatten_id,
            "actor_name": actor,
            "reason": reason,
            "orders": list(split["orders"]),
            "left": list(split["left"]),
        },
        actor=f"person:{actor}",
        idem_key=f"flatten:{flatten_id}",
    )


class FlattenAsked(Contents, frozen=True, kw_only=True):
    flatten_id: str
    actor_name: str
    orders: tuple[dict[str, Any], ...]
    left: tuple[dict[str, Any], ...]


def cancel_all_outcome(cancel_id: str, outcome: Mapping[str, Sequence[str]]) -> Draft:
    """How it ended: ClOrdIDs under ``confirmed``, ``unknown`` and ``open``."""
    named: dict[str, JSON] = {
        name: list(outcome[name]) for name in ("confirmed", "unknown", "open")
    }
    return Draft(
        stream="control",
        kind=Kind.CANCEL_ALL_OUTCOME,
        payload={"cancel_id": cancel_id, **named},
        actor="fix",
        idem_key=f"cancel_all_outcome:{cancel_id}",
    )


class CancelAllOutcome(Contents, frozen=True, kw_only=True):
    cancel_id: str
    confirmed: tuple[str, ...]
    unknown: tuple[str, ...]
    open: tuple[str, ...]
