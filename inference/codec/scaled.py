"""Codec v2: the tokens of codec v1 on a fitted scale, and the choice between the two.

A return is divided by the joined volatility of GARCH, GJR and the bars' ranges
(`inference.scale`), whose parameters come with the snapshot. All advance along a sampled path.
Bars shorter than a day also have the sizes of the hours of the week, each bar its own.
An untrained model on this scale, one row for every bar, is filtered historical simulation.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from typing_extensions import override

from inference.codec.bins import bin_of
from inference.codec.codec import (
    MIN_BARS,
    ReturnCodec,
    digest_of_meaning,
    log_returns,
    prompt_tokens,
)
from inference.codec.prompt import Prompt
from inference.errors import CodecError
from inference.scale.moving import (
    LONG,
    RANGE_WEIGHT,
    VARIANCE_FLOOR,
    WINSOR_SIGMAS,
    scales_of,
)
from inference.scale.path import PathScale
from inference.scale.ranges import FLOOR_SHARE, MONTH, STILL, WEEK, range_variance
from inference.scale.schedule import BURN_IN
from inference.snapshot import Bar, Snapshot


class ScaledCodec(ReturnCodec):
    """Codec v2. Stateless: one instance serves every thread."""

    version: ClassVar[str] = "return-codec-2"

    def __init__(self) -> None:
        self.digest = scaled_digest()

    @override
    def encode(self, snapshot: Snapshot) -> Prompt:
        """Return the prompt for the bar after the snapshot's last.

        Raises:
            CodecError: when there are fewer than 49 bars, or no fitted scale.
        """
        if snapshot.scale is None:
            raise CodecError("codec 2 needs a snapshot with a fitted scale, was none")
        if len(snapshot.bars) < MIN_BARS:
            raise CodecError(f"expected at least {MIN_BARS} bars, was {len(snapshot.bars)}")
        returns = log_returns(snapshot.bars)
        closes = [bar.close_time_us for bar in snapshot.bars[1:]]
        scales = scales_of(snapshot.scale, returns, ranges_of(snapshot.bars, returns), closes)
        pairs = zip(returns[BURN_IN:], scales, strict=False)  # the last scale has no return yet
        bins = [bin_of(value / scale.sigma) for value, scale in pairs]
        return Prompt(
            token_ids=prompt_tokens(snapshot, bins, scales[-1]),
            template=self.version,
            codec_digest=self.digest,
            sigma=scales[-1].sigma.hex(),
            scale=scales[-1],
        )

    @override
    def scale_of(self, prompt: Prompt) -> PathScale:
        """Return the scale of the first sampled bar; raises as in `ReturnCodec`."""
        if prompt.codec_digest != self.digest:
            raise CodecError(f"expected codec {self.digest[:12]}, was {prompt.codec_digest[:12]}")
        if prompt.scale is None:
            raise CodecError("expected a prompt with its scale, was none")
        return prompt.scale


def scaled_digest() -> str:
    """Return the SHA-256, hex, of every constant that gives a token of codec 2 its meaning."""
    constants = (RANGE_WEIGHT, LONG, WINSOR_SIGMAS, VARIANCE_FLOOR, FLOOR_SHARE, STILL)
    joined = ["garch, gjr, log-har", WEEK, MONTH, *(value.hex() for value in constants)]
    return digest_of_meaning(ScaledCodec.version, joined, BURN_IN)


def ranges_of(bars: Sequence[Bar], log_returns: Sequence[float]) -> list[float | None]:
    """Return the range variance of each bar after the first."""
    return [
        range_variance(value, bar.open_ticks, bar.high_ticks, bar.low_ticks, bar.close_ticks)
        for value, bar in zip(log_returns, bars[1:], strict=True)
    ]


_CODECS: Final = (ReturnCodec, ScaledCodec)


def codec_named(digest: str) -> ReturnCodec:
    """Return the codec with a digest, which a model pair names.

    Raises:
        CodecError: when no codec of this version has it.
    """
    for codec in (one() for one in _CODECS):
        if codec.digest == digest:
            return codec
    known = ", ".join(one.version for one in _CODECS)
    raise CodecError(f"expected a codec of this version ({known}), was {digest[:16]}..")


def reads_numbers_only(digest: str) -> bool:
    """Return whether prompts of a codec hold no word that could be exchanged for another."""
    return digest in {one().digest for one in _CODECS}


def codec_of(snapshot: Snapshot) -> ReturnCodec:
    """Return the codec of a snapshot on record: only codec 2 has a fitted scale."""
    return ReturnCodec() if snapshot.scale is None else ScaledCodec()
