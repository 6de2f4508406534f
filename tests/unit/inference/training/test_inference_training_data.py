"""Cleaning, the calendar split, and training prompts that are the served ones."""

import gzip
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inference.errors import TrainingDataError
from inference.snapshot import AssetClass, Frequency
from inference.training.series import without_split
from inference.training.sources import TRAIN_END_US
from scripts.research.series import clean, code_all
from scripts.research.sources import VALIDATION_END_US, raw_series
from tests.doubles.training_cases import DAY_US, START_US, raw_of, raw_walk

FILES = {
    "daily/wti.csv.gz": "time,close\n2017-12-28,50\n2017-12-29,51\n2018-01-02,99\n",
    "daily/lean-eurusd.csv.gz": "time,open,close\n2015-01-02T00:00:00,1,1.2\n",
    "daily/stocknet-x.csv.gz": ("time,close,adj_close\n2015-01-02,2,1.5\n2015-01-05,null,null\n"),
    "hourly/lean-spy.csv.gz": ("time,close\n2015-07-01T15:00:00,200\n2015-12-01T15:00:00,201\n"),
}


def test_the_split_falls_on_the_first_close_of_2016() -> None:
    raw = raw_walk("long", 2000, seed=1)
    (series,), (row,) = code_all([raw])
    closes = [t for t in raw.times_us if t < TRAIN_END_US]
    assert row.train_returns == series.first_validation == len(closes) - 1 - 32
    assert row.train_returns + row.validation_returns == len(series.bins)


@pytest.mark.parametrize("bad", [0.0, -3.0, math.nan, math.inf])
def test_a_price_without_a_logarithm_is_left_out(bad: float) -> None:
    _, returns, dropped = clean(raw_of([10.0, bad, 11.0]))
    assert dropped == 1
    assert returns == [math.log(1.1)]


def test_a_weekend_stub_of_a_currency_is_left_out() -> None:
    times = tuple(START_US + day * DAY_US for day in range(7))  # Monday to Sunday
    prices = [1.0, 1.1, 1.0, 1.1, 1.0, 1.5, 1.5]
    raw = raw_of(prices, times_us=times, asset_class=AssetClass.FX)
    kept, returns, dropped = clean(raw)
    assert dropped == 2
    assert len(returns) == 4
    assert len(kept) == 5


def test_a_split_is_taken_out_of_an_unadjusted_equity_only() -> None:
    prices = [100.0, 101.0, 50.5, 51.0]
    _, raw, _ = clean(raw_of(prices, split_adjusted=False))
    _, adjusted, _ = clean(raw_of(prices, split_adjusted=True))
    assert raw[1] == pytest.approx(0.0, abs=1e-12)
    assert adjusted[1] == pytest.approx(-math.log(2.0))
    assert without_split(-0.9) == -0.9


def test_a_bad_print_is_left_out() -> None:
    _, returns, dropped = clean(raw_of([10.0, 30.0, 10.0, 10.5]))
    assert dropped == 2
    assert returns == [pytest.approx(math.log(1.05))]


def test_a_folder_is_read_as_its_readme_says(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    found = {raw.name: raw for raw in raw_series(tmp_path)}
    wti = found["daily/wti"]
    assert wti.closes == (50.0, 51.0)
    assert max(wti.times_us) < VALIDATION_END_US
    assert found["daily/lean-eurusd"].asset_class is AssetClass.FX
    assert not found["daily/lean-eurusd"].split_adjusted
    assert found["daily/stocknet-x"].closes[0] == 1.5
    assert math.isnan(found["daily/stocknet-x"].closes[1])
    spy = found["hourly/lean-spy"]
    assert spy.frequency is Frequency.HOURLY
    hours = [datetime.fromtimestamp(t / 1e6, UTC).hour for t in spy.times_us]
    assert hours == [20, 21]  # 16:00 New York in summer and in winter


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingDataError, match="was nothing"):
        list(raw_series(tmp_path))


def test_the_series_of_arch_end_before_2018() -> None:
    raws = list(raw_series(None))
    assert {raw.name for raw in raws} >= {"arch/sp500", "arch/nasdaq"}
    assert all(max(raw.times_us) < VALIDATION_END_US for raw in raws)
    assert all(len(raw.closes) > 500 for raw in raws)
