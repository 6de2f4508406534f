"""The promotion gate: what a model pair must show before it may serve with money.

    card          the pair's `card.toml` names objective, classes of training data, cutoff, lineage
    walk-forward  an evaluation (`inference.training.evaluation`) on bars after the cutoff
    self-test     the engine's own, of the law of its tokens and of the weights
    stress        made-up markets that no training data has (`training.evaluation.stress`)

Bars are of non-inferiority: a pair must not be worse than the baselines by more than a margin,
with 95 % confidence. Whether it is better is `countersign evaluate`'s to say.

Not here: who signs a report, and which mode asks for it (`gateway.launch.setup.pairs.promotion`).
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from inference.errors import RegistryError
from inference.weights.registry import ModelPair

GATE: Final = "promotion-gate-1"
"""Names the bars below; a change of one is another gate."""
CARD: Final = "card.toml"
RIVALS: Final = ("garch-t", "gjr-t")
MARGINS: Final = {1: 1.02, 5: 1.03, 20: 1.05}
"""Largest upper end of the 90 % interval of the CRPS ratio to each rival, by bars ahead."""
COVERAGE_90: Final = (0.85, 0.95)
BEYOND_VAR: Final = (0.01, 0.04)
"""Share of bars beyond the 97.5 % value at risk."""
SERIES_MIN: Final = 3
ORIGINS_MIN: Final = 250
EMBARGO: Final = timedelta(days=40)
"""Days after the cutoff whose bars may still share a forecast's horizon with training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a pair was made for and of what (F104)."""

    objective: str
    data_classes: tuple[str, ...]
    data_cutoff: date
    lineage: str
    digest: str  # SHA-256 of the file


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One thing that the gate asks, and what it found."""

    name: str
    bar: str
    found: str
    passed: bool


def read_card(directory: Path) -> Card:
    """Return the card of a pair.

    Raises:
        RegistryError: there is none, or it does not name every field; says which.
    """
    try:
        raw = (directory / CARD).read_bytes()
        found: dict[str, Any] = tomllib.loads(raw.decode())
    except (OSError, ValueError) as error:
        raise RegistryError(f"{CARD} of {directory.name}: {error}") from error
    texts = {
        "objective": found.get("objective"),
        "lineage": found.get("lineage"),
    }
    classes, cutoff = found.get("data_classes"), found.get("data_cutoff")
    missing = [name for name, one in texts.items() if not (isinstance(one, str) and one.strip())]
    if not (
        isinstance(classes, list)
        and classes
        and all(isinstance(one, str) and one.strip() for one in classes)
    ):
        missing.append("data_classes (a list of texts)")
    if type(cutoff) is not date:
        missing.append("data_cutoff (a date)")
    if missing or not isinstance(classes, list) or type(cutoff) is not date:
        raise RegistryError(f"{CARD} of {directory.name} lacks {', '.join(missing)}")
    return Card(
        objective=str(texts["objective"]),
        data_classes=tuple(classes),
        data_cutoff=cutoff,
        lineage=str(texts["lineage"]),
        digest=hashlib.sha256(raw).hexdigest(),
    )


def card_checks(card: Card, trained_until: str, first: date) -> tuple[GateCheck, ...]:
    """Return whether the card's cutoff is the manifest's, and the evaluation begins after it."""
    free = card.data_cutoff + EMBARGO
    return (
        GateCheck(
            name="card",
            bar="its cutoff is not before the manifest's last day of training",
            found=f"{card.data_cutoff}, trained until {trained_until}",
            passed=card.data_cutoff.isoformat() >= trained_until,
        ),
        GateCheck(
            name="no leakage",
            bar=f"no forecast begins before {free + timedelta(days=1)}",
            found=f"from {first}",
            passed=first > free,
        ),
    )


def walk_forward_checks(result: Mapping[str, Any], pair: ModelPair) -> tuple[GateCheck, ...]:
    """Return the checks of an evaluation's result, for each bar length that it has."""
    asked = result["asked"]
    target = pair.files["target/model.safetensors"]
    checks = [
        GateCheck(
            name="walk-forward: weights",
            bar=f"of {target[:16]}",
            found=f"of {str(asked['model_digest'])[:16]}",
            passed=asked["own"] == "model" and asked["model_digest"] == target,
        )
    ]
    for frequency, part in result["figures"].items():
        checks += _frequency_checks(frequency, part)
    return tuple(checks)


def _frequency_checks(frequency: str, part: Mapping[str, Any]) -> list[GateCheck]:
    alone = part["alone"]["1"].get("model", {})
    tails = part["tails"].get("model", {})
    origins, series = int(alone.get("origins", 0)), len(part["series"])
    checks = [
        GateCheck(
            name=f"{frequency}: enough",
            bar=f"at least {SERIES_MIN} series and {ORIGINS_MIN} forecasts of one bar",
            found=f"{series} and {origins}",
            passed=series >= SERIES_MIN and origins >= ORIGINS_MIN,
        ),
        _inside(f"{frequency}: 90 % coverage", alone.get("coverage", {}).get("90"), COVERAGE_90),
        _inside(f"{frequency}: beyond the 97.5 % VaR", tails.get("exceedances"), BEYOND_VAR),
    ]
    for bars, margin in MARGINS.items():
        for rival in RIVALS:
            ratio = part["against"][str(bars)].get(rival, {}).get("crps_ratio", {})
            interval = ratio.get("interval_90")
            checks.append(
                GateCheck(
                    name=f"{frequency}: CRPS to {rival}, {bars} bars",
                    bar=f"upper end at most {margin}",
                    found=f"{ratio.get('value')}, 90 % interval {interval}",
                    # Without an interval nothing is shown, so nothing passes.
                    passed=bool(interval) and interval[1] <= margin,
                )
            )
    return checks


def _inside(name: str, value: float | None, ends: tuple[float, float]) -> GateCheck:
    return GateCheck(
        name=name,
        bar=f"{ends[0]} to {ends[1]}",
        found=str(value),
        passed=value is not None and ends[0] <= value <= ends[1],
    )
