"""What a profile says about the broker's market data, and its session; pure.

Not here: the requests and answers (`fix.wire.market_data`), who keeps a book (`fix.feed`).
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, field_validator

WORD = r"^[\x21-\x7e]{1,64}$"


class MarketDataSession(StrEnum):
    """Over which session market data come."""

    OWN = "own"
    ORDER_SESSION = "order_session"


class Updates(StrEnum):
    """What follows the first snapshot: changes (X), or whole books again (W)."""

    INCREMENTAL = "incremental"
    SNAPSHOTS = "snapshots"


class EventTime(StrEnum):
    """Which time of a message is a quote's: when it was sent (52), or its entries' (272, 273)."""

    SENDING = "sending"
    ENTRY = "entry"


class MarketData(BaseModel):
    """Market data of this broker: 35=V asked, W, X and Y taken, over a session of their own."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    session: MarketDataSession = Field(
        default=MarketDataSession.OWN,
        strict=False,
        description="own: a session and a process of its own, so that it cannot harm the orders'",
    )
    sender_comp_id: str = Field(pattern=WORD, description="49 of the market data session, ours")
    target_comp_id: str = Field(pattern=WORD, description="56, theirs")
    host: str = Field(default="", pattern=r"^[\x21-\x7e]{0,64}$", description="empty: the orders'")
    port: int = Field(ge=1, le=65_535, description="peer's TCP port")
    reset: bool = Field(
        default=True,
        description="numbers begin at 1 with each logon (141=Y): nothing old is resent",
    )
    heartbeat_s: int = Field(default=10, ge=1, le=120)
    dictionary: str = Field(
        default="", description="a data dictionary of your own for V, W, X, Y; empty: the shipped"
    )
    source: str = Field(
        default="broker",
        pattern=r"^[A-Za-z0-9._-]{1,32}$",
        description="name of the source on the feeds page and in records",
    )
    updates: Updates = Field(default=Updates.INCREMENTAL, strict=False, description="265: X, or W")
    event_time: EventTime = Field(
        default=EventTime.SENDING,
        strict=False,
        description="a quote's time: sending (52), or entry (273 of changes; needs milliseconds)",
    )
    requests_per_s: int = Field(default=20, ge=1, le=1_000, description="requests (V) in a second")
    answer_s: int = Field(default=10, ge=1, le=300, description="a request unanswered so long")
    retry_s: int = Field(default=60, ge=1, le=3600, description="a refused request is asked again")
    symbols: dict[str, str] = Field(
        default_factory=dict,
        max_length=1000,
        description="the broker's symbol (55) by our instrument, where they differ",
    )

    @field_validator("session")
    @classmethod
    def _is_its_own(cls, session: MarketDataSession) -> MarketDataSession:
        if session is MarketDataSession.ORDER_SESSION:
            raise ValueError(
                "market data over the order session are not built: a flood of them would delay"
                ' reports and cancels; ask the broker for a market data session and write "own"'
            )
        return session

    @field_validator("symbols")
    @classmethod
    def _are_theirs(cls, symbols: dict[str, str]) -> dict[str, str]:
        if len(set(symbols.values())) != len(symbols):
            raise ValueError("two instruments have the same symbol at the broker")
        if any(not one.isascii() or not one.isprintable() or not one for one in symbols.values()):
            raise ValueError("a symbol is not printable ASCII")
        return symbols
