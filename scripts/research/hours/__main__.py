"""`python -m scripts.research.hours`: the command that makes pair v4 and its page."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from inference.errors import TrainingDataError
from scripts.research.hours.figures import fold_figures
from scripts.research.hours.ground import FITS, hour_series
from scripts.research.hours.making import make
from scripts.research.hours.page import hours_page
from scripts.research.pair_v1.export import read_manifest
from scripts.research.pair_v1.phases import publish
from scripts.research.scaled.history import FitShelf
from scripts.research.sources import raw_series

_ABOUT = """\
Make pair v4: pair v3 with rows of hourly returns that were divided by the size of their hour.

Every hourly series is cut at the end of 2015 and fitted quarter by quarter on its own past, with
and without the sizes of its hours; both are scored on each fold with rows learnt before it. Years
from 2016 on are not read. Repeatable: the same data give the same files. Ctrl-C loses at most one
fit.
"""
_EXAMPLES = """\
examples:
  the shipped pair and its page, in minutes on one core:
    python -m scripts.research.hours --out state/pair_v4 --data-dir ../shared/data \\
        --pair inference/models/pair_v4 --page docs/measured/hourly.md
"""
_MODELS = Path(__file__).resolve().parents[3] / "inference" / "models"


def parser() -> argparse.ArgumentParser:
    """Return the command's argument parser."""
    made = argparse.ArgumentParser(
        prog="python -m scripts.research.hours",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--out", type=Path, required=True, help="working folder: fits and the unpublished pair")
    add("--data-dir", type=Path, required=True, help="folder with daily/ and hourly/ *.csv.gz")
    add("--base", type=Path, default=_MODELS / "pair_v3", help="the pair whose daily rows stay")
    add("--pair", type=Path, help="publish the finished pair to this folder")
    add("--page", type=Path, help="write the page of its figures to this file")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the phases; return 0 when done, 1 when an input is refused."""
    args = parser().parse_args(argv)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        ground = hour_series(raw_series(args.data_dir), FitShelf(args.out / FITS), _say)
        figures = fold_figures(ground)
        _say(json.dumps(figures))
        pair = make(args.base, ground, figures, args.out)
    except TrainingDataError as error:
        print(f"training: {error.detail}", file=sys.stderr)
        return 1
    if args.pair is not None:
        publish(pair, args.pair)
        _say(f"published to {args.pair}")
    if args.page is not None:
        args.page.write_text(hours_page(read_manifest(pair)))
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
