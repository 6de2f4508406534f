"""How forecasts did, as page values; a bar for each tenth of ranks.

Not here: scoring; the page shows what is on record.
"""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gateway.evidence.answers.outcomes import DRIFTED_MILLI, Scores
from gateway.surfaces.web.views.plots import Caption, PlotBar, bar_chart


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScores:
    """One model's calibration, with its plot."""

    digest: str
    scored: int
    evidence: str
    peak: str
    drifted: bool
    plot: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreView:
    """The figures by instrument and bars ahead, and each model's ranks."""

    lines: tuple[dict[str, Any], ...]
    models: tuple[ModelScores, ...]


def score_view(scores: Scores) -> ScoreView:
    """Return the page's values."""
    document = scores.document()
    return ScoreView(lines=tuple(document["lines"]), models=tuple(map(_model, document["models"])))


def _model(one: dict[str, Any]) -> ModelScores:
    scored, tenths = one["scored"], one["tenths"]
    even = scored / len(tenths)
    bars = [
        PlotBar(
            name=f"{number * 10} to {number * 10 + 10} %",
            value=count,
            said=f"{count} of {scored}",
            flagged=False,
        )
        for number, count in enumerate(tenths)
    ]
    caption = Caption(
        key=f"ranks-{one['model_digest'][:8]}",
        title="Where what came fell among the paths, one bar ahead",
        desc=f"Ten tenths of the paths of {scored} forecasts; {even:.1f} in each is even.",
    )
    return ModelScores(
        digest=one["model_digest"],
        scored=scored,
        evidence=f"{one['evidence_milli'] / 1_000:.3f}",
        peak=f"{one['peak_milli'] / 1_000:.3f}",
        drifted=one["peak_milli"] >= DRIFTED_MILLI,
        plot=bar_chart(bars, caption, round(even), "even"),
    )
