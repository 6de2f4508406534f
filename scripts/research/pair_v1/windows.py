"""Batches of training sequences, each a prompt as served and its continuation.

A batch is a function of (seed, step), so resuming needs no sampler state.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.codec import vocabulary as words
from inference.codec.bins import bin_of
from inference.codec.codec import clock_token, head_tokens, scale_tokens
from inference.codec.narrative import slot_tokens
from inference.scale.ewma import BURN_IN
from inference.snapshot import BAR_US, AssetClass, EventType, Frequency, NewsItem
from inference.training.series import Floats, Ints
from scripts.research.pair_v1.synthetic import (
    UNSEEN_CLASSES,
    Tag,
    draw_tags,
    planted_effects,
    synthetic_returns,
)
from scripts.research.series import CodedSeries, trace

N_BARS: Final = 144
"""Return bins in a sequence: context and continuation."""
SEQUENCE: Final = words.HEAD_LENGTH + words.TAIL_LENGTH + N_BARS
FULL_SHARE: Final = 0.7
"""Share of sequences with the longest context."""
TAGGED_WEIGHT: Final = 4.0
TAGGED_BARS: Final = 5
NEWS_BARS: Final = 32
"""Return bins in a short sequence with dense news."""
NEWS_SEQUENCE: Final = words.HEAD_LENGTH + words.TAIL_LENGTH + NEWS_BARS
SYNTHETIC_LENGTH: Final = 400

_SHARES: Final = {
    (Frequency.DAILY, AssetClass.EQUITY): 0.30,
    (Frequency.DAILY, AssetClass.INDEX): 0.22,
    (Frequency.DAILY, AssetClass.COMMODITY): 0.16,
    (Frequency.DAILY, AssetClass.FX): 0.10,
    (Frequency.DAILY, AssetClass.VOLATILITY): 0.04,
    (Frequency.HOURLY, AssetClass.FX): 0.09,
    (Frequency.HOURLY, AssetClass.INDEX): 0.05,
    (Frequency.HOURLY, AssetClass.EQUITY): 0.04,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingBatch:
    """Tokens [n, SEQUENCE] and the loss weight [n, SEQUENCE] of each as a target."""

    tokens: Ints
    weights: Floats
    as_of: Ints
    """[n]: index of the last prompt token, whose answer is the first forecast bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Sequences per batch by kind; `news` counts the short ones of the last stage."""

    real: int = 12
    tagged: int = 6
    synthetic: int = 6
    news: int = 0

    @property
    def tokens(self) -> int:
        """Token count of a batch."""
        return (self.real + self.tagged + self.synthetic) * SEQUENCE + self.news * NEWS_SEQUENCE


DEFAULT_MIXTURE: Final = Mixture()
NEWS_MIXTURE: Final = Mixture(real=8, tagged=2, synthetic=2, news=48)


class Sampler:
    """Draws training sequences from the training part of series that are long enough."""

    def __init__(self, series: list[CodedSeries], seed: int) -> None:
        self.series = [s for s in series if s.first_validation >= N_BARS]
        self.seed = seed
        sizes: dict[tuple[Frequency, AssetClass], int] = {}
        for item in self.series:
            key = (item.frequency, item.asset_class)
            sizes[key] = sizes.get(key, 0) + item.first_validation
        raw = np.asarray(
            [
                _SHARES[(s.frequency, s.asset_class)]
                * s.first_validation
                / sizes[(s.frequency, s.asset_class)]
                for s in self.series
            ]
        )
        self.shares = raw / raw.sum()

    def batch(self, step: int, mixture: Mixture) -> TrainingBatch:
        """Return the batch of a step."""
        rng = np.random.default_rng((self.seed, step))
        rows = [self._real(rng) for _ in range(mixture.real)]
        rows += [self._tagged(rng) for _ in range(mixture.tagged)]
        rows += [_synthetic(rng) for _ in range(mixture.synthetic)]
        return _stack(rows)

    def news_batch(self, step: int, count: int) -> TrainingBatch:
        """Return short sequences with dense news; only bars after the prompt have a loss weight.

        A quarter has no news, so that the model does not read a meaning into its absence.
        """
        rng = np.random.default_rng((self.seed, step, 1))
        rows = []
        for index in range(count):
            series = self._series(rng)
            context = int(rng.integers(16, NEWS_BARS - TAGGED_BARS + 1))
            origin = int(rng.integers(series.first_validation - NEWS_BARS + 1)) + context
            tags = draw_tags(rng) if index % 4 else ()
            bins = series.bins[origin - context : origin - context + NEWS_BARS].copy()
            bins[context:] = overlay(
                series, origin, *planted_effects(tags, NEWS_BARS - context, rng)
            )
            tokens, weights, last = _row(series, origin, context, bins, ())
            prompt = prompt_row(series, origin, context, tags)
            tokens[: len(prompt)] = prompt
            weights[: last + 1] = 0.0
            weights[last + 1 + TAGGED_BARS :] = 0.0
            rows.append((tokens, weights, last))
        return _stack(rows)

    def _series(self, rng: np.random.Generator) -> CodedSeries:
        return self.series[int(rng.choice(len(self.series), p=self.shares))]

    def _pick(self, rng: np.random.Generator) -> tuple[CodedSeries, int, int]:
        series = self._series(rng)
        context = _context(rng)
        start = int(rng.integers(series.first_validation - N_BARS + 1))
        return series, start + context, context

    def _real(self, rng: np.random.Generator) -> tuple[Ints, Floats, int]:
        series, origin, context = self._pick(rng)
        bins = series.bins[origin - context : origin - context + N_BARS]
        return _row(series, origin, context, bins, ())

    def _tagged(self, rng: np.random.Generator) -> tuple[Ints, Floats, int]:
        series, origin, context = self._pick(rng)
        tags = draw_tags(rng)
        bins = series.bins[origin - context : origin - context + N_BARS].copy()
        drift, gain = planted_effects(tags, N_BARS - context, rng)
        bins[context:] = overlay(series, origin, drift, gain)
        return _row(series, origin, context, bins, tags)


def _stack(rows: list[tuple[Ints, Floats, int]]) -> TrainingBatch:
    return TrainingBatch(
        tokens=np.stack([row[0] for row in rows]),
        weights=np.stack([row[1] for row in rows]),
        as_of=np.asarray([row[2] for row in rows], dtype=np.int64),
    )


def overlay(series: CodedSeries, origin: int, drift: Floats, gain: Floats) -> Ints:
    """Return the bins of a real continuation with planted drift (sigma) and volatility factor."""
    scale = series.scale(origin)
    bins = []
    for step in range(len(drift)):
        z = series.returns[origin + step] / series.scale(origin + step).sigma
        planted = float(gain[step] * z + drift[step])
        bins.append(bin_of(planted))
        scale = scale.after(planted * scale.sigma)
    return np.asarray(bins, dtype=np.int64)


def prompt_row(series: CodedSeries, origin: int, context: int, tags: tuple[Tag, ...]) -> list[int]:
    """Return the prompt's ids as of a bar, the same as `ReturnCodec.encode`."""
    ids = [*head_tokens(series.asset_class, series.frequency)]
    ids += [words.BIN_START + int(b) for b in series.bins[origin - context : origin]]
    for tag in tags:
        ids += slot_tokens(_news(tag), tag.age_bars)
    ids += words.NO_NEWS * (words.N_SLOTS - len(tags))
    ids.append(clock_token(series.frequency, int(series.last_close_us[origin])))
    ids += scale_tokens(series.scale(origin))
    return ids


