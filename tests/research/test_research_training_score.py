"""Scores agree with slow integrals; figures are taken where they should be."""

import dataclasses

from inference.training.model import ModelShape, SmallLlama
from scripts.research.pair_v1.card import model_card
from scripts.research.pair_v1.evaluate import Effort, evaluate, origins
from scripts.research.series import code_all
from tests.doubles.training_cases import raw_walk


def test_origins_lie_in_the_validation_years_and_leave_room() -> None:
    (series,), _ = code_all([raw_walk("walk", 2200, seed=1)])
    places = origins(series, 50, 10)
    assert len(places) == 50
    assert places.min() >= series.first_validation
    assert places.max() + 10 <= len(series.bins)


def test_evaluation_gives_every_figure_of_the_card() -> None:
    coded, _ = code_all([raw_walk("walk", 2600, seed=1)])
    coded = [dataclasses.replace(s, first_validation=max(s.first_validation, 2001)) for s in coded]
    tiny = SmallLlama(ModelShape(layers=1, width=32, heads=1, kv_heads=1, ffn=32, tied=True))
    skill = evaluate(tiny, coded, Effort(exact_long=4, exact_short=2, sampled=2), lambda _: None)
    assert set(skill["daily"]) == {"h1", "h5", "h10"}
    assert skill["daily"]["h1"]["crps_over_ewma"] > 1.0  # nothing was learned
    shape = {"layers": 1, "width": 32, "parameters": 5}
    card = model_card(
        {
            "codec": {"version": "v", "digest": "d" * 64},
            "bytes": 10,
            "storage": "s",
            "shapes": {"target": shape, "draft": shape},
            "table_rows": 449,
            "training": {
                "steps": 1,
                "tokens": 1,
                "minutes": 1.0,
                "threads": 1,
                "seed": 1,
                "finished": True,
                "budgets_minutes": [1.0],
            },
            "data": {
                "train_until": "2015-12-31",
                "validation": "2016",
                "sources": [{"train_returns": 3, "validation_returns": 4}],
            },
            "skill": skill,
            "news_effect": {
                "contexts": 1,
                "mean_shift_sigma": {"positive_strong": 0.1},
                "dose_response": 0.2,
                "volatility_ratio_strong": {"macro": 1.2},
                "echo_shift_sigma_max": 0.0,
            },
            "acceptance": {"table": {"per_token": 0.9, "mean_accepted": 3.5}, "continuations": 3},
        }
    )
    assert f"{skill['daily']['h5']['crps_over_ewma']:.4f}" in card
    assert "| table | 0.9000 | 3.500 |" in card
