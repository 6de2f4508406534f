"""What the ledger keeps of a capture: the numbers that decided, but not whole rows.

A row of the target or the drafter is a function of weights, prompt and tokens, so it is computed
again (`regeneration.py`) instead of kept. Evidence keeps what a pick or a test used of a row: the
probability of each draft and each token, as the float32 that was compared, and for each pick the
float64 sum before the picked entry and the whole sum. Draws come from the seeds.

    from the record, exactly   drafts, draws, accept or reject, tokens, counts, likelihoods
    from the table file        the table drafter's rows, exactly (the record names the file)
    from the weights           the target's and the network drafter's rows, within a tolerance

Rules:
    - Evidence keeps the first row whole: the closed-form law needs it. Rows of one prompt may
      differ in their last bits, because a float32 matrix product does with the batch's shape. Each
      distinct one is kept and decides its own trajectories; all lie within `FIRST_ROW_GAP`.

Not here: making evidence from full rows (`condense.py`) and the byte form (`evidence_bytes.py`).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, isfinite, log

from inference.errors import CaptureError
from inference.speculation.rounds import (
    DrafterKind,
    PlainReason,
    QTable,
    RoundOutcome,
    accepts,
    picked,
    residual,
    row_values,
)
from inference.speculation.seeds import Purpose, accept_draw, token_draw

ENTROPY_SCALE = 1024
"""Entropies are kept in 1/1024 nat; they decide nothing."""
FIRST_ROW_GAP = 2e-4
"""How far the first rows of one prompt may lie apart, in a probability or a sum of them."""
TOTAL_TOLERANCE = 1e-4
"""How far from one a row of probabilities may sum; float32 rows miss it by less than 1e-6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Where a draw fell in a row: `before <= draw * total < before + entry`."""

    before: float  # sum of the entries before the picked one, left to right in float64
    total: float  # sum of the whole row

    def holds(self, entry: float, draw: float) -> bool:
        """Return whether the draw picks an entry of this size, as `seeds.pick` would.

        Rounding can put the mark on the total: the last entry with mass is picked then.
        """
        mark, after = draw * self.total, self.before + entry
        return entry > 0.0 and self.before <= mark and (mark < after or after == self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEvidence:
    """A `DraftRound` without its rows; tokens are vocabulary ids."""

    trajectory: int
    step: int  # output position of the round's first token, 0 = first sampled token
    drafts: tuple[int, ...]
    states: tuple[int, ...]  # table drafter: the table row behind each draft
    p: tuple[float, ...]  # the target's probability of each verified draft
    q: tuple[float, ...]  # network drafter: its own probability of each verified draft
    q_picks: tuple[Bracket, ...]  # network drafter: where its draw fell
    accepted: int
    token: int
    token_p: float  # the target's probability of the round's last token
    token_q: float | None  # network drafter, recovered: the draft's probability of that token
    picked: Bracket | None  # where the token's draw fell; None: in the trajectory's first row
    no_rest: bool  # recovered, and max(p - q, 0) had no mass: drawn from p itself
    outcome: RoundOutcome
    plain_reason: PlainReason | None
    truncated: int  # emitted tokens beyond the request's length, dropped by the scheduler
    entropies: tuple[int, ...]  # of the target's rows, in 1/1024 nat, accepted + 1 of them
    tops: tuple[bytes, ...] = ()  # heads of the raw rows (`top_rows.py`); () for small vocabularies

    def __post_init__(self) -> None:
        """Raise `CaptureError` for a round whose parts do not fit together."""
        n, verified = len(self.drafts), self.verified
        plain = self.outcome is RoundOutcome.PLAIN
        recovered = self.outcome is RoundOutcome.RECOVERED
        if (
            not 0 <= self.accepted <= n
            or len(self.p) != verified
            or len(self.q) not in (0, verified)
            or len(self.tops) not in (0, self.accepted + 1)
            or len(self.q_picks) != len(self.q)
            or len(self.states) not in (0, n)
            or bool(self.q and self.states)
            or (n > 0 and not (self.q or self.states))
            or plain != (n == 0)
            or plain != (self.plain_reason is not None)
            or (not plain and recovered != (self.accepted < n))
            or (self.token_q is not None) != (recovered and bool(self.q))
            or (self.picked is None and not plain)
            or (self.no_rest and not recovered)
            or len(self.entropies) != self.accepted + 1
            or not 0 <= self.truncated <= self.accepted + 1
            or self.step < 0
            or self.trajectory < 0
        ):
            raise CaptureError(f"round {self.trajectory}/{self.step} does not fit together")

    @property
    def verified(self) -> int:
        """How many drafts were decided: the accepted ones and the rejected one."""
        return min(len(self.drafts), self.accepted + 1)

    @property
    def emitted(self) -> tuple[int, ...]:
        """The tokens that this round added to its trajectory."""
        tokens = self.tokens
        return tokens[: len(tokens) - self.truncated]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The emitted tokens and those that the scheduler dropped."""
        return (*self.drafts[: self.accepted], self.token)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFirst:
    """A first row of some trajectories that is not, bit for bit, the first trajectory's."""

    row: tuple[float, ...]
    entropy: int  # in 1/1024 nat
    trajectories: tuple[int, ...]  # ascending, never the first one


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Every round of one request, with what is needed to check it."""

    drafter: DrafterKind
    spec_k: int
    bin_start: int
    n_bins: int
    table_digest: str  # empty unless the drafter is the table
    first_row: tuple[float, ...]  # the target's probabilities of the first trajectory's first token
    first_entropy: int  # in 1/1024 nat
    seeds: tuple[int, ...]  # one per trajectory
    row_digests: tuple[bytes, ...]  # per trajectory, SHA-256 over its rounds' logit digests
    rounds: tuple[RoundEvidence, ...]  # by trajectory, then step
    other_firsts: tuple[OtherFirst, ...] = ()  # by their first trajectory; mostly none

    def __post_init__(self) -> None:
        """Raise `CaptureError` when parts do not fit together or a probability is not one."""
        bins = range(self.bin_start, self.bin_start + self.n_bins)
        kind = self.drafter
        probabilities = [
            *self.first_row,
            *(value for one in self.other_firsts for value in one.row),
        ]
        for r in self.rounds:
            probabilities += [*r.p, *r.q, r.token_p, *(() if r.token_q is None else (r.token_q,))]
            if (
                r.trajectory >= len(self.seeds)
                or any(token not in bins for token in (*r.drafts, r.token))
                or (bool(r.states) and kind is not DrafterKind.TABLE)
                or (bool(r.q) and kind is not DrafterKind.NETWORK)
                or len(r.drafts) > self.spec_k
            ):
                raise CaptureError(f"round {r.trajectory}/{r.step} is not of this capture")
        if (
            len(self.first_row) != self.n_bins
            or len(self.row_digests) != len(self.seeds)
            or bool(self.table_digest) != (kind is DrafterKind.TABLE)
        ):
            raise CaptureError("the capture's parts do not fit together")
        if any(not (isfinite(value) and 0.0 <= value <= 1.0) for value in probabilities):
            raise CaptureError("a probability is not a finite number in [0, 1]")
        self._check_firsts()

    def _check_firsts(self) -> None:
        """Raise `CaptureError` for first rows that are not those of one prompt."""
        others = self.other_firsts
        owners = [n for one in others for n in one.trajectories]
        if (
            any(len(one.row) != self.n_bins or not one.trajectories for one in others)
            or any(list(one.trajectories) != sorted(one.trajectories) for one in others)
            or any(not 0 < n < len(self.seeds) for n in owners)
            or len(set(owners)) != len(owners)
            or len({self.first_row, *(one.row for one in others)}) != len(others) + 1
            or [one.trajectories[0] for one in others]
            != sorted(one.trajectories[0] for one in others)
        ):
            raise CaptureError("the first rows do not fit together")
        if (gap := _apart([self.first_row, *(one.row for one in others)])) > FIRST_ROW_GAP:
            raise CaptureError(
                f"the first rows of one prompt lie {gap:.1e} apart, more than {FIRST_ROW_GAP:.0e}"
            )

    def own_firsts(self) -> dict[int, tuple[tuple[float, ...], int]]:
        """Return first row and entropy of the trajectories that have another than `first_row`."""
        return {n: (one.row, one.entropy) for one in self.other_firsts for n in one.trajectories}

    def tokens_of(self, trajectory: int) -> tuple[int, ...]:
        """Return a trajectory's tokens, including those that the scheduler dropped."""
        return tuple(t for r in self.rounds if r.trajectory == trajectory for t in r.tokens)


