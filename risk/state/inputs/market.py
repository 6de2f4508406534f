"""What finished bars say of the markets, and how far the session is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBars:
    """The newest bars of the decision's snapshot.

    Attributes:
        as_of_us: When the newest of them closed.
        closes_ticks: The last closes, oldest first; at most 22, which have 21 moves.
        due_us: When the session after the newest bar's opened or will; None if nobody knows.
    """

    as_of_us: int
    closes_ticks: tuple[int, ...]
    due_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBars:
    """The newest bars of one instrument that a decision of the firm has read."""

    symbol: str
    as_of_us: int
    closes_ticks: tuple[int, ...]
    due_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketStress:
    """The last bars of every instrument that the firm reads, by symbol, the intent's own too."""

    instruments: tuple[SeenBars, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClock:
    """Where in its session the intent's instrument is, and what traded in the last ten minutes.

    Attributes:
        since_open_us: Time since continuous trading began.
        to_close_us: Time until it ends.
        own_lots: Lots that the account executed in the last ten minutes.
        market_lots: Lots that all participants traded in them, own ones included.
        volume_age_us: Age of the newest volume that a feed delivered; what came later is missing,
            which makes the own share larger.
    """

    since_open_us: int
    to_close_us: int
    own_lots: int
    market_lots: int
    volume_age_us: int = 0
