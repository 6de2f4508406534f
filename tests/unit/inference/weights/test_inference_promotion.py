"""The promotion gate refuses for each thing that it asks, and for what is not there."""

from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from inference.codec.scaled import codec_named
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadlineError, RegistryError
from inference.forecast.forecast import Forecast, ForecastSource
from inference.scale.fitting import Fits
from inference.training.evaluation.stress import between, failed, snapshot_of, stress_checks, worlds
from inference.weights.promotion import (
    CARD,
    MARGINS,
    RIVALS,
    card_checks,
    read_card,
    walk_forward_checks,
)
from inference.weights.registry import load_pair

MODELS = Path(__file__).parents[4] / "inference" / "models"
PAIR = load_pair(MODELS / "pair_v3")
WHOLE = {
    "objective": '"least cross-entropy"',
    "data_classes": '["daily bars"]',
    "data_cutoff": "2015-12-31",
    "lineage": '"from nothing"',
}


def written(folder: Path, fields: dict[str, str]) -> Path:
    (folder / CARD).write_text("".join(f"{name} = {value}\n" for name, value in fields.items()))
    return folder


def result() -> dict[str, Any]:
    """Return an evaluation as `evaluate` returns it, of a pair that is as good as its rivals."""
    ratio = {"crps_ratio": {"value": 1.0, "interval_90": [0.995, 1.005]}}
    return {
        "asked": {"own": "model", "model_digest": PAIR.files["target/model.safetensors"]},
        "figures": {
            "daily": {
                "series": ["daily/a", "daily/b", "daily/c"],
                "against": {str(h): {one: deepcopy(ratio) for one in RIVALS} for h in MARGINS},
                "alone": {"1": {"model": {"origins": 900, "coverage": {"90": 0.9}}}},
                "tails": {"model": {"exceedances": 0.025}},
            }
        },
    }


def refused(changed: dict[str, Any]) -> list[str]:
    return [one.name for one in walk_forward_checks(changed, PAIR) if not one.passed]


def test_the_shipped_pair_has_a_whole_card() -> None:
    card = read_card(PAIR.directory)
    assert card.data_cutoff == date(2015, 12, 31)
    assert not failed(card_checks(card, "2015-12-31", date(2016, 2, 10)))


@pytest.mark.parametrize("name", list(WHOLE))
@pytest.mark.parametrize("value", [None, '""', "[]", "7"])
def test_a_card_without_a_field_is_refused_by_its_name(
    tmp_path: Path, name: str, value: str | None
) -> None:
    fields = {k: v for k, v in WHOLE.items() if k != name}
    if value is not None:
        fields[name] = value
    with pytest.raises(RegistryError, match=name):
        read_card(written(tmp_path, fields))


def test_no_card_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=CARD):
        read_card(tmp_path)
    (tmp_path / CARD).write_bytes(b"\xff = [")
    with pytest.raises(RegistryError, match=CARD):
        read_card(tmp_path)


def test_a_walk_forward_that_training_saw_is_refused(tmp_path: Path) -> None:
    card = read_card(written(tmp_path, WHOLE))
    assert failed(card_checks(card, "2015-12-31", date(2016, 2, 9))) == ("no leakage",)
    assert failed(card_checks(card, "2016-01-01", date(2018, 1, 1))) == ("card",)


def test_a_pair_as_good_as_its_rivals_passes() -> None:
    assert refused(result()) == []


def spoiled(where: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    found = result()
    place: Any = found
    *path, last = where.split("/")
    for name in path:
        place = place[name]
    place[last] = value
    return found


@pytest.mark.parametrize(
    ("where", "value", "name"),
    [
        ("asked/model_digest", "00" * 32, "walk-forward: weights"),
        ("asked/own", "gjr-t", "walk-forward: weights"),
        ("figures/daily/series", ["daily/a", "daily/b"], "daily: enough"),
        ("figures/daily/alone/1/model/origins", 249, "daily: enough"),
        ("figures/daily/alone/1/model/coverage", {"90": 0.849}, "daily: 90 % coverage"),
        ("figures/daily/alone/1/model/coverage", {}, "daily: 90 % coverage"),
        ("figures/daily/tails/model", {"series": 0}, "daily: beyond the 97.5 % VaR"),
        ("figures/daily/tails/model/exceedances", 0.041, "daily: beyond the 97.5 % VaR"),
        ("figures/daily/against/5/gjr-t", {"series": 0}, "daily: CRPS to gjr-t, 5 bars"),
        (
            "figures/daily/against/20/garch-t/crps_ratio",
            {"value": 1.0, "interval_90": None},
            "daily: CRPS to garch-t, 20 bars",
        ),
        (
            "figures/daily/against/1/gjr-t/crps_ratio",
            {"value": 1.0, "interval_90": [0.99, 1.0201]},
            "daily: CRPS to gjr-t, 1 bars",
        ),
    ],
)
def test_each_bar_refuses_alone(where: str, value: object, name: str) -> None:
    assert refused(spoiled(where, value)) == [name]


def test_nothing_evaluated_is_not_enough() -> None:
    found = spoiled("figures/daily/alone/1", {})
    assert "daily: enough" in refused(found)


def forecast(step_vol: int, expected: int = 0) -> Forecast:
    return Forecast(
        instrument="X",
        as_of_us=1,
        horizon=1,
        bar_us=1,
        source=ForecastSource.TARGET,
        n_paths=128,
        n_dropped=0,
        expected_1e8=expected,
        step_vol_1e8=step_vol,
        horizon_vol_1e8=300,
        p_up_bp=5_000,
        interval_low_1e8=-1,
        interval_high_1e8=1,
        levels_bp=(5_000,),
        quantiles_1e8=((0,),),
        codec_digest="",
        model_digest="",
        capture_digest="",
    )


GOOD = {
    "calm": forecast(100),
    "crash": forecast(120),
    "storm": forecast(150),
    "flat": forecast(50),
    "good news": forecast(100, 20),
    "bad news": forecast(100, -20),
}


def test_worlds_are_held_against_each_other() -> None:
    assert failed(list(between(GOOD))) == ()
    deaf = {**GOOD, "good news": forecast(100), "bad news": forecast(100)}
    assert failed(list(between(deaf))) == (), "a pair that hears no words does no harm by them"


@pytest.mark.parametrize(
    ("world", "found", "name"),
    [
        ("crash", forecast(119), "crash widens"),
        ("storm", None, "storm widens"),
        ("flat", forecast(101), "flat does not"),
        ("flat", None, "flat does not"),
        ("good news", forecast(100, -21), "words move"),
        ("good news", forecast(100, 281), "words move"),
        ("bad news", None, "words move"),
    ],
)
def test_a_world_that_answers_wrongly_is_found(
    world: str, found: Forecast | None, name: str
) -> None:
    made = {**GOOD, world: found}
    (only,) = failed(list(between({k: v for k, v in made.items() if v is not None})))
    assert name in only


def test_an_engine_that_answers_nothing_fails_every_check() -> None:
    def silent(request: SampleRequest) -> Samples:
        raise EngineDeadlineError(request.request_id)

    found = list(stress_checks(silent, PAIR, None))
    assert len(failed(found)) == len(found) == len(worlds()) + 4


def test_every_world_is_one_that_the_codec_takes() -> None:
    codec, fits = codec_named(PAIR.codec_digest), Fits()
    prompts = {codec.encode(snapshot_of(one, codec, fits)).token_ids for one in worlds()}
    assert len(prompts) == len(worlds())
    assert len(failed(list(between({})))) == 4, "no forecast is no pass"
