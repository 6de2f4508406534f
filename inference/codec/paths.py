"""Tokens of many paths to log returns and moves of price: equal to one path's, to the last bit.

`ReturnCodec.decode_path` decodes one path, this module all paths of a forecast together, an array
a step. Whoever made the paths (the direct sampler, the table, the engine) and whoever replays them
may take either.

Rules:
    - As in `inference/scale/rows.py`: numpy only adds, multiplies, divides, compares and takes
      roots; `sinh` and `expm1` are `math`'s, of each element.
    - Where one path is refused, all are. The kind of error is the scalar's; which of several
      faults is named may differ, because steps come before paths.
    - Codec 1 and 2 only: a text codec's answer has another form.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from inference.codec.bins import X_MAX, X_WIDTH, Z_SCALE
from inference.codec.codec import ReturnCodec, dither
from inference.codec.prompt import Prompt
from inference.codec.scaled import reads_numbers_only
from inference.errors import CodecError, ForecastError
from inference.scale.rows import ScaleRows

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ONE: Final = 100_000_000
"""Steps of a move of price: 1e-8."""
_ULP: Final = 2.0**-52
_INT64: Final = 1 << 63


def decode_paths(
    codec: ReturnCodec, prompt: Prompt, tokens: Sequence[Sequence[int]], keys: Sequence[bytes]
) -> Doubles:
    """Return the log returns [paths, steps] of tokens [paths, steps]; path i is dithered by key i.

    Raises:
        CodecError: when a token is not a bin, paths differ in length or in number from the keys,
            or the prompt is of another codec.
        ArithmeticError, ValueError: where a path's scale is undefined, as in `decode_path`.
    """
    if len(keys) != len(tokens):
        raise CodecError(f"expected a key for each of {len(tokens)} paths, was {len(keys)}")
    if len({len(path) for path in tokens}) > 1:
        raise CodecError("expected paths of one length")
    try:
        bins = np.array(tokens, dtype=np.int64).reshape(len(tokens), -1) - codec.bin_start
    except OverflowError as error:
        raise CodecError(f"expected return bins, was {error}") from error
    places = [[dither(key, step) for step in range(bins.shape[1])] for key in keys]
    return decode_bins(codec, prompt, bins, np.array(places, np.float64).reshape(bins.shape))


def decoded(
    codec: ReturnCodec, prompt: Prompt, tokens: Sequence[Sequence[int]], keys: Sequence[bytes]
) -> tuple[tuple[float, ...], ...]:
    """Return the log returns of paths: together where the codec's paths can be, else one by one.

    Raises:
        CodecError, ArithmeticError, ValueError: as in `decode_path`.
    """
    if reads_numbers_only(codec.digest) and len({len(path) for path in tokens}) == 1:
        return tuple(map(tuple, decode_paths(codec, prompt, tokens, keys).tolist()))
    pairs = zip(tokens, keys, strict=True)
    return tuple(codec.decode_path(prompt, path, key) for path, key in pairs)


def decode_bins(codec: ReturnCodec, prompt: Prompt, bins: Ints, places: Doubles) -> Doubles:
    """Return the log returns of bins at places 0 <= u < 1 inside them; all [paths, steps].

    Raises:
        CodecError: for a bin that does not exist, or a prompt of another codec.
        ArithmeticError, ValueError: as in `decode_paths`.
    """
    if not reads_numbers_only(codec.digest):
        raise CodecError(f"expected a codec of returns, was {codec.version}")
    wrong = (bins < 0) | (bins >= codec.n_bins)
    if wrong.any():
        path, step = (int(at) for at in np.argwhere(wrong)[0])
        token = int(bins[path, step]) + codec.bin_start
        raise CodecError(f"expected a return bin at step {step} of path {path}, was {token}")
    scale = ScaleRows.of(codec.scale_of(prompt), len(bins))
    angles = -X_MAX + (bins + places) * X_WIDTH  # the order of `z_of`
    returns = np.empty(bins.shape)
    with np.errstate(over="ignore", invalid="ignore"):  # as Python's floats
        for step in range(bins.shape[1]):
            z = Z_SCALE * _each(math.sinh, angles[:, step])
            returns[:, step] = z * scale.sigma
            scale = scale.after(returns[:, step])
    return returns


def cumulated(log_returns: Doubles) -> Doubles:
    """Return the running sums along the steps, [paths, steps]."""
    sums, total = np.empty(log_returns.shape), np.zeros(len(log_returns))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(log_returns.shape[1]):
            total = total + log_returns[:, step]
            sums[:, step] = total
    return sums


def moves_1e8(log_returns: npt.ArrayLike) -> Ints:
    """Return relative changes of price since the as-of, 1e-8, rounded half-even; [paths, steps].

    Raises:
        ForecastError: for a number that is not finite or does not fit 64 bits.
    """
    sums = cumulated(np.asarray(log_returns, dtype=np.float64))
    try:
        moves = _each(math.expm1, sums.ravel())
    except OverflowError as error:
        raise ForecastError(f"a move of price leaves the numbers: {error}") from error
    return rounded_1e8(moves).reshape(sums.shape)


def rounded_1e8(values: Doubles) -> Ints:
    """Return values in 1e-8, exactly rounded half-even.

    The product is within half a unit in its last place. Nearer than that to the middle of two
    integers, or where integers are no longer dense, the fraction itself decides.
    """
    if not np.isfinite(values).all():
        raise ForecastError("a move of price is not a number")
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * ONE
        size = np.abs(scaled)
        unsure = (np.abs(size - np.floor(size) - 0.5) <= size * _ULP) | (size >= 1.0 / _ULP)
    found: Ints = np.rint(np.where(unsure, 0.0, scaled)).astype(np.int64)
    for at in np.flatnonzero(unsure).tolist():
        exact = round(Fraction(float(values[at])) * ONE)
        if not -_INT64 <= exact < _INT64:
            raise ForecastError(f"{values[at]} does not fit 64 bits")
        found[at] = exact
    return found


def _each(function: Callable[[float], float], values: Doubles) -> Doubles:
    return np.fromiter(map(function, values.tolist()), np.float64, len(values))
