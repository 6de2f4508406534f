"""Tests of VaR and expected shortfall, their joint loss, ranks, and Holm's correction.

Losses are negative log returns; `var` and `shortfall` are negative numbers on the return's scale.
Chi-square tails of 1 and 2 degrees of freedom are closed forms.

Source: Kupiec (1995); Christoffersen (1998); Acerbi and Szekely (2014), test 2; Fissler and Ziegel
(2016) in the form FZ0 of Patton, Ziegel and Chen (2019); Holm (1979); QLIKE: Patton (2011).
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import kolmogorov, xlogy

from inference.training.series import Floats


def kupiec(hits: Floats, level: float) -> float:
    """Return the p-value that exceedances (0 or 1) come at `level`: likelihood ratio, 1 d.f."""
    count, total = float(hits.sum()), len(hits)
    if total == 0:
        return math.nan
    return _chi_1(
        2.0 * (_likelihood(count, total, count / total) - _likelihood(count, total, level))
    )


def christoffersen(hits: Floats, level: float) -> float:
    """Return the p-value of conditional coverage (level and independence), 2 d.f."""
    if len(hits) < 2:  # noqa: PLR2004 - one transition
        return math.nan
    before, after = hits[:-1], hits[1:]
    calm, hit = 1.0 - before, before
    calm_hits, hit_hits = float(calm @ after), float(hit @ after)
    split = _likelihood(calm_hits, float(calm.sum()), _share(calm_hits, float(calm.sum())))
    split += _likelihood(hit_hits, float(hit.sum()), _share(hit_hits, float(hit.sum())))
    plain = _likelihood(float(after.sum()), len(after), level)
    return math.exp(-max(split - plain, 0.0))


def acerbi_szekely(values: Floats, var: Floats, shortfall: Floats, level: float) -> float:
    """Return Z2: 0 on average under the forecaster's own law, negative when losses are larger."""
    return 1.0 - float((values * (values <= var) / (level * shortfall)).mean())


def fissler_ziegel(values: Floats, var: Floats, shortfall: Floats, level: float) -> Floats:
    """Return the FZ0 loss of each forecast; both tail values must be negative."""
    beyond = np.where(values <= var, var - values, 0.0)
    return np.asarray(-beyond / (level * shortfall) + var / shortfall + np.log(-shortfall) - 1.0)


def qlike(variances: Floats, proxy: Floats) -> Floats:
    """Return log variance plus proxy over variance: differences need no log of the proxy."""
    return np.asarray(np.log(variances) + proxy / variances)


def rank_distance(ranks: Floats) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of ranks from uniform, and its asymptotic p-value."""
    ordered, total = np.sort(ranks), len(ranks)
    steps = np.arange(total)
    gap = float(max((ordered - steps / total).max(), ((steps + 1) / total - ordered).max()))
    return gap, float(kolmogorov(gap * math.sqrt(total)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in the order given; NaN stays NaN."""
    known = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    found = [math.nan] * len(p_values)
    worst = 0.0
    for rank, (p, place) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - rank)))
        found[place] = worst
    return found


def _likelihood(hits: float, total: float, share: float) -> float:
    return float(xlogy(hits, share) + xlogy(total - hits, 1.0 - share))


def _share(hits: float, total: float) -> float:
    return hits / total if total else 0.0


def _chi_1(statistic: float) -> float:
    return math.erfc(math.sqrt(max(statistic, 0.0) / 2.0))
