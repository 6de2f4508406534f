"""The shipped pair is what its manifest says, small, and made for this codec."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from inference.codec.codec import ReturnCodec
from inference.training.model import load_model
from inference.training.sampling import bin_rows
from tests.doubles.market_cases import snapshot_of, walk_closes

PAIR = Path(__file__).resolve().parents[4] / "inference" / "models" / "pair_v1"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PAIR / "manifest.json").read_text())
    return content


def test_every_file_has_the_digest_of_the_manifest(manifest: dict[str, Any]) -> None:
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((PAIR / name).read_bytes()).hexdigest() == digest, name
    on_disk = {str(p.relative_to(PAIR)) for p in PAIR.rglob("*.safetensors")}
    assert on_disk <= set(manifest["files"])


def test_all_weights_together_are_below_twenty_megabytes() -> None:
    assert sum(p.stat().st_size for p in PAIR.rglob("*") if p.is_file()) < 20_000_000


def test_the_pair_was_made_for_this_codec(manifest: dict[str, Any]) -> None:
    assert manifest["codec"]["digest"] == ReturnCodec().digest


def test_the_data_manifest_names_sources_and_dates_and_no_row(manifest: dict[str, Any]) -> None:
    data = manifest["data"]
    assert data["train_until"] == "2015-12-31"
    assert data["sources"]
    allowed = {
        "name",
        "licence",
        "sha256",
        "rows",
        "train_returns",
        "validation_returns",
        "dropped",
    }
    assert all(set(source) == allowed for source in data["sources"])


def test_the_shipped_draft_cannot_see_news() -> None:
    weights = load_file(PAIR / "draft" / "model.safetensors")["model.embed_tokens.weight"]
    hidden = sorted(ReturnCodec.narrative_ids)
    assert torch.count_nonzero(weights[hidden]) == 0
    assert torch.count_nonzero(weights[128:].abs().sum(dim=1)) == 256


def test_the_shipped_table_holds_a_law_for_every_state() -> None:
    table = load_file(PAIR / "table.safetensors")["q"]
    assert table.shape == (ReturnCodec.n_table_states, 256)
    assert table.dtype == torch.float32
    torch.testing.assert_close(table.sum(dim=1), torch.ones(len(table)))
    assert float(table.min()) > 0.0


def test_the_shipped_target_gives_bins_nearly_all_mass_and_a_unit_spread() -> None:
    codec = ReturnCodec()
    prompt = codec.encode(snapshot_of(walk_closes(400)))
    with torch.no_grad():
        logits = load_model(PAIR / "target")(torch.tensor([prompt.token_ids]))[0, -1]
    inside = torch.softmax(logits, dim=-1)[codec.bin_start :].sum()
    assert float(inside) > 0.999
    p_up, mean, sd = codec.step_distribution(prompt, bin_rows(logits).tolist())
    sigma = float.fromhex(prompt.sigma)
    assert 0.3 < p_up < 0.7
    assert abs(mean) < 0.3 * sigma
    assert 0.7 * sigma < sd < 1.4 * sigma
