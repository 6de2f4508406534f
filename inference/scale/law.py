"""One variance recursion: GARCH(1,1), or GJR when `gamma` is not zero.

h' = omega + (alpha + gamma [e < 0]) e^2 + beta h, with e = return - mean. Variances are of one-bar
log returns. Float64 in a fixed order without a library function: equal on every machine.

Source: Glosten, Jagannathan and Runkle (1993), Journal of Finance 48(5); Bollerslev (1986).
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from inference.errors import ScaleError


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceLaw:
    """Parameters of a recursion; `nu` is the degrees of freedom of its Student-t errors."""

    mean: float
    omega: float
    alpha: float
    gamma: float
    beta: float
    nu: float

    def __post_init__(self) -> None:
        """Raise `ScaleError` when a variance could become negative, explode or be undefined."""
        if not all(map(math.isfinite, astuple(self))):
            raise ScaleError("expected finite parameters of a variance law")
        if min(self.omega, self.alpha, self.beta, self.alpha + self.gamma) < 0.0:
            raise ScaleError(f"expected a law without negative variance, was {self}")
        if self.persistence > _PERSISTENCE_MAX:
            raise ScaleError(f"expected a persistence of at most 1, was {self.persistence}")
        if self.nu <= 2.0:  # noqa: PLR2004 - below it a Student-t has no variance
            raise ScaleError(f"expected more than 2 degrees of freedom, was {self.nu}")

    @property
    def persistence(self) -> float:
        """Share of a variance that is expected to remain after one bar."""
        return self.alpha + 0.5 * self.gamma + self.beta

    def after(self, variance: float, log_return: float) -> float:
        """Return the variance after one more return."""
        error = log_return - self.mean
        slope = self.alpha + self.gamma if error < 0.0 else self.alpha
        return self.omega + slope * error * error + self.beta * variance


_PERSISTENCE_MAX = 1.0 + 1e-9
"""An estimate on the boundary may exceed it by the optimiser's tolerance."""


def conditional_variances(
    law: VarianceLaw, log_returns: Sequence[float], first: float
) -> list[float]:
    """Return the variance before each return, then the one after the last: n + 1 values."""
    variances = [first]
    for value in log_returns:
        variances.append(law.after(variances[-1], value))
    return variances


def law_document(law: VarianceLaw) -> list[str]:
    """Return the parameters as hex floats, in the order of the fields."""
    return [float(value).hex() for value in astuple(law)]


def law_from_document(document: Any) -> VarianceLaw:  # noqa: ANN401 - JSON
    """Read what `law_document` returned.

    Raises:
        ScaleError: when it is not six hex floats that make a law.
    """
    try:
        mean, omega, alpha, gamma, beta, nu = map(float.fromhex, document)
    except (TypeError, ValueError, OverflowError) as error:
        raise ScaleError(f"expected six hex floats, was {document!r}") from error
    return VarianceLaw(mean=mean, omega=omega, alpha=alpha, gamma=gamma, beta=beta, nu=nu)
