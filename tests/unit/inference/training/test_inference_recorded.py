"""A drafter's table learnt from tokens on record: it drafts better, and only then is it better."""

import numpy as np
import pytest

from inference.errors import TrainingDataError
from inference.speculation.evidence import Bracket, Evidence, RoundEvidence
from inference.speculation.rounds import DrafterKind, QTable, RoundOutcome
from inference.training.recorded import DrawnTokens, distil_table, drawn_tokens
from inference.weights.registry import read_table, table_bytes

BINS = 16
STATES = 3
TARGET = np.stack([np.roll(np.linspace(1.0, 4.0, BINS), shift) for shift in (0, 5, 9)])
TARGET = TARGET / TARGET.sum(axis=1, keepdims=True)
FLAT = np.full((STATES, BINS), 1.0 / BINS)


def table(rows: np.ndarray) -> QTable:
    return read_table(table_bytes(rows.astype("<f4").tobytes(), BINS))


def forecasts(rows: np.ndarray, number: int, tokens: int = 200) -> list[DrawnTokens]:
    """Return tokens drawn from the target's rows, as exact verification leaves them."""
    draw = np.random.default_rng(7)
    found = []
    for _ in range(number):
        states = draw.integers(0, STATES, tokens)
        bins = np.array([draw.choice(BINS, p=rows[state]) for state in states])
        found.append(DrawnTokens(states=states, bins=bins, p=rows[states, bins]))
    return found


def test_recorded_tokens_teach_the_targets_rows() -> None:
    found = distil_table(table(FLAT), forecasts(TARGET, 100))
    assert found.better
    assert found.tokens == 60 * 200
    before, after = (np.abs(rows - TARGET).sum() for rows in (FLAT, found.rows))
    assert after < 0.3 * before


def test_acceptance_is_estimated_without_the_targets_rows() -> None:
    found = distil_table(table(FLAT), forecasts(TARGET, 200))
    exact = np.minimum(TARGET, FLAT).sum(axis=1).mean()
    assert found.before == pytest.approx(exact, abs=0.005)
    learnt = np.minimum(TARGET, found.rows).sum(axis=1).mean()
    assert found.after == pytest.approx(learnt, abs=0.005)


def test_a_table_that_has_the_targets_rows_already_is_not_bettered() -> None:
    found = distil_table(table(TARGET), forecasts(TARGET, 100))
    assert not found.better
    assert found.before == pytest.approx(1.0, abs=1e-6)


def test_the_same_records_give_the_same_bytes() -> None:
    once, again = (distil_table(table(FLAT), forecasts(TARGET, 50)) for _ in range(2))
    assert once.rows.tobytes() == again.rows.tobytes()
    assert (once.gain_low, once.gain_high) == (again.gain_low, again.gain_high)


def test_a_state_that_no_token_names_keeps_its_row() -> None:
    seen = [
        DrawnTokens(states=np.zeros_like(one.states), bins=one.bins, p=one.p)
        for one in forecasts(TARGET, 50)
    ]
    found = distil_table(table(FLAT), seen)
    assert np.allclose(found.rows[1:], FLAT[1:])


def test_too_few_forecasts_or_a_larger_table_are_refused() -> None:
    with pytest.raises(TrainingDataError, match="at least 25"):
        distil_table(table(FLAT), forecasts(TARGET, 24))
    small = table(FLAT[:2])
    with pytest.raises(TrainingDataError, match="larger table"):
        distil_table(small, forecasts(TARGET, 50))


def test_accepted_and_recovered_tokens_teach_and_bonus_tokens_do_not() -> None:
    rejected = _round(0, (10, 11), (1, 2), (0.5, 0.25), token=12, token_p=0.125)
    bonus = _round(2, (13,), (0,), (0.75,), token=14, token_p=0.5)
    evidence = Evidence(
        drafter=DrafterKind.TABLE, spec_k=2, bin_start=10, n_bins=BINS, table_digest="a",
        first_row=(1.0,) + (0.0,) * (BINS - 1), first_entropy=0, seeds=(1,),
        row_digests=(b"",), rounds=(rejected, bonus),
    )  # fmt: skip
    found = drawn_tokens(evidence)
    assert found.states.tolist() == [1, 2, 0]
    assert found.bins.tolist() == [0, 2, 3]
    assert found.p.tolist() == [0.5, 0.125, 0.75]


def _round(
    step: int,
    drafts: tuple[int, ...],
    states: tuple[int, ...],
    p: tuple[float, ...],
    *,
    token: int,
    token_p: float,
) -> RoundEvidence:
    """Return a round that accepted its first draft; a second one it rejected."""
    full = len(drafts) == 1
    return RoundEvidence(
        trajectory=0,
        step=step,
        drafts=drafts,
        states=states,
        p=p,
        q=(),
        q_picks=(),
        accepted=1,
        token=token,
        token_p=token_p,
        token_q=None,
        picked=Bracket(before=0.0, total=1.0),
        no_rest=False,
        outcome=RoundOutcome.BONUS if full else RoundOutcome.RECOVERED,
        plain_reason=None,
        truncated=0,
        entropies=(1, 1),
    )
