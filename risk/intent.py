"""The intent: a proposed order before its verdict.

Not here: how an intent is sized (`risk/sizing.py`) and whether it may be sent (`risk/evaluate.py`).

Rules:
- The constructor checks nothing: `evaluate` refuses malformed intents.
- The digest covers every field; the fingerprint covers what the market would see.
"""

from dataclasses import dataclass
from enum import StrEnum

from risk.forms.canonical import digest, number
from risk.forms.documents import document_of
from risk.forms.names import SYMBOL as SYMBOL  # noqa: PLC0414 - read from here by most
from risk.forms.names import Side as Side  # noqa: PLC0414 - as SYMBOL
from risk.forms.names import Symbol as Symbol  # noqa: PLC0414 - as SYMBOL


class TimeInForce(StrEnum):
    """How long an order stays at the broker."""

    DAY = "DAY"
    IOC = "IOC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One proposed order.

    Attributes:
        decision_id: One intent for each decision and attempt.
        strategy: Strategy or agent that it counts for.
        author: Person or program that proposed it; may never approve it.
        qty_lots: Quantity in lots, positive.
        limit_ticks: Limit price in ticks; there are no market orders.
        target_exposure_bp: Exposure after full execution, in basis points of equity, negative for
            short.
        directional: True if it predicts the price's direction; a volatility-target overlay does
            not.
    """

    decision_id: str
    account: str
    strategy: str
    author: str
    instrument: str
    side: Side
    qty_lots: int
    limit_ticks: int
    tif: TimeInForce
    target_exposure_bp: int
    directional: bool


def intent_digest(intent: Intent) -> str:
    """Return the digest of every field of an intent (hex SHA-256)."""
    return digest("countersign.intent/1", document_of(intent))


def intent_fingerprint(intent: Intent) -> str:
    """Return the digest of what the market would see.

    Two intents with one fingerprint within a short time are the same order sent twice.
    """
    return digest(
        "countersign.intent.fingerprint/1",
        {
            "account": intent.account,
            "instrument": intent.instrument,
            "side": str(intent.side),
            "qty_lots": number(intent.qty_lots),
            "limit_ticks": number(intent.limit_ticks),
            "tif": str(intent.tif),
        },
    )
