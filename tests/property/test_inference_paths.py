"""Many paths decoded together are each path decoded alone, to the last bit and to the integer."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.codec.paths import decode_bins, decode_paths, moves_1e8, rounded_1e8
from inference.codec.prompt import Prompt
from inference.codec.scaled import ScaledCodec
from inference.errors import CodecError, ForecastError
from inference.forecast.forecast import to_1e8
from inference.forecast.trajectory import cumulative
from inference.scale.ewma import Scale
from inference.scale.moving import MovingScale
from inference.speculation.seeds import dither_key
from tests.doubles.drawn_scales import scales
from tests.doubles.hourly_cases import hourly_snapshot

SEED = bytes(range(32))
LAST = words.BIN_START + words.N_BINS - 1
tokens = st.integers(words.BIN_START, LAST) | st.sampled_from([words.BIN_START, LAST])
paths = st.integers(0, 12).flatmap(
    lambda steps: st.lists(st.lists(tokens, min_size=steps, max_size=steps), min_size=1, max_size=6)
)


def told(scale: Scale | MovingScale) -> tuple[ReturnCodec, Prompt]:
    """Return the codec of a scale, and a prompt that ends with it."""
    codec = ReturnCodec() if isinstance(scale, Scale) else ScaledCodec()
    prompt = Prompt(token_ids=(), template="", codec_digest=codec.digest, sigma="")
    if isinstance(scale, MovingScale):
        return codec, dataclasses.replace(prompt, scale=scale)
    fast, slow, long = (value.hex() for value in (scale.fast, scale.slow, scale.long))
    return codec, dataclasses.replace(prompt, var_fast=fast, var_slow=slow, var_long=long)


@given(scales, paths, st.binary(min_size=32, max_size=32))
def test_log_returns_of_all_paths_are_each_paths_own(
    scale: Scale | MovingScale, drawn: list[list[int]], seed: bytes
) -> None:
    codec, prompt = told(scale)
    keys = [dither_key(seed, index) for index in range(len(drawn))]
    try:
        alone = [codec.decode_path(prompt, *one) for one in zip(drawn, keys, strict=True)]
    except (ArithmeticError, ValueError):
        with pytest.raises((ArithmeticError, ValueError)):
            decode_paths(codec, prompt, drawn, keys)
        return
    together = decode_paths(codec, prompt, drawn, keys).tolist()
    assert [[v.hex() for v in one] for one in together] == [[v.hex() for v in one] for one in alone]


@settings(max_examples=50)
@given(st.lists(st.lists(tokens, min_size=15, max_size=15), min_size=1, max_size=4))
def test_hourly_paths_walk_over_the_hours_of_their_week(drawn: list[list[int]]) -> None:
    codec, prompt = ScaledCodec(), HOURLY
    keys = [dither_key(SEED, index) for index in range(len(drawn))]
    alone = [codec.decode_path(prompt, *one) for one in zip(drawn, keys, strict=True)]
    assert decode_paths(codec, prompt, drawn, keys).tolist() == [list(one) for one in alone]


HOURLY = ScaledCodec().encode(hourly_snapshot())
numbers = st.floats(-20.0, 20.0) | st.floats(-1e-6, 1e-6) | st.sampled_from([0.0, -0.0, 5e-324])


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=5))
def test_moves_of_price_are_the_scalars_integers(returns: list[list[float]]) -> None:
    sums = [cumulative(path) for path in returns]
    try:
        alone = [[to_1e8(math.expm1(value)) for value in path] for path in sums]
    except ForecastError:
        with pytest.raises(ForecastError, match="64 bits"):
            moves_1e8(np.array(returns))
        return
    assert moves_1e8(np.array(returns)).tolist() == alone


ties = st.integers(-(1 << 40), 1 << 40).map(lambda odd: (2 * odd + 1) / 512)  # of 1e-8, exactly
near = st.tuples(ties, st.sampled_from([-math.inf, math.inf])).map(lambda t: math.nextafter(*t))
halves = st.integers(-(10**15), 10**15).map(lambda whole: (whole + 0.5) / 1e8)


@given(st.lists(ties | near | halves | st.floats(-9e10, 9e10), min_size=1, max_size=20))
def test_rounding_is_exact_and_half_to_even(values: list[float]) -> None:
    assert rounded_1e8(np.array(values)).tolist() == [to_1e8(value) for value in values]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e11, -1e11, 1e300, 1e308])
def test_a_move_that_no_integer_can_say_is_refused(value: float) -> None:
    with pytest.raises(ForecastError):
        rounded_1e8(np.array([0.5, value]))
    with pytest.raises(ForecastError):
        to_1e8(value)


def test_what_decode_path_refuses_is_refused() -> None:
    codec, prompt = told(Scale(fast=1e-4, slow=1e-4, long=1e-4))
    good = [words.BIN_START, LAST]
    for path in ([words.BIN_START - 1, LAST], [LAST, LAST + 1], [-1, 0], [1 << 70, 0]):
        with pytest.raises(CodecError, match="return bin"):
            codec.decode_path(prompt, path, SEED)
        with pytest.raises(CodecError, match="return bin"):
            decode_paths(codec, prompt, [good, path], [SEED, SEED])
    with pytest.raises(CodecError, match="expected codec"):
        decode_paths(ScaledCodec(), prompt, [good], [SEED])
    with pytest.raises(CodecError, match="of one length"):
        decode_paths(codec, prompt, [good, good[:1]], [SEED, SEED])
    with pytest.raises(CodecError, match="a key for each"):
        decode_paths(codec, prompt, [good], [SEED, SEED])


class OtherCodec(ReturnCodec):
    """A codec whose answers have another form, as a text pair's."""

    def __init__(self) -> None:
        super().__init__()
        self.digest = "other"


def test_a_codec_of_another_form_is_refused() -> None:
    _, prompt = told(Scale(fast=1e-4, slow=1e-4, long=1e-4))
    with pytest.raises(CodecError, match="expected a codec of returns"):
        decode_bins(OtherCodec(), prompt, np.zeros((1, 1), np.int64), np.zeros((1, 1)))