def _row(
    series: CodedSeries, origin: int, context: int, bins: Ints, tags: tuple[Tag, ...]
) -> tuple[Ints, Floats, int]:
    prompt = prompt_row(series, origin, context, tags)
    tail = [words.BIN_START + int(b) for b in bins[context:]]
    tokens = np.asarray(prompt + tail, dtype=np.int64)
    weights = (tokens >= words.BIN_START).astype(np.float64)
    if tags:
        weights[len(prompt) : len(prompt) + TAGGED_BARS] = TAGGED_WEIGHT
    return tokens, weights, len(prompt) - 1


def _synthetic(rng: np.random.Generator) -> tuple[Ints, Floats, int]:
    returns = synthetic_returns(rng, SYNTHETIC_LENGTH)
    bins, scales = trace(returns)
    hourly = rng.random() < 0.2  # noqa: PLR2004
    frequency = Frequency.HOURLY if hourly else Frequency.DAILY
    step_us = BAR_US[frequency]
    series = CodedSeries(
        name="synthetic",
        asset_class=UNSEEN_CLASSES[int(rng.integers(len(UNSEEN_CLASSES)))],
        frequency=frequency,
        returns=np.asarray(returns[BURN_IN:]),
        bins=bins,
        scales=scales,
        last_close_us=np.arange(len(bins), dtype=np.int64) * step_us
        + int(rng.integers(7)) * step_us,
        first_validation=len(bins),
    )
    context = _context(rng)
    origin = int(rng.integers(len(bins) - N_BARS + 1)) + context
    return _row(series, origin, context, bins[origin - context : origin - context + N_BARS], ())


def _context(rng: np.random.Generator) -> int:
    if rng.random() < FULL_SHARE:
        return words.MAX_CONTEXT
    return int(rng.integers(16, words.MAX_CONTEXT))


def _news(tag: Tag) -> NewsItem:
    return NewsItem(
        event_id="",
        published_us=0,
        event_type=EventType(tag.event_type),
        direction=tag.direction,
        strength=tag.strength,
        source_tier=1,
        headline="",
        source="",
    )
