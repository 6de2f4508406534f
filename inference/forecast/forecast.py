"""Forecast: all integers, and all that the risk gate sees of inference.

Log returns are in 1e-8, probabilities in basis points; rounding is half-even. A number that is not
finite or does not fit 64 bits raises `ForecastError`, and so does a path beyond `LOG_MOVE_MAX`:
what is read of a forecast that was made (quantiles, moves of a price, losses) can be stated.

`step_vol` and `p_up` are closed-form from the model's row of the first step: they have no sampling
noise. `horizon_vol`, `expected` and the interval come from the paths.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from math import expm1, fsum, isfinite, isqrt, sqrt
from typing import Any

from inference.errors import ForecastError
from inference.forecast.trajectory import Trajectory, cumulative, path_quantiles
from inference.snapshot import text, whole

LEVELS_BP = (500, 2500, 5000, 7500, 9500)
MIN_PATHS = 2
LOG_MOVE_MAX = 20.0
"""Largest log return from the as-of to any bar of a path: a price 485 million times as high."""
_INT64 = 1 << 63
_BP = 10_000
_ONE = 100_000_000


class ForecastSource(StrEnum):
    """The model behind a forecast."""

    TARGET = "target"
    TABLE = "table"
    GJR = "gjr"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLaw:
    """Closed-form law of the next step's log return, from `ReturnCodec.step_distribution`."""

    p_up: float
    mean: float
    sd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is expected of one instrument over a horizon of equal bars."""

    instrument: str
    as_of_us: int
    horizon: int  # steps
    bar_us: int  # length of a step
    source: ForecastSource
    n_paths: int  # kept
    n_dropped: int
    expected_1e8: int  # mean cumulative log return at the horizon
    step_vol_1e8: int  # closed form, one step
    horizon_vol_1e8: int  # standard deviation at the horizon, over the paths
    p_up_bp: int  # closed form, one step
    interval_low_1e8: int  # 5 % quantile at the horizon
    interval_high_1e8: int  # 95 % quantile at the horizon
    levels_bp: tuple[int, ...]
    quantiles_1e8: tuple[tuple[int, ...], ...]  # [levels, steps], cumulative log return
    codec_digest: str
    model_digest: str
    capture_digest: str

    def __post_init__(self) -> None:
        """Raise `ForecastError` for a number outside its range or inconsistent quantiles."""
        numbers = (
            self.expected_1e8,
            self.step_vol_1e8,
            self.horizon_vol_1e8,
            self.interval_low_1e8,
            self.interval_high_1e8,
            *(value for row in self.quantiles_1e8 for value in row),
        )
        if any(not -_INT64 <= value < _INT64 for value in numbers):
            raise ForecastError("a number does not fit 64 bits")
        if not 0 <= self.p_up_bp <= _BP:
            raise ForecastError(f"p_up {self.p_up_bp} bp is not a probability")
        if self.step_vol_1e8 <= 0 or self.horizon_vol_1e8 < 0:
            raise ForecastError("volatility must be positive")
        if self.n_paths < MIN_PATHS or self.n_dropped < 0:
            raise ForecastError(f"{self.n_paths} kept paths are too few")
        if self.horizon < 1 or self.bar_us < 1:
            raise ForecastError("horizon and bar must be positive")
        if tuple(sorted(set(self.levels_bp))) != self.levels_bp or not self.levels_bp:
            raise ForecastError("quantile levels must ascend")
        if len(self.quantiles_1e8) != len(self.levels_bp) or any(
            len(row) != self.horizon for row in self.quantiles_1e8
        ):
            raise ForecastError("quantiles do not have the shape [levels, horizon]")
        if any(tuple(sorted(column)) != column for column in zip(*self.quantiles_1e8, strict=True)):
            raise ForecastError("quantiles cross")
        if self.interval_low_1e8 > self.interval_high_1e8:
            raise ForecastError("interval is upside down")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastLabel:
    """What a forecast is about and what made it."""

    instrument: str
    as_of_us: int
    bar_us: int
    source: ForecastSource
    codec_digest: str
    model_digest: str
    capture_digest: str


def make_forecast(
    trajectories: Sequence[Trajectory], step: StepLaw, label: ForecastLabel
) -> Forecast:
    """Return the forecast of trajectories, kept and dropped ones.

    Raises:
        ForecastError: when too few paths are kept, or a number is not finite or too large.
    """
    kept = [t for t in trajectories if t.kept]
    if len(kept) < MIN_PATHS:
        raise ForecastError(f"{len(kept)} of {len(trajectories)} trajectories kept")
    horizon = len(kept[0].log_returns)
    if horizon < 1 or any(len(t.log_returns) != horizon for t in kept):
        raise ForecastError("trajectories differ in length")
    sums = [cumulative(t.log_returns) for t in kept]
    for trajectory, path in zip(kept, sums, strict=True):
        for bar, value in enumerate(path, start=1):
            if not abs(value) <= LOG_MOVE_MAX:
                raise ForecastError(
                    f"trajectory {trajectory.index} is extreme: a log return of {value:.3g} by bar "
                    f"{bar}, at most {LOG_MOVE_MAX:g} can be stated"
                )
    ends = [path[-1] for path in sums]
    mean = fsum(ends) / len(ends)
    variance = fsum((end - mean) ** 2 for end in ends) / (len(ends) - 1)
    quantiles = tuple(
        tuple(to_1e8(value) for value in row)
        for row in path_quantiles(kept, [level / _BP for level in LEVELS_BP])
    )
    return Forecast(
        **asdict(label),
        horizon=horizon,
        n_paths=len(kept),
        n_dropped=len(trajectories) - len(kept),
        expected_1e8=to_1e8(mean),
        step_vol_1e8=to_1e8(step.sd),
        horizon_vol_1e8=to_1e8(sqrt(variance)),
        p_up_bp=_scaled(step.p_up, _BP),
        interval_low_1e8=quantiles[0][-1],
        interval_high_1e8=quantiles[-1][-1],
        levels_bp=LEVELS_BP,
        quantiles_1e8=quantiles,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A forecast with the trajectories that it summarises, kept and dropped ones."""

    forecast: Forecast
    trajectories: tuple[Trajectory, ...]

    def moves_1e8(self) -> tuple[tuple[int, ...], ...]:
        """Return the kept paths as relative changes of price since the as-of, in 1e-8.

        Shape [paths, steps]; rounded here once, so that whatever reads them counts in integers.

        Raises:
            ForecastError: as in `to_1e8`.
        """
        from inference.codec.paths import moves_1e8  # noqa: PLC0415 - numpy, only where paths are made

        kept = [one.log_returns for one in self.trajectories if one.kept]
        if len({len(path) for path in kept}) != 1:
            return tuple(tuple(to_1e8(expm1(v)) for v in cumulative(path)) for path in kept)
        return tuple(map(tuple, moves_1e8(kept).tolist()))


