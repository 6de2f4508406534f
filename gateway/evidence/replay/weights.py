"""Replay's second statement: the rows behind a decision follow from the recorded weights.

The comparison has a tolerance, because another processor sums float32 in another order. Weights
with another digest are not asked, and the line says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.forecasts.past import ForecastPast
from inference.errors import InferenceError
from inference.speculation.evidence import Evidence
from inference.weights.regeneration import compare, rows_of
from inference.weights.registry import ModelPair, load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuestion:
    """A forecast's evidence, or its news twin's, and what its rows follow from.

    `name` is that of the attempt, with `.news` behind it for the twin.
    """

    name: str
    evidence: Evidence
    prompt_ids: tuple[int, ...]
    model_digest: str


def questions(forecasts: Iterable[ForecastPast]) -> tuple[RowQuestion, ...]:
    """Return the questions to the weights that replayed forecasts raise, each once."""
    found = {
        name: RowQuestion(
            name=name,
            evidence=evidence,
            prompt_ids=prompt.token_ids,
            model_digest=one.target.model_digest,
        )
        for one in forecasts
        for name, evidence, prompt in (
            (one.name, one.capture, one.prompt),
            (f"{one.name}.news", one.news_capture, None if one.asked is None else one.asked.blank),
        )
        if evidence is not None and prompt is not None and one.target is not None
    }
    return tuple(found.values())


def regenerated(question: RowQuestion, pair: ModelPair) -> str:
    """Compute the rows again; return a line that says how near they are.

    Raises:
        ReplayDiffersError: when a number is outside the tolerance; names the first.
    """
    step = "rounds_captured"
    if question.model_digest != pair.manifest_digest:
        return (
            f"not regenerated: recorded with weights {question.model_digest[:16]}.., "
            f"at hand are {pair.manifest_digest[:16]}.. ({pair.model_id})"
        )
    try:
        rows = rows_of(question.evidence, question.prompt_ids, pair)
        found = compare(question.evidence, rows, load_table(pair))
    except InferenceError as error:
        raise ReplayDiffersError(step=step, detail=f"its rows: {error}") from error
    if found.faults:
        detail = f"{found.faults[0]} ({len(found.faults)} of {found.numbers} numbers)"
        raise ReplayDiffersError(step=step, detail=detail)
    drafter = f" and {found.drafter_rows} of the drafter" if found.drafter_rows else ""
    return (
        f"{found.target_rows} rows of the target{drafter} regenerated from the weights: "
        f"{found.numbers} recorded numbers agree within {rows.tolerance:.0e} "
        f"(largest gap {found.row_gap:.1e}; entropy {found.entropy_gap:.1e} nats)"
    )
