"""`python -m scripts.research.pair_v1`: the command that makes the model pair."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from inference.errors import TrainingDataError
from inference.training.model import TARGET
from scripts.research.pair_v1.evaluate import Effort
from scripts.research.pair_v1.phases import PhaseWork, publish, run_distil, run_evaluate, run_train
from scripts.research.pair_v1.train import TrainPlan
from scripts.research.series import code_all
from scripts.research.sources import raw_series

_ABOUT = """\
Make the model pair that Countersign serves: a target that forecasts scaled returns, and two
drafters distilled from it (a one-layer network and a table).

Three phases, each resumable from files in --out:
  train      the target, on series up to 2015 (2016-2017 validate; later data is not read)
  distil     the drafters, from continuations that the target draws
  evaluate   skill against EWMA, the effect of news, model card and manifest
Ctrl-C saves a checkpoint; the same command with --resume continues with the same result.
More --minutes on --resume lengthen the schedule; the manifest then says so.
"""
_EXAMPLES = """\
examples:
  the shipped pair, about an hour on two cores:
    python -m scripts.research.pair_v1 --minutes 50 --out state/training \\
        --pair inference/models/pair_v1
  continue after an interruption:
    python -m scripts.research.pair_v1 --minutes 50 --out state/training --resume
  try all phases in three minutes (poor weights):
    python -m scripts.research.pair_v1 --minutes 1 --distil-minutes 1 --quick --out state/try
  measure an existing pair again:
    python -m scripts.research.pair_v1 --phase evaluate --out state/training

data: --data-dir, else the variable DATA_DIR, else ../shared/data if it exists, else only the
series of the arch package. Start with `nice -n 10` to leave the processor to other programs.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command's argument parser."""
    make = argparse.ArgumentParser(
        prog="python -m scripts.research.pair_v1",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = make.add_argument
    add("--out", type=Path, required=True, help="working folder: checkpoint and unpublished pair")
    add("--data-dir", type=Path, help="folder with daily/ and hourly/ *.csv.gz")
    add("--minutes", type=float, default=45.0, help="training time of the target (default 45)")
    add("--steps", type=int, default=0, help="train this many steps instead: repeatable exactly")
    add("--distil-minutes", type=float, default=8.0, help="time for the drafters (default 8)")
    add("--quick", action="store_true", help="evaluate few origins")
    add("--pair", type=Path, help="publish the finished pair to this folder")
    add("--resume", action="store_true", help="continue from the checkpoint in --out")
    add("--phase", choices=("all", "train", "distil", "evaluate"), default="all")
    add("--threads", type=int, default=2, help="CPU threads (default 2)")
    add("--seed", type=int, default=20261121, help="seed of weights and batches")
    return make


def main(argv: Sequence[str] | None = None) -> int:
    """Run the phases; return 0 when done, 1 when refused, 130 when interrupted (resumable)."""
    args = parser().parse_args(argv)
    torch.set_num_threads(args.threads)
    try:
        return _run(args)
    except TrainingDataError as error:
        print(f"training: {error.detail}", file=sys.stderr)
        return 1


def _run(args: argparse.Namespace) -> int:
    data_dir = args.data_dir or _default_data_dir()
    _say(f"reading {data_dir or 'the series of the arch package'}")
    coded, rows = code_all(raw_series(data_dir))
    _say(f"{len(coded)} series, {sum(row.train_returns for row in rows):,} returns to train on")
    work = PhaseWork(
        out=args.out, coded=coded, rows=rows, seed=args.seed, threads=args.threads, say=_say
    )
    if args.phase in {"all", "train"}:
        plan = TrainPlan(shape=TARGET, seed=args.seed, minutes=args.minutes, steps=args.steps)
        if not run_train(work, plan, resume=args.resume).finished:
            _say("interrupted; repeat the command with --resume to continue")
            return 130
    if args.phase in {"all", "distil"}:
        run_distil(work, args.distil_minutes)
    if args.phase in {"all", "evaluate"}:
        quick = Effort(exact_long=8, exact_short=2, sampled=2)
        run_evaluate(work, quick if args.quick else Effort())
    if args.pair is not None:
        publish(work.pair, args.pair)
        _say(f"published to {args.pair}")
    return 0


def _default_data_dir() -> Path | None:
    named = os.environ.get("DATA_DIR")
    if named:
        return Path(named)
    shared = Path(__file__).resolve().parents[4] / "shared" / "data"
    return shared if shared.is_dir() else None


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
