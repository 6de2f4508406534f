"""Replay's second statement: the rows behind a decision follow from the recorded weights.

The comparison has a tolerance, because another processor sums float32 in another order. Weights
with another digest are not asked, and the line says so.
"""

from dataclasses import dataclass

from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.past import Past
from inference.errors import InferenceError
from inference.speculation.evidence import Evidence
from inference.weights.regeneration import compare, rows_of
from inference.weights.registry import ModelPair, load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuestion:
    """A forecast's evidence, or its news twin's, and what its rows follow from."""

    attempt: int
    evidence: Evidence
    prompt_ids: tuple[int, ...]
    model_digest: str


def questions(past: Past) -> tuple[RowQuestion, ...]:
    """Return the questions to the weights that a replayed decision raises."""
    if past.prompt is None:
        return ()
    return tuple(
        RowQuestion(
            attempt=number,
            evidence=evidence,
            prompt_ids=prompt.token_ids,
            model_digest=attempt.target.model_digest,
        )
        for number, attempt in enumerate(past.attempts)
        for evidence, prompt in (
            (attempt.capture, past.prompt),
            (attempt.news_capture, attempt.blank),
        )
        if evidence is not None and prompt is not None and attempt.target is not None
    )


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
