"""`python -m scripts.research.hearing`: the command that makes pair v3."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from inference.errors import TrainingDataError
from scripts.research.hearing.card import words_page
from scripts.research.hearing.fitting import FitPlan
from scripts.research.hearing.making import make
from scripts.research.pair_v1.export import read_manifest
from scripts.research.pair_v1.phases import publish

_ABOUT = """\
Make pair v3: pair v2's table as drafter, and a target that is that table and hears words.

The words' part is fitted to planted worlds, on one thread in minutes; no data is needed. With
--data-dir its effect on real origins of 2014-2015 is measured too. Years from 2016 on are not read.
Repeatable: the same seed gives the same files. Ctrl-C loses at most 250 steps.
"""
_EXAMPLES = """\
examples:
  the shipped pair:
    python -m scripts.research.hearing --out state/pair_v3 --pair inference/models/pair_v3 \\
        --data-dir ../shared/data --page docs/measured/words.md
  a quick look, without real origins:
    python -m scripts.research.hearing --out state/try --steps 300
"""
_MODELS = Path(__file__).resolve().parents[3] / "inference" / "models"


def parser() -> argparse.ArgumentParser:
    """Return the command's argument parser."""
    made = argparse.ArgumentParser(
        prog="python -m scripts.research.hearing",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--out", type=Path, required=True, help="working folder: checkpoint and unpublished pair")
    add("--table", type=Path, default=_MODELS / "pair_v2", help="the pair that is the table")
    add("--data-dir", type=Path, help="folder with daily/, calendar/ and narrative/")
    add("--steps", type=int, default=FitPlan().steps, help="steps of the fit")
    add("--seed", type=int, default=FitPlan().seed, help="seed of the fit")
    add("--pair", type=Path, help="publish the finished pair to this folder")
    add("--page", type=Path, help="write the page of its figures to this file")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the phases; return 0 when done, 1 when an input is refused."""
    args = parser().parse_args(argv)
    torch.set_num_threads(1)
    plan = FitPlan(steps=args.steps, seed=args.seed)
    try:
        pair = make(args.table, args.out, plan, args.data_dir, _say)
    except TrainingDataError as error:
        print(f"training: {error.detail}", file=sys.stderr)
        return 1
    if args.pair is not None:
        publish(pair, args.pair)
        _say(f"published to {args.pair}")
    if args.page is not None:
        args.page.write_text(words_page(read_manifest(pair)))
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
