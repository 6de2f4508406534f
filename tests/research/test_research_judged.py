"""The judge's own arithmetic, and that its page is the one its figures write."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from inference.training.evaluation.score import EDGES
from inference.training.evaluation.walkforward.looks import read_looks
from scripts.research.judged import bars, judge, page

ROOM = Path(page.__file__).parent
PAGE = ROOM.parents[2] / "docs/measured/evaluation.md"


def test_a_rows_tail_is_the_gaussians() -> None:
    row = np.diff(norm.cdf(EDGES))
    var, shortfall = bars.row_tail(row / row.sum())
    assert var == pytest.approx(-1.96, abs=0.01)
    assert shortfall == pytest.approx(-2.338, abs=0.02)


def test_an_hour_with_few_returns_leans_on_the_level() -> None:
    hours = np.asarray([0] * 1000 + [1] * 1000 + [2])
    returns = np.asarray([0.01] * 1000 + [0.03] * 1000 + [0.9])
    sizes = bars.hour_sizes(hours, returns)
    assert sizes[0] < 0.6
    assert sizes[1] > 1.4
    assert sizes[5] == 1.0
    assert sizes[2] < 0.9 / np.abs(returns).mean() / 5


def test_tracking_is_zero_when_the_forecast_is_the_move() -> None:
    value = np.random.default_rng(1).normal(size=200) * 0.02
    assert np.allclose(judge._tracking(value, value**2), 0.0)  # noqa: SLF001
    assert np.allclose(judge._tracking(value, 4.0 * value**2), 0.5)  # noqa: SLF001


def test_a_missed_bar_is_said() -> None:
    missed = {"value": 1.1, "interval_90": [1.0, 1.2], "series": 1, "origins": 9}
    assert not page._line("x", missed, 1.0)[3]  # noqa: SLF001
    assert page._line("x", missed, 1.1)[3]  # noqa: SLF001
    assert not page._line("x", missed, 1.1, end=True)[3]  # noqa: SLF001


def test_the_page_is_what_the_recorded_figures_write() -> None:
    manifest = json.loads((ROOM / "manifest.json").read_text())
    found = json.loads((ROOM / "manifest.look.json").read_text())
    assert PAGE.read_text() == page.evaluation_page(manifest, found)
    assert len(read_looks(ROOM / "looks.jsonl")) >= found["look"]
