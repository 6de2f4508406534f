"""Which pairs' targets have one row for each state, and that words end it."""

from pathlib import Path

import numpy as np
import pytest

from inference.codec.narrative import is_wordless
from inference.forecast.direct import KNOWN_BY_STATE
from inference.speculation.rounds import row_values
from inference.weights.by_state import state_gap
from inference.weights.regeneration import ROW_TOLERANCE
from inference.weights.registry import load_pair
from inference.weights.teacher import Teacher
from tests.doubles.direct_cases import CODEC, MODELS, table_of, told, wordless

BINS = slice(CODEC.bin_start, CODEC.bin_start + CODEC.n_bins)


def gap_of(folder: Path) -> float:
    return state_gap(load_pair(folder))


def test_the_rows_of_the_named_pairs_are_their_tables_state_by_state() -> None:
    named = [one for one in MODELS.iterdir() if load_pair(one).manifest_digest in KNOWN_BY_STATE]
    assert {one.name for one in named} == {"pair_v2", "pair_v3", "pair_v4"}
    assert max(map(gap_of, named)) < 1e-8


def test_a_trained_network_is_told_from_a_table() -> None:
    assert gap_of(MODELS / "pair_v1") > 100 * ROW_TOLERANCE


@pytest.mark.parametrize("loud", [False, True])
def test_the_row_is_the_states_until_words_act(loud: bool) -> None:  # noqa: FBT001
    prompt = (told() if loud else wordless())[1].token_ids
    assert is_wordless(prompt) is not loud
    answer = [CODEC.bin_start + 128] * 3
    (rows,) = Teacher(MODELS / "pair_v4/target").rows(prompt, [answer], BINS)
    own = row_values(table_of("pair_v4").row(CODEC.table_state(prompt)))
    gap = float(np.abs(rows - np.array(own)).max())
    assert (gap > 100 * ROW_TOLERANCE) if loud else (gap < 1e-8)
