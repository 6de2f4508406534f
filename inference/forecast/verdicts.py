"""Verdicts on trajectories: each kept or dropped, with its reason and both models' likelihoods.

Not here: the tests that drop one (`trajectory`).

Rules:
- Every trajectory has one entry, in the order of its seeds.
- No float is written: likelihoods are whole thousandths of a nat, ends are 1e-8, and what is not
  finite or does not fit is null.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from inference.errors import ForecastError
from inference.forecast.trajectory import Trajectory, cumulative, quantile

KEPT: Final = "kept"
FORMAT: Final = "countersign.verdicts/1"
_MILLI: Final = 1_000
_ONE: Final = 100_000_000
_WIDEST: Final = float(1 << 53)


def verdicts_document(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return the verdicts as JSON values, one column for each property.

    `verdicts` is "kept" or the reason; `ends_1e8` the log return at the horizon; `target_mnat` and
    `drafter_mnat` the log-likelihoods in 1/1000 nats, the drafter's over drafted positions only.
    """
    return {
        "format": FORMAT,
        "verdicts": [KEPT if one.reason is None else one.reason.value for one in trajectories],
        "ends_1e8": [_whole(_end(one), _ONE) for one in trajectories],
        "target_mnat": [_whole(one.loglik_target, _MILLI) for one in trajectories],
        "drafter_mnat": [
            None if one.loglik_drafter is None else _whole(one.loglik_drafter, _MILLI)
            for one in trajectories
        ],
    }


def counted(document: dict[str, Any]) -> dict[str, int]:
    """Return how many trajectories have each verdict, the most frequent first."""
    named: list[str] = document["verdicts"]
    counts = {name: named.count(name) for name in sorted(set(named))}
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def end_quantiles(
    document: dict[str, Any], levels_bp: Sequence[int], *, kept: bool
) -> tuple[int, ...]:
    """Return quantiles of where the kept or the dropped trajectories end, 1e-8; empty for none.

    Raises:
        ForecastError: the document is malformed.
    """
    try:
        rows = zip(document["verdicts"], document["ends_1e8"], strict=True)
        ends = sorted(end for name, end in rows if (name == KEPT) is kept and end is not None)
        return tuple(round(quantile(ends, level / 10_000)) for level in levels_bp) if ends else ()
    except (KeyError, TypeError, ValueError) as error:
        raise ForecastError(f"malformed verdicts: {error}") from error


def _end(one: Trajectory) -> float:
    sums = cumulative(one.log_returns)
    return sums[-1] if sums else 0.0


def _whole(value: float, scale: int) -> int | None:
    scaled = value * scale
    return round(scaled) if isfinite(scaled) and abs(scaled) <= _WIDEST else None
