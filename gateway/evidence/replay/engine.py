"""Replay's third statement, on request: sample again and compare the bits.

The same weights, prompt and seeds on the same engine and kind of processor give the same capture,
including the digests of raw logits. Another processor may sum in another order, which can change
tokens. That is reported by trajectory and is no sign of tampering while the rows agree (`weights`).
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import NotReadyError, ReplayDiffersError
from gateway.evidence.replay.weights import RowQuestion
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.telemetry.console import Progress
from inference.codec.text.answer import Grammar
from inference.engine.port import Engine, EngineConfig, SampleRequest
from inference.errors import CaptureError
from inference.speculation.condense import condense
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import QTable
from inference.speculation.totals import paths
from inference.weights.registry import ModelPair

DEADLINE_S = 120.0


def sampled_again(
    questions: Sequence[RowQuestion], pair: ModelPair, table: QTable
) -> tuple[str, ...]:
    """Start the engine, sample each forecast again; yield how much is equal.

    Raises:
        NotReadyError: when the engine does not start.
        EngineError: when it does not answer.
        ReplayDiffersError: when its bits are not the recorded ones.
    """
    asked = [q for q in questions if q.model_digest == pair.manifest_digest]
    if not asked:
        return ("not sampled again: the recorded weights are not at hand",)
    with engine_of(pair, asked[0].evidence) as engine:
        return tuple(again(question, engine, table) for question in asked)


@contextmanager
def engine_of(pair: ModelPair, evidence: Evidence) -> Iterator[Engine]:
    """Start an engine as the one that made this evidence; stop it at the end.

    Raises:
        NotReadyError: when it does not start.
    """
    progress = Progress(sys.stderr)
    progress.say("engine  starting (half a minute)")
    with tempfile.TemporaryDirectory(prefix="countersign-replay-") as folder:
        config = EngineChildConfig(
            engine=EngineConfig(
                model_dir=str(pair.directory),
                drafter=evidence.drafter,
                spec_k=max(1, evidence.spec_k),
            ),
            state_dir=Path(folder),
        )
        child = EngineChild(config)
        child.start()
        try:
            if not child.wait_ready(config.start_timeout_s):
                raise NotReadyError(part="engine", state=child.refusal or child.state.value)
            yield child
        finally:
            child.stop()


def again(question: RowQuestion, engine: Engine, table: QTable) -> str:
    """Sample one forecast again; return a line that says how much is equal.

    A text pair's rows may differ in their last bits, because its batch had another shape then; its
    tokens may not. The rows of a pair for returns are narrow, and equal to the bit.

    Raises:
        EngineError: when the engine does not answer.
        ReplayDiffersError: when the tokens differ, or the bits of a pair for returns.
    """
    evidence = question.evidence
    samples = engine.sample(
        SampleRequest(
            request_id=f"replay.{question.name}",
            prompt_ids=question.prompt_ids,
            n_tokens=len(paths(evidence)[0]),
            seeds=evidence.seeds,
            spec_k=evidence.spec_k,
            allowed_range=(evidence.bin_start, evidence.bin_start + evidence.n_bins),
            deadline_s=DEADLINE_S,
            draft_first=any(r.drafts for r in evidence.rounds if r.step == 0),
        )
    )
    try:
        found = condense(samples.capture, table)
    except CaptureError as error:
        raise ReplayDiffersError(
            step="rounds_captured", detail=f"sampled again: {error}"
        ) from error
    n = len(evidence.seeds)
    if found == evidence:
        return f"sampled again to the same bits: {n} of {n} trajectories, raw logits included"
    logits = sum(a == b for a, b in zip(found.row_digests, evidence.row_digests, strict=True))
    tokens = sum(a == b for a, b in zip(paths(found), paths(evidence), strict=True))
    words = Grammar.of_capture(evidence.bin_start, evidence.n_bins) is not None
    if words and tokens == n:
        return (
            f"sampled again to the same tokens: {n} of {n} trajectories, {logits} of them with the "
            "same raw logits; a batch of another shape, or another processor, rounds differently"
        )
    raise ReplayDiffersError(
        step="rounds_captured",
        detail=(
            f"sampled again, {tokens} of {n} trajectories have the recorded tokens and {logits} "
            "the recorded logits; another processor may round differently; the rows above decide"
        ),
    )
