"""The walk sees no future, and its figures find what was planted."""

import gzip
import importlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference.errors import TrainingDataError
from inference.snapshot import AssetClass, Frequency
from inference.training.evaluation.walkforward.judge import EvaluationAsked, evaluate
from inference.training.evaluation.walkforward.looks import Look, read_looks, record_look
from inference.training.evaluation.walkforward.page import page, terminal
from inference.training.evaluation.walkforward.report import figures
from inference.training.evaluation.walkforward.rivals import Garch, Predicted, rivals
from inference.training.evaluation.walkforward.series import History, range_proxy, read_history
from inference.training.evaluation.walkforward.walk import UnderTest, WalkPlan, origins_of, walk
from inference.training.series import Floats
from tests.doubles.judged_forecasters import SIGMA, Faulty, Leaking

DAY_US = 86_400_000_000
START_US = int(datetime(2012, 1, 2, 21, tzinfo=UTC).timestamp()) * 1_000_000
PLAN = WalkPlan(from_us=0, every=4, sampled=5, paths=64, seed=1)


def history(count: int = 900, seed: int = 3) -> History:
    returns = np.random.default_rng(seed).standard_normal(count) * SIGMA
    return History(
        name=f"daily/made-{seed}",
        asset_class=AssetClass.EQUITY,
        frequency=Frequency.DAILY,
        closes_us=START_US + np.arange(count + 1) * DAY_US,
        returns=returns,
        proxy=returns**2,
        has_range=False,
        dropped=0,
        digest=str(seed),
    )


def scores_of(under_test: UnderTest | None, series: History) -> dict[str, Floats]:
    return walk(series, under_test, PLAN, lambda _: None)


def judged(under_test: UnderTest, series: History) -> dict[str, Any]:
    return dict(figures({series.name: scores_of(under_test, series)}, 1, "model")["daily"])


def test_no_baseline_changes_with_the_future_and_each_changes_with_the_last_bar() -> None:
    whole, place = history(), 700
    other = np.array(whole.returns)
    other[place:] *= -7.0
    changed = replace(whole, returns=other, proxy=other**2)
    late = replace(whole, returns=np.roll(whole.returns, 1), proxy=np.roll(whole.proxy, 1))

    def forecast(series: History, name: str) -> Predicted:
        past = series.part(0, place)
        found = rivals()[name](past, (5,), np.random.default_rng(1))
        assert found is not None
        return found

    for name in ("ewma", "fhs", "garch-t", "gjr-t"):
        now, then, moved = (forecast(s, name) for s in (whole, changed, late))
        assert (now.law.mass.tolist(), now.law.sigma) == (then.law.mass.tolist(), then.law.sigma)
        assert now.ends[5].tolist() == then.ends[5].tolist()
        assert now.law.sigma != moved.law.sigma, name


def test_har_uses_ranges_before_the_origin_only() -> None:
    made = history()
    noise = np.random.default_rng(9).gamma(4.0, 0.25, 900)
    ranged = replace(made, proxy=SIGMA**2 * noise, has_range=True)
    future = np.array(ranged.proxy)
    future[800:] *= 50.0
    now, then, earlier = (
        rivals()["har-range"](s.part(0, n), (5,), np.random.default_rng(1))
        for s, n in ((ranged, 800), (replace(ranged, proxy=future), 800), (ranged, 799))
    )
    assert now is not None
    assert then is not None
    assert earlier is not None
    assert now.law.sigma == then.law.sigma != earlier.law.sigma
    assert now.law.variance == pytest.approx(SIGMA**2, rel=0.25)


