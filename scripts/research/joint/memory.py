"""How much of a correlation to keep from day to day, and whether to draw it towards independence.

Each choice foretells the next day's pair of returns by a normal copula on the probabilities that
the pair's own law gives to each return. The score is the mean log density of the copula, so it
sees the correlation and nothing of the marginals. Arrays here are floats of what
`inference.scale.correlation` does in integers.
"""

from typing import Any, Final

import numpy as np
from scipy.stats import norm

from inference.scale.correlation import KEEP_BP
from inference.training.evaluation.score import row_cdf
from inference.training.series import Floats, Ints
from scripts.research.joint.ground import PairGround
from scripts.research.joint.intervals import of_means
from scripts.research.joint.windows import WARM_UP
from scripts.research.scaled.history import SERVED_RETURNS

KEEPS_BP: Final = (9_400, 9_600, 9_700, 9_800, 9_850, 9_900, 9_930, 9_950, 9_970, 9_990, 10_000)
SHRINKS_BP: Final = (250, 500, 1_000, 2_000)
_KEEP_VARIANCE: Final = 0.94
_LARGEST: Final = 0.999
_EDGE: Final = 1e-6


def correlations(pair: PairGround, keeps_bp: tuple[int, ...] = KEEPS_BP) -> Floats:
    """Return the correlation before each origin for each memory, [keeps, origins]."""
    back = np.arange(-SERVED_RETURNS, 0)
    x, y = (
        _standardised(m.returns[pair.where[:, k][:, None] + back])
        for k, m in enumerate(pair.members)
    )
    found = []
    for keep in keeps_bp:
        weights = (keep / 10_000) ** np.arange(x.shape[1] - 1, -1, -1)
        sums = ((a * b) @ weights for a, b in ((x, x), (y, y), (x, y)))
        xx, yy, xy = sums
        found.append(xy / np.sqrt(xx * yy))
    return np.asarray(found)


def _standardised(returns: Floats) -> Floats:
    """Return returns [origins, n - WARM_UP] over the volatility known before each."""
    variance = (returns[:, :WARM_UP] ** 2).mean(axis=1)
    found = np.empty((len(returns), returns.shape[1] - WARM_UP))
    for step, move in enumerate(returns[:, WARM_UP:].T):
        found[:, step] = move / np.sqrt(np.maximum(variance, _EDGE**2))
        variance = _KEEP_VARIANCE * variance + (1.0 - _KEEP_VARIANCE) * move * move
    return found


def normal_scores(pair: PairGround, rows: tuple[Floats, Floats]) -> Floats:
    """Return the next day's returns as normal scores of the law that foretold them, [2, n]."""
    found = []
    for k, (series, row) in enumerate(zip(pair.members, rows, strict=True)):
        at = pair.where[:, k]
        rank = row_cdf(np.tile(row, (len(at), 1)), series.returns[at] / series.sigmas[at])
        found.append(norm.ppf(np.clip(rank, _EDGE, 1.0 - _EDGE)))
    return np.asarray(found)


def copula_score(scores: Floats, rho: Floats) -> Floats:
    """Return the log density of a normal copula at normal scores [2, n]."""
    rho = np.clip(rho, -_LARGEST, _LARGEST)
    x, y = scores
    left = 1.0 - rho * rho
    flat = rho * rho * (x * x + y * y) - 2.0 * rho * x * y
    return np.asarray(-0.5 * np.log(left) - 0.5 * flat / left)


def choices(pair: PairGround, rows: tuple[Floats, Floats], part: Ints) -> dict[str, Any]:
    """Return the score of each memory and shrinkage less the shipped memory's, with intervals.

    `best` is the memory with the best score, `gain` its score less the shipped one's.
    """
    scores, rhos = normal_scores(pair, rows)[:, part], correlations(pair)[:, part]
    kept = {f"keep {bp}": copula_score(scores, rho) for bp, rho in zip(KEEPS_BP, rhos, strict=True)}
    ours = rhos[KEEPS_BP.index(KEEP_BP)]
    shrunk = {
        f"{KEEP_BP}, shrunk by {bp}": copula_score(scores, ours * (1.0 - bp / 10_000))
        for bp in SHRINKS_BP
    }
    less = {name: value - kept[f"keep {KEEP_BP}"] for name, value in {**kept, **shrunk}.items()}
    return {
        "best": max(kept, key=lambda name: float(kept[name].mean())),
        "less": {name: of_means((value,), lambda mean: mean) for name, value in less.items()},
    }
