"""The intent: a proposed order before its verdict.

Not here: how an intent is sized (`risk/sizing.py`) and whether it may be sent (`risk/evaluate.py`).

Rules:
- The constructor checks nothing: `evaluate` refuses malformed intents.
- The digest covers every field; the fingerprint covers what the market would see.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from risk.forms.canonical import digest, number
from risk.forms.documents import document_of

SYMBOL: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""The one form of an instrument's name: in the table, the policy, requests, scopes and records."""
Symbol = Annotated[str, Field(pattern=f"^{SYMBOL}$", description="instrument symbol")]


class Side(StrEnum):
    """Side of an order."""

    BUY = "BUY"
    SELL = "SELL"

    @property
    def sign(self) -> int:
        """1 for a buy, -1 for a sell."""
        return 1 if self is Side.BUY else -1


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
