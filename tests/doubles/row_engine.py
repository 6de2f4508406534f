"""An engine without a model: target rows are the table's rows, sharpened, and sampled exactly.

Small and real: drafts, draws, accept or reject, residual and bonus follow the same rules as the
served engine, so `disagreements` finds no fault. Only the rows mean nothing.
"""

import hashlib
from dataclasses import dataclass

from inference.codec.codec import ReturnCodec
from inference.engine.port import EngineDescription, SampleRequest, Samples, SelfTest, TokenPath
from inference.errors import EngineError
from inference.speculation.rounds import (
    Capture,
    DrafterKind,
    DraftRound,
    PlainReason,
    QTable,
    RoundOutcome,
    accepts,
    residual,
    row_bytes,
    row_values,
)
from inference.speculation.seeds import Purpose, accept_draw, pick, token_draw
from inference.speculation.totals import paths


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEngine:
    """Implements `inference.engine.port.Engine`; deterministic, no process, no deadline."""

    table: QTable
    codec: ReturnCodec
    sharpness: float = 1.15
    drafts_first: bool = False

    def describe(self) -> EngineDescription:
        """Return what serves."""
        return EngineDescription(
            drafter=DrafterKind.TABLE,
            spec_k=4,
            model_id="row-engine",
            model_digest="0" * 64,
            table_digest=self.table.digest,
            codec_digest=self.codec.digest,
            versions={"row_engine": "1"},
            start_ms={},
            self_test=SelfTest(
                passed=True,
                detail="ok",
                positions=0,
                chi_square=0.0,
                p_value=1.0,
                row_error=0.0,
                weights_gap=0.0,
                mean_accepted=3.6,
                elapsed_ms=0,
            ),
        )

    def sample(self, request: SampleRequest) -> Samples:
        """Return every trajectory of the request."""
        rounds: list[DraftRound] = []
        for number, seed in enumerate(request.seeds):
            tokens: list[int] = []
            while len(tokens) < request.n_tokens:
                made = self._round(request, number, seed, tokens)
                rounds.append(made)
                tokens.extend(made.emitted)
        capture = Capture(
            drafter=DrafterKind.TABLE,
            spec_k=request.spec_k,
            bin_start=request.allowed_range[0],
            n_bins=self.table.n_bins,
            greedy=False,
            table_digest=self.table.digest,
            seeds=request.seeds,
            rounds=tuple(rounds),
        )
        return Samples(
            paths=tuple(
                TokenPath(seed=seed, tokens=path)
                for seed, path in zip(request.seeds, paths(capture), strict=True)
            ),
            capture=capture,
            first_row=row_values(rounds[0].p_rows[0]),
            elapsed_us=1_000,
        )

    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        """Return both; a failure of the twin alone is its answer."""
        samples = self.sample(request)
        try:
            return samples, self.sample(twin)
        except EngineError as error:
            return samples, error

    def _round(
        self, request: SampleRequest, number: int, seed: int, tokens: list[int]
    ) -> DraftRound:
        start, step = request.allowed_range[0], len(tokens)
        left = request.n_tokens - step
        first = self.drafts_first and request.draft_first
        count = 0 if left == 1 or (step == 0 and not first) else request.spec_k
        drafts: list[int] = []
        states: list[int] = []
        for j in range(count):
            state = self.codec.table_state((*request.prompt_ids, *tokens, *drafts))
            q = row_values(self.table.row(state))
            drafts.append(start + pick(q, token_draw(seed, Purpose.DRAFT, step, j)))
            states.append(state)
        p_rows: list[bytes] = []
        draws: list[float] = []
        for j, draft in enumerate(drafts):
            p_rows.append(self._target((*request.prompt_ids, *tokens, *drafts[:j])))
            draws.append(accept_draw(seed, step, j))
            p, q = row_values(p_rows[j]), row_values(self.table.row(states[j]))
            if not accepts(p[draft - start], q[draft - start], draws[j]):
                rest = residual(p, q)
                token = start + pick(rest, token_draw(seed, Purpose.RECOVER, step, j))
                accepted, outcome = j, RoundOutcome.RECOVERED
                break
        else:
            p_rows.append(self._target((*request.prompt_ids, *tokens, *drafts)))
            draw = token_draw(seed, Purpose.SAMPLE, step)
            token = start + pick(row_values(p_rows[-1]), draw)
            accepted, outcome = count, RoundOutcome.BONUS if count else RoundOutcome.PLAIN
        why = PlainReason.FIRST_TOKEN if step == 0 else PlainReason.LAST_TOKEN
        return DraftRound(
            trajectory=number,
            step=step,
            drafts=tuple(drafts),
            q_states=tuple(states),
            q_rows=(),
            p_rows=tuple(p_rows),
            draws=tuple(draws),
            accepted=accepted,
            token=token,
            outcome=outcome,
            plain_reason=None if count else why,
            truncated=max(0, accepted + 1 - left),
            logits_digest=hashlib.sha256(p_rows[-1]).digest(),
        )

    def _target(self, token_ids: tuple[int, ...]) -> bytes:
        kept = self.table.row(self.codec.table_state(token_ids))
        if self.sharpness == 1.0:
            return kept  # the table's own row, to the bit
        row = row_values(kept)
        raised = [value**self.sharpness for value in row]
        total = sum(raised)
        return row_bytes(tuple(value / total for value in raised))