def hourly(days: int = 200, opening: float = 3.0) -> History:
    """Return seven bars a weekday, the first of them larger than the others."""
    first = datetime(2012, 1, 2, tzinfo=UTC)
    hours = [
        first + timedelta(days=day, hours=hour)
        for day in range(days * 7 // 5)
        if (first + timedelta(days=day)).weekday() < 5
        for hour in range(15, 22)
    ]
    size = np.array([opening if at.hour == 15 else 1.0 for at in hours[1:]])
    noise = np.random.default_rng(5).standard_normal(len(size))
    returns = 0.2 * SIGMA * size * noise
    return replace(
        history(),
        name="hourly/made",
        frequency=Frequency.HOURLY,
        closes_us=np.array([int(at.timestamp()) * 1_000_000 for at in hours]),
        returns=returns,
        proxy=returns**2,
    )


def test_a_law_by_hour_of_week_knows_the_hour_of_each_bar_ahead() -> None:
    made = hourly()
    found: dict[int, list[float]] = {}
    for stop in range(1200, 1214):
        past = made.part(0, stop)
        law = rivals()["garch-hour"](past, (5,), np.random.default_rng(1))
        assert law is not None
        hour = datetime.fromtimestamp(int(made.closes_us[stop + 1]) / 1e6, UTC).hour
        found.setdefault(hour, []).append(law.law.sigma)
        assert float(np.std(law.ends[5])) > 0.0
    opening, rest = found.pop(15), [one for each in found.values() for one in each]
    assert min(opening) / max(rest) > 2.2
    assert max(opening) / min(rest) < 4.0
    assert rivals()["garch-hour"](history(), (), np.random.default_rng(1)) is None


def test_a_law_by_hour_of_week_is_better_where_hours_differ() -> None:
    made = hourly()
    scores = walk(made, None, replace(PLAN, every=9), lambda _: None)
    both = np.intersect1d(scores["garch-hour/1/origin"], scores["garch-t/1/origin"])
    assert len(both) > 50
    crps = {
        name: float(scores[f"{name}/1/crps"][np.isin(scores[f"{name}/1/origin"], both)].mean())
        for name in ("garch-hour", "garch-t")
    }
    assert crps["garch-hour"] < 0.97 * crps["garch-t"]


def test_garch_agrees_with_the_library_on_the_sp500() -> None:
    frame: Any = importlib.import_module("arch.data.sp500").load()
    closes = frame["Adj Close"].to_numpy()[:1600]
    times = [int(stamp.timestamp()) * 1_000_000 for stamp in frame.index[:1600]]
    returns = np.diff(np.log(closes))
    series = replace(
        history(),
        name="daily/sp500",
        closes_us=np.asarray(times, dtype=np.int64),
        returns=returns,
        proxy=returns**2,
    )
    found = Garch(leverage=True)(series, (), np.random.default_rng(1))
    arch: Any = importlib.import_module("arch")
    model = arch.arch_model(100.0 * returns, mean="Constant", p=1, o=1, q=1, dist="t")
    known = model.fit(disp="off", show_warning=False).forecast(horizon=1).variance.to_numpy()[-1, 0]
    assert found is not None
    # fitted up to the quarter's start, the library to the last bar
    assert found.law.sigma * 100.0 == pytest.approx(float(known) ** 0.5, rel=0.05)


def test_a_right_forecaster_passes_every_test() -> None:
    found = judged(Faulty(), history())
    assert found["alone"]["1"]["model"]["pit"]["p"] > 0.01
    assert found["alone"]["1"]["model"]["coverage"]["90"] == pytest.approx(0.9, abs=0.07)
    assert set(found["tails"]["model"]["rejected_after_holm"].values()) == {0}
    assert found["against"]["1"]["gjr-t"]["crps_ratio"]["value"] < 1.01


def test_a_biased_forecaster_is_found() -> None:
    found = judged(Faulty(shift=0.6), history())
    assert found["alone"]["1"]["model"]["pit"]["p"] < 1e-3
    ratio = found["against"]["1"]["ewma"]["crps_ratio"]
    assert ratio["interval_90"][0] > 1.0


def test_a_too_narrow_forecaster_is_found() -> None:
    found = judged(Faulty(width=0.5), history())
    assert found["alone"]["1"]["model"]["coverage"]["90"] < 0.75
    assert found["tails"]["model"]["rejected_after_holm"] == {
        "kupiec": 1,
        "christoffersen": 1,
        "acerbi_szekely": 1,
    }
    assert found["against"]["1"]["ewma"]["qlike_difference"]["interval_90"][0] > 0.0


def test_a_leaking_forecaster_changes_with_the_future() -> None:
    """The canary: the same past, another future; only what leaks gives another forecast."""
    whole, place = history(), 700
    other = np.array(whole.returns)
    other[place:] *= -1.0
    changed = replace(whole, returns=other)
    past = [whole.part(0, place)]

    def means(series: History, leaks: bool) -> float:  # noqa: FBT001 - which of two
        judged_one: UnderTest = Leaking(series) if leaks else Faulty()
        return float(judged_one.forecasts(past, (5,))[0]["model"].ends[5].mean())

    assert means(whole, leaks=False) == means(changed, leaks=False)
    assert means(whole, leaks=True) != means(changed, leaks=True)
    ratio = judged(Leaking(whole), whole)["against"]["1"]["gjr-t"]["crps_ratio"]
    assert ratio["interval_90"][1] < 0.85, "no honest forecaster of returns is that good"


def test_scores_are_in_the_order_of_their_origins() -> None:
    series = history(500)
    found = scores_of(None, series)
    assert found["ewma/1/origin"].tolist() == origins_of(series, PLAN).tolist()
    expected = series.returns[origins_of(series, PLAN)]
    assert found["gjr-t/1/value"].tolist() == expected.tolist()


# --- files ----------------------------------------------------------------------------------------


def write_series(folder: Path, name: str, count: int = 420, seed: int = 5) -> Path:
    closes = 100.0 * np.exp(np.cumsum(np.random.default_rng(seed).standard_normal(count) * SIGMA))
    lines = ["time,open,high,low,close"]
    for index, close in enumerate(closes):
        day = date(2014, 11, 1) + timedelta(days=index)
        lines.append(f"{day},{close:.4f},{1.01 * close:.4f},{0.99 * close:.4f},{close:.4f}")
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,price\n", "line 1: expected the columns time"),
        ("time,close\n2014-01-02,1.0\n2014-01-03,x\n", "line 3: could not convert"),
        ("time,close\n2014-01-02,1.0\n2014-01-02,1.0\n", "line 3: time 2014-01-02 is not after"),
        ("time,close\nyesterday,1.0\n", "line 2: Invalid isoformat"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(TrainingDataError, match=rf"bad\.csv {says}"):
        read_history(path)


def test_a_row_without_a_price_is_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("time,close\n2014-01-02,100\n2014-01-03,null\n2014-01-06,-3\n2014-01-07,110\n")
    found = read_history(path)
    assert found.dropped == 2
    assert found.returns.tolist() == pytest.approx([np.log(1.1)])


def test_a_range_gives_the_garman_klass_variance() -> None:
    prices = {"open": 100.0, "high": 102.0, "low": 99.0, "close": 101.0}
    day = np.log(1.01)
    expected = 0.5 * np.log(102 / 99) ** 2 - (2 * np.log(2) - 1) * day**2
    assert range_proxy(prices, float(day)) == pytest.approx(expected)
    assert np.isnan(range_proxy({"close": 101.0}, 0.01))


# --- the whole question ---------------------------------------------------------------------------


def question(tmp_path: Path, **changes: object) -> EvaluationAsked:
    fields: dict[str, Any] = {
        "data": tmp_path / "data",
        "first": date(2015, 9, 1),
        "last": date(2015, 12, 20),
        "series": (),
        "pair": None,
        "every": 5,
        "sampled": 4,
        "paths": 32,
        "seed": 1,
        "folder": tmp_path / "scores",
        "looks": tmp_path / "looks.jsonl",
        "who": "a tester",
        "why": "a test",
        "at_us": 1,
        **changes,
    }
    return EvaluationAsked(**fields)


def silent(_done: int, _total: int, _name: str) -> None:
    return


def test_an_evaluation_goes_on_from_its_scores_and_repeats_its_figures(tmp_path: Path) -> None:
    write_series(tmp_path / "data", "one")
    write_series(tmp_path / "data", "two", seed=6)
    asked = question(tmp_path)

    def cut(done: int, _total: int, name: str) -> None:
        if name == "daily/two" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(asked, lambda _: None, cut)
    assert len(list((tmp_path / "scores").glob("*.npz"))) == 1
    first = evaluate(asked, lambda _: None, silent)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "scores").glob("*.npz")}
    again = evaluate(asked, lambda _: None, silent)
    assert again == first
    assert kept == {p: p.stat().st_mtime_ns for p in (tmp_path / "scores").glob("*.npz")}
    assert not (tmp_path / "looks.jsonl").exists(), "no bar after 2015 was read"
    assert json.loads(json.dumps(first)) == first
    text, document = terminal(first), page(first)
    assert "garch-t" in text
    assert document.count("<svg") >= 3
    for outside in ("http:", "https:", "src=", "href="):
        assert outside not in document


