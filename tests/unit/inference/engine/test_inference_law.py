"""Whatever the drafter, sampled tokens follow the target; the self-test's statistics have teeth."""

import hashlib
import math
from itertools import pairwise

import numpy as np
import pytest

from inference.engine.flight import Sighting
from inference.engine.port import SampleRequest
from inference.engine.self_test import (
    MAX_ACCEPT_Z,
    MIN_P_VALUE,
    Sightings,
    chi_square_tail,
    golden_prompt,
    golden_snapshot,
)
from inference.speculation.rounds import Capture
from inference.speculation.totals import paths
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    draft_model,
    hopeless_row,
    make_table,
    request_of,
    target_model,
)

BINS = 16
SAMPLERS = {
    "network": ReferenceSampler(target=target_model(BINS), draft=draft_model(BINS)),
    "table": ReferenceSampler(
        target=target_model(BINS), table=make_table([draft_model(BINS)(t) for t in range(3)])
    ),
    "hopeless": ReferenceSampler(target=target_model(BINS), table=make_table([hopeless_row(BINS)])),
    "plain": ReferenceSampler(target=target_model(BINS)),
}


def _capture(sampler: ReferenceSampler) -> tuple[SampleRequest, Capture]:
    request = request_of(900, 8, n_bins=BINS)
    return request, sampler.capture(request)


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_tokens_follow_the_target_given_what_came_before(name: str) -> None:
    request, capture = _capture(SAMPLERS[name])
    counts = np.zeros((BINS, BINS))
    for path in paths(capture):
        for before, after in pairwise(path):
            counts[before - 128, after - 128] += 1
    rows = np.array([target_model(BINS)(128 + b) for b in range(BINS)])
    expected = counts.sum(axis=1, keepdims=True) * rows
    statistic = float(((counts - expected) ** 2 / expected).sum())
    degrees = BINS * (BINS - 1)
    z = (statistic - degrees) / math.sqrt(2 * degrees)
    assert abs(z) < 4.0
    assert counts.sum() == 900 * (request.n_tokens - 1)


def _sightings(*, temperature: float) -> Sightings:
    """Feed the witness tokens drawn from rows at a temperature, against rows at temperature 1."""
    seen = Sightings()
    for sample in range(1500):
        row = np.array(target_model(BINS)(128 + sample % BINS), dtype=np.float32)
        drawn = row.astype(np.float64) ** (1.0 / temperature)
        drawn /= drawn.sum()
        u = (sample * 0.6180339887498949) % 1.0
        bin_ = int(np.searchsorted(np.cumsum(drawn), u))
        seen.see(
            Sighting(
                seed=sample,
                position=1,
                bin=min(bin_, BINS - 1),
                target=row,
                used=row,
                draft=None,
                accepted=False,
            )
        )
    return seen


def test_right_tokens_pass_the_self_tests_statistics() -> None:
    seen = _sightings(temperature=1.0)
    assert chi_square_tail(seen.chi_square, 15) > 0.001


@pytest.mark.parametrize("temperature", [0.02, 0.3, 4.0])
def test_a_wrong_temperature_fails_the_self_tests_statistics(temperature: float) -> None:
    seen = _sightings(temperature=temperature)
    assert chi_square_tail(seen.chi_square, 15) < MIN_P_VALUE


def test_accepting_too_often_fails_the_self_tests_statistics() -> None:
    seen = Sightings()
    p = np.array(target_model(BINS)(128), dtype=np.float32)
    q = np.array(draft_model(BINS)(128), dtype=np.float32)
    for seed in range(400):
        seen.see(Sighting(seed=seed, position=1, bin=0, target=p, used=p, draft=q, accepted=True))
    assert seen.accept_z > MAX_ACCEPT_Z


def test_rows_that_are_not_numbers_fail_the_self_test() -> None:
    seen = Sightings()
    row = np.full(BINS, np.nan, dtype=np.float32)
    seen.see(Sighting(seed=1, position=1, bin=0, target=row, used=row, draft=None, accepted=False))
    assert seen.row_error == math.inf
    assert chi_square_tail(math.nan, 15) == 0.0


def test_chi_square_tail_agrees_with_tables() -> None:
    # NIST/SEMATECH handbook, upper critical values: 15 degrees of freedom.
    assert chi_square_tail(24.996, 15) == pytest.approx(0.05, abs=1e-4)
    assert chi_square_tail(37.697, 15) == pytest.approx(0.001, abs=1e-5)
    assert chi_square_tail(0.0, 15) == pytest.approx(1.0)


def test_the_golden_prompt_is_fixed() -> None:
    """Fixed for ever: self-tests of two versions or machines are compared by it."""
    snapshot, prompt = golden_snapshot(), golden_prompt()
    closes = b" ".join(b"%d" % bar.close_ticks for bar in snapshot.bars)
    assert hashlib.sha256(closes).hexdigest() == (
        "fa07b1e96b7845f5a7589b81e6448ec4933f100b07f49ff29508fa4b0c97f5f0"
    )
    assert prompt[:4] == (1, 5, 12, 245)
    assert hashlib.sha256(b" ".join(b"%d" % one for one in prompt)).hexdigest() == (
        "c5602bbdc8080a788403828d62b961a000e58892634e604e03a2089441797f65"
    )
