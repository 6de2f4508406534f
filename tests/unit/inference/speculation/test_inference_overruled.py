"""Where words overruled numbers is computed from the evidence, and agrees with the full rows."""

import math
from collections import defaultdict

import pytest

from inference.errors import CaptureError
from inference.speculation.condense import condense
from inference.speculation.overruled import overruled
from inference.speculation.rounds import Capture, QTable, RoundOutcome, row_values
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    draft_model,
    make_table,
    request_of,
    target_model,
)

BINS = 32
TABLE = make_table([draft_model(BINS)(token) for token in range(5)])


def _table_capture() -> Capture:
    return ReferenceSampler(target=target_model(BINS), table=TABLE).capture(request_of(12))


def _network_capture() -> Capture:
    sampler = ReferenceSampler(target=target_model(BINS), draft=draft_model(BINS))
    return sampler.capture(request_of(12, 10, n_bins=BINS, spec_k=4))


@pytest.mark.parametrize(
    ("capture", "table"), [(_table_capture(), TABLE), (_network_capture(), None)]
)
def test_each_bars_excess_is_that_of_the_full_rows(capture: Capture, table: QTable | None) -> None:
    expected: dict[int, list[float]] = defaultdict(list)
    rejected: dict[int, int] = defaultdict(int)
    for one in capture.rounds:
        for j, draft in enumerate(one.drafts[: one.accepted + 1]):
            raw = TABLE.row(one.q_states[j]) if table else one.q_rows[j]
            p, q = (row_values(row)[draft - capture.bin_start] for row in (one.p_rows[j], raw))
            expected[one.step + j].append(max(0.0, 1.0 - p / q))
        rejected[one.step + one.accepted] += one.outcome is RoundOutcome.RECOVERED
    found = overruled(condense(capture, table), table)
    assert [one.bar for one in found] == sorted(expected)
    for bar in found:
        assert bar.decided == len(expected[bar.bar])
        assert bar.excess == pytest.approx(math.fsum(expected[bar.bar]) / bar.decided)
        assert bar.rejected == rejected[bar.bar]
    assert sum(bar.rejected for bar in found) > 0


def test_the_table_must_be_the_recorded_one() -> None:
    with pytest.raises(CaptureError):
        overruled(condense(_table_capture(), TABLE), None)
