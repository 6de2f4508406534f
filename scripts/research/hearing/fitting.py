"""Fit the words' part to planted worlds, by gradient descent; seeded and resumable.

A step draws prompts, each with a world and events of its own, and bars after it. Its target is the
row of that bar in that world: every draw from it is a sample of what such words may mean. The mean
over worlds, false and late tags is what least cross-entropy finds, so a word is worth as much as it
was worth on average, and no more. Using rows instead of single draws has the same mean gradient.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from inference.codec import vocabulary as words
from inference.errors import TrainingDataError
from inference.training.series import Floats, Ints
from scripts.research.hearing.target import WordsPart
from scripts.research.hearing.worlds import (
    ECHO,
    ToldEvents,
    draw_events,
    draw_worlds,
    planted,
    planted_rows,
)

CHECKPOINT: Final = "hearing.pt"
LAST_BAR: Final = 24
_EVERY: Final = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """How long and how finely to fit."""

    seed: int = 128
    steps: int = 6000
    prompts: int = 384
    bars: int = 3
    """Bars of each prompt in a step; the first is always among them."""
    rate: float = 4e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedBatch:
    """What one step learns from: n prompts, s bars of each."""

    events: ToldEvents
    rows: Floats
    """The numbers' rows [n, 256]."""
    bars: Ints
    """[n, s]"""
    wanted: Floats
    """[n, s, 256]"""


def batch_of(table: Floats, plan: FitPlan, step: int) -> PlantedBatch:
    """Return the batch of a step: a function of (seed, step)."""
    rng = np.random.default_rng((plan.seed, step))
    count = plan.prompts
    events = draw_events(rng, count)
    later = rng.integers(1, LAST_BAR, size=(count, plan.bars - 1))
    bars = np.concatenate((np.zeros((count, 1), dtype=np.int64), later), axis=1)
    shift, factor = planted(draw_worlds(rng, count), events, bars, rng)
    rows = table[rng.integers(len(table), size=count)]
    each = np.repeat(rows, plan.bars, axis=0)
    wanted = planted_rows(each, shift.reshape(-1), factor.reshape(-1))
    return PlantedBatch(
        events=events, rows=rows, bars=bars, wanted=wanted.reshape(count, plan.bars, words.N_BINS)
    )


def summed(heard: Tensor, events: ToldEvents) -> Tensor:
    """Return the sum of the events that speak [n, 32]."""
    speaks = torch.from_numpy((events.types >= 0) & (events.types != ECHO))
    types = torch.from_numpy(events.types).clamp(0, ECHO - 1)
    each = heard[types, torch.from_numpy(events.lean()), torch.from_numpy(events.age_word())]
    return torch.where(speaks[..., None], each, 0.0).sum(dim=1)


def loss_of(hearing: WordsPart, batch: PlantedBatch) -> Tensor:
    """Return the mean cross-entropy above that of the planted rows, in nats."""
    moved = hearing.moved(summed(hearing.heard(), batch.events), torch.from_numpy(batch.bars))
    logits = hearing.logits(torch.from_numpy(batch.rows).float(), moved)
    wanted = torch.from_numpy(batch.wanted).float()
    least = torch.xlogy(wanted, wanted).sum(-1).mean()
    return least - (wanted * torch.log_softmax(logits, dim=-1)).sum(-1).mean()


def fit(table: Floats, plan: FitPlan, out: Path, say: Callable[[str], None]) -> WordsPart:
    """Return the fitted words' part; a checkpoint in `out` of the same plan is continued.

    Raises:
        TrainingDataError: the checkpoint is of another plan.
    """
    hearing = WordsPart(torch.Generator().manual_seed(plan.seed))
    optimiser = torch.optim.Adam(hearing.parameters(), lr=plan.rate)
    done = _resumed(out / CHECKPOINT, plan, hearing, optimiser)
    began = time.monotonic()
    for step in range(done, plan.steps):
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * _rate_share(step, plan.steps)
        loss = loss_of(hearing, batch_of(table, plan, step))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % _EVERY == 0 or step + 1 == plan.steps:
            _save(out / CHECKPOINT, plan, step + 1, hearing, optimiser)
            left = (time.monotonic() - began) / (step + 1 - done) * (plan.steps - step - 1)
            say(f"step {step + 1} of {plan.steps}: {loss.item():.6f} nats, {left:.0f} s left")
    return hearing


def _rate_share(step: int, steps: int) -> float:
    """Return the learning rate as a share: a short rise, then a straight fall to 2 %."""
    rise = max(1, min(100, steps // 10))
    return min((step + 1) / rise, 1.0) * (1.0 - 0.98 * step / steps)


def _save(
    path: Path, plan: FitPlan, step: int, hearing: WordsPart, optimiser: torch.optim.Optimizer
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    state = {"hearing": hearing.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save({"plan": asdict(plan), "step": step, **state}, partial)
    partial.replace(path)


def _resumed(
    path: Path, plan: FitPlan, hearing: WordsPart, optimiser: torch.optim.Optimizer
) -> int:
    if not path.exists():
        return 0
    kept: dict[str, Any] = torch.load(path, weights_only=True)
    if kept["plan"] != asdict(plan):
        raise TrainingDataError(f"expected a checkpoint of {asdict(plan)}, was {kept['plan']}")
    hearing.load_state_dict(kept["hearing"])
    optimiser.load_state_dict(kept["optimiser"])
    return int(kept["step"])
