"""The intent: what somebody wants to do, before anybody allowed it.

Not here: how an intent is sized (`risk/sizing.py`) and whether it may go (`risk/evaluate.py`).

Rules kept:
- The constructor checks nothing: `evaluate` must refuse any malformed intent, so one can be built.
- The digest covers every field; the fingerprint covers only what the market would see.
"""

from dataclasses import dataclass
from enum import StrEnum

from risk.canonical import digest, number
from risk.documents import document_of


class Side(StrEnum):
    """Side of an order."""

    BUY = "BUY"
    SELL = "SELL"

    @property
    def sign(self) -> int:
        """+1 for a buy, -1 for a sell."""
        return 1 if self is Side.BUY else -1


class TimeInForce(StrEnum):
    """How long an order lives at the broker."""

    DAY = "DAY"
    IOC = "IOC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One proposed order.

    Attributes:
        decision_id: The decision it belongs to; one intent per decision and attempt.
        account: Account whose book it would change.
        strategy: Strategy or agent that it is counted under.
        author: Person or program that proposed it; may never approve it.
        instrument: Symbol.
        side: Buy or sell.
        qty_lots: Quantity in lots, positive.
        limit_ticks: Limit price in ticks; there are no market orders.
        tif: Time in force.
        target_exposure_bp: Exposure aimed at after full execution, in basis points of equity,
            negative for short.
        directional: True if it claims to know where the price goes; a volatility-target
            overlay does not.
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
    """Digest of every field of an intent (hex SHA-256)."""
    return digest("countersign.intent/1", document_of(intent))


def intent_fingerprint(intent: Intent) -> str:
    """Digest of what the market would see: account, instrument, side, size, price, lifetime.

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
