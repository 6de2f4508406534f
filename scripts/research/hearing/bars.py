"""The bars on unseen planted worlds, measured on the network as it is stored.

Worlds have other seeds and parameters of their own from the stated ranges. Prompts are whole ones;
rows come from the network's forward pass over the words as tokens.

    dose      what a word does to mean and spread of the first bar
    skill     CRPS with the tags as told, without, and with the tags of other prompts
    detected  whether excess rejection tells prompts with a true tag from prompts without any
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import torch

from inference.codec import vocabulary as words
from inference.codec.bins import FIRST_MOMENTS, SECOND_MOMENTS
from inference.snapshot import Direction, EventType, Strength
from inference.training.evaluation.score import EDGES, row_crps
from inference.training.model import SmallLlama
from inference.training.series import Floats, Ints
from scripts.research.hearing.worlds import (
    ECHO,
    N_TAGGED,
    ToldEvents,
    Worlds,
    draw_events,
    draw_worlds,
    planted,
    planted_rows,
)
from scripts.research.scaled.table_target import N_PAIRS

SEED: Final = 20_128
WORLDS: Final = 200
PROMPTS: Final = 50
"""Prompts of each world."""
BARS: Final = 5
PATHS: Final = 32
MISSING: Final = (0.1, 0.3)
"""Share of a world's events that nobody told."""
SCHEDULED: Final = (EventType.EARNINGS, EventType.MACRO)
_CONTEXT: Final = 16
_CHUNK: Final = 2000
_MIDDLE: Final = words.BIN_START + words.N_BINS // 2


def rows_of(model: SmallLlama, groups: Ints, events: ToldEvents, bars: int) -> Floats:
    """Return the network's rows [n, bars, 256] of prompts of these groups with these events."""
    tokens = np.asarray(
        [_prompt(int(group), events, index, bars) for index, group in enumerate(groups)]
    )
    found = []
    with torch.no_grad():
        for start in range(0, len(tokens), _CHUNK):
            logits = model(torch.from_numpy(tokens[start : start + _CHUNK]))
            part = logits[:, -bars:, words.BIN_START :]
            found.append(torch.softmax(part.double(), dim=-1).numpy())
    return np.concatenate(found)


def _prompt(group: int, events: ToldEvents, index: int, bars: int) -> list[int]:
    """Return a prompt's ids and `bars - 1` bins after it; bins change no row."""
    frequency, kind = divmod(group, words.N_CLASSES)
    ids = [words.BOS, words.CLASS_START + kind, words.FREQUENCY_START + frequency]
    ids += [words.BIN_START + 64 + (37 * (index + j)) % 128 for j in range(_CONTEXT)]
    leans, ages = events.lean()[index], events.age_word()[index]
    for slot, event in enumerate(events.types[index]):
        if event < 0:
            ids += words.NO_NEWS
        else:
            starts = (words.TYPE_START, words.LEAN_START, words.AGE_START)
            ids += [
                a + int(b) for a, b in zip(starts, (event, leans[slot], ages[slot]), strict=True)
            ]
    ids += [words.CLOCK_START + index % words.N_WEEKDAYS, words.RATIO_START + index % 16]
    return [*ids, words.LEVEL_START + index % words.N_LEVELS, *[_MIDDLE] * (bars - 1)]