def test_an_unknown_series_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    write_series(tmp_path / "data", "one")
    with pytest.raises(TrainingDataError, match=r"--series three: no such file .* one"):
        evaluate(question(tmp_path, series=("three",)), lambda _: None, silent)
    with pytest.raises(TrainingDataError, match="no series has a bar then"):
        evaluate(question(tmp_path, first=date(2030, 1, 1)), lambda _: None, silent)
    with pytest.raises(TrainingDataError, match=r"expected .*csv"):
        evaluate(question(tmp_path, data=tmp_path / "none"), lambda _: None, silent)


def test_a_look_after_2015_is_on_record_before_anything_is_scored(tmp_path: Path) -> None:
    write_series(tmp_path / "data", "one", count=460)
    asked = question(tmp_path, last=None)

    def stop(_done: int, _total: int, _name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(asked, lambda _: None, stop)
    lines = read_looks(tmp_path / "looks.jsonl")
    assert len(lines) == 1
    row = json.loads(lines[0])
    assert (row["who"], row["why"], row["range_from"]) == ("a tester", "a test", "2015-09-01")
    assert row["range_to"].startswith("2016-")
    assert len(row["code_digest"]) == 64


def test_a_register_that_lost_a_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "looks.jsonl"
    look = Look(
        at_us=1,
        who="a",
        why="",
        range_from="2016-01-01",
        range_to="2016-02-01",
        series=1,
        data_digest="d",
        model_digest="m",
        code_digest="c",
    )
    assert [record_look(path, replace(look, at_us=n)) for n in range(3)] == [1, 2, 3]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(TrainingDataError, match=r"line 2: a look before it was changed"):
        record_look(path, look)


def test_a_pair_of_codec_two_is_judged_and_sees_no_future() -> None:
    module = importlib.import_module("inference.training.evaluation.walkforward.pair")
    folder = Path(__file__).parents[5] / "inference/models/pair_v2"
    forecaster = module.PairForecaster(folder, 16, 1)
    whole, place = history(), 700
    shapes = np.tile([0.001, 0.012, -0.011], (len(whole.returns), 1))
    whole = replace(whole, shapes=shapes)
    past = whole.part(0, place)
    other = np.array(whole.returns)
    other[place:] *= -7.0
    again = replace(whole, returns=other).part(0, place)
    wider = replace(past, shapes=2.0 * shapes[:place] * (np.arange(place) >= place - 5)[:, None])
    (one,), (same,), (wide,) = (forecaster.forecasts([h], (5,)) for h in (past, again, wider))
    assert one["model"].law.variance == same["model"].law.variance
    assert np.array_equal(one["model"].ends[5], same["model"].ends[5])
    assert one["model"].law.variance != wide["model"].law.variance
