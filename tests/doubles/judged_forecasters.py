"""Forecasters with a known fault, which an evaluation has to find."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from inference.training.evaluation.statistics.laws import from_cdf
from inference.training.evaluation.walkforward.rivals import Predicted
from inference.training.evaluation.walkforward.series import History

SIGMA = 0.01


def gaussian(mean: float, sigma: float, horizons: tuple[int, ...]) -> Predicted:
    """A Gaussian one-bar law with paths at the horizons."""
    rng = np.random.default_rng(1)
    return Predicted(
        law=from_cdf(lambda values: np.asarray(ndtr((values - mean) / sigma)), sigma),
        ends={h: h * mean + rng.standard_normal(64) * sigma * np.sqrt(h) for h in horizons},
    )


class Faulty:
    """The true law with a shifted mean or another width, in units of sigma."""

    def __init__(self, *, shift: float = 0.0, width: float = 1.0) -> None:
        self.shift, self.width = shift, width

    def forecasts(
        self, pasts: Sequence[History], horizons: tuple[int, ...]
    ) -> list[dict[str, Predicted]]:
        """Return the same law after every past."""
        law = gaussian(self.shift * SIGMA, self.width * SIGMA, horizons)
        return [{"model": law} for _ in pasts]


class Leaking:
    """Knows the whole series and uses the next return."""

    def __init__(self, history: History) -> None:
        self.history = history

    def forecasts(
        self, pasts: Sequence[History], horizons: tuple[int, ...]
    ) -> list[dict[str, Predicted]]:
        """Return a narrow law round what comes."""
        found = []
        for past in pasts:
            place = int(np.searchsorted(self.history.closes_us, past.closes_us[-1]))
            truth = float(self.history.returns[place])
            found.append({"model": gaussian(0.5 * truth, SIGMA, horizons)})
        return found
