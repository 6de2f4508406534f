"""What the signed table of instruments says of those that a verdict looks at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One row of the table; None or empty where the table says nothing."""

    symbol: str
    sector: str = ""
    region: str = ""
    issuer: str = ""
    adv_lots: int | None = None
    margin_bp: int | None = None
    borrow_bp: int | None = None
    locate_lots: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The rows of the intent's instrument and of every instrument in the book, by symbol.

    Attributes:
        as_of_us: Market time at which the table was put in force.
        table_digest: SHA-256 of the table's bytes, hex.
    """

    as_of_us: int
    table_digest: str
    listed: tuple[Listed, ...]

    def of(self, symbol: str) -> Listed | None:
        """Return the row of an instrument, or None."""
        for one in self.listed:
            if one.symbol == symbol:
                return one
        return None
