"""Pair v2's making: past only, the network has the table's rows, scores by known laws."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from inference.codec import vocabulary as words
from inference.codec.codec import N_MOVES, ReturnCodec, log_returns
from inference.codec.scaled import ScaledCodec
from inference.scale.moving import scales_of
from inference.scale.schedule import FIT_MIN, quarter_start_us
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot
from inference.training.model import save_model
from inference.training.sources import TRAIN_END_US
from inference.weights.teacher import Teacher
from scripts.research.scaled.choice import (
    CHOICE_END_US,
    LEARN_END_US,
    Tally,
    compare,
    exact,
    exact_rival,
    one_per_company,
    passes,
    sampled,
    table_rows,
)
from scripts.research.scaled.cloud import ScaleCloud
from scripts.research.scaled.history import FitShelf, ScaledSeries, scaled_all
from scripts.research.scaled.rivals import law_paths, student
from scripts.research.scaled.table import TableRecipe, group_of, make_rows, states_of
from scripts.research.scaled.table_target import N_PAIRS, served_rows, table_target
from scripts.research.series import clean
from scripts.research.sources import RawSeries, raw_series


@cache
def sp500() -> RawSeries:
    """The S&P 500's last 900 bars before 2014."""
    (whole,) = (raw for raw in raw_series(None) if raw.name == "arch/sp500")
    until = [at for at in whole.times_us if at < LEARN_END_US]
    part = slice(len(until) - 900, len(until) + 120)
    return replace(
        whole,
        times_us=whole.times_us[part],
        closes=whole.closes[part],
        bars=whole.bars[part],
    )


@cache
def series() -> ScaledSeries:
    (one,) = scaled_all([sp500()], FitShelf(), lambda _: None)
    return one


def rows_like(sd_bins: float) -> np.ndarray:
    """Rows of 16 groups, bell-shaped, each a little wider than the last."""
    place = np.arange(words.N_BINS) - 127.5
    rows = np.stack([np.exp(-0.5 * (place / (sd_bins + g)) ** 2) + 1e-7 for g in range(N_PAIRS)])
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def test_the_scale_of_training_is_the_one_that_is_served() -> None:
    one, raw = series(), sp500()
    index = len(one.returns) - 30
    bars = tuple(
        Bar(
            close_time_us=at,
            open_ticks=round(100 * o),
            high_ticks=round(100 * h),
            low_ticks=round(100 * low),
            close_ticks=round(100 * c),
        )
        for at, (o, h, low, c) in zip(raw.times_us, raw.bars, strict=True)
    )[index - 299 : index + 1]
    snapshot = Snapshot(
        instrument="SPXN",
        asset_class=AssetClass.INDEX,
        frequency=Frequency.DAILY,
        as_of_us=bars[-1].close_time_us,
        bars=bars,
        scale=one.fits[int(one.fit_of[index])],
    )
    prompt = ScaledCodec().encode(snapshot)
    assert float.fromhex(prompt.sigma) == pytest.approx(one.sigmas[index], rel=0.01)
    assert len(log_returns(bars)) == 299


def test_nothing_of_2016_and_later_is_read_and_the_future_changes_no_scale() -> None:
    raw = sp500()
    shift = TRAIN_END_US - raw.times_us[800]
    late = replace(raw, times_us=tuple(at + shift for at in raw.times_us))
    (cut,) = scaled_all([late], FitShelf(), lambda _: None)
    assert cut.closes_us.max() < TRAIN_END_US
    assert len(cut.returns) == 799
    bent = replace(raw, closes=tuple(c if i < 700 else 1.01 * c for i, c in enumerate(raw.closes)))
    (other,) = scaled_all([bent], FitShelf(), lambda _: None)
    np.testing.assert_array_equal(other.sigmas[:699], series().sigmas[:699])


def test_a_fit_is_in_force_for_its_quarter_only() -> None:
    one = series()
    for index in range(FIT_MIN + 40, len(one.returns)):
        start = quarter_start_us(int(one.closes_us[index]))
        assert one.fits[int(one.fit_of[index])].fitted_us < start


def test_fits_are_kept_in_a_file_that_may_be_cut_short(tmp_path: Path) -> None:
    times, returns, _ = clean(sp500())
    none: list[float | None] = [None] * len(returns)
    path = tmp_path / "fits.jsonl"
    first = FitShelf(path).before(times, returns, none, 400)
    second = FitShelf(path).before(times, returns, none, 500)
    path.write_text(path.read_text()[:-40])
    again = FitShelf(path)
    assert again.before(times, returns, none, 400) == first
    assert again.before(times, returns, none, 500) == second
    assert len(path.read_text().splitlines()) == 4  # a cut line is followed by a whole one


def test_many_paths_move_like_one() -> None:
    one = series()
    where = np.asarray([len(one.returns) - 20])
    cloud = ScaleCloud(one, where, 1)
    fit = one.fits[int(one.fit_of[where[0]])]
    assert fit.ranges is not None
    state = replace(
        scales_of(fit, [0.01] * 40, [None] * 40)[-1],
        garch=float(one.garch[where[0]]),
        gjr=float(one.gjr[where[0]]),
        ranges=tuple(float(v) for v in one.ranges[where[0]]),
        fall=float(one.falls[where[0]]),
    )
    assert cloud.sigma()[0, 0] == pytest.approx(one.sigmas[where[0]], rel=1e-12)
    for value in (-0.03, 0.001, 0.02, 0.0, -0.011):
        cloud.move(np.asarray([[value]]))
        state = state.after(value)
        assert cloud.sigma()[0, 0] == pytest.approx(state.sigma, rel=1e-9)


