"""The phases behind the command; each reads and writes files in `out` and can be run alone."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import torch

from inference.errors import TrainingDataError
from inference.training.model import ModelShape, SmallLlama, load_model
from scripts.research.pair_v1.card import model_card
from scripts.research.pair_v1.distil import (
    acceptance,
    draft_rows,
    draw_pool,
    make_table,
    train_draft,
)
from scripts.research.pair_v1.evaluate import Effort, evaluate
from scripts.research.pair_v1.export import MANIFEST, read_manifest, write_manifest, write_pair
from scripts.research.pair_v1.news_effect import news_effect
from scripts.research.pair_v1.train import TrainPlan, TrainResult, train
from scripts.research.pair_v1.windows import Sampler
from scripts.research.series import CodedSeries, SourceRow

CARD: Final = "MODEL_CARD.md"
SAVED: Final = "checkpoint.pt"
DATA_CUTOFF: Final = "2017-12-31"
"""Last day of training and validation data; playback starts after it."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWork:
    """Inputs of all phases."""

    out: Path
    coded: list[CodedSeries]
    rows: list[SourceRow]
    seed: int
    threads: int
    say: Say

    @property
    def pair(self) -> Path:
        """Folder of the pair before it is published."""
        return self.out / "pair"


def run_train(work: PhaseWork, plan: TrainPlan, *, resume: bool) -> TrainResult:
    """Train the target, from its checkpoint when `resume` is set.

    Raises:
        TrainingDataError: when there is a checkpoint and `resume` is not set.
    """
    saved = work.out / SAVED
    if saved.exists() and not resume:
        raise TrainingDataError(f"{work.out} has a checkpoint; add --resume to continue")
    return train(plan, Sampler(work.coded, work.seed), saved, work.say)


def run_distil(work: PhaseWork, minutes: float) -> None:
    """Make both drafters from the checkpoint's averaged target and write the pair.

    Raises:
        TrainingDataError: when there is no checkpoint yet.
    """
    saved = work.out / SAVED
    if not saved.exists():
        raise TrainingDataError(f"{saved} does not exist; run --phase train first")
    state = torch.load(saved, weights_only=True)
    target = SmallLlama(ModelShape(**state["plan"]["shape"]))
    target.load_state_dict(state["average"])
    work.say("the target continues training contexts")
    pool = draw_pool(target, Sampler(work.coded, work.seed), 60.0 * minutes * 0.55)
    learn, held = pool.split()
    table = make_table(learn)
    draft = train_draft(learn, 60.0 * minutes * 0.45, work.say)
    figures = {
        "network": asdict(acceptance(held.rows, draft_rows(draft, held))),
        "table": asdict(acceptance(held.rows, table[held.states])),
        "unconditional row": asdict(acceptance(held.rows, table[0].expand_as(held.rows))),
        "continuations": held.tokens.shape[0],
    }
    work.say(f"acceptance {json.dumps(figures)}")
    facts = {
        "acceptance": figures,
        "training": _run_facts(state, work.threads),
        "shapes": {"target": _shape(target), "draft": _shape(draft)},
        "table_rows": table.shape[0],
        "data": {
            "train_until": "2015-12-31",
            "validation": "2016-01-01 to 2017-12-31",
            "sources": [asdict(row) for row in work.rows],
        },
        "data_cutoff": DATA_CUTOFF,
    }
    write_pair(work.pair, target, draft, table, facts)


def run_evaluate(work: PhaseWork, effort: Effort) -> None:
    """Measure the written pair and add the figures and the model card to it."""
    manifest = read_manifest(work.pair)
    target = load_model(work.pair / "target")
    known = ("acceptance", "training", "shapes", "table_rows", "data", "data_cutoff")
    facts = {name: manifest[name] for name in known}
    facts["news_effect"] = news_effect(target, work.coded)
    work.say(f"news {json.dumps(facts['news_effect'])}")
    facts["skill"] = evaluate(target, work.coded, effort, work.say)
    work.say(f"skill {json.dumps(facts['skill'])}")
    write_manifest(work.pair, facts)
    (work.pair / CARD).write_text(model_card(read_manifest(work.pair)))


def publish(pair: Path, destination: Path) -> None:
    """Copy a pair over another: delete the old manifest first, write the new one last."""
    destination.mkdir(parents=True, exist_ok=True)
    (destination / MANIFEST).unlink(missing_ok=True)
    names = [*read_manifest(pair)["files"], CARD, MANIFEST]
    for name in names:
        (destination / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(pair / name, destination / name)


def _shape(model: SmallLlama) -> dict[str, Any]:
    count = sum(parameter.numel() for parameter in model.parameters())
    return {**asdict(model.shape), "parameters": count}


def _run_facts(state: dict[str, Any], threads: int) -> dict[str, Any]:
    plan = state["plan"]
    done = (
        state["step"] >= plan["steps"]
        if plan["steps"]
        else state["elapsed_s"] >= 60.0 * plan["minutes"]
    )
    return {
        "steps": state["step"],
        "tokens": state["tokens"],
        "minutes": round(state["elapsed_s"] / 60.0, 1),
        "budgets_minutes": state["budgets"],
        "threads": threads,
        "seed": plan["seed"],
        "finished": done,
        "torch": torch.__version__,
    }
