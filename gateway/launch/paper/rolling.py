"""How well an account kept its volatility target: rolling windows of its daily returns.

Windows overlap, so their number says little: an interval draws runs of windows, each as long as a
window, with the ends of the year joined. With fewer than three such runs every draw is nearly the
whole, which would look sure: then there is no interval.

Not here: the account's equity (`summary`).
"""

import itertools
import random
from collections.abc import Sequence
from math import sqrt
from statistics import fmean, pstdev
from typing import Any, Final

TRADING_DAYS: Final = 252
WINDOWS: Final = (21, 63)
"""A month and a quarter of trading days."""
RUNS_MIN: Final = 3
DRAWS: Final = 2_000
LEVEL: Final = 0.05
_SEED: Final = 63


def returns_of(equity: Sequence[int]) -> list[float]:
    """Return the simple returns between equities; none where the earlier one is not positive."""
    return [b / a - 1.0 for a, b in itertools.pairwise(equity) if a > 0]


def rolling(equity: Sequence[int], target_bp: int) -> dict[str, Any]:
    """Return, for each window, how far realised volatility was from its target, and the worst run.

    `equity` has the deposit and the equity at each close. *error* is the mean over windows of
    |realised / target - 1|, with the 90 % interval or None; *worst_return* the lowest return of a
    window. A window that the equity is too short for is left out.
    """
    daily = returns_of(equity)
    target = target_bp / 10_000
    found: dict[str, Any] = {}
    for window in WINDOWS:
        if len(daily) < 2 * window:
            continue
        starts = range(len(daily) - window + 1)
        parts = [daily[start : start + window] for start in starts]
        errors = [abs(pstdev(part) * sqrt(TRADING_DAYS) / target - 1.0) for part in parts]
        enough = len(parts) >= RUNS_MIN * window
        low, high = interval(errors, window) if enough else (None, None)
        worst = min(equity[start + window] / equity[start] - 1.0 for start in starts)
        found[str(window)] = {
            "windows": len(parts),
            "error": round(fmean(errors), 4),
            "error_low": None if low is None else round(low, 4),
            "error_high": None if high is None else round(high, 4),
            "realised_low": round(min(map(pstdev, parts)) * sqrt(TRADING_DAYS), 4),
            "realised_high": round(max(map(pstdev, parts)) * sqrt(TRADING_DAYS), 4),
            "worst_return": round(worst, 4),
        }
    return found


def interval(values: Sequence[float], block: int) -> tuple[float, float]:
    """Return the 90 % interval of the mean of values that depend on their neighbours.

    Source: Politis and Romano (1992), the circular block bootstrap.
    """
    draw = random.Random(_SEED)  # noqa: S311 - repeatable draws, not keys
    number = -(-len(values) // block)
    joined = [*values, *values[:block]]
    sums = [sum(joined[start : start + block]) for start in range(len(values))]
    means = sorted(
        sum(sums[draw.randrange(len(values))] for _ in range(number)) / (number * block)
        for _ in range(DRAWS)
    )
    return means[int(LEVEL * DRAWS)], means[-1 - int(LEVEL * DRAWS)]
