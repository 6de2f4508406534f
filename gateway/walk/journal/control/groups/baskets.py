"""Records of a basket: what was asked for, and what became of the whole.

Not here: how a basket is decided (`gateway.desk.agents.baskets`).

Rules:
- `basket_received` is committed together with the intents of all legs, so no leg is without it.
- `basket_decided` is committed before the first order of the basket is announced. If it stops the
  basket, the same append ends every leg.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY, digest_of
from gateway.walk.ports import Tags

LEFT: Final = "left"
"""The result of a leg of which only its own records say how far it came."""


class BasketOutcome(StrEnum):
    """What became of a basket as a whole, before any of its orders left."""

    APPROVED = "approved"
    STOPPED = "stopped"
    NO_TRADE = "no_trade"


class BasketReceived(Contents, frozen=True, kw_only=True):
    """The contents of `basket_received`; `digest` is that of the legs' requests, in order."""

    account: str
    basket_id: str
    client_key: str
    author: str
    legs: tuple[str, ...]
    digest: str
    run_id: str


class BasketDecided(Contents, frozen=True, kw_only=True):
    """The contents of `basket_decided`; `received_seq` is the record that it answers."""

    account: str
    basket_id: str
    received_seq: int
    outcome: BasketOutcome
    reason: str
    legs: tuple[dict[str, Any], ...]


def basket_digest(requests: Sequence[JSON]) -> str:
    """Return the digest (hex) of the legs' requests as their intents record them, in order."""
    return digest_of(list(requests))


def basket_received(
    tags: Tags,
    basket_id: str,
    client_key: str,
    author: str,
    legs: Sequence[str],
    requests: Sequence[JSON],
) -> Draft:
    """An agent's basket as it arrived: its legs' decisions, and the digest of their requests."""
    return Draft(
        stream="control",
        kind=Kind.BASKET_RECEIVED,
        payload={
            **tags.document(),
            "basket_id": basket_id,
            "client_key": client_key,
            "author": author,
            "legs": list(legs),
            "digest": basket_digest(requests),
        },
        actor=GATEWAY,
        idem_key=f"basket:{basket_id}",
    )


def basket_decided(
    account: str,
    basket_id: str,
    received_seq: int,
    outcome: BasketOutcome,
    reason: str,
    legs: Sequence[JSON],
) -> Draft:
    """What became of the whole; each leg is named with its result and its last record."""
    return Draft(
        stream="control",
        kind=Kind.BASKET_DECIDED,
        payload={
            "account": account,
            "basket_id": basket_id,
            "received_seq": received_seq,
            "outcome": outcome.value,
            "reason": reason,
            "legs": list(legs),
        },
        actor=GATEWAY,
        idem_key=f"basket_decided:{basket_id}",
    )


def basket_left(received: Record, reason: str) -> Draft:
    """A basket that an earlier run left without an outcome is stopped."""
    asked = BasketReceived.of(received)
    legs = [leg_of(one, LEFT, None) for one in asked.legs]
    return basket_decided(
        asked.account, asked.basket_id, received.seq, BasketOutcome.STOPPED, reason, legs
    )


def leg_of(decision_id: str, result: str, verdict_seq: int | None) -> dict[str, JSON]:
    """Return how a leg stands in `basket_decided`; without a verdict it has no number."""
    named: dict[str, JSON] = {} if verdict_seq is None else {"verdict_seq": verdict_seq}
    return {"decision_id": decision_id, "result": result, **named}


def stopped_by(basket_id: str) -> str:
    """Return the reason by which a leg says that its basket was stopped."""
    return f"basket {basket_id} stopped"