class Judge:
    """Decides rounds again from the record and, for the table drafter, the table's file."""

    def __init__(self, evidence: Evidence, table: QTable | None = None) -> None:
        """Take the drafter's table, which is needed when the drafter is the table.

        Raises:
            CaptureError: when the table is needed and missing or not the recorded one.
        """
        self._evidence = evidence
        self._table: QTable | None = None
        self._own = evidence.own_firsts()
        self._sums: dict[int, tuple[tuple[float, ...], list[float]]] = {}
        self._most = ceil(ENTROPY_SCALE * log(evidence.n_bins)) + 1
        if evidence.drafter is DrafterKind.TABLE:
            if table is None or table.digest != evidence.table_digest:
                raise CaptureError("the drafter's table is needed and must be the recorded one")
            self._table = table

    def q_of(self, r: RoundEvidence, j: int, token: int) -> float:
        """Return the drafter's probability, at draft `j`, of that draft or of the round's token.

        Raises:
            CaptureError: when the probability is not on record.
        """
        if self._table is not None:
            return self._row(r.states[j])[0][token - self._evidence.bin_start]
        if token == r.drafts[j]:
            return r.q[j]
        if token == r.token and j == r.accepted and r.token_q is not None:
            return r.token_q
        raise CaptureError(f"round {r.trajectory}/{r.step} keeps no such draft probability")

    def faults(self, r: RoundEvidence) -> tuple[str, ...]:
        """Return the names of what does not follow from the round's numbers; () when all does.

        Raises:
            CaptureError: when a table state does not exist.
        """
        seed = self._evidence.seeds[r.trajectory]
        found: list[str] = [] if self._starts_alike(r) else ["first row"]
        for j, token in enumerate(r.drafts):
            if not self._drafted(r, j, token_draw(seed, Purpose.DRAFT, r.step, j)):
                found.append(f"draft {j}")
            if j < r.verified:
                stands = accepts(r.p[j], self.q_of(r, j, token), accept_draw(seed, r.step, j))
                if stands != (j < r.accepted):
                    found.append(f"verdict {j}")
        if not self._token_follows(r, seed):
            found.append("token")
        if any(not 0 <= value <= self._most for value in r.entropies):
            found.append("entropy")
        return tuple(found)

    def _starts_alike(self, r: RoundEvidence) -> bool:
        """Return whether a drafted first token has its numbers in its trajectory's first row."""
        if r.step or not r.drafts:
            return True
        (row, entropy), start = self._first(r), self._evidence.bin_start
        told = [(r.p[0], r.drafts[0])]
        if r.accepted == 0:
            told.append((r.token_p, r.token))
        same = all(value == row[token - start] for value, token in told)
        return same and r.entropies[0] == entropy

    def _first(self, r: RoundEvidence) -> tuple[tuple[float, ...], int]:
        """Return the first row of a round's trajectory and its entropy."""
        usual = self._evidence.first_row, self._evidence.first_entropy
        return self._own.get(r.trajectory, usual)

    def _drafted(self, r: RoundEvidence, j: int, draw: float) -> bool:
        """Return whether draft `j` follows; a network's unverified draft cannot be decided."""
        if self._table is not None:
            row, sums = self._row(r.states[j])
            index = bisect_right(sums, draw * sums[-1])
            if index == len(sums):
                index = picked(row, draw)
            return self._evidence.bin_start + index == r.drafts[j]
        if j >= r.verified:
            return True
        return _whole(r.q_picks[j]) and r.q_picks[j].holds(r.q[j], draw)

    def _token_follows(self, r: RoundEvidence, seed: int) -> bool:
        if r.picked is None:
            row, entropy = self._first(r)
            index = picked(row, token_draw(seed, Purpose.SAMPLE, r.step))
            return (
                self._evidence.bin_start + index == r.token
                and r.token_p == row[index]
                and r.entropies == (entropy,)
            )
        if r.outcome is not RoundOutcome.RECOVERED:
            draw = token_draw(seed, Purpose.SAMPLE, r.step)
            return _whole(r.picked) and r.picked.holds(r.token_p, draw)
        draw = token_draw(seed, Purpose.RECOVER, r.step, r.accepted)
        q = self.q_of(r, r.accepted, r.token)
        if r.no_rest:
            return r.token_p <= q and _whole(r.picked) and r.picked.holds(r.token_p, draw)
        rest = residual((r.token_p,), (q,))[0]
        return r.token_p > q and r.picked.holds(rest, draw) and _sum_fits(r.picked, rest)

    def _row(self, state: int) -> tuple[tuple[float, ...], list[float]]:
        if state not in self._sums:
            if self._table is None:
                raise CaptureError("no table was given")
            row = row_values(self._table.row(state))
            if len(row) != self._evidence.n_bins:
                raise CaptureError("the drafter's table has another number of bins")
            self._sums[state] = row, list(accumulate(row))
        return self._sums[state]


