"""Judge forecasts on a folder of series. Not here: scores and figures (`inference.training`)."""

import getpass
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway import clock
from gateway.installation.settings import Settings
from gateway.telemetry.console import Progress
from inference.training.evaluation.walkforward.judge import EvaluationAsked, evaluate
from inference.training.evaluation.walkforward.page import page, terminal

SAMPLED: Final = 4
"""Of so many origins one also gets horizons beyond one bar."""
PATHS: Final = 64
SEED: Final = 2016


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Files to write besides the terminal's table."""

    as_json: Path | None
    html: Path | None


def judge(settings: Settings, outputs: Outputs, *, baselines: bool, asked: dict[str, Any]) -> int:
    """Evaluate what was `asked` (fields of `EvaluationAsked`); print and write; return 0."""
    progress = Progress(sys.stderr)
    folder = settings.state / "evaluation"
    question = EvaluationAsked(
        **asked,
        pair=None if baselines else settings.engine.model,
        sampled=SAMPLED,
        paths=PATHS,
        seed=SEED,
        folder=folder / "scores",
        looks=folder / "looks.jsonl",
        who=getpass.getuser(),
        at_us=clock.wall_us(),
    )
    result = evaluate(
        question,
        progress.say,
        lambda done, total, name: progress.show(f"origins {name}", done, total),
    )
    progress.end()
    sys.stdout.write(terminal(result) + "\n")
    if outputs.as_json is not None:
        outputs.as_json.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    if outputs.html is not None:
        outputs.html.write_text(page(result), encoding="utf-8")
    return 0
