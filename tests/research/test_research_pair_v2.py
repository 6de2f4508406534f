"""Pair v2 as shipped is what its manifest and its card say: a table on the fitted scale."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from inference.training.model import load_model
from scripts.research.scaled.card import scaled_card
from scripts.research.scaled.making import gate
from scripts.research.scaled.table import GROUP_STATES
from scripts.research.scaled.table_target import N_PAIRS, served_rows

PAIR = Path(__file__).resolve().parents[2] / "inference" / "models" / "pair_v2"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PAIR / "manifest.json").read_text())
    return content


def test_the_card_is_the_manifests(manifest: dict[str, Any]) -> None:
    card = (PAIR / "MODEL_CARD.md").read_text()
    assert card == scaled_card(manifest)
    for label, found in manifest["figures"].items():
        high = found["gjr"]["crps_h1"]["interval_90"][1]
        said = "better than" if high < 1.0 else "no different from"
        assert f"- {label.capitalize()}: {said} GJR-t at one bar" in card


def test_the_gate_follows_from_the_figures(manifest: dict[str, Any]) -> None:
    assert manifest["gate"] == gate(manifest["figures"])
    assert manifest["gate"]["below_gjr"]["daily"]
    assert not manifest["gate"]["below_gjr"]["daily without ranges"]


def test_the_network_and_the_drafter_have_the_same_rows() -> None:
    rows = served_rows(load_model(PAIR / "target"))
    table = load_file(PAIR / "table.safetensors")["q"].numpy().astype(np.float64)
    np.testing.assert_allclose(table[1::GROUP_STATES][:N_PAIRS], rows, atol=1e-6)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-6)
    target, draft = (PAIR / part / "model.safetensors" for part in ("target", "draft"))
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (target, draft)}
    assert len(digests) == 1, "the card says that the draft network is the target"
