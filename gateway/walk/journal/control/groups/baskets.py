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
from audit.records.kinds import RUN
from audit.records.record import Draft, Record
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import digest_of
from gateway.walk.ports import Tags

LEFT: Final = "left"
"""The result of a leg of which only its own records say how far it came."""


class BasketOutcome(StrEnum):
    """What became of a basket as a whole, before any of its orders left."""

    APPROVED = "approved"
    STOPPED = "stopped"
    NO_TRADE = "no_trade"


class BasketReceived(RecordKind, frozen=True, kw_only=True):
    """An agent's basket as it arrived; `digest` is that of the legs' requests, in order."""

    filing = Filing("control", "basket:{basket_id}", tags=RUN)

    account: str
    basket_id: str
    client_key: str
    author: str
    legs: tuple[str, ...]
    digest: str
    run_id: str


class BasketDecided(RecordKind, frozen=True, kw_only=True):
    """What became of the whole; each leg is named with its result and its last record.

    `received_seq` is the record that it answers.
    """

    filing = Filing("control", "basket_decided:{basket_id}")

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
    return BasketReceived(
        account=tags.account,
        run_id=tags.run_id,
        basket_id=basket_id,
        client_key=client_key,
        author=author,
        legs=tuple(legs),
        digest=basket_digest(requests),
    ).draft(tags=tags.document())


def basket_left(received: Record, reason: str) -> Draft:
    """A basket that an earlier run left without an outcome is stopped."""
    asked = BasketReceived.of(received)
    return BasketDecided(
        account=asked.account,
        basket_id=asked.basket_id,
        received_seq=received.seq,
        outcome=BasketOutcome.STOPPED,
        reason=reason,
        legs=tuple(leg_of(one, LEFT, None) for one in asked.legs),
    ).draft()


def leg_of(decision_id: str, result: str, verdict_seq: int | None) -> dict[str, JSON]:
    """Return how a leg stands in `basket_decided`; without a verdict it has no number."""
    named: dict[str, JSON] = {} if verdict_seq is None else {"verdict_seq": verdict_seq}
    return {"decision_id": decision_id, "result": result, **named}


def stopped_by(basket_id: str) -> str:
    """Return the reason by which a leg says that its basket was stopped."""
    return f"basket {basket_id} stopped"
