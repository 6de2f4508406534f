"""The phases behind `python -m scripts.research.hearing`: fit, measure, write.

Each is repeatable from scratch and gives the same files.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import numpy as np
import torch

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.codec.scaled import ScaledCodec
from inference.errors import TrainingDataError
from inference.training.model import SmallLlama, load_model, save_model
from scripts.research.hearing.bars import planted_bars
from scripts.research.hearing.card import hearing_card
from scripts.research.hearing.fitting import FitPlan, fit
from scripts.research.hearing.real import real_figures
from scripts.research.hearing.target import hearing_target
from scripts.research.hearing.worlds import RANGES
from scripts.research.pair_v1.export import MANIFEST, read_manifest, write_manifest
from scripts.research.scaled.table_target import served_rows

CARD: Final = "MODEL_CARD.md"
_TABLE: Final = "table.safetensors"


def make(
    table_pair: Path, out: Path, plan: FitPlan, data: Path | None, say: Callable[[str], None]
) -> Path:
    """Write the pair that hears words over a pair that is a table; return its folder.

    Raises:
        TrainingDataError: `table_pair` is not one of the same codec, or `data` lacks a file.
    """
    base = read_manifest(table_pair)
    if base["codec_digest"] != ScaledCodec().digest:
        raise TrainingDataError(f"expected a table of codec 2 in {table_pair.name}")
    table = load_model(table_pair / "target")
    rows = served_rows(table)
    hearing = fit(rows, plan, out, say)
    target = hearing_target(table, hearing)
    figures = planted_bars(target)
    say(f"planted worlds: {json.dumps(figures)}")
    real = None if data is None else real_figures(target, rows, data, out, say)
    say(f"real origins: {json.dumps(real)}")
    folder = out / "pair"
    _write(folder, table_pair, target)
    facts = {
        "planted": figures,
        "real": real,
        "worlds": RANGES,
        "plan": asdict(plan),
        "data": {
            "train_until": base["data"]["train_until"],
            "rows_of": table_pair.name,
            "rows_of_manifest": _digest(table_pair / MANIFEST),
            "words": "planted worlds; no series and no text was read to fit them",
        },
        "data_cutoff": base["data_cutoff"],
        "rounding": float(np.abs(served_rows(target) - rows).sum(axis=1).max() / 2.0),
        "shapes": {"target": asdict(target.shape), "draft": asdict(table.shape)},
        "table_rows": ReturnCodec.n_table_states,
        "vocabulary": words.VOCAB_SIZE,
        "torch": torch.__version__,
    }
    write_manifest(folder, facts, ScaledCodec())
    (folder / CARD).write_text(hearing_card(read_manifest(folder)))
    return folder


def _write(folder: Path, table_pair: Path, target: SmallLlama) -> None:
    """Write the target; the drafter, network and table, is the table pair's, byte for byte."""
    save_model(target, folder / "target")
    shutil.copytree(table_pair / "target", folder / "draft", dirs_exist_ok=True)
    shutil.copyfile(table_pair / _TABLE, folder / _TABLE)
    for path in folder.rglob("*.safetensors"):
        path.chmod(0o644)  # the engine may be another user


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