def judge(evidence: Evidence, table: QTable | None = None) -> tuple[str, ...]:
    """Return the faults of all rounds by trajectory and step; () when all numbers follow.

    Raises:
        CaptureError: when the table is missing or not the recorded one, or lacks a state.
    """
    decide = Judge(evidence, table)
    return tuple(
        f"trajectory {r.trajectory} step {r.step}: {fault}"
        for r in evidence.rounds
        for fault in decide.faults(r)
    )


def _whole(bracket: Bracket) -> bool:
    """Return whether the bracket fits a row of probabilities."""
    return abs(bracket.total - 1.0) <= TOTAL_TOLERANCE and bracket.before <= bracket.total


def _sum_fits(bracket: Bracket, entry: float) -> bool:
    """Return whether the bracket fits a residual, whose mass is at most one."""
    return bracket.before + entry <= bracket.total <= 1.0 + TOTAL_TOLERANCE


def _apart(rows: Sequence[tuple[float, ...]]) -> float:
    """Return the largest gap between any two rows, of an entry or of a sum of entries."""
    if len(rows) == 1:
        return 0.0
    sums = [tuple(accumulate(row)) for row in rows]
    columns = (*zip(*rows, strict=True), *zip(*sums, strict=True))
    gaps: list[float] = [max(column) - min(column) for column in columns]
    return max(gaps)
