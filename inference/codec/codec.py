"""Snapshot to tokens and tokens back to returns: codec v1.

A prompt reads `BOS class frequency | up to 128 return bins | three narrative slots of three
words (type, lean, age) | clock | sigma over long-run sigma | sigma level`. Words about the present
follow the bars: no token depends on anything later than itself, and a prompt with news shares its
first part (and the engine's prefix cache) with the same prompt without news.

Rules:
    - A return is divided by a scale made of earlier returns only (`inference/scale/ewma.py`).
    - Decoding is exact in replay: the place inside a bin comes from HMAC-SHA256(key, step).
    - The scale moves along a sampled path, so volatility clusters even if the model ignores it.
    - The table's state does not depend on narrative words.
"""

import hashlib
import hmac
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Final

from inference.codec import vocabulary as words
from inference.codec.alphabet import Alphabet
from inference.codec.bins import Z_MAX, Z_SCALE, bin_of, row_law, z_of
from inference.codec.narrative import narrative_tokens
from inference.codec.prompt import Prompt
from inference.errors import CodecError
from inference.scale.ewma import (
    BURN_IN,
    FAST,
    FAST_WEIGHT,
    LONG,
    SLOW,
    VARIANCE_FLOOR,
    WINSOR_SIGMAS,
    Scale,
    first_scale,
)
from inference.scale.path import PathScale
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot

MIN_CONTEXT: Final = 16
"""Fewest return bins in a prompt."""
MIN_BARS: Final = BURN_IN + MIN_CONTEXT + 1
RATIO_STEP: Final = 0.14
"""Bucket width of log(sigma / long-run sigma)."""
LEVEL_EDGES: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
"""Edges of the sigma level, in log return per bar."""
RATIO_COARSE: Final = 4
MOVE_EDGES: Final = (-1.5, -0.75, -0.2, 0.2, 0.75, 1.5)
"""Edges, in sigma, of the last move in the table's state."""
N_MOVES: Final = len(MOVE_EDGES) + 1
_DAY_US: Final = 86_400_000_000
_HOUR_US: Final = 3_600_000_000