def paired_error_1e8(one: Sampled, other: Sampled) -> int | None:
    """Return the standard error of the difference of two means over the same seeds, rounded up.

    It is that of the pairs that both kept; None for fewer than two of them.

    Raises:
        ForecastError: as in `to_1e8`.
    """
    ends = [
        to_1e8(cumulative(a.log_returns)[-1]) - to_1e8(cumulative(b.log_returns)[-1])
        for a, b in zip(one.trajectories, other.trajectories, strict=True)
        if a.kept and b.kept
    ]
    n = len(ends)
    if n < MIN_PATHS:
        return None
    spread = n * sum(end * end for end in ends) - sum(ends) ** 2  # n squared times the variance
    return isqrt(spread // (n * n * (n - 1))) + 1 if spread else 0


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """Return the forecast as JSON integers, text and lists."""
    return {
        **asdict(forecast),
        "source": forecast.source.value,
        "levels_bp": list(forecast.levels_bp),
        "quantiles_1e8": [list(row) for row in forecast.quantiles_1e8],
    }


_FIELDS = frozenset(field.name for field in fields(Forecast))
_TEXTS = tuple(field.name for field in fields(Forecast) if field.type is str)
_NUMBERS = tuple(field.name for field in fields(Forecast) if field.type is int)


def forecast_from_document(document: dict[str, Any]) -> Forecast:
    """Read what `forecast_document` returned.

    Raises:
        ForecastError: when a field is missing, unknown, of another type or out of range.
    """
    if set(document) != _FIELDS:
        raise ForecastError(f"expected {sorted(_FIELDS)}, found {sorted(document)}")
    try:
        texts = {name: text(document[name]) for name in _TEXTS}
        numbers = {name: whole(document[name]) for name in _NUMBERS}
        plain: dict[str, Any] = {**texts, **numbers}
        return Forecast(
            **plain,
            source=ForecastSource(document["source"]),
            levels_bp=tuple(map(whole, document["levels_bp"])),
            quantiles_1e8=tuple(tuple(map(whole, row)) for row in document["quantiles_1e8"]),
        )
    except (TypeError, ValueError) as error:
        raise ForecastError(f"malformed forecast: {error}") from error


def to_1e8(value: float) -> int:
    """Return a value in 1e-8, rounded half-even.

    Raises:
        ForecastError: when the value is not finite or does not fit 64 bits.
    """
    return _scaled(value, _ONE)


def _scaled(value: float, scale: int) -> int:
    if not isfinite(value):
        raise ForecastError(f"{value} is not a number")
    part, whole = value.as_integer_ratio()
    scaled, rest = divmod(part * scale, whole)  # exact, then half-even
    if 2 * rest > whole or (2 * rest == whole and scaled % 2):
        scaled += 1
    if not -_INT64 <= scaled < _INT64:
        raise ForecastError(f"{value} does not fit 64 bits")
    return scaled
