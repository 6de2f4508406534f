"""Full rows to evidence: keep the numbers that decided, and check that they still decide.

The same capture gives the same evidence everywhere, except for the entropies, whose last 1/1024
nat depends on the machine's logarithm; they decide nothing.
"""

import hashlib
from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from inference.errors import CaptureError
from inference.speculation.evidence import (
    ENTROPY_SCALE,
    Bracket,
    Evidence,
    OtherFirst,
    RoundEvidence,
    judge,
)
from inference.speculation.rounds import (
    Capture,
    DrafterKind,
    DraftRound,
    QTable,
    RoundOutcome,
    residual,
    row_values,
)

Row = tuple[float, ...]


def condense(capture: Capture, table: QTable | None = None) -> Evidence:
    """Return the evidence of a capture; every position of it recomputes.

    Raises:
        CaptureError: when the capture does not follow from its own rows, was sampled at
            temperature 0, or has no round, or when a table drafter's table is missing.
    """
    if capture.greedy:
        raise CaptureError("a greedy capture has no draws to keep evidence of")
    if not capture.rounds:
        raise CaptureError("the capture holds no round")
    rows = _Rows(capture, table)
    rows.measure(row for r in capture.rounds for row in r.p_rows)
    digests = [hashlib.sha256() for _ in capture.seeds]
    for r in capture.rounds:
        digests[r.trajectory].update(r.logits_digest)
    evidence = Evidence(
        drafter=capture.drafter,
        spec_k=capture.spec_k,
        bin_start=capture.bin_start,
        n_bins=capture.n_bins,
        table_digest=capture.table_digest,
        first_row=rows.values(rows.first),
        first_entropy=rows.entropy(rows.first),
        other_firsts=rows.other_firsts(),
        seeds=capture.seeds,
        row_digests=tuple(d.digest() for d in digests),
        rounds=tuple(rows.round(r) for r in capture.rounds),
    )
    if faults := judge(evidence, table):
        raise CaptureError(f"the evidence does not decide: {faults[0]}")
    return evidence


class _Rows:
    """Reads each distinct row once; makes a round's evidence."""

    def __init__(self, capture: Capture, table: QTable | None) -> None:
        self._start = capture.bin_start
        self._by_table = capture.drafter is DrafterKind.TABLE
        self._table = table
        self._values: dict[bytes, Row] = {}
        self._entropies: dict[bytes, int] = {}
        self._firsts = {r.trajectory: r.p_rows[0] for r in capture.rounds if r.step == 0}
        self.first = self._firsts.get(0, capture.rounds[0].p_rows[0])

    def other_firsts(self) -> tuple[OtherFirst, ...]:
        """Return each distinct first row but the first trajectory's."""
        owners: dict[bytes, list[int]] = {}
        for trajectory, row in sorted(self._firsts.items()):
            if row != self.first:
                owners.setdefault(row, []).append(trajectory)
        return tuple(
            OtherFirst(row=self.values(row), entropy=self.entropy(row), trajectories=tuple(own))
            for row, own in owners.items()
        )

    def values(self, row: bytes) -> Row:
        if row not in self._values:
            self._values[row] = row_values(row)
        return self._values[row]

    def measure(self, rows: Iterable[bytes]) -> None:
        """Compute the entropies of rows, all at once."""
        distinct = list(dict.fromkeys(rows))
        values = np.frombuffer(b"".join(distinct), "<f4").astype(np.float64)
        logs = np.log(values, where=values > 0.0, out=np.zeros_like(values))
        sums = -(values * logs).reshape(len(distinct), -1).sum(axis=1)
        scaled = np.rint(sums * ENTROPY_SCALE).astype(np.int64).tolist()
        self._entropies = dict(zip(distinct, scaled, strict=True))

    def entropy(self, row: bytes) -> int:
        return self._entropies[row]

    def round(self, r: DraftRound) -> RoundEvidence:
        verified = len(r.draws)
        q_rows = [self._q(r, j) for j in range(verified)]
        p_rows = [self.values(row) for row in r.p_rows]
        bins = [token - self._start for token in r.drafts[:verified]]
        of_network = bool(r.q_rows)
        recovered = r.outcome is RoundOutcome.RECOVERED
        last, row = r.token - self._start, p_rows[-1]
        first = self._firsts.get(r.trajectory, self.first)
        shared = r.outcome is RoundOutcome.PLAIN and r.p_rows[-1] == first
        picked_from = residual(row, q_rows[-1]) if recovered else row
        network_bins = bins if of_network else []
        return RoundEvidence(
            trajectory=r.trajectory,
            step=r.step,
            drafts=r.drafts,
            states=r.q_states,
            p=tuple(_at(p, bin_) for p, bin_ in zip(p_rows, bins, strict=False)),
            q=tuple(_at(q, bin_) for q, bin_ in zip(q_rows, network_bins, strict=False)),
            q_picks=tuple(_bracket(q, bin_) for q, bin_ in zip(q_rows, network_bins, strict=False)),
            accepted=r.accepted,
            token=r.token,
            token_p=_at(row, last),
            token_q=_at(q_rows[-1], last) if recovered and of_network else None,
            picked=None if shared else _bracket(picked_from, last),
            no_rest=recovered and picked_from is row,
            outcome=r.outcome,
            plain_reason=r.plain_reason,
            truncated=r.truncated,
            entropies=tuple(self.entropy(p) for p in r.p_rows),
            tops=r.tops,
        )

    def _q(self, r: DraftRound, j: int) -> Row:
        if not self._by_table:
            return self.values(r.q_rows[j])
        if self._table is None:
            raise CaptureError("the drafter's table is needed to keep evidence of its drafts")
        return self.values(self._table.row(r.q_states[j]))


def _at(row: Row, bin_: int) -> float:
    if not 0 <= bin_ < len(row):
        raise CaptureError(f"a token lies outside the {len(row)} bins")
    return row[bin_]


def _bracket(row: Row, bin_: int) -> Bracket:
    _at(row, bin_)
    sums = list(accumulate(row))
    return Bracket(before=sums[bin_ - 1] if bin_ else 0.0, total=sums[-1])
