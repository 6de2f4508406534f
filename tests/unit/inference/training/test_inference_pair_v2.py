"""Pair v2 as shipped is what its manifest and its card say: a table on the fitted scale."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference.codec.scaled import ScaledCodec, codec_named
from inference.weights.registry import load_pair

PAIR = Path(__file__).resolve().parents[4] / "inference" / "models" / "pair_v2"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PAIR / "manifest.json").read_text())
    return content


def test_it_loads_with_every_digest_and_is_small(manifest: dict[str, Any]) -> None:
    pair = load_pair(PAIR)
    assert isinstance(codec_named(pair.codec_digest), ScaledCodec)
    assert set(pair.files) == set(manifest["files"])
    assert sum(p.stat().st_size for p in PAIR.rglob("*") if p.is_file()) < 1_000_000


def test_no_year_after_2015_was_read(manifest: dict[str, Any]) -> None:
    assert manifest["data_cutoff"] == manifest["data"]["train_until"] == "2015-12-31"
