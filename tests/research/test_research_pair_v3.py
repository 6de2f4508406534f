"""Pair v3 as shipped is what its manifest says: pair v2 without news, and words that are heard."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from inference.codec import vocabulary as words
from inference.snapshot import Direction, EventType, Strength
from inference.training.model import SmallLlama, load_model
from inference.training.series import Floats
from scripts.research.hearing.bars import dose, law_of, one_event, rows_of, silent
from scripts.research.hearing.card import bars, hearing_card, words_page
from scripts.research.scaled.table_target import N_PAIRS

ROOT = Path(__file__).resolve().parents[2]
PAIR = ROOT / "inference" / "models" / "pair_v3"
TABLE_PAIR = PAIR.parent / "pair_v2"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PAIR / "manifest.json").read_text())
    return content


@pytest.fixture(scope="module")
def target() -> SmallLlama:
    return load_model(PAIR / "target")


def prompt(slots: tuple[int, ...], context: int, group: int = 1) -> list[int]:
    frequency, kind = divmod(group, words.N_CLASSES)
    bins = np.random.default_rng(context).integers(words.N_BINS, size=context)
    return [
        *(words.BOS, words.CLASS_START + kind, words.FREQUENCY_START + frequency),
        *(words.BIN_START + int(b) for b in bins),
        *(*slots, *words.NO_NEWS * (words.N_SLOTS - len(slots) // 3)),
        *(words.CLOCK_START + 2, words.RATIO_START + 9, words.LEVEL_START + 4),
    ]


def rows_after(model: SmallLlama, ids: list[int], bars_: int = 1) -> Floats:
    rng = np.random.default_rng(7)
    later = [words.BIN_START + int(b) for b in rng.integers(words.N_BINS, size=bars_ - 1)]
    with torch.no_grad():
        logits = model(torch.tensor([ids + later]))[0, -bars_:, words.BIN_START :]
    return np.asarray(torch.softmax(logits.double(), dim=-1).numpy())


def test_card_and_page_are_the_manifests(manifest: dict[str, Any]) -> None:
    assert (PAIR / "MODEL_CARD.md").read_text() == hearing_card(manifest)
    page = (ROOT / "docs" / "measured" / "words.md").read_text()
    assert page == words_page(manifest)
    for _, _, reached in bars(manifest):
        assert ("not reached" in page) or reached


@pytest.mark.parametrize("context", [16, 77, 128])
def test_without_news_it_is_pair_v2_to_rounding(target: SmallLlama, context: int) -> None:
    table = load_model(TABLE_PAIR / "target")
    for group in range(N_PAIRS):
        ids = prompt((), context, group)
        own, theirs = rows_after(target, ids, 24), rows_after(table, ids, 24)
        np.testing.assert_allclose(own, theirs, atol=2e-7)


def test_the_dose_is_what_the_manifest_says_and_meets_the_bars(
    target: SmallLlama, manifest: dict[str, Any]
) -> None:
    found, said = dose(target), manifest["planted"]["dose"]
    assert found["strong_positive_minus_negative"] == pytest.approx(
        said["strong_positive_minus_negative"], abs=2e-4
    )
    assert found["strong_positive_minus_negative"] >= 0.25
    assert found["monotone"]
    assert found["echo_shift_max"] < 1e-5
    assert all(1.2 <= ratio <= 2.0 for ratio in found["scheduled"].values())


def test_an_effect_fades_with_age_and_with_the_bars_after_it(target: SmallLlama) -> None:
    groups = np.arange(N_PAIRS)
    middle = law_of(rows_of(target, groups, silent(N_PAIRS), 1)[:, 0])[0].mean()
    kind, up, strong = EventType.MNA, Direction.POSITIVE, Strength.STRONG
    first = [
        law_of(rows_of(target, groups, one_event(kind, up, strong, age), 1)[:, 0])[0].mean()
        for age in (0, 1, 4, 9)
    ]
    assert np.all(np.diff(first) < 0.0)
    along = law_of(rows_of(target, groups, one_event(kind, up, strong), 20))[0].mean(axis=0)
    assert along[0] > along[2] > along[6] > along[19]
    assert abs(along[19] - middle) < 0.03
