"""Replay's second statement: the rows behind a decision, made again from the recorded weights.

The steps of a replay are exact and need no weights. Here the weights are asked whether the numbers
that decided are theirs; the answer is within a tolerance, because another processor sums float32 in
another order. Weights of another digest are not asked, and that is said.
"""

from dataclasses import dataclass

from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.past import Past
from inference.errors import InferenceError
from inference.speculation.evidence import Evidence
from inference.weights.regeneration import ROW_TOLERANCE, compare, rows_of
from inference.weights.registry import ModelPair, load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuestion:
    """One forecast's evidence with what its rows follow from."""

    attempt: int
    evidence: Evidence
    prompt_ids: tuple[int, ...]
    model_digest: str


def questions(past: Past) -> tuple[RowQuestion, ...]:
    """Return what the weights are to be asked of a replayed decision."""
    if past.prompt is None:
        return ()
    return tuple(
        RowQuestion(
            attempt=number,
            evidence=attempt.capture,
            prompt_ids=past.prompt.token_ids,
            model_digest=attempt.target.model_digest,
        )
        for number, attempt in enumerate(past.attempts)
        if attempt.capture is not None and attempt.target is not None
    )


def regenerated(question: RowQuestion, pair: ModelPair) -> str:
    """Make the rows again and say in one line how near they are.

    Raises:
        ReplayDiffersError: names the first number that the weights do not give.
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
        f"{found.numbers} recorded numbers agree within {ROW_TOLERANCE:.0e} "
        f"(largest gap {found.row_gap:.1e}; entropy {found.entropy_gap:.1e} nats)"
    )
