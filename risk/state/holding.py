"""One instrument's position, and the effect of a trade on it at average cost.

Closed lots take their share of the cost, rounded half-even, and the rest stays with the remaining
lots, so no minor unit is lost. A trade through zero closes the position and opens a new one.

Not here: cash, fees and reservations (`risk/state/book.py`).
"""

from dataclasses import dataclass

from risk.errors import BookError
from risk.forms.canonical import RANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Position in one instrument; kept when flat, for its mark.

    Attributes:
        lots: Signed quantity.
        cost_minor: Signed cost of the lots held (proceeds are negative), without fees.
        unit_minor: Value of one tick of one lot.
        mark_ticks: Last mark, or the first fill's price before any mark.
        mark_time_us: Market time of the mark.
    """

    instrument: str
    lots: int
    cost_minor: int
    unit_minor: int
    mark_ticks: int
    mark_time_us: int

    @property
    def value_minor(self) -> int:
        """Signed market value at the last mark."""
        return self.lots * self.mark_ticks * self.unit_minor


def trade(position: Position, signed_lots: int, price_ticks: int) -> tuple[Position, int]:
    """Return the position after a trade and the realised profit (minor units, before fees).

    Raises:
        BookError: The position's value leaves the range.
    """
    price = price_ticks * position.unit_minor
    opposite = position.lots * signed_lots < 0
    closing = min(abs(signed_lots), abs(position.lots)) if opposite else 0
    closed = closing if signed_lots > 0 else -closing
    released = _share(position.cost_minor, closing, abs(position.lots))
    after = Position(
        instrument=position.instrument,
        lots=position.lots + signed_lots,
        cost_minor=position.cost_minor - released + (signed_lots - closed) * price,
        unit_minor=position.unit_minor,
        mark_ticks=position.mark_ticks,
        mark_time_us=position.mark_time_us,
    )
    within(after.value_minor, "position value")
    return after, -closed * price - released


def within(value: int, what: str) -> int:
    """Return an integer in range, or raise `BookError`."""
    if type(value) is not int or not -RANGE < value < RANGE:
        raise BookError(f"{what} is not an integer in range")
    return value


def positive(value: int, what: str) -> int:
    """Return an integer in range above zero, or raise `BookError`."""
    if within(value, what) <= 0:
        raise BookError(f"{what} must be positive")
    return value


def _share(total: int, part: int, whole: int) -> int:
    """Return `total * part / whole`, half-even; all of it if part is whole."""
    if part == 0:
        return 0
    quotient, remainder = divmod(total * part, whole)
    twice = 2 * remainder
    return quotient + (1 if twice > whole or (twice == whole and quotient % 2) else 0)
