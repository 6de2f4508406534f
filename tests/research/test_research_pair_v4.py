"""Pair v4 as shipped is what its manifest says: pair v3 on daily bars, new rows on hourly ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from inference.codec import vocabulary as words
from inference.codec.bins import FIRST_MOMENTS
from inference.scale.season import USUAL_MOVE
from inference.snapshot import Direction, EventType, Strength
from inference.training.evaluation.score import EDGES
from inference.training.model import SmallLlama, load_model
from inference.weights.registry import load_pair
from scripts.research.hearing.bars import law_of, one_event, rows_of, silent
from scripts.research.hours.making import HOURLY
from scripts.research.hours.page import hours_card, hours_page
from scripts.research.scaled.table import GROUP_STATES
from scripts.research.scaled.table_target import N_PAIRS, served_rows

ROOT = Path(__file__).resolve().parents[2]
PAIR = ROOT / "inference" / "models" / "pair_v4"
BASE = PAIR.parent / "pair_v3"
DAILY_STATES = slice(0, 1 + HOURLY.start * GROUP_STATES)


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PAIR / "manifest.json").read_text())
    return content


@pytest.fixture(scope="module")
def target() -> SmallLlama:
    return load_model(PAIR / "target")


def test_card_and_page_are_the_manifests(manifest: dict[str, Any]) -> None:
    assert (PAIR / "MODEL_CARD.md").read_text() == hours_card(manifest)
    page = (ROOT / "docs" / "measured" / "hourly.md").read_text()
    assert page == hours_page(manifest)
    assert "2016 and 2017 were opened once" in page
    assert manifest["data_cutoff"] == manifest["data"]["train_until"] == "2015-12-31"
    assert manifest["data"]["rows_of_daily_bars_manifest"] == load_pair(BASE).manifest_digest


def test_the_drafters_table_is_pair_v3s_but_for_hourly_states() -> None:
    own = load_file(PAIR / "table.safetensors")["q"]
    base = load_file(BASE / "table.safetensors")["q"]
    np.testing.assert_array_equal(own[DAILY_STATES], base[DAILY_STATES])
    hourly = slice(DAILY_STATES.stop, DAILY_STATES.stop + words.N_CLASSES * GROUP_STATES)
    assert (np.abs(own[hourly] - base[hourly]).sum(axis=1) > 0.02).all()
    np.testing.assert_array_equal(own[hourly.stop :], base[hourly.stop :])


def test_target_and_drafters_have_the_same_hourly_rows_without_news(target: SmallLlama) -> None:
    own = rows_of(target, np.arange(N_PAIRS), silent(N_PAIRS), 1)[HOURLY, 0]
    drafted = served_rows(load_model(PAIR / "draft"))[HOURLY]
    np.testing.assert_allclose(own, drafted, atol=2e-7)
    table = load_file(PAIR / "table.safetensors")["q"][1::GROUP_STATES][HOURLY]
    np.testing.assert_allclose(table, drafted, atol=2e-7)


def test_hourly_rows_have_the_usual_move_and_hardly_a_mean(target: SmallLlama) -> None:
    rows = rows_of(target, np.arange(N_PAIRS), silent(N_PAIRS), 1)[HOURLY, 0]
    middle = 0.5 * np.abs(EDGES[1:] + EDGES[:-1])
    np.testing.assert_allclose(rows @ middle, USUAL_MOVE, rtol=0.04)
    assert np.abs(rows @ np.asarray(FIRST_MOMENTS)).max() < 0.03


def test_words_move_hourly_rows_as_they_move_daily_ones(target: SmallLlama) -> None:
    groups = np.arange(N_PAIRS)
    means = [
        law_of(rows_of(target, groups, one_event(EventType.MNA, way, Strength.STRONG), 1)[:, 0])[0][
            HOURLY
        ]
        for way in (Direction.POSITIVE, Direction.NEGATIVE)
    ]
    assert (means[0] - means[1] >= 0.25).all()
