"""Pair v3 as shipped is what its manifest says: pair v2 without news, and words that are heard."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from inference.codec import vocabulary as words
from inference.codec.scaled import ScaledCodec, codec_named
from inference.snapshot import EventType
from inference.training.model import SmallLlama, load_model
from inference.training.series import Floats
from inference.weights.registry import load_pair
from inference.weights.teacher import Teacher

ROOT = Path(__file__).resolve().parents[4]
PAIR = ROOT / "inference" / "models" / "pair_v3"
TABLE_PAIR = PAIR.parent / "pair_v2"
TAG = (words.TYPE_START, words.LEAN_START + 5, words.AGE_START)  # earnings, positive strong, new


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


def test_it_loads_with_every_digest_and_is_small(manifest: dict[str, Any]) -> None:
    pair = load_pair(PAIR)
    assert isinstance(codec_named(pair.codec_digest), ScaledCodec)
    assert set(pair.files) == set(manifest["files"])
    assert sum(p.stat().st_size for p in PAIR.rglob("*") if p.is_file()) < 3_000_000


def test_its_drafters_are_pair_v2s(manifest: dict[str, Any]) -> None:
    own, table = load_pair(PAIR).files, load_pair(TABLE_PAIR).files
    assert own["table.safetensors"] == table["table.safetensors"]
    assert own["draft/model.safetensors"] == table["target/model.safetensors"]
    assert manifest["data"]["rows_of_manifest"] == load_pair(TABLE_PAIR).manifest_digest


def test_an_echo_is_silent_beside_and_without_other_news(target: SmallLlama) -> None:
    echo = words.TYPE_START + words.EVENT_TYPES.index(EventType.ECHO)
    for lean in range(words.N_LEANS - 1):
        said = (echo, words.LEAN_START + lean, words.AGE_START)
        for slots in ((), TAG):
            with_ = rows_after(target, prompt((*slots, *said), 40), 12)
            np.testing.assert_allclose(with_, rows_after(target, prompt(slots, 40), 12), atol=2e-7)


def test_words_mean_the_same_after_any_numbers_and_in_any_slot(target: SmallLlama) -> None:
    first = rows_after(target, prompt(TAG, 16), 12)
    np.testing.assert_allclose(rows_after(target, prompt(TAG, 128), 12), first, atol=1e-5)
    later = rows_after(target, prompt((*words.NO_NEWS, *TAG), 16), 12)
    np.testing.assert_allclose(later, first, atol=1e-5)


def test_a_second_implementation_computes_the_same_rows(target: SmallLlama) -> None:
    ids = prompt(TAG, 60)
    answer = [words.BIN_START + b for b in (120, 140, 101, 128)]
    (rows,) = Teacher(PAIR / "target").rows(
        ids, [answer], slice(words.BIN_START, words.BIN_START + words.N_BINS)
    )
    with torch.no_grad():
        logits = target(torch.tensor([ids + answer[:-1]]))[0, -4:, words.BIN_START :]
    np.testing.assert_allclose(rows, torch.softmax(logits.double(), -1).numpy(), atol=1e-6)


def test_no_year_after_2015_was_read(manifest: dict[str, Any]) -> None:
    assert manifest["data_cutoff"] == manifest["data"]["train_until"] == "2015-12-31"
