"""A new table for a pair, learnt from tokens that its target drew and a ledger kept.

Verification is exact, so a token that was accepted, or drawn in place of a rejected draft, is a
draw from the target's row, whatever the drafter proposed. Counted by the table's state, such tokens
are what the table should have said. Each state's row is the old row, worth `prior` tokens, and the
counts:

    row = (prior * old + counts) / (prior + number of tokens)

`prior` is the one of `PRIORS` with which held-out forecasts would have accepted most. How much
another part, never learnt from, would have accepted needs no row of the target's: for x drawn from
p, the mean of min(1, q(x) / p(x)) is the sum of min(p, q), which is the chance of acceptance.

Not here: reading a ledger (`gateway.launch.setup.pairs.distillation`).

Source: Leviathan, Kalman, Matias (2023), "Fast inference from transformers via speculative
decoding", theorem 3.5 (acceptance is the sum of min(p, q)).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from inference.errors import TrainingDataError
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import QTable, RoundOutcome

PRIORS: Final = (300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)
"""Tokens that the old row is worth; a state with fewer of its own stays nearly as it was."""
PARTS: Final = 5
"""Forecasts are dealt in their order: three parts teach, one chooses `prior`, one judges."""
CHOOSES, JUDGES = 3, 4
FORECASTS_MIN: Final = 25
DRAWS: Final = 1_000
LEVEL: Final = 0.05
_SEED: Final = 110

Rows = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTokens:
    """Tokens that the target drew for one forecast, [n] each.

    Attributes:
        states: The table's row that drafted at the token's position.
        bins: The token, as a bin from 0.
        p: The target's probability of the token.
    """

    states: npt.NDArray[np.int64]
    bins: npt.NDArray[np.int64]
    p: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A table learnt from records, float32 [n_states, n_bins], and how it drafts.

    Attributes:
        tokens: Tokens that it learnt from.
        prior: The prior that was chosen.
        before: Chance of acceptance of the old table's drafts on the judging part.
        after: The same of the new table's.
        gain: `after` less `before`, with its 90 % interval by whole forecasts.
    """

    rows: npt.NDArray[np.float32]
    forecasts: int
    tokens: int
    prior: float
    before: float
    after: float
    gain: float
    gain_low: float
    gain_high: float

    @property
    def better(self) -> bool:
        """Return whether the new table's drafts are accepted more often, beyond the interval."""
        return self.gain_low > 0.0


def drawn_tokens(evidence: Evidence) -> DrawnTokens:
    """Return the tokens of a capture whose draft's state is on record: accepted and recovered ones.

    A bonus token follows the last draft and has no state of its own; it is left out.

    Raises:
        TrainingDataError: the capture's drafter is not a table.
    """
    found = list(_drawn(evidence))
    if not found and not evidence.table_digest:
        raise TrainingDataError("a capture without a table's drafts teaches no table")
    states, bins, p = zip(*found, strict=True) if found else ((), (), ())
    return DrawnTokens(
        states=np.array(states, dtype=np.int64),
        bins=np.array(bins, dtype=np.int64),
        p=np.array(p, dtype=np.float64),
    )


def _drawn(evidence: Evidence) -> Iterator[tuple[int, int, float]]:
    start = evidence.bin_start
    for r in evidence.rounds:
        if not r.states:
            continue
        for j in range(r.accepted):
            yield r.states[j], r.drafts[j] - start, r.p[j]
        if r.outcome is RoundOutcome.RECOVERED:
            yield r.states[r.accepted], r.token - start, r.token_p


def distil_table(old: QTable, forecasts: Sequence[DrawnTokens]) -> Distilled:
    """Return the table that recorded forecasts teach, judged on forecasts it did not see.

    The same table and forecasts give the same bytes.

    Raises:
        TrainingDataError: there are fewer than 25 forecasts, or one names a state that the table
            lacks.
    """
    if len(forecasts) < FORECASTS_MIN:
        raise TrainingDataError(
            f"expected at least {FORECASTS_MIN} forecasts to learn from, found {len(forecasts)}"
        )
    rows = np.frombuffer(old.rows, dtype="<f4").reshape(-1, old.n_bins).astype(np.float64)
    parts = [list(forecasts[index::PARTS]) for index in range(PARTS)]
    counts = np.zeros_like(rows)
    for one in (one for part in parts[:CHOOSES] for one in part):
        if one.states.size and int(one.states.max()) >= len(rows):
            raise TrainingDataError("a forecast was drafted by a larger table")
        np.add.at(counts, (one.states, one.bins), 1.0)
    learnt = {prior: _learnt(rows, counts, prior) for prior in PRIORS}
    prior = max(PRIORS, key=lambda one: float(np.mean(_accepted(learnt[one], parts[CHOOSES]))))
    new = learnt[prior]
    before, after = _accepted(rows, parts[JUDGES]), _accepted(new, parts[JUDGES])
    low, high = _interval(after - before)
    return Distilled(
        rows=new.astype(np.float32),
        forecasts=len(forecasts),
        tokens=int(counts.sum()),
        prior=prior,
        before=float(before.mean()),
        after=float(after.mean()),
        gain=float((after - before).mean()),
        gain_low=low,
        gain_high=high,
    )


def _learnt(old: Rows, counts: Rows, prior: float) -> Rows:
    joined = prior * old + counts
    made = joined / joined.sum(axis=1, keepdims=True)
    # float32, as it is served: the judge must score the rows that will draft
    return made.astype(np.float32).astype(np.float64)


def _accepted(rows: Rows, forecasts: Sequence[DrawnTokens]) -> Rows:
    """Return the chance of acceptance under a table, for each forecast that has a token."""
    return np.array(
        [
            float(np.minimum(1.0, rows[one.states, one.bins] / one.p).mean())
            for one in forecasts
            if one.states.size
        ]
    )


def _interval(gains: Rows) -> tuple[float, float]:
    """Return the 90 % interval of a mean over forecasts, drawn whole: their paths are alike."""
    draw = np.random.default_rng(_SEED)
    picks = draw.integers(0, len(gains), size=(DRAWS, len(gains)))
    low, high = np.quantile(gains[picks].mean(axis=1), (LEVEL, 1.0 - LEVEL))
    return float(low), float(high)
