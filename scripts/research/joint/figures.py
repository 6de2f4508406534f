"""What was said against what was seen, with 95 % intervals of blocks of 60 days.

Correlation: of each horizon, returns of both are divided by the volatility that their own paths
said, so that every origin counts alike. Realised is the correlation of those over all origins; said
is the mean of the correlations across paths. `plain` is the same of plain returns, where turbulent
months speak most: the sums of said covariances and variances, against those of returns.

A hit is a loss below which at most 2.5 % of the paths end. The shortfall is said against seen: the
mean of the worst 2.5 % of losses, each over the shortfall said at its origin; its inverse is below
one where the paths say too little. A fall is 3 % or more from the peak so far, within ten days.
"""

from typing import Any, Final

import numpy as np

from inference.training.series import Floats, Ints
from scripts.research.joint.collecting import Said
from scripts.research.joint.ground import DAY_US, PairGround
from scripts.research.joint.intervals import of_days, of_means
from scripts.research.joint.sampling import HORIZONS, TAIL
from scripts.research.scaled.choice import midnight_us

CUT_DAY: Final = midnight_us(2013) // DAY_US
PERIODS: Final = ("2005-2017", "2005-2012", "2013-2017")
BOOK: Final = 2
"""Place of the half-and-half book among members."""
_LOW, _HIGH = 0.05, 0.95


def part_of(days: Ints, period: str) -> Ints:
    """Return the origins of a period."""
    chosen = {
        "2005-2017": days >= 0,
        "2005-2012": days < CUT_DAY,
        "2013-2017": days >= CUT_DAY,
    }[period]
    return np.flatnonzero(chosen)


def figures(pair: PairGround, said: Said, way: str, period: str) -> dict[str, Any]:
    """Return all figures of a pair, way and period: [value, low, high], or a plain number."""
    part = part_of(said["days"], period)
    own = {k.partition("/")[2]: v[part] for k, v in said.items() if k.startswith(f"{way}/")}
    truth = pair.truth()[: len(said["days"])][part].cumsum(axis=2)
    found: dict[str, Any] = {"origins": len(part), "asked": float(said["asked"][part].mean())}
    for h, horizon in enumerate(HORIZONS):
        seen = truth[:, :, horizon - 1]
        found |= {f"{name}/{horizon}": value for name, value in _at(own, seen, h).items()}
    for k, name in ((0, "one"), (1, "other"), (BOOK, "book")):
        trip, tripped = own["trip"][:, k], own["tripped"][:, k]
        found[f"fall/{name}"] = [float(trip.mean()), *_mean(tripped)]
        found[f"fall less/{name}"] = _mean(trip - tripped)
    return found


def _at(own: Said, seen: Floats, h: int) -> dict[str, Any]:
    var, cov = own["var"][:, :, h], own["cov"][:, h]
    flat = seen / np.sqrt(var)
    told = cov / np.sqrt(var.prod(axis=1))
    x, y = flat.T
    columns = (told, x * x, y * y, x * y)
    plain = (cov, var[:, 0], var[:, 1], seen[:, 0] ** 2, seen[:, 1] ** 2, seen.prod(axis=1))
    found: dict[str, Any] = {
        "said": float(told.mean()),
        "realised": float((x * y).mean() / np.sqrt((x * x).mean() * (y * y).mean())),
        "gap": of_means(columns, lambda told, xx, yy, xy: told - xy / np.sqrt(xx * yy)),
        "plain gap": of_means(plain, _plain_gap),
    }
    over = own["over"][:, :, h]
    for k, name in ((0, "one"), (1, "other"), (BOOK, "book")):
        rank = over[:, k]
        found[f"hits {name}"] = _mean((rank < TAIL).astype(float))
        found[f"inside {name}"] = _mean(((rank >= _LOW) & (rank < _HIGH)).astype(float))
    ratio = own["loss"][:, h] / own["shortfall"][:, h]
    found["shortfall"] = of_days(ratio, _shortfall)
    return found


def _mean(values: Floats) -> list[float]:
    return of_means((values,), lambda mean: mean)


def _plain_gap(
    cov: Floats, one: Floats, other: Floats, xx: Floats, yy: Floats, xy: Floats
) -> Floats:
    return np.asarray(cov / np.sqrt(one * other) - xy / np.sqrt(xx * yy))


def _shortfall(ratio: Floats) -> float:
    """Return the shortfall said over the one seen, of losses over what was said of them."""
    cut = max(1, round(TAIL * len(ratio)))
    return float(1.0 / np.partition(ratio, len(ratio) - cut)[-cut:].mean())


def widths(pair: PairGround, said: Said, way: str, period: str) -> dict[str, Any]:
    """Return why paths are wide or narrow: variance seen over said, taken apart, by calm and storm.

    For each member and horizon h: `whole` is the mean square of the h-day return over its said
    variance, of origins alike. It is the product of `scale`, the sum of the squares of its days
    over the sum of what was said of them, and `chain`, what neighbouring days do to each other
    in fact over what they do on the paths. `drift` is the mean return seen less said, in said
    volatilities of h days.
    """
    part = part_of(said["days"], period)
    truth = pair.truth()[: len(said["days"])][part]
    found: dict[str, Any] = {}
    for k, series in enumerate(pair.members):
        step_var, var = said[f"{way}/step_var"][part][:, k], said[f"{way}/var"][part][:, k]
        index = pair.where[: len(said["days"]), k][part]
        level = series.sigmas[index] / np.sqrt(series.long[index])
        cuts = np.quantile(level, (1 / 3, 2 / 3))
        thirds = {
            "all": level >= 0.0,
            "calm": level < cuts[0],
            "storm": level > cuts[1],
        }
        for third, chosen in thirds.items():
            for h, horizon in enumerate(HORIZONS):
                days = truth[:, k, :horizon][chosen]
                size = 1.0 / var[:, h][chosen]
                whole = days.sum(axis=1) ** 2 * size
                drift = (days.sum(axis=1) - said[f"{way}/mean"][part][:, k, h][chosen]) * size**0.5
                squares = (days**2).sum(axis=1) * size
                told = step_var[:, :horizon][chosen].sum(axis=1) * size
                name = f"{'one' if k == 0 else 'other'}/{third}/{horizon}"
                found[name] = {
                    "whole": _mean(whole),
                    "drift": _mean(drift),
                    "scale": of_means((squares, told), lambda seen, said: seen / said),
                    "chain": of_means(
                        (whole, squares, told), lambda all_, seen, said: all_ * said / seen
                    ),
                }
    return found
