"""`python -m scripts.research.joint`: the command that measures joint paths and writes the page."""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.numpy import load_file

from inference.errors import TrainingDataError
from inference.scale.correlation import KEEP_BP
from inference.training.series import Floats
from scripts.research.joint.collecting import collected
from scripts.research.joint.figures import PERIODS, figures, part_of, widths
from scripts.research.joint.ground import PAIRS, PairGround, pair_ground
from scripts.research.joint.memory import choices
from scripts.research.joint.page import joint_page
from scripts.research.joint.sampling import PATHS, WAYS, row_of
from scripts.research.joint.served import row_distance
from scripts.research.scaled.history import FitShelf
from scripts.research.sources import RawSeries, raw_series

_ABOUT = """\
Measure joint paths of three pairs of indices, 2005-2017, against what happened.

Every series is fitted quarter by quarter on its own past; every common day is an origin with 1,024
paths of ten days, joined as before and by day. Repeatable: the same data give the same page. Fits
and origins are kept in the working folder, so that a run that was stopped goes on.
"""
_EXAMPLES = """\
examples:
  the page, in about half an hour on one core:
    python -m scripts.research.joint --out state/joint --data-dir ../shared/data \\
        --page docs/measured/joint.md
"""
_ROOT: Final = Path(__file__).resolve().parents[3]
_PAIR: Final = _ROOT / "inference" / "models" / "pair_v4"
FIGURES: Final = "figures.json"


def parser() -> argparse.ArgumentParser:
    """Return the command's argument parser."""
    made = argparse.ArgumentParser(
        prog="python -m scripts.research.joint",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--out", type=Path, required=True, help="working folder: fits, origins and figures")
    add("--data-dir", type=Path, required=True, help="folder with daily/*.csv.gz")
    add("--limit", type=int, default=0, help="first origins of each pair only; 0 is all")
    add("--again", action="store_true", help="write the page of the figures that are there")
    add("--page", type=Path, help="page to write")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return 0 when done, 1 when the data is refused."""
    args = parser().parse_args(argv)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.again:
        args.page.write_text(joint_page(json.loads((args.out / FIGURES).read_text())))
        return 0
    table = load_file(_PAIR / "table.safetensors")["q"]
    try:
        raws = [raw for raw in raw_series(args.data_dir) if any(raw.name in p for p in PAIRS)]
        pairs = pair_ground(raws, FitShelf(args.out / "fits.jsonl"), _say)
    except TrainingDataError as error:
        print(f"joint paths: {error.detail}", file=sys.stderr)
        return 1
    found = {
        "ran": _ran(raws, pairs, table, args.limit),
        "pairs": {one.name: _figures(one, table, args.out, args.limit) for one in pairs},
    }
    (args.out / FIGURES).write_text(json.dumps(found, indent=1))
    if args.page is not None:
        args.page.write_text(joint_page(found))
    return 0


def _figures(pair: PairGround, table: Floats, folder: Path, limit: int) -> dict[str, Any]:
    said = collected(pair, table, folder, limit, _say)
    rows = (row_of(table, pair.one), row_of(table, pair.other))
    found: dict[str, Any] = {}
    for period in PERIODS:
        part = part_of(said["days"], period)
        if not len(part):
            continue
        found[period] = {way: figures(pair, said, way, period) for way in WAYS}
        found[period]["widths"] = widths(pair, said, "alike", period)
        found[period]["memory"] = choices(pair, rows, part)
        _say(f"{pair.name}: figures of {period}")
    return found


def _ran(
    raws: Sequence[RawSeries], pairs: Sequence[PairGround], table: Floats, limit: int
) -> dict[str, Any]:
    manifest = hashlib.sha256((_PAIR / "manifest.json").read_bytes()).hexdigest()
    return {
        "commit": _commit(),
        "manifest": manifest[:16] + "..",
        "paths": PATHS,
        "keep": f"{KEEP_BP:,}",
        "origins": min(limit or sys.maxsize, *(len(one.where) for one in pairs)),
        "distance": row_distance(_PAIR, table),
        "sources": ", ".join(f"{one.name} {one.sha256[:12]}" for one in raws),
    }


def _commit() -> str:
    words = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
