"""The measured effect of news on the model.

The model gets the same real contexts of the validation years with one tag and without; the
one-step laws are compared in closed form. ECHO must have no effect.
"""

from typing import Any, Final

import numpy as np
import torch

from inference.codec import vocabulary as words
from inference.codec.bins import FIRST_MOMENTS, SECOND_MOMENTS
from inference.snapshot import AssetClass, Direction, EventType, Frequency, Strength
from inference.training.model import SmallLlama
from inference.training.sampling import bin_rows
from inference.training.series import Floats
from scripts.research.pair_v1.evaluate import origins
from scripts.research.pair_v1.synthetic import TAGGED_TYPES, Tag
from scripts.research.pair_v1.windows import prompt_row
from scripts.research.series import CodedSeries

_CLASSES: Final = frozenset({AssetClass.INDEX, AssetClass.EQUITY})
_ORIGINS: Final = 4
_LONG: Final = 2000
_LEAN_TYPES: Final = (EventType.EARNINGS, EventType.MACRO, EventType.RATING)
_BARS: Final = words.HEAD_LENGTH + words.MAX_CONTEXT
"""Number of leading prompt ids, which do not depend on news."""


def news_effect(target: SmallLlama, series: list[CodedSeries]) -> dict[str, Any]:
    """Return mean shifts, in sigma, by direction and strength, and volatility ratios by type."""
    contexts = _Contexts(target, series)
    base = contexts.laws(None)
    leans = {}
    for direction in Direction:
        for strength in Strength:
            shifts = [
                (contexts.laws(_tag(kind, direction, strength))[0] - base[0]).mean()
                for kind in _LEAN_TYPES
            ]
            leans[f"{direction.value}_{strength.value}"] = round(float(np.mean(shifts)), 3)
    ratios = {}
    for kind in TAGGED_TYPES:
        laws = contexts.laws(_tag(kind, Direction.NEUTRAL, Strength.STRONG))
        ratios[kind.value] = round(float((laws[1] / base[1]).mean()), 3)
    echo = [
        abs(float((contexts.laws(_tag(EventType.ECHO, d, Strength.STRONG))[0] - base[0]).mean()))
        for d in Direction
    ]
    return {
        "contexts": len(contexts.chosen),
        "mean_shift_sigma": leans,
        "dose_response": round(leans["positive_strong"] - leans["negative_strong"], 3),
        "volatility_ratio_strong": ratios,
        "echo_shift_sigma_max": round(max(echo), 3),
    }


class _Contexts:
    """Real validation contexts, read once; only the prompt's tail changes."""

    def __init__(self, target: SmallLlama, series: list[CodedSeries]) -> None:
        self.target = target
        self.chosen = [
            (item, int(origin))
            for item in series
            if item.asset_class in _CLASSES
            and item.frequency is Frequency.DAILY
            and item.first_validation > _LONG
            for origin in origins(item, _ORIGINS, 1)
        ]
        with torch.no_grad():
            self.cache = target.extend(self._prompts(None)[:, :_BARS], None)[1]

    def laws(self, tag: Tag | None) -> tuple[Floats, Floats]:
        """Return mean and sd of the next scaled return in each context."""
        with torch.no_grad():
            logits = self.target.extend(self._prompts(tag)[:, _BARS:], self.cache)[0]
        rows = bin_rows(logits[:, -1]).double().numpy()
        mean = rows @ np.asarray(FIRST_MOMENTS)
        square = rows @ np.asarray(SECOND_MOMENTS)
        return mean, np.sqrt(square - mean * mean)

    def _prompts(self, tag: Tag | None) -> torch.Tensor:
        tags = () if tag is None else (tag,)
        return torch.tensor(
            [prompt_row(item, origin, words.MAX_CONTEXT, tags) for item, origin in self.chosen]
        )


def _tag(kind: EventType, direction: Direction, strength: Strength) -> Tag:
    return Tag(event_type=kind, direction=direction, strength=strength, age_bars=0)
