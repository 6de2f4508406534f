"""Trajectories in progress, their draws and their rounds.

The runner adapter hands in counts, logits and rows as numpy arrays; this module draws from seeds
and makes a `DraftRound` of the rows that the sampler used. Another runner needs another adapter
only.

Shapes: B requests in the batch, S drafts in the whole batch, W bins. Request i owns counts[i] + 1
consecutive rows of a step's logits.

Not here: vLLM.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from inference.codec.alphabet import Alphabet
from inference.speculation.rounds import DraftRound, PlainReason, RoundOutcome
from inference.speculation.seeds import Purpose, accept_draw, token_draw

MAX_MISSES = 3  # rounds in a row without an accepted draft before a trajectory goes on plain
ROW_TOLERANCE = 1e-5  # between the row the sampler used and the row its logits give
_LOGIT_SCALE = 1024.0
_NEVER = np.float32(-np.inf)

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One sampled token with its rows, for a witness that checks the sampler."""

    seed: int
    position: int
    bin: int
    target: Floats  # from the raw logits, [W]
    used: Floats  # the row that the sampler drew from or tested against, [W]
    draft: Floats | None  # the row of its draft; None where no draft was decided
    accepted: bool


Witness = Callable[[Sighting], None]


@dataclass(slots=True, kw_only=True)
class Flight:
    """One trajectory being sampled."""

    key: str
    index: int
    seed: int
    spec_k: int
    n_tokens: int
    greedy: bool
    table_base: int
    drafts_first: bool = False  # the first token is drafted too
    before: int = 0  # the token that the first draft follows
    produced: int = 0
    misses: int = 0
    drafted: int = 0
    accepted: int = 0
    group: str = ""  # the request; its trajectories have one prompt
    first_drafts: tuple[int, ...] = ()  # drafts of the first token on, where known at the start
    states: tuple[int, ...] = ()  # table rows behind the drafts now being verified
    fault: str = ""
    rounds: list[DraftRound] = field(default_factory=list)

    @property
    def fallen(self) -> bool:
        """Return whether rejected drafts made this trajectory go on without drafts."""
        return self.misses >= MAX_MISSES

    def look_ahead(self) -> int:
        """Return how many drafts to verify next; the last token needs none."""
        if self.produced == 0 and not self.drafts_first:
            return 0
        return 0 if self.fallen else max(0, min(self.spec_k, self.n_tokens - self.produced - 1))

    def why_plain(self) -> PlainReason:
        """Return why the step that just ran had no drafts."""
        if self.produced == 0:
            return PlainReason.FIRST_TOKEN
        if self.spec_k == 0:
            return PlainReason.SPECULATION_OFF
        if self.fallen:
            return PlainReason.DRAFTS_REJECTED
        if self.produced == self.n_tokens - 1:
            return PlainReason.LAST_TOKEN
        return PlainReason.NOT_SCHEDULED


