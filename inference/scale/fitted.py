"""The laws of one series as of one time: a record of who fitted them, when and on what.

A snapshot carries it, so a replay takes the parameters from the record and fits nothing.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from inference.errors import ScaleError
from inference.scale.law import VarianceLaw, law_document, law_from_document
from inference.scale.ranges import RangeLaw, range_document, range_from_document
from inference.scale.season import Season, season_document, season_from_document

NO_FIT: Final = "default"
"""The `fitter` of a series that is too short, or whose estimation did not end."""
_DEFAULT_SHAPE: Final = (0.04, 0.08, 0.90, 6.0)
"""alpha, gamma, beta and nu of a series without a fit; persistence 0.98."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleFit:
    """GARCH and GJR of one series, estimated on its past up to `fitted_us`."""

    fitter: str
    """Library and version, or "default"."""
    fitted_us: int
    """Close of the last bar used: nothing later was seen."""
    n_returns: int
    data_digest: str
    """`data_digest` of the returns that it was fitted on."""
    garch: VarianceLaw
    gjr: VarianceLaw
    ranges: RangeLaw | None = None
    """None where too few bars have a range."""
    season: Season | None = None
    """Sizes of the hours of the week; laws and ranges are of returns without them."""

    @property
    def digest(self) -> str:
        """SHA-256, hex, of the canonical document."""
        text = json.dumps(fit_document(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def default_fit(log_returns: Sequence[float], *, fitted_us: int, digest: str) -> ScaleFit:
    """Return laws of a common shape whose long-run variance is the returns' mean square.

    Raises:
        ScaleError: without returns.
    """
    if not log_returns:
        raise ScaleError("expected at least one return, was none")
    alpha, gamma, beta, nu = _DEFAULT_SHAPE
    square = math.fsum(r * r for r in log_returns) / len(log_returns)
    omega = (1.0 - alpha - 0.5 * gamma - beta) * square
    gjr = VarianceLaw(mean=0.0, omega=omega, alpha=alpha, gamma=gamma, beta=beta, nu=nu)
    even = alpha + 0.5 * gamma
    garch = VarianceLaw(mean=0.0, omega=omega, alpha=even, gamma=0.0, beta=beta, nu=nu)
    return ScaleFit(
        fitter=NO_FIT,
        fitted_us=fitted_us,
        n_returns=len(log_returns),
        data_digest=digest,
        garch=garch,
        gjr=gjr,
    )


def data_digest(
    closes_us: Sequence[int], log_returns: Sequence[float], found: Sequence[float | None]
) -> str:
    """Return the SHA-256, hex, of close times, the log returns that they end, range variances."""
    rows = [
        [at, value.hex(), None if ranged is None else ranged.hex()]
        for at, value, ranged in zip(closes_us, log_returns, found, strict=True)
    ]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()


def fit_document(fit: ScaleFit) -> dict[str, Any]:
    """Return the fit as JSON values without floats; `season` only where there is one."""
    season = {} if fit.season is None else {"season": season_document(fit.season)}
    return {
        "fitter": fit.fitter,
        "fitted_us": fit.fitted_us,
        "n_returns": fit.n_returns,
        "data_digest": fit.data_digest,
        "garch": law_document(fit.garch),
        "gjr": law_document(fit.gjr),
        "ranges": None if fit.ranges is None else range_document(fit.ranges),
        **season,
    }


def fit_from_document(document: Any) -> ScaleFit:  # noqa: ANN401 - JSON
    """Read what `fit_document` returned.

    Raises:
        ScaleError: when a field is missing, unknown, or of another type.
    """
    if not isinstance(document, dict) or set(document) - {"season"} != _FIELDS:
        raise ScaleError(f"expected the fields {sorted(_FIELDS)}, was {document!r}")
    texts = (document["fitter"], document["data_digest"])
    numbers = (document["fitted_us"], document["n_returns"])
    if not all(type(v) is str for v in texts) or not all(type(v) is int for v in numbers):
        raise ScaleError("expected text and integers in a scale fit")
    return ScaleFit(
        fitter=document["fitter"],
        fitted_us=document["fitted_us"],
        n_returns=document["n_returns"],
        data_digest=document["data_digest"],
        garch=law_from_document(document["garch"]),
        gjr=law_from_document(document["gjr"]),
        ranges=None if document["ranges"] is None else range_from_document(document["ranges"]),
        season=season_from_document(document["season"]) if "season" in document else None,
    )


_FIELDS: Final = {"fitter", "fitted_us", "n_returns", "data_digest", "garch", "gjr", "ranges"}