class ReturnCodec:
    """Codec v1. Stateless: one instance serves every thread."""

    version: ClassVar[str] = "return-codec-1"
    vocab_size: int = words.VOCAB_SIZE
    bin_start: int = words.BIN_START
    n_bins: int = words.N_BINS
    narrative_ids: frozenset[int] = words.NARRATIVE_IDS
    n_table_states: int = 1 + words.N_FREQUENCIES * words.N_CLASSES * RATIO_COARSE * N_MOVES

    def __init__(self) -> None:
        self.digest = codec_digest()

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of an answer: the bins, each its own token."""
        return Alphabet.of_range(self.bin_start, self.n_bins)

    def encode(self, snapshot: Snapshot) -> Prompt:
        """Return the prompt for the bar after the snapshot's last.

        Raises:
            CodecError: when there are fewer than 49 bars.
        """
        bins, scale = encode_returns(log_returns(snapshot.bars))
        return Prompt(
            token_ids=prompt_tokens(snapshot, bins, scale),
            template=self.version,
            codec_digest=self.digest,
            var_fast=scale.fast.hex(),
            var_slow=scale.slow.hex(),
            var_long=scale.long.hex(),
            sigma=scale.sigma.hex(),
        )

    def encode_without_news(self, snapshot: Snapshot) -> Prompt | None:
        """Return the prompt with its narrative blanked, or None if it holds none; see `encode`."""
        if narrative_tokens(snapshot) == words.NO_NEWS * words.N_SLOTS:
            return None
        return self.encode(replace(snapshot, news=()))

    def tokens_for(self, horizon: int) -> int:
        """Return how many tokens a path of so many bars has."""
        return horizon

    def horizon_of(self, n_tokens: int) -> int:
        """Return how many bars so many tokens tell."""
        return n_tokens

    def decode_path(self, prompt: Prompt, tokens: Sequence[int], key: bytes) -> tuple[float, ...]:
        """Return the log returns of a path; step i is dithered by (key, i).

        Raises:
            CodecError: when a token is not a bin, or the prompt is of another codec.
        """
        scale = self.scale_of(prompt)
        returns = []
        for step, token in enumerate(tokens):
            if not words.is_bin(token):
                raise CodecError(f"expected a return bin at step {step}, was {token}")
            value = z_of(token - words.BIN_START, dither(key, step)) * scale.sigma
            returns.append(value)
            scale = scale.after(value)
        return tuple(returns)

    def step_distribution(
        self, prompt: Prompt, p_row: Sequence[float]
    ) -> tuple[float, float, float]:
        """Return P(rise), mean and sd of the next log return, in closed form from its bins' row.

        Raises:
            CodecError: when the row is malformed, or the prompt is of another codec.
        """
        sigma = self.scale_of(prompt).sigma
        p_up, mean, sd = row_law(p_row)
        return p_up, mean * sigma, sd * sigma

    def first_step(
        self, prompt: Prompt, p_row: Sequence[float], first_returns: Sequence[float]
    ) -> tuple[float, float, float]:
        """Return P(rise), mean and sd of the first bar; this codec needs no path for them.

        Raises:
            CodecError: as in `step_distribution`.
        """
        del first_returns
        return self.step_distribution(prompt, p_row)

    def table_base(self, token_ids: Sequence[int]) -> int:
        """Return the part of the table's state that a prompt fixes for its whole answer.

        Zero stands for ids that are not a prompt of this codec; its row is the unconditional one.
        """
        level = _level_index(token_ids)
        if level is None:
            return 0
        kind = token_ids[1] - words.CLASS_START
        frequency = token_ids[2] - words.FREQUENCY_START
        ratio = (token_ids[level - 1] - words.RATIO_START) * RATIO_COARSE // words.N_RATIOS
        if not (
            0 <= kind < words.N_CLASSES
            and 0 <= frequency < words.N_FREQUENCIES
            and 0 <= ratio < RATIO_COARSE
        ):
            return 0
        return 1 + ((frequency * words.N_CLASSES + kind) * RATIO_COARSE + ratio) * N_MOVES

    def table_step(self, base: int, last_bin_token: int) -> int:
        """Return the table's state for a base and the latest return bin."""
        if base == 0 or not words.is_bin(last_bin_token):
            return 0
        return base + MOVE_OF_BIN[last_bin_token - words.BIN_START]

    def table_state(self, token_ids: Sequence[int]) -> int:
        """Return the table's state for a prompt followed by any number of bins."""
        base = self.table_base(token_ids)
        if base == 0:
            return 0
        return self.table_step(base, self.last_bin(token_ids))

    def last_bin(self, token_ids: Sequence[int]) -> int:
        """Return the newest token of a prompt followed by any number of bins; 0 if it has none."""
        last = token_ids[-1]
        if words.is_bin(last):
            return last
        before = token_ids[-1 - words.TAIL_LENGTH :][:1]  # nothing generated yet
        return before[0] if words.is_bin(before[0]) else 0

    def scale_of(self, prompt: Prompt) -> PathScale:
        """Return the scale of the first sampled bar, with which a prompt ends.

        Raises:
            CodecError: when the prompt is of another codec, or its numbers are none.
        """
        if prompt.codec_digest != self.digest:
            raise CodecError(f"expected codec {self.digest[:12]}, was {prompt.codec_digest[:12]}")
        try:
            return Scale(
                fast=float.fromhex(prompt.var_fast),
                slow=float.fromhex(prompt.var_slow),
                long=float.fromhex(prompt.var_long),
            )
        except (ValueError, OverflowError) as error:
            raise CodecError(f"expected hex floats in the prompt, was {error}") from error


def log_returns(bars: Sequence[Bar]) -> list[float]:
    """Return close-to-close log returns."""
    return [math.log(after.close_ticks / before.close_ticks) for before, after in pairwise(bars)]


def encode_returns(returns: Sequence[float]) -> tuple[list[int], Scale]:
    """Return the bin, 0..255, of every return after the burn-in, and the scale after the last.

    Raises:
        CodecError: when there are fewer than 48 returns.
    """
    if len(returns) < MIN_BARS - 1:
        raise CodecError(f"expected at least {MIN_BARS} bars, was {len(returns) + 1}")
    scale = first_scale(returns[:BURN_IN])
    bins = []
    for value in returns[BURN_IN:]:
        bins.append(bin_of(value / scale.sigma))
        scale = scale.after(value)
    return bins, scale


