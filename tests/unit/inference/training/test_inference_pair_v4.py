"""Pair v4 as shipped is what its manifest says: pair v3 on daily bars, new rows on hourly ones."""

from pathlib import Path

import pytest
import torch

from inference.codec import vocabulary as words
from inference.codec.scaled import ScaledCodec, codec_named
from inference.training.model import SmallLlama, load_model
from inference.weights.registry import load_pair

ROOT = Path(__file__).resolve().parents[4]
PAIR = ROOT / "inference" / "models" / "pair_v4"
BASE = PAIR.parent / "pair_v3"
TAG = (words.TYPE_START, words.LEAN_START + 5, words.AGE_START)  # earnings, positive strong, new


@pytest.fixture(scope="module")
def target() -> SmallLlama:
    return load_model(PAIR / "target")


def test_it_loads_with_every_digest_and_is_of_codec_2() -> None:
    pair = load_pair(PAIR)
    assert isinstance(codec_named(pair.codec_digest), ScaledCodec)
    assert sum(p.stat().st_size for p in PAIR.rglob("*") if p.is_file()) < 3_000_000


@pytest.mark.parametrize("slots", [words.NO_NEWS * 3, (*TAG, *words.NO_NEWS * 2)])
def test_a_daily_row_is_bit_for_bit_pair_v3s(target: SmallLlama, slots: tuple[int, ...]) -> None:
    base = load_model(BASE / "target")
    for kind in range(words.N_CLASSES):
        bins = (words.BIN_START + (37 * j) % words.N_BINS for j in range(40))
        head = (words.BOS, words.CLASS_START + kind, words.FREQUENCY_START)
        tail = (*slots, words.CLOCK_START + 2, words.RATIO_START + 9, words.LEVEL_START + 4)
        ids = torch.tensor([[*head, *bins, *tail, *range(words.BIN_START, words.BIN_START + 20)]])
        with torch.no_grad():
            assert torch.equal(target(ids), base(ids))
