"""Training state on disk; a crash leaves the new checkpoint or the one before."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from inference.errors import TrainingDataError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCheckpoint:
    """Everything that a resumed run needs to give the same result."""

    step: int
    tokens: int
    elapsed_s: float
    plan: dict[str, Any]
    budgets: list[float]  # minutes, one entry per change on resume; the manifest has them
    model: dict[str, Any]
    average: dict[str, Any]
    optimizer: dict[str, Any]
    torch_rng: torch.Tensor


def save_checkpoint(checkpoint: TrainingCheckpoint, path: Path) -> None:
    """Write a partial file, flush it to disk, then rename it over the old checkpoint."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    fields = {name: getattr(checkpoint, name) for name in TrainingCheckpoint.__slots__}
    with partial.open("wb") as file:
        torch.save(fields, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load_checkpoint(path: Path, plan: dict[str, Any]) -> TrainingCheckpoint:
    """Read a checkpoint of the same plan; only the minutes may differ.

    Raises:
        TrainingDataError: when the checkpoint belongs to another plan.
    """
    fields = torch.load(path, weights_only=True)
    if {**fields["plan"], "minutes": plan["minutes"]} != plan:
        raise TrainingDataError(f"expected a checkpoint of {plan}, was {fields['plan']}")
    if fields["budgets"][-1] != plan["minutes"]:
        fields["budgets"].append(plan["minutes"])
    return TrainingCheckpoint(**{**fields, "plan": plan})
