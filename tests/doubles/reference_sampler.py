"""Speculative sampling in plain Python: the same draws, the same records, no numpy, no engine.

Models are functions from the newest token to a row over the bins. What the real engine does over a
batch with a transformer, this does one token at a time; both must give the same law and the same
form of record.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from inference.engine.flight import MAX_MISSES
from inference.engine.port import SampleRequest
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

Row = tuple[float, ...]
Model = Callable[[int], Row]


@lru_cache(maxsize=4096)
def hashed_row(name: str, token: int, n_bins: int, spread: float) -> Row:
    """Return a positive row of float32 values that depends on a name and the newest token."""
    weights = []
    for bin_ in range(n_bins):
        digest = hashlib.sha256(f"{name}/{token}/{bin_}".encode()).digest()
        weights.append(1.0 + spread * digest[0] / 255.0)
    total = sum(weights)
    return row_values(row_bytes(tuple(w / total for w in weights)))


def target_model(n_bins: int) -> Model:
    """Return a target that is far from flat."""
    return lambda token: hashed_row("target", token, n_bins, 6.0)


def draft_model(n_bins: int) -> Model:
    """Return a draft that resembles the target only roughly."""
    return lambda token: hashed_row("draft", token, n_bins, 2.0)


def hopeless_row(n_bins: int) -> Row:
    """Return a row with all mass on the last bin."""
    return tuple(1.0 if bin_ == n_bins - 1 else 0.0 for bin_ in range(n_bins))


def make_table(rows: list[Row]) -> QTable:
    """Return a table of rows."""
    data = b"".join(row_bytes(row) for row in rows)
    return QTable(digest=hashlib.sha256(data).hexdigest(), n_bins=len(rows[0]), rows=data)


def moved_row(row: Row, by: float) -> Row:
    """Return a row with that much mass moved from its upper half to its lower one."""
    half = len(row) // 2
    share = by / half
    halves = (*(v + share for v in row[:half]), *(v - share for v in row[half : 2 * half]))
    return row_values(row_bytes((*halves, *row[2 * half :])))


def with_first_rows(request: SampleRequest, by: Sequence[float], *, drafts_first: bool) -> Capture:
    """Return a capture whose trajectories saw first rows that far apart, as batches make them."""
    n_bins = request.allowed_range[1] - request.allowed_range[0]
    usual, newest = target_model(n_bins), request.prompt_ids[-1]
    rounds: list[DraftRound] = []
    for index, (seed, moved) in enumerate(zip(request.seeds, by, strict=False)):
        first = moved_row(usual(newest), moved)
        calls = iter([first])
        sampler = ReferenceSampler(
            target=lambda token, calls=calls: next(calls, None) or usual(token),  # type: ignore[misc]
            draft=draft_model(n_bins),
            drafts_first=drafts_first,
        )
        rounds += sampler.trajectory(request, index, seed)
    sampler = ReferenceSampler(target=usual, draft=draft_model(n_bins))
    return replace(sampler.capture(request), rounds=tuple(rounds))


@dataclass(kw_only=True)
class ReferenceSampler:
    """Samples a request.

    Attributes:
        target: The target's rows.
        draft: The draft's rows; None decodes plainly.
        table: When given, the draft is this table and the state is the token's bin modulo its size.
    """

    target: Model
    draft: Model | None = None
    table: QTable | None = None
    drafts_first: bool = False
    rounds: list[DraftRound] = field(default_factory=list)

    def capture(self, request: SampleRequest) -> Capture:
        """Return the captured rounds of a request at temperature 1."""
        start, stop = request.allowed_range
        kind = DrafterKind.NONE
        if self.table is not None:
            kind = DrafterKind.TABLE
        elif self.draft is not None:
            kind = DrafterKind.NETWORK
        rounds = [
            r
            for index, seed in enumerate(request.seeds)
            for r in self.trajectory(request, index, seed)
        ]
        return Capture(
            drafter=kind,
            spec_k=0 if kind is DrafterKind.NONE else request.spec_k,
            bin_start=start,
            n_bins=stop - start,
            greedy=False,
            table_digest=self.table.digest if self.table is not None else "",
            seeds=request.seeds,
            rounds=tuple(rounds),
        )

    def trajectory(self, request: SampleRequest, index: int, seed: int) -> Iterator[DraftRound]:
        """Yield one trajectory's rounds."""
        newest, produced, misses = request.prompt_ids[-1], 0, 0
        while produced < request.n_tokens:
            ahead = min(request.spec_k, request.n_tokens - produced - 1)
            if (
                (produced == 0 and not self.drafts_first)
                or misses >= MAX_MISSES
                or (self.draft or self.table) is None
            ):
                ahead = 0
            r = self._round(request, index, seed, newest, produced, ahead, misses)
            yield r
            if r.drafts:
                misses = 0 if r.accepted else misses + 1
            newest = r.token
            produced += len(r.emitted)

    def _round(
        self,
        request: SampleRequest,
        index: int,
        seed: int,
        newest: int,
        step: int,
        ahead: int,
        misses: int,
    ) -> DraftRound:
        start = request.allowed_range[0]
        drafts, q_rows, states = self._draft(seed, newest, step, ahead, start)
        p_rows, draws, accepted = [], [], 0
        prefix = [newest, *drafts]
        for j in range(ahead):
            p = self.target(prefix[j])
            draws.append(accept_draw(seed, step, j))
            p_rows.append(p)
            bin_ = drafts[j] - start
            if not accepts(p[bin_], q_rows[j][bin_], draws[j]):
                break
            accepted += 1
        if ahead and accepted < ahead:
            outcome, rest = RoundOutcome.RECOVERED, residual(p_rows[accepted], q_rows[accepted])
            token = start + pick(rest, token_draw(seed, Purpose.RECOVER, step, accepted))
        else:
            outcome = RoundOutcome.BONUS if ahead else RoundOutcome.PLAIN
            p_rows.append(self.target(prefix[ahead]))
            token = start + pick(p_rows[-1], token_draw(seed, Purpose.SAMPLE, step))
        return DraftRound(
            trajectory=index,
            step=step,
            drafts=tuple(drafts),
            q_states=tuple(states),
            q_rows=() if self.table else tuple(row_bytes(q) for q in q_rows[: len(draws)]),
            p_rows=tuple(row_bytes(p) for p in p_rows),
            draws=tuple(draws),
            accepted=accepted,
            token=token,
            outcome=outcome,
            plain_reason=None if ahead else self._why(request, step, misses),
            truncated=0,
            logits_digest=hashlib.sha256(struct.pack("<I", step)).digest(),
        )

    def _draft(
        self, seed: int, newest: int, step: int, ahead: int, start: int
    ) -> tuple[list[int], list[Row], list[int]]:
        drafts: list[int] = []
        rows: list[Row] = []
        states: list[int] = []
        token = newest
        for j in range(ahead):
            if self.table is not None:
                states.append((token - start) % self.table.n_states)
                rows.append(row_values(self.table.row(states[-1])))
            elif self.draft is not None:
                rows.append(self.draft(token))
            token = start + pick(rows[-1], token_draw(seed, Purpose.DRAFT, step, j))
            drafts.append(token)
        return drafts, rows, states

    def _why(self, request: SampleRequest, step: int, misses: int) -> PlainReason:
        if step == 0:
            return PlainReason.FIRST_TOKEN
        if (self.draft or self.table) is None or request.spec_k == 0:
            return PlainReason.SPECULATION_OFF
        if misses >= MAX_MISSES:
            return PlainReason.DRAFTS_REJECTED
        return PlainReason.LAST_TOKEN


def request_of(
    n: int = 4, tokens: int = 10, *, n_bins: int = 32, spec_k: int = 4, seed: int = 1
) -> SampleRequest:
    """Return a small request over `n_bins` bins starting at token 128."""
    return SampleRequest(
        request_id=f"test-{n}-{tokens}-{seed}",
        prompt_ids=(1, 4, 12, 130, 131),
        n_tokens=tokens,
        seeds=tuple(range(seed * 1000, seed * 1000 + n)),
        spec_k=spec_k,
        allowed_range=(128, 128 + n_bins),
        deadline_s=10.0,
    )
