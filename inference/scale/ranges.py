"""Volatility from open, high, low and close: a log-HAR on each bar's range variance.

The range variance of a bar is Garman and Klass's, from open to close, and the square of the move
from the previous close to the open. The next bar's logarithm is expected from the last bar, the
means of 5 and 22 bars, and the last fall. A bar without a range, recorded or sampled, counts as
the range that its return lets expect, so the recursion runs on along a path.

Source: Garman and Klass (1980), J. Business 53(1); Corsi (2009), J. Financial Econometrics 7(2).
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

from inference.errors import ScaleError

WEEK: Final = 5
MONTH: Final = 22
FLOOR_SHARE: Final = 0.02
"""A range variance counts as at least this share of the GARCH variance: a bar may stand still."""
LARGEST_SURPRISE: Final = 2.0 * math.log(8.0)
"""A range counts as at most that of an 8 sigma bar."""
STILL: Final = 0.5
"""Variance, in units of the expected, that a bar without any move shows."""
_GARMAN_KLASS: Final = 2.0 * math.log(2.0) - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeLaw:
    """Parameters of the log-HAR; logarithms of variances of one bar."""

    level: float
    day: float
    week: float
    month: float
    fall: float
    """Per sigma of the last bar's fall, which is negative or zero."""
    spread: float
    """Log of the ratio of the squared returns to the expected range variance."""
    still: float
    moved: float
    """Expected surprise of a range: still + moved * log(STILL + squared standardised return)."""

    def __post_init__(self) -> None:
        """Raise `ScaleError` when the recursion could explode."""
        if not all(map(math.isfinite, astuple(self))):
            raise ScaleError("expected finite parameters of a range law")
        if abs(self.day) + abs(self.week) + abs(self.month) > _PULL_MAX:
            raise ScaleError(f"expected a range law that returns to its level, was {self}")

    def expected(self, history: Sequence[float], fall: float) -> float:
        """Return the next log range variance from the last 22 and the last fall in sigma."""
        week = sum(history[-WEEK:]) / WEEK
        month = sum(history) / MONTH
        return (
            self.level
            + self.day * history[-1]
            + self.week * week
            + self.month * month
            + self.fall * fall
        )

    def seen(self, expected: float, log_return: float, found: float | None, floor: float) -> float:
        """Return a bar's log range variance: as found, or as its return lets expect."""
        if found is None:
            square = log_return * log_return / math.exp(expected + self.spread)
            value = expected + self.still + self.moved * math.log(STILL + square)
        else:
            value = math.log(max(found, FLOOR_SHARE * floor))
        return min(value, expected + LARGEST_SURPRISE)


_PULL_MAX: Final = 1.2
"""Estimates of day, week and month sum to about 0.9; above 1 in size only with mixed signs."""


def range_variance(
    log_return: float, opened: float, high: float, low: float, close: float
) -> float | None:
    """Return the range variance of a bar with this return, or None where it has no range.

    Prices may be in any unit; the return says where the previous close was.
    """
    if not 0.0 < low < high:
        return None
    body = math.log(close / opened)
    span = math.log(high / low)
    night = log_return - body
    return 0.5 * span * span - _GARMAN_KLASS * body * body + night * night


def range_document(law: RangeLaw) -> list[str]:
    """Return the parameters as hex floats, in the order of the fields."""
    return [float(value).hex() for value in astuple(law)]


def range_from_document(document: Any) -> RangeLaw:  # noqa: ANN401 - JSON
    """Read what `range_document` returned.

    Raises:
        ScaleError: when it is not eight hex floats that make a law.
    """
    try:
        level, day, week, month, fall, spread, still, moved = map(float.fromhex, document)
    except (TypeError, ValueError, OverflowError) as error:
        raise ScaleError(f"expected eight hex floats, was {document!r}") from error
    return RangeLaw(
        level=level,
        day=day,
        week=week,
        month=month,
        fall=fall,
        spread=spread,
        still=still,
        moved=moved,
    )
