"""Planted worlds do what they say, and the words' part is fitted to them repeatably."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from inference.errors import TrainingDataError
from inference.training.evaluation.score import EDGES
from inference.training.model import load_model
from inference.training.series import Floats
from scripts.research.hearing.bars import area, law_of, rows_of
from scripts.research.hearing.fitting import FitPlan, batch_of, fit, loss_of, summed
from scripts.research.hearing.target import WordsPart, hearing_target
from scripts.research.hearing.worlds import (
    ECHO,
    ToldEvents,
    draw_events,
    draw_worlds,
    planted,
    planted_rows,
)
from scripts.research.scaled.table_target import served_rows

TABLE_PAIR = Path(__file__).resolve().parents[2] / "inference" / "models" / "pair_v2"
PLAN = FitPlan(steps=30, prompts=48)


@pytest.fixture(scope="module")
def table() -> Floats:
    return served_rows(load_model(TABLE_PAIR / "target"))


def test_a_planted_row_has_the_planted_mean_and_spread() -> None:
    rank = np.asarray([0.5 * (1.0 + math.erf(edge / math.sqrt(2.0))) for edge in EDGES])
    normal = np.tile(np.diff(rank), (16, 1))
    shift, factor = np.linspace(-0.4, 0.4, 16), np.linspace(1.0, 1.9, 16)
    moved, wide = law_of(planted_rows(normal, shift, factor))
    np.testing.assert_allclose(moved, shift, atol=2e-3)
    np.testing.assert_allclose(wide, factor, rtol=2e-3)


def test_a_row_that_nothing_moves_stays(table: Floats) -> None:
    still = planted_rows(table, np.zeros(16), np.ones(16))
    np.testing.assert_allclose(still, table / table.sum(axis=1, keepdims=True), atol=1e-12)


def test_echoes_and_empty_slots_act_never_and_effects_fade() -> None:
    rng = np.random.default_rng(1)
    count = 4000
    events, worlds = draw_events(rng, count), draw_worlds(rng, count)
    steps = np.tile(np.arange(12), (count, 1))
    only = ToldEvents(
        types=np.where(events.types >= 0, ECHO, -1),
        directions=events.directions,
        strong=events.strong,
        ages=events.ages,
    )
    shift, factor = planted(worlds, only, steps, rng)
    assert not shift.any()
    assert (factor == 1.0).all()
    shift, factor = planted(worlds, events, steps, rng)
    assert np.abs(shift[:, 0]).mean() > 2.0 * np.abs(shift[:, 6]).mean() > 0.0
    assert (factor >= 1.0).all()
    assert (factor[:, 11] - 1.0).mean() < 0.01


def test_a_fit_learns_is_repeatable_and_goes_on_where_it_was_cut(
    table: Floats, tmp_path: Path
) -> None:
    whole = fit(table, PLAN, tmp_path / "a", lambda _: None)
    again = fit(table, PLAN, tmp_path / "a", lambda _: None)  # nothing is left to do
    fresh = fit(table, PLAN, tmp_path / "b", lambda _: None)
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
        assert torch.equal(tensor, fresh.state_dict()[name])
    unseen = batch_of(table, FitPlan(seed=999, prompts=400), 0)
    before = WordsPart(torch.Generator().manual_seed(PLAN.seed))
    assert loss_of(whole, unseen) < 0.9 * loss_of(before, unseen)
    with pytest.raises(TrainingDataError, match="checkpoint"):
        fit(table, FitPlan(steps=31, prompts=48), tmp_path / "a", lambda _: None)


def test_the_network_computes_what_was_fitted(table: Floats) -> None:
    """Up to float16: rows of the formula and of the Llama with the same numbers."""
    hearing = WordsPart(torch.Generator().manual_seed(5))
    model = hearing_target(load_model(TABLE_PAIR / "target"), hearing)
    events = draw_events(np.random.default_rng(3), 60)
    groups = np.arange(60) % 16
    from_llama = rows_of(model, groups, events, 6)
    bars = torch.arange(6).expand(60, 6)
    with torch.no_grad():
        moved = hearing.moved(summed(hearing.heard(), events), bars)
        logits = hearing.logits(torch.from_numpy(table[groups]).float(), moved)
    formula = torch.softmax(logits.double(), dim=-1).numpy()
    assert np.abs(from_llama - formula).sum(axis=-1).max() / 2.0 < 2e-3
    assert np.abs(formula - table[groups][:, None]).sum(axis=-1).max() / 2.0 > 0.01


def test_the_area_counts_ties_by_half() -> None:
    ones, mixed = np.ones(4), np.asarray([0.0, 1.0, 1.0, 2.0])
    assert area(ones, ones) == 0.5
    assert area(ones + 1.0, ones) == 1.0
    assert area(ones, mixed) == pytest.approx(0.5)