def prompt_tokens(snapshot: Snapshot, bins: Sequence[int], scale: PathScale) -> tuple[int, ...]:
    """Return the ids of a prompt, in the order of the module's first line."""
    return (
        *head_tokens(snapshot.asset_class, snapshot.frequency),
        *(words.BIN_START + b for b in bins[-words.MAX_CONTEXT :]),
        *narrative_tokens(snapshot),
        clock_token(snapshot.frequency, snapshot.bars[-1].close_time_us),
        *scale_tokens(scale),
    )


def head_tokens(asset_class: AssetClass, frequency: Frequency) -> tuple[int, int, int]:
    """Return BOS, class and frequency."""
    return (
        words.BOS,
        words.CLASS_START + words.CLASSES.index(asset_class),
        words.FREQUENCY_START + words.FREQUENCIES.index(frequency),
    )


def clock_token(frequency: Frequency, close_time_us: int) -> int:
    """Return the UTC weekday (daily bars) or UTC hour (hourly bars) of the last close."""
    if frequency is Frequency.DAILY:
        weekday = (close_time_us // _DAY_US + 3) % words.N_WEEKDAYS  # 1970-01-01 was a Thursday
        return words.CLOCK_START + weekday
    hour = (close_time_us // _HOUR_US) % words.N_HOURS
    return words.CLOCK_START + words.N_WEEKDAYS + hour


def scale_tokens(scale: PathScale) -> tuple[int, int]:
    """Return the ratio token and the level token, the prompt's last two."""
    place = math.floor(math.log(scale.sigma / scale.sigma_long) / RATIO_STEP) + words.N_RATIOS // 2
    ratio = min(max(place, 0), words.N_RATIOS - 1)
    level = sum(scale.sigma >= limit for limit in LEVEL_EDGES)
    return words.RATIO_START + ratio, words.LEVEL_START + level


def dither(key: bytes, step: int) -> float:
    """Return the place 0 <= u < 1 inside a bin: the first 53 bits of HMAC-SHA256(key, step)."""
    message = b"countersign/dither/1" + step.to_bytes(8, "big")
    digest = hmac.digest(key, message, "sha256")
    return (int.from_bytes(digest[:8], "big") >> 11) / 2.0**53


def codec_digest() -> str:
    """Return the SHA-256, hex, of every constant that gives a token of codec 1 its meaning."""
    numbers = (FAST, SLOW, LONG, FAST_WEIGHT, WINSOR_SIGMAS, VARIANCE_FLOOR)
    return digest_of_meaning(ReturnCodec.version, [v.hex() for v in numbers], BURN_IN)


def digest_of_meaning(version: str, scale: Any, burn_in: int) -> str:  # noqa: ANN401 - JSON
    """Return the SHA-256, hex, of a codec's scale and of all that the codecs share."""
    meaning = {
        "version": version,
        "layout": {
            name: value
            for name, value in sorted(vars(words).items())
            if name.isupper() and isinstance(value, int)
        },
        "classes": [c.value for c in words.CLASSES],
        "frequencies": [f.value for f in words.FREQUENCIES],
        "event_types": [e.value for e in words.EVENT_TYPES],
        "bins": [Z_SCALE.hex(), Z_MAX.hex()],
        "scale": scale,
        "burn_in": burn_in,
        "buckets": [v.hex() for v in (RATIO_STEP, *LEVEL_EDGES, *MOVE_EDGES)],
        "ratio_coarse": RATIO_COARSE,
        "dither": "hmac-sha256/53",
    }
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _level_index(token_ids: Sequence[int]) -> int | None:
    """Return the place of the sigma level, the prompt's last token, or None."""
    for index in range(len(token_ids) - 1, words.HEAD_LENGTH + words.TAIL_LENGTH - 1, -1):
        token = token_ids[index]
        if words.LEVEL_START <= token < words.LEVEL_START + words.N_LEVELS:
            return index
        if not words.is_bin(token):
            return None
    return None


MOVE_OF_BIN: Final = tuple(
    sum(z_of(b, 0.5) >= limit for limit in MOVE_EDGES) for b in range(words.N_BINS)
)
