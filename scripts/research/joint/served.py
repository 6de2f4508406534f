"""How far the target's rows without words lie from the table's, wherever a path is.

The paths here are the table's. They are the target's as well if its rows are: the largest distance
over prompts and paths drawn at random says so, and also that no row depends on the move before.
"""

from pathlib import Path
from typing import Final

import numpy as np
import torch

from inference.codec import vocabulary as words
from inference.snapshot import AssetClass, Frequency
from inference.training.model import load_model
from inference.training.series import Floats
from scripts.research.scaled.table import GROUP_STATES

PROMPTS: Final = 64
_SEED: Final = 29


def row_distance(pair: Path, table: Floats) -> float:
    """Return the largest total variation between the target's daily index rows and the table's."""
    model, rng = load_model(pair / "target"), np.random.default_rng(_SEED)
    kind, frequency = (
        words.CLASSES.index(AssetClass.INDEX),
        words.FREQUENCIES.index(Frequency.DAILY),
    )
    row = table[1 + (frequency * words.N_CLASSES + kind) * GROUP_STATES].astype(np.float64)
    row /= row.sum()
    furthest = 0.0
    for _ in range(PROMPTS):
        tokens = [
            words.BOS,
            words.CLASS_START + kind,
            words.FREQUENCY_START + frequency,
            *(words.BIN_START + rng.integers(words.N_BINS, size=words.MAX_CONTEXT)),
            *(words.NO_NEWS * words.N_SLOTS),
            words.CLOCK_START + rng.integers(words.N_WEEKDAYS),
            words.RATIO_START + rng.integers(words.N_RATIOS),
            words.LEVEL_START + rng.integers(words.N_LEVELS),
            *(words.BIN_START + rng.integers(words.N_BINS, size=rng.integers(10))),
        ]
        with torch.no_grad():
            logits = model(torch.tensor([[int(token) for token in tokens]]))[0, -1]
        served = torch.softmax(logits[words.BIN_START :].double(), dim=-1).numpy()
        furthest = max(furthest, 0.5 * float(np.abs(served - row).sum()))
    return furthest
