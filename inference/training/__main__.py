"""``python -m inference.training``: see ``--help``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from inference.training.model import TARGET
from inference.training.series import code_all
from inference.training.sources import raw_series
from inference.training.train import TrainPlan, train
from inference.training.windows import Sampler


def main() -> int:
    """Run the phases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    coded, _ = code_all(raw_series(args.data_dir))
    plan = TrainPlan(shape=TARGET, seed=args.seed, minutes=args.minutes)
    result = train(
        plan,
        Sampler(coded, args.seed),
        args.out / "checkpoint.pt",
        lambda line: print(line, flush=True),
    )
    return 0 if result.finished else 130


if __name__ == "__main__":
    sys.exit(main())
