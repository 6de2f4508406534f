"""A record's numbers compared with rows computed from the weights.

`evidence.Judge` decides whether a record follows from its own numbers, exactly and without
weights. This module checks that those numbers are the weights' own: it computes each row again by
teacher forcing. Rows agree within a tolerance only, because float32 sums in another order differ
in their last bits.

    compared   the probabilities of drafts and tokens, the sums before picked entries, the
               entropies, every whole first row, of the target and of the network drafter
    not        the table drafter's rows (exact, from its file); digests of raw logits and a
               network's unverified drafts, which only the record's digest protects
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from inference.errors import CaptureError
from inference.speculation.evidence import ENTROPY_SCALE, Evidence, RoundEvidence
from inference.speculation.rounds import DrafterKind, QTable, RoundOutcome
from inference.weights.registry import TEXT_KIND, ModelPair
from inference.weights.teacher import Doubles, Teacher
from inference.weights.text_pair import codec_for
from inference.weights.text_teacher import TEXT_TOLERANCE, TextTeacher

ROW_TOLERANCE = 1e-5
"""Largest accepted gap of a probability or of a sum of probabilities."""
ENTROPY_TOLERANCE = 2e-3
"""Largest accepted gap of an entropy, nats; rounding to 1/1024 alone makes up to 0.0005."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regeneration:
    """Result of a comparison."""

    target_rows: int
    drafter_rows: int  # the network's only
    numbers: int  # recorded numbers compared
    row_gap: float  # largest gap of a probability or sum
    entropy_gap: float  # nats
    faults: tuple[str, ...]  # numbers outside the tolerance, by trajectory and step


class _Pair(NamedTuple):
    where: str
    recorded: float
    again: float
    tolerance: float

    @property
    def gap(self) -> float:
        gap = abs(self.recorded - self.again)
        return gap if gap >= 0.0 else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows computed from weights, [tokens, bins] for each trajectory."""

    target: list[Doubles]
    draft: list[Doubles] | None  # None unless the network drafted
    tolerance: float = ROW_TOLERANCE


def rows_of(evidence: Evidence, prompt_ids: tuple[int, ...], pair: ModelPair) -> Rows:
    """Return the rows of a record's tokens after its prompt.

    Raises:
        RegistryError: when a model file cannot be read or does not know a token.
    """
    bins = slice(evidence.bin_start, evidence.bin_start + evidence.n_bins)
    answers = [evidence.tokens_of(n) for n in range(len(evidence.seeds))]
    by_network = evidence.drafter is DrafterKind.NETWORK
    if pair.kind == TEXT_KIND:
        alphabet = codec_for(pair).alphabet
        return Rows(
            target=TextTeacher(pair.target, alphabet).rows(prompt_ids, answers, bins),
            draft=TextTeacher(pair.draft, alphabet).rows(prompt_ids, answers, bins)
            if by_network
            else None,
            tolerance=TEXT_TOLERANCE,
        )
    return Rows(
        target=Teacher(pair.target).rows(prompt_ids, answers, bins),
        draft=Teacher(pair.draft).rows(prompt_ids, answers, bins) if by_network else None,
    )


def compare(evidence: Evidence, rows: Rows, table: QTable) -> Regeneration:
    """Compare every number of a record, whose rounds recompute, with the rows of its tokens.

    Raises:
        CaptureError: when the record has no rounds.
    """
    if not evidence.rounds:
        raise CaptureError("the record holds no rounds")
    numbers = _Numbers(evidence, table)
    entropies = [_entropies(path) for path in rows.target]
    pairs = []
    usual = (evidence.first_row, evidence.first_entropy)
    for n, (first, entropy) in {0: usual, **evidence.own_firsts()}.items():
        name = f"trajectory {n} first" if n else "first"
        gaps = enumerate(zip(first, rows.target[n][0], strict=True))
        pairs += [_pair(f"{name} row {i}", a, b) for i, (a, b) in gaps]
        pairs.append(_entropy(f"{name} entropy", entropy, entropies[n][0]))
    for r in evidence.rounds:
        drafted = None if rows.draft is None else rows.draft[r.trajectory][r.step :]
        pairs.extend(numbers.round(r, rows.target[r.trajectory][r.step :], drafted))
        name, again = _named(r), entropies[r.trajectory][r.step :]
        for j, value in enumerate(r.entropies):
            pairs.append(_entropy(f"{name} entropy {j}", value, again[j]))
    return Regeneration(
        target_rows=sum(len(path) for path in rows.target),
        drafter_rows=sum(len(r.q) for r in evidence.rounds),
        numbers=len(pairs),
        row_gap=max(p.gap for p in pairs if p.tolerance == ROW_TOLERANCE),
        entropy_gap=max(p.gap for p in pairs if p.tolerance != ROW_TOLERANCE),
        faults=tuple(
            f"{p.where} is {p.recorded:.6g}, the weights give {p.again:.6g}"
            for p in pairs
            if not p.gap <= (rows.tolerance if p.tolerance == ROW_TOLERANCE else p.tolerance)
        ),
    )


class _Numbers:
    """Pairs a round's recorded numbers with those of its rows."""

    def __init__(self, evidence: Evidence, table: QTable) -> None:
        self._start = evidence.bin_start
        rows = np.frombuffer(table.rows, dtype="<f4").reshape(-1, table.n_bins)
        self._table: Doubles = rows.astype(np.float64)

    def round(self, r: RoundEvidence, rows: Doubles, drafted: Doubles | None) -> Iterator[_Pair]:
        """Yield every number of a round but its entropies; `rows` start at its step."""
        name = _named(r)
        for j in range(r.verified):
            at = r.drafts[j] - self._start
            yield _pair(f"{name} p {j}", r.p[j], rows[j][at])
            if drafted is not None:
                yield _pair(f"{name} q {j}", r.q[j], drafted[j][at])
                yield _pair(f"{name} q sum {j}", r.q_picks[j].before, drafted[j][:at].sum())
        last, row = r.token - self._start, rows[r.accepted]
        yield _pair(f"{name} token p", r.token_p, row[last])
        if r.picked is None:
            return
        picked_from = row
        if r.outcome is RoundOutcome.RECOVERED:
            q = drafted[r.accepted] if drafted is not None else self._table[r.states[r.accepted]]
            if r.token_q is not None:
                yield _pair(f"{name} token q", r.token_q, q[last])
            picked_from = row if r.no_rest else np.maximum(row - q, 0.0)
        yield _pair(f"{name} token sum", r.picked.before, picked_from[:last].sum())
        yield _pair(f"{name} token total", r.picked.total, picked_from.sum())


def _named(r: RoundEvidence) -> str:
    return f"trajectory {r.trajectory} step {r.step}:"


def _entropies(rows: Doubles) -> Doubles:
    """Return the entropy of each row, nats; an impossible bin adds nothing."""
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0.0)
    return np.asarray(-(rows * logs).sum(axis=-1))


def _entropy(where: str, recorded: int, again: float) -> _Pair:
    return _Pair(where, recorded / ENTROPY_SCALE, float(again), ENTROPY_TOLERANCE)


def _pair(where: str, recorded: float, again: float) -> _Pair:
    return _Pair(where, recorded, float(again), ROW_TOLERANCE)