class Step:
    """One engine step over a batch: gives the draws, keeps the rows used, makes the rounds."""

    def __init__(
        self, flights: Sequence[Flight], counts: Sequence[int], alphabet: Alphabet
    ) -> None:
        self.flights = flights
        self.counts = counts
        self.alphabet = alphabet
        self.bin_start = alphabet.start
        self.p_used: Floats | None = None  # [S, W] target rows the rejection test used
        self.q_used: Floats | None = None  # [S, W] draft rows it used
        self.last_rows: Floats | None = None  # [B, W] target rows of bonus and plain tokens
        self._pairs = [
            (flight, j) for flight, n in zip(flights, counts, strict=True) for j in range(n)
        ]
        # Which symbols may stand at each row's place; None where all may.
        self.masks = alphabet.masks(
            [f.produced + j for f, n in zip(flights, counts, strict=True) for j in range(n + 1)]
        )
        self._draft_masks = alphabet.masks([f.produced + j for f, j in self._pairs])
        self._last_masks = alphabet.masks(
            [f.produced + n for f, n in zip(flights, counts, strict=True)]
        )

    def accept_draws(self) -> Doubles:
        """Return the accept draw of every draft, [S]."""
        return np.array([accept_draw(f.seed, f.produced, j) for f, j in self._pairs])

    def recover(self, p: Floats, q: Floats) -> Ints:
        """Return the id that would replace each draft, [S], drawn from max(p - q, 0)."""
        p, q = _legal(p, self._draft_masks), _legal(q, self._draft_masks)
        self.p_used, self.q_used = p, q
        rest = np.maximum(p - q, np.float32(0.0))
        rest = np.where(rest.any(axis=1, keepdims=True), rest, p)
        draws = [token_draw(f.seed, Purpose.RECOVER, f.produced, j) for f, j in self._pairs]
        return self.alphabet.ids_of(pick_rows(rest, draws))

    def sample(self, rows: Floats) -> Ints:
        """Return the id of the bonus or plain token of each request, [B]."""
        rows = _legal(rows, self._last_masks)
        self.last_rows = rows
        draws = [token_draw(f.seed, Purpose.SAMPLE, f.produced) for f in self.flights]
        return self.alphabet.ids_of(pick_rows(rows, draws))

    def draft_bins(self, draft_ids: Sequence[int]) -> Ints:
        """Return the symbol of every draft id, [S]."""
        tokens = [
            self.alphabet.token_at(f.produced + j, one)
            for (f, j), one in zip(self._pairs, draft_ids, strict=True)
        ]
        return np.array(tokens, dtype=np.int64) - self.bin_start

    def close(
        self,
        logits: Floats,
        emitted: Sequence[Sequence[int]],
        drafts: Sequence[int],
        *,
        keep_rounds: bool = True,
        witness: Witness | None = None,
        heads: Sequence[bytes] = (),
    ) -> None:
        """Advance every flight and add its round.

        Args:
            logits: The target's raw logits over the symbols, [S + B, W].
            emitted: New ids of each request; none while its prompt is being read.
            drafts: Draft ids, [S].
            keep_rounds: False only when capture is off.
            heads: The head of each row over a large vocabulary, [S + B], or none at all.
            witness: Gets every token and judges the rows instead of this step (the self-test).
        """
        masked = logits if self.masks is None else np.where(self.masks, logits, _NEVER)
        targets = softmax(masked)
        first_draft = 0
        drafted = (self.draft_bins(drafts) + self.bin_start).tolist() if len(drafts) else []
        for i, (flight, n) in enumerate(zip(self.flights, self.counts, strict=True)):
            tokens = [
                self.alphabet.token_at(flight.produced + j, one) for j, one in enumerate(emitted[i])
            ]
            first_row = first_draft + i
            if tokens:
                rows = slice(first_row, first_row + n + 1)
                if witness is not None:
                    self._testify(witness, i, first_draft, tokens, targets[rows])
                else:
                    flight.fault = flight.fault or self._fault(i, first_draft, targets[rows])
                if keep_rounds and not flight.fault:
                    proposed = tuple(drafted[first_draft : first_draft + n])
                    made = self._round(
                        i, first_draft, proposed, tokens, logits[rows], targets[rows]
                    )
                    tops = tuple(heads[first_row : first_row + len(tokens)])
                    flight.rounds.append(replace(made, tops=tops) if tops else made)
                _move_on(flight, n, len(tokens))
            first_draft += n

    def _fault(self, i: int, first_draft: int, targets: Floats) -> str:
        """Return what is wrong with the rows used for a request's tokens, or ""."""
        if not np.isfinite(targets).all():
            return "the target's logits are not finite"
        if self.flights[i].greedy:
            return ""
        used = [_required(self.last_rows)[i : i + 1]]
        if self.counts[i]:
            used.insert(0, _required(self.p_used)[first_draft : first_draft + self.counts[i]])
        gap = float(np.abs(np.concatenate(used) - targets).max())
        if gap <= ROW_TOLERANCE:
            return ""
        return f"the sampler used a row {gap:.1e} away from the target's"

    def _testify(
        self,
        witness: Witness,
        i: int,
        first_draft: int,
        tokens: Sequence[int],
        targets: Floats,
    ) -> None:
        flight, n = self.flights[i], self.counts[i]
        for j, token in enumerate(tokens):
            draft = None
            if j < n:
                used = _required(self.p_used)[first_draft + j]
                draft = _required(self.q_used)[first_draft + j]
            else:
                used = _required(self.last_rows)[i]
            witness(
                Sighting(
                    seed=flight.seed,
                    position=flight.produced + j,
                    bin=int(token) - self.bin_start,
                    target=targets[j],
                    used=used,
                    draft=draft,
                    accepted=j < len(tokens) - 1,
                )
            )

    def _round(
        self,
        i: int,
        first_draft: int,
        drafts: tuple[int, ...],
        tokens: Sequence[int],
        logits: Floats,
        targets: Floats,
    ) -> DraftRound:
        flight, n, accepted = self.flights[i], len(drafts), len(tokens) - 1
        verified = min(n, accepted + 1)
        outcome, reason = RoundOutcome.RECOVERED, None
        if n == 0:
            outcome, reason = RoundOutcome.PLAIN, flight.why_plain()
        elif accepted == n:
            outcome = RoundOutcome.BONUS
        if flight.greedy:
            p_rows = [_row_bytes(row) for row in targets[: accepted + 1]]
        else:
            p_rows = [_row_bytes(_required(self.p_used)[first_draft + j]) for j in range(verified)]
            if accepted == n:
                p_rows.append(_row_bytes(_required(self.last_rows)[i]))
        q_rows: tuple[bytes, ...] = ()
        if n and not flight.states:
            used = self.q_used
            q_rows = (
                tuple(_row_bytes(used[first_draft + j]) for j in range(verified))
                if used is not None
                else tuple(_one_hot(d - self.bin_start, logits.shape[1]) for d in drafts[:verified])
            )
        quantised = np.rint(logits[: accepted + 1] * _LOGIT_SCALE).astype("<i4")
        return DraftRound(
            trajectory=flight.index,
            step=flight.produced,
            drafts=drafts,
            q_states=flight.states[:n],
            q_rows=q_rows,
            p_rows=tuple(p_rows),
            draws=tuple(accept_draw(flight.seed, flight.produced, j) for j in range(verified)),
            accepted=accepted,
            token=int(tokens[-1]),
            outcome=outcome,
            plain_reason=reason,
            truncated=max(0, flight.produced + len(tokens) - flight.n_tokens),
            logits_digest=hashlib.sha256(quantised.tobytes()).digest(),
        )