def law_of(rows: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of z under rows [..., 256]."""
    mean = rows @ np.asarray(FIRST_MOMENTS)
    square = rows @ np.asarray(SECOND_MOMENTS)
    return mean, np.sqrt(square - mean * mean)


def silent(count: int) -> ToldEvents:
    """Return prompts without news."""
    slots = np.zeros((count, words.N_SLOTS), dtype=np.int64)
    return ToldEvents(types=slots - 1, directions=slots, strong=slots, ages=slots)


def one_event(
    kind: EventType, direction: Direction, strength: Strength, age: int = 0
) -> ToldEvents:
    """Return one prompt of each group with the same single event."""
    none = silent(N_PAIRS)
    first = np.zeros_like(none.types, dtype=bool)
    first[:, 0] = True
    lean = list(Direction).index(direction) - 1
    return ToldEvents(
        types=np.where(first, words.EVENT_TYPES.index(kind), none.types),
        directions=np.where(first, lean, 0),
        strong=np.where(first, list(Strength).index(strength), 0),
        ages=np.where(first, age, 0),
    )


def dose(model: SmallLlama) -> dict[str, Any]:
    """Return shifts (sigma) and spread ratios of the first bar by words, over all groups."""
    groups = np.arange(N_PAIRS)
    mean, spread = law_of(rows_of(model, groups, silent(N_PAIRS), 1)[:, 0])
    shifts: dict[str, Any] = {}
    ratios: dict[str, Any] = {}
    echo = 0.0
    for kind in words.EVENT_TYPES[:N_TAGGED]:
        for direction in Direction:
            for strength in Strength:
                events = one_event(kind, direction, strength)
                moved, wide = law_of(rows_of(model, groups, events, 1)[:, 0])
                name = f"{direction.value}_{strength.value}"
                if kind is EventType.ECHO:
                    echo = max(echo, float(np.abs(moved - mean).max()))
                    continue
                shifts.setdefault(name, []).append(float((moved - mean).mean()))
                if name == "neutral_strong":
                    ratios[kind.value] = round(float((wide / spread).mean()), 3)
    ladder = ("negative_strong", "negative_weak", "neutral_weak", "positive_weak")
    means = {name: round(float(np.mean(found)), 4) for name, found in shifts.items()}
    steps = [means[name] for name in (*ladder, "positive_strong")]
    return {
        "mean_shift_sigma": means,
        "largest_of_a_type": {n: round(float(max(f, key=abs)), 4) for n, f in shifts.items()},
        "strong_positive_minus_negative": round(steps[-1] - steps[0], 4),
        "smallest_of_a_type": round(
            min(
                a - b
                for a, b in zip(shifts["positive_strong"], shifts["negative_strong"], strict=True)
            ),
            4,
        ),
        "monotone": bool(np.all(np.diff(steps) > 0.0)),
        "echo_shift_max": round(echo, 6),
        "spread_ratio_strong": ratios,
        "scheduled": {kind.value: ratios[kind.value] for kind in SCHEDULED},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampled:
    """n prompts of one world each: what happened, what was told, and what the network says."""

    told: ToldEvents
    acting: ToldEvents
    values: Floats
    """[n, bars]"""
    rows: Floats
    """[n, bars, 256] with the tags as told"""
    plain: Floats
    """[n, bars, 256] without any"""
    groups: Ints


def sample(model: SmallLlama, rng: np.random.Generator) -> _Sampled:
    """Return prompts of `WORLDS` unseen worlds, `PROMPTS` of each in a row."""
    count = WORLDS * PROMPTS
    each = np.repeat(np.arange(WORLDS), PROMPTS)
    drawn = draw_worlds(rng, WORLDS)
    worlds = Worlds(**{name: getattr(drawn, name)[each] for name in Worlds.__slots__})
    happened = draw_events(rng, count)
    quiet = rng.random(count) < 1.0 / 3.0
    types = np.where(quiet[:, None], -1, happened.types)
    happened = replace(happened, types=types)
    missing = rng.random(types.shape) < rng.uniform(*MISSING, WORLDS)[each][:, None]
    told = _pushed(replace(happened, types=np.where(missing, -1, types)))
    groups = rng.integers(N_PAIRS, size=count)
    plain = rows_of(model, groups, silent(count), BARS)
    steps = np.tile(np.arange(BARS), (count, 1))
    shift, factor = planted(worlds, happened, steps, rng)
    flat = planted_rows(plain.reshape(-1, words.N_BINS), shift.reshape(-1), factor.reshape(-1))
    return _Sampled(
        told=told,
        acting=happened,
        values=drawn_from(flat, rng).reshape(count, BARS),
        rows=rows_of(model, groups, told, BARS),
        plain=plain,
        groups=groups,
    )


def _pushed(events: ToldEvents) -> ToldEvents:
    """Return the events with the empty slots last, as a prompt has them."""
    order = np.argsort(events.types < 0, axis=1, kind="stable")
    parts = {n: np.take_along_axis(getattr(events, n), order, 1) for n in ToldEvents.__slots__}
    return ToldEvents(**parts)


def drawn_from(rows: Floats, rng: np.random.Generator) -> Floats:
    """Return one value of z from each row [n, 256]."""
    sums = np.cumsum(rows, axis=1)
    index = (rng.random(len(rows))[:, None] * sums[:, -1:] >= sums).sum(axis=1)
    index = np.minimum(index, words.N_BINS - 1)
    return np.asarray(EDGES[index] + rng.random(len(rows)) * np.diff(EDGES)[index])


def skill(model: SmallLlama, found: _Sampled, rng: np.random.Generator) -> dict[str, Any]:
    """Return mean CRPS (sigma) over the first bars, and paired t over worlds."""
    count = len(found.groups)
    own = np.arange(count).reshape(WORLDS, PROMPTS)
    turned = np.concatenate([rng.permutation(part) for part in own])
    shuffled = ToldEvents(**{n: getattr(found.told, n)[turned] for n in ToldEvents.__slots__})
    other = rows_of(model, found.groups, shuffled, BARS)
    scores = {
        name: _by_world(rows, found.values)
        for name, rows in (("told", found.rows), ("without", found.plain), ("shuffled", other))
    }
    return {
        "worlds": WORLDS,
        "prompts": count,
        "crps": {name: round(float(score.mean()), 5) for name, score in scores.items()},
        "told_over_without": round(float(scores["told"].mean() / scores["without"].mean()), 5),
        "shuffled_over_without": round(
            float(scores["shuffled"].mean() / scores["without"].mean()), 5
        ),
        "t_without_minus_told": _paired_t(scores["without"] - scores["told"]),
        "t_shuffled_minus_without": _paired_t(scores["shuffled"] - scores["without"]),
    }


def _by_world(rows: Floats, values: Floats) -> Floats:
    flat = row_crps(rows.reshape(-1, words.N_BINS), values.reshape(-1))
    return np.asarray(flat.reshape(WORLDS, -1).mean(axis=1))


def _paired_t(gains: Floats) -> float:
    return round(float(gains.mean() / (gains.std(ddof=1) / np.sqrt(len(gains)))), 2)


def detected(found: _Sampled, rng: np.random.Generator) -> dict[str, Any]:
    """Return the area under the curve of three statistics, against prompts without any tag.

    `variation` is the total variation of the first bar's rows; `excess` the mean of 1 - p / q over
    drafts of `PATHS` paths, where p < q; `rejected` the share of those drafts that were rejected.
    The drafter's row q is the row without words.
    """
    variation = 0.5 * np.abs(found.rows - found.plain).sum(axis=-1)[:, 0]
    excess, rejected = _drafted(found, rng)
    spoken = found.told.types >= 0
    none = ~spoken.any(axis=1)
    single = spoken.sum(axis=1) == 1
    first, strong = found.told.types[:, 0], found.told.strong[:, 0] == 1
    fresh = found.told.ages[:, 0] == 0
    echo = single & (first == ECHO)
    speaks = single & (first != ECHO)
    kinds = {
        "fresh strong tags": speaks & strong & fresh,
        "fresh weak tags": speaks & ~strong & fresh,
        "all single tags": speaks,
        "echo": echo,
    }
    report: dict[str, Any] = {}
    for name, chosen in kinds.items():
        report[name] = {"prompts": int(chosen.sum())} | {
            label: round(area(score[chosen], score[none]), 4)
            for label, score in (
                ("variation", variation),
                ("excess", excess),
                ("rejected", rejected),
            )
        }
        report[name]["mean_variation"] = round(float(variation[chosen].mean()), 5)
        report[name]["mean_rejected"] = round(float(rejected[chosen].mean()), 5)
    report["none"] = {
        "prompts": int(none.sum()),
        "mean_variation": round(float(variation[none].mean()), 9),
        "mean_rejected": round(float(rejected[none].mean()), 9),
    }
    return report


def _drafted(found: _Sampled, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return excess and rejected share of `PATHS` first drafts of each prompt."""
    q, p = found.plain[:, 0], found.rows[:, 0]
    sums = np.cumsum(q, axis=1)
    excess, rejected = np.zeros((2, len(q)))
    where = np.arange(len(q))
    for _ in range(PATHS):
        index = (rng.random(len(q))[:, None] * sums[:, -1:] >= sums).sum(axis=1)
        index = np.minimum(index, words.N_BINS - 1)
        short = np.maximum(1.0 - p[where, index] / q[where, index], 0.0)
        excess += short / PATHS
        rejected += (rng.random(len(q)) < short) / PATHS
    return excess, rejected


def area(positive: Floats, negative: Floats) -> float:
    """Return P(positive > negative) + P(equal) / 2, the area under the curve."""
    if not len(positive) or not len(negative):
        return float("nan")
    ordered = np.sort(negative)
    low = np.searchsorted(ordered, positive, side="left")
    high = np.searchsorted(ordered, positive, side="right")
    return float((low + high).mean() / 2.0 / len(negative))


def planted_bars(model: SmallLlama) -> dict[str, Any]:
    """Return all figures on unseen planted worlds."""
    rng = np.random.default_rng(SEED)
    found = sample(model, rng)
    return {
        "dose": dose(model),
        "skill": skill(model, found, rng),
        "detected": detected(found, rng),
    }
