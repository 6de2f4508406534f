"""The phases behind `python -m scripts.research.scaled`: scale, choose, make.

Each is repeatable from scratch and gives the same files; fits are kept, so a later run is quick.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.codec.scaled import ScaledCodec
from inference.snapshot import Frequency
from inference.training.series import Floats
from scripts.research.pair_v1.export import write_manifest, write_pair
from scripts.research.scaled.card import scaled_card
from scripts.research.scaled.choice import (
    CHOICE_END_US,
    HORIZONS,
    LEARN_END_US,
    compare,
    exact,
    exact_rival,
    one_per_company,
    sampled,
    table_rows,
)
from scripts.research.scaled.history import FitShelf, ScaledSeries, scaled_all
from scripts.research.scaled.table import GROUP_STATES, TableRecipe, make_rows
from scripts.research.scaled.table_target import N_PAIRS, served_rows, table_target
from scripts.research.sources import RawSeries

CARD: Final = "MODEL_CARD.md"
RIVALS: Final = ("ewma", "garch", "gjr")
RECIPE: Final = TableRecipe()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Inputs of all phases."""

    out: Path
    series: list[ScaledSeries]
    sources: list[dict[str, Any]]
    say: Callable[[str], None]


def prepare(raws: list[RawSeries], out: Path, say: Callable[[str], None]) -> Ground:
    """Scale every series until 2015, fitted quarter by quarter; fits are kept in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    series = scaled_all(raws, FitShelf(out / "fits.jsonl"), say)
    files = {raw.name: raw for raw in raws}
    sources = [
        {
            "name": one.name,
            "licence": files[one.name].licence,
            "sha256": files[one.name].sha256,
            "returns": len(one.returns),
            "fits": len(one.fits),
            "ranges": bool(one.fits and one.fits[-1].ranges),
        }
        for one in series
    ]
    return Ground(out=out, series=series, sources=sources, say=say)


def choose(ground: Ground) -> dict[str, Any]:
    """Return the figures on 2014-2015 of the table learnt until 2013, against every rival."""
    table = make_rows(ground.series, 0, LEARN_END_US, RECIPE)
    judged = one_per_company(ground.series)
    found: dict[str, Any] = {}
    for frequency in Frequency:
        part = [one for one in judged if one.frequency is frequency]
        ranged = [one for one in part if one.fits[-1].ranges is not None]
        plain = [one for one in part if one.fits[-1].ranges is None]
        label = frequency.value
        groups = {label: part, f"{label} with ranges": ranged, f"{label} without ranges": plain}
        for label, group in groups.items():
            if not group:
                continue
            found[label] = _figures(group, table)
            ground.say(f"{label}: {json.dumps(found[label])}")
    return found


def _figures(group: list[ScaledSeries], table: Floats) -> dict[str, Any]:
    span = (LEARN_END_US, CHOICE_END_US)
    own = exact(group, table_rows(table), *span)
    found: dict[str, Any] = {
        "coverage_90": round(float(np.mean(np.concatenate(own["inside_90"].scores))), 4)
    }
    for rival in RIVALS:
        theirs = exact_rival(group, rival, *span)
        found[rival] = {
            "crps_h1": compare(own["crps"], theirs["crps"]),
            "log_score": compare(own["log"], theirs["log"], difference=True),
            "qlike": compare(own["qlike"], theirs["qlike"], difference=True),
        }
    paths, simulated = sampled(group, table, *span), sampled(group, None, *span)
    for horizon in HORIZONS:
        found["gjr"][f"crps_h{horizon}"] = compare(paths[horizon], simulated[horizon])
    return found


def make(ground: Ground, chosen: dict[str, Any]) -> Path:
    """Write the pair whose target is the table learnt until 2015; return its folder."""
    table = make_rows(ground.series, 0, CHOICE_END_US, RECIPE)
    wanted = table[1::GROUP_STATES][:N_PAIRS]
    target = table_target(wanted)
    served = served_rows(target)
    states = np.repeat(served, GROUP_STATES, axis=0)
    rows = np.concatenate((table[:1], states)).astype(np.float32)
    facts = {
        "figures": chosen,
        "gate": gate(chosen),
        "data": {
            "learnt_until": "2013-12-31 for the figures, 2015-12-31 for the weights",
            "train_until": "2015-12-31",
            "chosen_on": "2014-01-01 to 2015-12-31",
            "sources": ground.sources,
        },
        "data_cutoff": "2015-12-31",
        "recipe": {name: str(value) for name, value in asdict(RECIPE).items()},
        "rounding": float(np.abs(served - wanted).sum(axis=1).max() / 2.0),
        "shapes": {"target": asdict(target.shape), "draft": asdict(target.shape)},
        "table_rows": ReturnCodec.n_table_states,
        "vocabulary": words.VOCAB_SIZE,
        "torch": torch.__version__,
    }
    folder = ground.out / "pair"
    write_pair(folder, target, target, torch.from_numpy(rows), facts, ScaledCodec())
    (folder / CARD).write_text(scaled_card(facts))
    write_manifest(folder, facts, ScaledCodec())
    return folder


def gate(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return whether the table may be released: its interval at one bar lies below GJR's.

    There is no network yet, so the table has only GJR to beat. A network would have to beat both.
    """
    bars = {label: figures["gjr"]["crps_h1"] for label, figures in chosen.items()}
    return {
        "network": "none was trained: the target is the table",
        "below_gjr": {label: bar["interval_90"][1] < 1.0 for label, bar in bars.items()},
    }
