"""The training loop of the target: resumable, interruptible, bounded by wall time or steps.

The loss is the cross-entropy with an ordinal label: the true bin and its neighbours share the mass,
because they mean nearly the same return. Other ids get none (serving masks them too).

Depth grows during the run: the first part trains four layers while the others are identities, which
allows about twice the steps in the same time on a CPU. The last stage adds short sequences with
dense news at a raised learning rate, because tags are too rare in the even mixture.
"""

import math
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

import torch
from torch import Tensor
from torch.nn import functional

from inference.codec import vocabulary as words
from inference.training.model import ModelShape, SmallLlama, smooth_start
from scripts.research.pair_v1.checkpoint import (
    TrainingCheckpoint,
    load_checkpoint,
    save_checkpoint,
)
from scripts.research.pair_v1.windows import (
    DEFAULT_MIXTURE,
    NEWS_MIXTURE,
    Mixture,
    Sampler,
    TrainingBatch,
)

LABEL_SD_BINS: Final = 1.25
GROWTH: Final = ((0.0, 1 / 3), (0.40, 2 / 3), (0.65, 1.0))
"""(share of the run, share of the layers active from there on)"""
NEWS_FROM: Final = 0.7
"""Share of the run at which the stage of dense news begins."""
NEWS_RATE: Final = 2.0
PEAK_RATE: Final = 2e-3
LAST_RATE_SHARE: Final = 0.04
WARM_UP_STEPS: Final = 60
WEIGHT_DECAY: Final = 0.05
CLIP_NORM: Final = 1.0
AVERAGE_DECAY: Final = 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainPlan:
    """What determines a run; `steps`, unless 0, replaces `minutes`."""

    shape: ModelShape
    seed: int
    minutes: float
    steps: int = 0
    mixture: Mixture = DEFAULT_MIXTURE
    news_mixture: Mixture = NEWS_MIXTURE
    checkpoint_every_s: float = 120.0

    def document(self) -> dict[str, Any]:
        """Return what must be equal for a resume, and the minutes, which may differ."""
        return {
            "shape": asdict(self.shape),
            "seed": self.seed,
            "minutes": self.minutes,
            "steps": self.steps,
            "mixture": list(astuple(self.mixture)),
            "news_mixture": list(astuple(self.news_mixture)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """End of a run; `finished` is false after an interruption."""

    average: SmallLlama
    step: int
    elapsed_s: float
    finished: bool


def train(
    plan: TrainPlan, sampler: Sampler, checkpoint_path: Path, say: Callable[[str], None]
) -> TrainResult:
    """Train until the plan's end, from the checkpoint if it exists."""
    run = _Run(plan, sampler, checkpoint_path)
    if checkpoint_path.exists():
        run.restore()
        say(f"resuming at step {run.step}, {run.elapsed_s / 60:.1f} min done")
    with _Interrupt() as interrupt:
        last_saved = last_said = time.monotonic()
        while run.progress() < 1.0 and not interrupt.asked:
            run.advance()
            now = time.monotonic()
            if now - last_said > 10.0:  # noqa: PLR2004
                say(run.line())
                last_said = now
            if now - last_saved > plan.checkpoint_every_s:
                run.save()
                last_saved = time.monotonic()
        run.save()
    say(run.line())
    return TrainResult(
        average=run.average,
        step=run.step,
        elapsed_s=run.elapsed_s,
        finished=run.progress() >= 1.0,
    )


class _Interrupt:
    """Turns the first Ctrl-C into a request to stop after the step; a second one interrupts."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> Self:
        self._old = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._old)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


class _Run:
    def __init__(self, plan: TrainPlan, sampler: Sampler, path: Path) -> None:
        torch.manual_seed(plan.seed)
        self.plan, self.sampler, self.path = plan, sampler, path
        self.model = SmallLlama(plan.shape)
        smooth_start(self.model)
        self.average = SmallLlama(plan.shape)
        self.average.load_state_dict(self.model.state_dict())
        self.optimizer = torch.optim.AdamW(
            _groups(self.model), lr=PEAK_RATE, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY
        )
        self.labels = ordinal_labels()
        self.budgets = [plan.minutes]
        self.step, self.tokens, self.elapsed_s, self.loss = 0, 0, 0.0, math.nan

    def progress(self) -> float:
        if self.plan.steps:
            return self.step / self.plan.steps
        return self.elapsed_s / (60.0 * self.plan.minutes)

    def advance(self) -> None:
        started = time.monotonic()
        progress = self.progress()
        layers = self.plan.shape.layers
        share = max(part for start, part in GROWTH if progress >= start)
        self.model.active_layers = max(1, round(layers * share))
        for group in self.optimizer.param_groups:
            group["lr"] = rate(self.step, progress)
        mixture = self.plan.mixture if progress < NEWS_FROM else self.plan.news_mixture
        loss = batch_loss(self.model, self.sampler.batch(self.step, mixture), self.labels)
        if mixture.news:
            news = self.sampler.news_batch(self.step, mixture.news)
            loss = loss + batch_loss(self.model, news, self.labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.step()
        self.step += 1
        self.tokens += mixture.tokens
        self._follow()
        value = float(loss.detach()) / (2.0 if mixture.news else 1.0)
        self.loss = value if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * value
        self.elapsed_s += time.monotonic() - started

    def _follow(self) -> None:
        decay = min(AVERAGE_DECAY, (1.0 + self.step) / (10.0 + self.step))
        with torch.no_grad():
            pairs = zip(self.average.parameters(), self.model.parameters(), strict=True)
            for mean, now in pairs:
                mean.lerp_(now, 1.0 - decay)

    def line(self) -> str:
        speed = self.tokens / max(self.elapsed_s, 1e-9)
        return (
            f"{self.progress():6.1%}  step {self.step:5d}  {self.elapsed_s / 60:5.1f} min  "
            f"layers {self.model.active_layers:2d}  loss {self.loss:.4f}  {speed:.0f} tokens/s"
        )

    def save(self) -> None:
        save_checkpoint(
            TrainingCheckpoint(
                step=self.step,
                tokens=self.tokens,
                elapsed_s=self.elapsed_s,
                plan=self.plan.document(),
                budgets=self.budgets,
                model=self.model.state_dict(),
                average=self.average.state_dict(),
                optimizer=self.optimizer.state_dict(),
                torch_rng=torch.get_rng_state(),
            ),
            self.path,
        )

    def restore(self) -> None:
        saved = load_checkpoint(self.path, self.plan.document())
        self.model.load_state_dict(saved.model)
        self.average.load_state_dict(saved.average)
        self.optimizer.load_state_dict(saved.optimizer)
        torch.set_rng_state(saved.torch_rng)
        self.step, self.tokens, self.elapsed_s = saved.step, saved.tokens, saved.elapsed_s
        self.budgets = saved.budgets


def rate(step: int, progress: float) -> float:
    """Return the learning rate: warm-up by step, cosine decay by progress, raised for news."""
    warm = min(1.0, (step + 1) / WARM_UP_STEPS)
    wave = 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))
    raised = NEWS_RATE if progress >= NEWS_FROM else 1.0
    return PEAK_RATE * raised * warm * (LAST_RATE_SHARE + (1.0 - LAST_RATE_SHARE) * wave)


def ordinal_labels() -> Tensor:
    """Return label rows [256, 256]: a Gaussian over neighbouring bins; each row sums to one."""
    index = torch.arange(words.N_BINS, dtype=torch.float32)
    gaps = (index[:, None] - index[None, :]) / LABEL_SD_BINS
    rows = torch.exp(-0.5 * gaps * gaps) * (gaps.abs() <= 3.0)  # noqa: PLR2004
    return rows / rows.sum(dim=1, keepdim=True)


def batch_loss(model: SmallLlama, batch: TrainingBatch, labels: Tensor) -> Tensor:
    """Return the weighted mean cross-entropy, nats per bin, of a batch."""
    tokens = torch.from_numpy(batch.tokens)
    targets = tokens[:, 1:].reshape(-1)
    wanted = targets >= words.BIN_START
    weights = torch.from_numpy(batch.weights[:, 1:]).float().reshape(-1)[wanted]
    logits = model(tokens[:, :-1]).reshape(-1, words.VOCAB_SIZE)[wanted]
    rows = labels[targets[wanted] - words.BIN_START]
    chances = functional.log_softmax(logits, dim=-1)[:, words.BIN_START :]
    losses = -(rows * chances).sum(dim=-1)
    return (losses * weights).sum() / weights.sum()


def _groups(model: SmallLlama) -> list[dict[str, Any]]:
    matrices = [p for n, p in model.named_parameters() if p.ndim > 1 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim == 1 or "embed" in n]
    return [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