def pick_rows(rows: Floats, draws: Sequence[float]) -> Ints:
    """Return `seeds.pick` of each row, from the same sums in the same order."""
    return pick_cumulative(np.cumsum(rows, axis=1, dtype=np.float64), draws)


def pick_cumulative(cumulative: Doubles, draws: Sequence[float]) -> Ints:
    """Return the index that each draw picks from running sums, [B, W]; 0 for rows without mass."""
    marks = np.asarray(draws, dtype=np.float64) * cumulative[:, -1]
    index = (cumulative <= marks[:, None]).sum(axis=1)
    # Rounding can put a mark on the total: then pick the last entry with mass.
    last = (cumulative < cumulative[:, -1:]).sum(axis=1)
    return np.asarray(np.minimum(index, last), dtype=np.int64)


def softmax(logits: Floats) -> Floats:
    """Return probabilities along the last axis, float32."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True), dtype=np.float32)
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True), dtype=np.float32)


def _legal(rows: Floats, masks: Masks | None) -> Floats:
    """Return rows with zero where no symbol may stand; a symbol's twin in another slot has none."""
    return rows if masks is None else np.where(masks, rows, np.float32(0.0))


def _move_on(flight: Flight, drafted: int, emitted: int) -> None:
    flight.produced += emitted
    flight.drafted += drafted
    flight.accepted += emitted - 1
    if drafted:
        flight.misses = 0 if emitted > 1 else flight.misses + 1


def _required(rows: Floats | None) -> Floats:
    if rows is None:
        raise RuntimeError("the sampler ran without handing over its rows")
    return rows


def _row_bytes(row: Floats) -> bytes:
    return np.ascontiguousarray(row, dtype="<f4").tobytes()


def _one_hot(bin_: int, width: int) -> bytes:
    row = np.zeros(width, dtype="<f4")
    if 0 <= bin_ < width:
        row[bin_] = 1.0
    return row.tobytes()