def test_rows_are_the_smoothed_histogram_and_lean_on_their_parents() -> None:
    one = series()
    table = make_rows([one], 0, LEARN_END_US, TableRecipe())
    assert table.shape == (ReturnCodec.n_table_states, words.N_BINS)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert table.min() > 0.0
    own = table[states_of(one, np.asarray([500]))[0]]
    other = table[1 + ((group_of(one) + 1) % N_PAIRS) * 4 * N_MOVES]
    np.testing.assert_allclose(other, table[0])  # an unseen group has the row of all
    assert np.abs(own - table[0]).sum() < 1e-9  # the only series is all there is
    early = make_rows([one], 0, int(one.closes_us[600]), TableRecipe())
    bent = replace(one, bins=np.where(np.arange(len(one.bins)) < 600, one.bins, 5))
    np.testing.assert_array_equal(
        make_rows([bent], 0, int(one.closes_us[600]), TableRecipe()), early
    )


def test_the_network_has_the_tables_rows_after_any_prompt(tmp_path: Path) -> None:
    rows = rows_like(18.0)
    model = table_target(rows)
    served = served_rows(model)
    assert np.abs(served - rows).sum(axis=1).max() / 2.0 < 1e-3
    draw = np.random.default_rng(3)
    head = (words.BOS, words.CLASS_START + 3, words.FREQUENCY_START + 1)
    context = draw.integers(words.BIN_START, words.VOCAB_SIZE, size=300).tolist()
    prompt = (*head, *context, *words.NO_NEWS * 3, 20, words.RATIO_START, words.LEVEL_START + 2)
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, 200, 300]]))
    at_each = torch.softmax(logits[0, -3:, words.BIN_START :].double(), dim=-1).numpy()
    np.testing.assert_allclose(at_each, np.tile(served[8 + 3], (3, 1)), atol=1e-6)
    inside = torch.softmax(logits[0, -1].double(), dim=-1)[words.BIN_START :].sum()
    assert float(inside) == pytest.approx(1.0, abs=1e-9)
    save_model(model, tmp_path)
    bins = slice(words.BIN_START, words.VOCAB_SIZE)
    (read,) = Teacher(tmp_path).rows(prompt, [[200, 300, 250]], bins)
    np.testing.assert_allclose(read, at_each, atol=1e-6)


def test_students_score_is_that_of_many_draws() -> None:
    draw = np.random.default_rng(7)
    nu, values = 5.0, np.asarray([-3.0, -0.2, 0.0, 1.5, 6.0])
    sample = draw.standard_t(nu, 200_000) * math.sqrt((nu - 2.0) / nu)
    spread = np.abs(sample - draw.permutation(sample)).mean()
    by_draws = [np.abs(sample - v).mean() - 0.5 * spread for v in values]
    np.testing.assert_allclose(student(nu).crps(values), by_draws, atol=0.01)
    grid = np.linspace(-60.0, 60.0, 200_001)
    density = np.exp(student(nu).log_density(grid))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-4)
    assert np.trapezoid(density * grid * grid, grid) == pytest.approx(1.0, abs=5e-3)


def test_a_law_is_no_better_than_itself_and_a_blurred_one_is_worse() -> None:
    one = series()
    span = (int(one.closes_us[600]), CHOICE_END_US)
    garch = exact_rival([one], "garch", *span)
    same = compare(garch["crps"], garch["crps"])
    assert same["figure"] == 1.0
    assert same["interval_90"] == [1.0, 1.0]
    flat = np.full((ReturnCodec.n_table_states, words.N_BINS), 1.0 / words.N_BINS)
    blurred = exact([one], table_rows(flat), *span)
    worse = compare(blurred["crps"], garch["crps"])
    assert worse["interval_90"][0] > 1.2
    assert not passes(worse, worse)
    assert passes({"interval_90": [0.98, 0.99]}, {"interval_90": [0.98, 0.999]})
    assert not passes({"interval_90": [0.98, 1.0]}, {"interval_90": [0.98, 0.99]})
    other = Tally(names=["x"], months=garch["crps"].months, scores=garch["crps"].scores)
    with pytest.raises(ValueError, match="different series"):
        compare(other, garch["crps"])


def test_sampled_paths_score_and_simulate() -> None:
    one = series()
    table = make_rows([one], 0, LEARN_END_US, TableRecipe())
    span = (int(one.closes_us[650]), CHOICE_END_US)
    paths, simulated = sampled([one], table, *span), sampled([one], None, *span)
    for horizon in (5, 20):
        ratio = compare(paths[horizon], simulated[horizon])["figure"]
        assert 0.8 < ratio < 1.25
    law = one.fits[-1].gjr
    drawn = law_paths(law, np.asarray([4e-4]), 1, 40_000, np.random.default_rng(1))
    assert drawn.std() == pytest.approx(0.02, rel=0.05)


def test_one_series_per_company_prefers_the_longer_adjusted_set() -> None:
    apple = ["daily/stocknet-aapl", "daily/us-aapl-close", "daily/lean-aapl", "hourly/lean-aapl"]
    names = [*apple, "daily/lean-spy", "arch/sp500", "daily/stocknet-goog", "daily/vix"]
    kinds = [Frequency.HOURLY if n.startswith("hourly") else Frequency.DAILY for n in names]
    made = [replace(series(), name=n, frequency=f) for n, f in zip(names, kinds, strict=True)]
    assert {one.name for one in one_per_company(made)} == {
        "daily/us-aapl-close",
        "hourly/lean-aapl",
        "arch/sp500",
        "daily/stocknet-goog",
        "daily/vix",
    }
