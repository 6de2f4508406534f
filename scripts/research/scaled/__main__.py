"""`python -m scripts.research.scaled`: the command that makes pair v2."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from inference.errors import TrainingDataError
from scripts.research.pair_v1.phases import publish
from scripts.research.scaled.making import choose, make, prepare
from scripts.research.sources import raw_series

_ABOUT = """\
Make pair v2: the table on the fitted scale, as a target that vLLM serves.

Every series is cut at the end of 2015 and fitted quarter by quarter on its own past (GARCH-t, GJR-t
and, where it has highs and lows, a log-HAR on ranges). The table is learnt until 2013 and judged
on 2014-2015 against EWMA, GARCH-t and GJR-t; the shipped weights are learnt until 2015. Years from
2016 on are not read. Repeatable: the same data give the same files. Ctrl-C loses at most one fit.
"""
_EXAMPLES = """\
examples:
  the shipped pair, half an hour on one core:
    python -m scripts.research.scaled --out state/pair_v2 --pair inference/models/pair_v2
  from the series of the arch package alone:
    python -m scripts.research.scaled --out state/try --no-data
"""


def parser() -> argparse.ArgumentParser:
    """Return the command's argument parser."""
    made = argparse.ArgumentParser(
        prog="python -m scripts.research.scaled",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--out", type=Path, required=True, help="working folder: fits and the unpublished pair")
    add("--data-dir", type=Path, help="folder with daily/ and hourly/ *.csv.gz")
    add("--no-data", action="store_true", help="use the series of the arch package only")
    add("--pair", type=Path, help="publish the finished pair to this folder")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the phases; return 0 when done, 1 when the data are refused."""
    args = parser().parse_args(argv)
    torch.set_num_threads(1)
    folder = None if args.no_data else args.data_dir or _default_data_dir()
    try:
        ground = prepare(list(raw_series(folder)), args.out, _say)
    except TrainingDataError as error:
        print(f"training: {error.detail}", file=sys.stderr)
        return 1
    pair = make(ground, choose(ground))
    if args.pair is not None:
        publish(pair, args.pair)
        _say(f"published to {args.pair}")
    return 0


def _default_data_dir() -> Path | None:
    shared = Path(__file__).resolve().parents[4] / "shared" / "data"
    return shared if shared.is_dir() else None


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
