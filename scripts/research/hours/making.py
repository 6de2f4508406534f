"""Pair v4 from pair v3: the rows of hourly bars are replaced, every other weight is copied.

In the target and in the drafter's network, a class and frequency has one column of the head
(`scaled/table_target.py`); in the drafter's table it has one row for each state. The columns and
rows of hourly bars are the new ones, as float16 serves them.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors.numpy import load_file

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.codec.scaled import ScaledCodec
from inference.errors import TrainingDataError
from inference.snapshot import Frequency
from inference.training.model import SmallLlama, load_model
from inference.training.series import Floats
from scripts.research.hours.figures import hourly_rows
from scripts.research.hours.ground import HourSeries
from scripts.research.hours.page import hours_card
from scripts.research.pair_v1.export import MANIFEST, read_manifest, write_manifest, write_pair
from scripts.research.scaled.table import GROUP_STATES
from scripts.research.scaled.table_target import N_PAIRS, row_columns, served_rows, table_target

CARD: Final = "MODEL_CARD.md"
LEARN_END: Final = 2016
"""Year that the shipped rows do not see."""
_FIRST: Final = words.FREQUENCIES.index(Frequency.HOURLY) * words.N_CLASSES
HOURLY: Final = slice(_FIRST, _FIRST + words.N_CLASSES)
"""Places of hourly bars among the pairs of frequency and class."""


def make(base: Path, ground: Sequence[HourSeries], figures: dict[str, Any], out: Path) -> Path:
    """Write the pair over one of the same codec; return its folder.

    Raises:
        TrainingDataError: `base` is of another codec.
    """
    manifest = read_manifest(base)
    if manifest["codec_digest"] != ScaledCodec().digest:
        raise TrainingDataError(f"expected a pair of codec 2 in {base.name}")
    learnt = hourly_rows([one.seasonal for one in ground], LEARN_END)
    wanted = learnt[1::GROUP_STATES][:N_PAIRS]
    source = table_target(wanted)
    target, draft = (_with_hours(load_model(base / part), source) for part in ("target", "draft"))
    served = served_rows(draft)
    rows = load_file(base / "table.safetensors")["q"].copy()
    states = slice(1 + HOURLY.start * GROUP_STATES, 1 + HOURLY.stop * GROUP_STATES)
    rows[states] = np.repeat(served[HOURLY], GROUP_STATES, axis=0)
    facts = {
        "figures": figures,
        "data": {
            "train_until": "2015-12-31",
            "rows_of_daily_bars": base.name,
            "rows_of_daily_bars_manifest": _digest(base / MANIFEST),
            "sources": [one.source for one in ground],
            "words": manifest["data"]["words"],
        },
        "data_cutoff": "2015-12-31",
        "rounding": _distance(served[HOURLY], wanted[HOURLY]),
        "shapes": manifest["shapes"],
        "table_rows": ReturnCodec.n_table_states,
        "vocabulary": words.VOCAB_SIZE,
        "torch": torch.__version__,
    }
    folder = out / "pair"
    write_pair(folder, target, draft, torch.from_numpy(rows), facts, ScaledCodec())
    (folder / CARD).write_text(hours_card(read_manifest(folder)))
    write_manifest(folder, facts, ScaledCodec())
    return folder


def _with_hours(model: SmallLlama, source: SmallLlama) -> SmallLlama:
    """Return the model with the source's head columns of hourly bars."""
    if model.head is None or source.head is None:
        raise TrainingDataError("expected a pair whose head is a matrix of its own")
    places = row_columns(HOURLY)
    with torch.no_grad():
        model.head.weight[:, places] = source.head.weight[:, places]
    return model


def _distance(one: Floats, two: Floats) -> float:
    """Return the largest total variation between rows."""
    return float(np.abs(one - two).sum(axis=1).max() / 2.0)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
