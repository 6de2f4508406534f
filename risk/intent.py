"""The intent: what somebody wants to do, before anybody allowed it.

Not here: how an intent is sized (`risk/sizing.py`) and whether it may go (`risk/evaluate.py`).

Rules kept:
- The constructor checks nothing: `evaluate` must refuse any malformed intent, so one can be built.
- The digest covers every field; the fingerprint covers only what the market would see.
"""

from dataclasses import dataclass
from enum import StrEnum

from risk.canonical import JSON, Reader, digest, number
from risk.errors import DocumentError


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


def intent_document(intent: Intent) -> dict[str, JSON]:
    """Write an intent as a document.

    Raises:
        DocumentError: A number field holds something else.
    """
    return {
        "decision_id": intent.decision_id,
        "account": intent.account,
        "strategy": intent.strategy,
        "author": intent.author,
        "instrument": intent.instrument,
        "side": str(intent.side),
        "qty_lots": number(intent.qty_lots),
        "limit_ticks": number(intent.limit_ticks),
        "tif": str(intent.tif),
        "target_exposure_bp": number(intent.target_exposure_bp),
        "directional": intent.directional,
    }


def intent_from_document(document: object) -> Intent:
    """Read an intent back.

    Raises:
        DocumentError: Not an intent's document.
    """
    read = Reader(document)
    intent = Intent(
        decision_id=read.text("decision_id"),
        account=read.text("account"),
        strategy=read.text("strategy"),
        author=read.text("author"),
        instrument=read.text("instrument"),
        side=side_from_text(read.text("side")),
        qty_lots=read.number("qty_lots"),
        limit_ticks=read.number("limit_ticks"),
        tif=_tif(read.text("tif")),
        target_exposure_bp=read.number("target_exposure_bp"),
        directional=read.flag("directional"),
    )
    read.done()
    return intent


def intent_digest(intent: Intent) -> str:
    """Digest of every field of an intent (hex SHA-256)."""
    return digest("countersign.intent/1", intent_document(intent))


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


def side_from_text(text: str) -> Side:
    """Read a side.

    Raises:
        DocumentError: Neither BUY nor SELL.
    """
    try:
        return Side(text)
    except ValueError:
        raise DocumentError("unknown side") from None


def _tif(text: str) -> TimeInForce:
    try:
        return TimeInForce(text)
    except ValueError:
        raise DocumentError("unknown time in force") from None
