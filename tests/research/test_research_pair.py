"""The shipped pair is what its manifest says, small, and made for this codec."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.research.pair_v1.card import model_card

PAIR = Path(__file__).resolve().parents[2] / "inference" / "models" / "pair_v1"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PAIR / "manifest.json").read_text())
    return content


def test_the_card_is_the_manifests(manifest: dict[str, Any]) -> None:
    assert (PAIR / "MODEL_CARD.md").read_text() == model_card(manifest)
