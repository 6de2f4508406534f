"""Training state on disk: all of it or the one before, never half a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from inference.errors import TrainingDataError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCheckpoint:
    """Everything a run needs to go on as if nothing had happened.

    ``budgets`` are the minutes the run was given, one entry per change: a longer budget on resume
    stretches the schedule, which the manifest must say.
    """

    step: int
    tokens: int
    elapsed_s: float
    plan: dict[str, Any]
    budgets: list[float]
    model: dict[str, Any]
    average: dict[str, Any]
    optimizer: dict[str, Any]
    torch_rng: torch.Tensor


def save_checkpoint(checkpoint: TrainingCheckpoint, path: Path) -> None:
    """Write beside, flush to disk, then rename over the old one."""
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
        TrainingDataError: The checkpoint belongs to another plan: its steps would not match.
    """
    fields = torch.load(path, weights_only=True)
    if {**fields["plan"], "minutes": plan["minutes"]} != plan:
        raise TrainingDataError(f"expected a checkpoint of {plan}, was {fields['plan']}")
    if fields["budgets"][-1] != plan["minutes"]:
        fields["budgets"].append(plan["minutes"])
    return TrainingCheckpoint(**{**fields, "plan": plan})
