"""`python -m scripts.research.judged`: choose on 2014-2015, then look at 2016-2017 once."""

import argparse
import getpass
import hashlib
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from safetensors.numpy import load_file

from inference.errors import TrainingDataError
from inference.training.evaluation.walkforward.looks import Look, record_look
from inference.training.series import Floats
from scripts.research.judged.ground import ground_digest, judged_series
from scripts.research.judged.judge import judge
from scripts.research.judged.page import evaluation_page
from scripts.research.scaled.choice import CHOICE_END_US, LEARN_END_US
from scripts.research.scaled.history import FitShelf
from scripts.research.sources import VALIDATION_END_US, raw_series

_ABOUT = """\
Judge pair v2 as a desk would, against the one baseline that was best on 2014-2015.

`choose` reads nothing after 2015 and writes the manifest: series (one per company), their digests,
the baseline, figures of 2014-2015. `look` records itself first, then scores 2016-2017 against what
the manifest froze, and writes the page. Ctrl-C loses at most one fit; fits are kept.
"""
_EXAMPLES = """\
examples:
  python -m scripts.research.judged choose --data-dir ../shared/data --manifest M.json
  python -m scripts.research.judged look --data-dir ../shared/data --manifest M.json \\
      --at 2026-11-23T19:00 --page docs/measured/evaluation.md
"""
SEED: Final = 126
CANDIDATES: Final = ("ewma", "garch", "gjr")
"""Baselines for all series; the hourly one is named by the bar itself."""
_HERE: Final = Path(__file__).resolve().parent
_PAIR: Final = _HERE.parents[2] / "inference" / "models" / "pair_v2"


def parser() -> argparse.ArgumentParser:
    """Return the command's argument parser."""
    made = argparse.ArgumentParser(
        prog="python -m scripts.research.judged",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("phase", choices=("choose", "look"))
    add("--data-dir", type=Path, required=True, help="folder with daily/ and hourly/ *.csv.gz")
    add("--manifest", type=Path, required=True, help="what `choose` writes and `look` reads")
    add("--fits", type=Path, help="file that keeps fits between runs")
    add("--register", type=Path, default=_HERE / "looks.jsonl", help="register of looks")
    add("--at", default="", help="time of the look, ISO, UTC; `look` needs it")
    add("--why", default="release of pair v2", help="reason, for the register")
    add("--page", type=Path, help="page to write")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run a phase; return 0 when done, 1 when data or manifest are refused."""
    args = parser().parse_args(argv)
    try:
        if args.phase == "choose":
            _choose(args)
        else:
            _look(args)
    except TrainingDataError as error:
        print(f"evaluation: {error.detail}", file=sys.stderr)
        return 1
    return 0


def _choose(args: argparse.Namespace) -> None:
    raws = list(raw_series(args.data_dir))
    series = judged_series(raws, FitShelf(args.fits), CHOICE_END_US, _say)
    figures = judge(series, _table(), (LEARN_END_US, CHOICE_END_US), SEED, _say)
    daily = figures["daily"]["figures"]
    # The pair's ratio is smallest denominator's: the rival that it beats by least was best.
    best = max(CANDIDATES, key=lambda name: daily[f"crps/{name}/1"]["value"])
    manifest = {
        "baseline_daily": best,
        "baseline_hourly": "hourly-garch",
        "candidates": list(CANDIDATES),
        "chosen_by": "geometric mean of CRPS ratios at one bar, daily, 2014-2015",
        "seed": SEED,
        "data_digest": ground_digest(raws),
        "pair_digest": _pair_digest(),
        "series": [one.scaled.name for one in series],
        "figures_2014_2015": figures,
    }
    args.manifest.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    _say(f"baseline {best}, {len(series)} series, digest {_digest(args.manifest)}")


def _look(args: argparse.Namespace) -> None:
    manifest: dict[str, Any] = json.loads(args.manifest.read_text())
    raws = list(raw_series(args.data_dir))
    if (manifest["data_digest"], manifest["pair_digest"]) != (ground_digest(raws), _pair_digest()):
        raise TrainingDataError("the data or the pair are not those that the manifest froze")
    look = Look(
        at_us=int(datetime.fromisoformat(args.at).replace(tzinfo=UTC).timestamp()) * 1_000_000,
        who=getpass.getuser(),
        why=args.why,
        range_from="2016-01-01",
        range_to="2017-12-31",
        series=len(manifest["series"]),
        data_digest=manifest["data_digest"],
        model_digest=manifest["pair_digest"],
        code_digest=_code_digest(),
    )
    number = record_look(args.register, look)
    _say(f"look {number} recorded")
    chosen = [raw for raw in raws if raw.name in set(manifest["series"])]
    series = judged_series(chosen, FitShelf(args.fits), VALIDATION_END_US, _say)
    figures = judge(series, _table(), (CHOICE_END_US, VALIDATION_END_US), manifest["seed"], _say)
    found = {"look": number, "manifest": _digest(args.manifest), "figures": figures}
    args.manifest.with_suffix(".look.json").write_text(
        json.dumps(found, indent=1, sort_keys=True) + "\n"
    )
    if args.page is not None:
        args.page.write_text(evaluation_page(manifest, found))
        _say(f"wrote {args.page}")


def _table() -> Floats:
    return load_file(_PAIR / "table.safetensors")["q"].astype("float64")


def _pair_digest() -> str:
    return _digest(_PAIR / "manifest.json")


def _code_digest() -> str:
    text = b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))
    return hashlib.sha256(text).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
