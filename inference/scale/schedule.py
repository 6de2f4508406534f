"""When a series is fitted again, and on which of its bars.

At the first bar of every calendar quarter (UTC), about 63 sessions, on the bars that closed before
it. The rule reads close times only, so a restart, another process or a shorter memory of old bars
fits at the same times.
"""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from inference.errors import ScaleError

BURN_IN: Final = 32
"""Returns that start a scale's recursions and get no scale."""
FIT_MIN: Final = 252
"""Fewest returns that are fitted; a shorter series has the default laws."""
FIT_MAX: Final = 2000
"""Most returns that a fit looks back."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)


def quarter_start_us(close_us: int) -> int:
    """Return the first instant of the calendar quarter of a close, microseconds UTC."""
    at = _EPOCH + close_us * _US
    first = datetime(at.year, 3 * ((at.month - 1) // 3) + 1, 1, tzinfo=UTC)
    return (first - _EPOCH) // _US


def fit_window(closes_us: Sequence[int], last: int) -> slice:
    """Return which bars the fit in force after bar `last` uses; n bars have n - 1 returns.

    `closes_us` ascends. The slice is empty when no bar lies before the quarter of that bar.
    """
    end = bisect_left(closes_us, quarter_start_us(closes_us[last]))
    return slice(max(0, end - FIT_MAX - 1), end)


def fit_part(closes_us: Sequence[int], last: int) -> slice:
    """Return which returns the fit in force after bar `last` uses; return i follows bar i.

    Where fewer lie before the bar's quarter than the scale's burn-in,
    all up to the bar are returned.

    Raises:
        ScaleError: without returns.
    """
    window = fit_window(closes_us, last)
    if window.stop - window.start <= BURN_IN:
        window = slice(max(0, last - FIT_MAX), last + 1)
    if window.stop - window.start <= 1:
        raise ScaleError("expected at least two bars, was one")
    return slice(window.start, window.stop - 1)
