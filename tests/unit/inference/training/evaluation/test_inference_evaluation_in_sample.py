"""An evaluation on years that the pair was trained on says IN SAMPLE, first of its notes (F099)."""

import gzip
import json
import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from inference.training.evaluation.walkforward.judge import EvaluationAsked, evaluate
from inference.training.evaluation.walkforward.page import page, terminal

PAIR = Path(__file__).parents[5] / "inference/models/pair_v1"
TRAINED = date(2015, 6, 30)
FREE = date(2015, 8, 10)
"""The first day that judges it: 40 days, twice the longest horizon, after the training's end."""


def pair_trained_until(folder: Path, day: date) -> Path:
    """Return a copy of the shipped pair whose manifest says when its training ended."""
    shutil.copytree(PAIR, folder)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["data"]["train_until"] = day.isoformat()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def asked(tmp_path: Path, first: date, pair: Path | None) -> EvaluationAsked:
    data = tmp_path / "data"
    if not data.exists():
        data.mkdir()
        closes = 100.0 * np.exp(np.cumsum(np.random.default_rng(5).standard_normal(420) * 0.01))
        rows = [f"{date(2014, 8, 1) + timedelta(days=n)},{c:.4f}" for n, c in enumerate(closes)]
        (data / "one.csv.gz").write_bytes(gzip.compress("\n".join(["time,close", *rows]).encode()))
    return EvaluationAsked(
        data=data,
        first=first,
        last=date(2015, 9, 20),
        series=(),
        pair=pair,
        every=30,
        sampled=1,
        paths=16,
        seed=1,
        folder=tmp_path / "scores",
        looks=tmp_path / "looks.jsonl",
        who="a tester",
        why="a test",
        at_us=1,
    )


@pytest.mark.parametrize("days_before", [0, 1, 60])
def test_years_that_a_pair_was_trained_on_are_marked(tmp_path: Path, days_before: int) -> None:
    pair = pair_trained_until(tmp_path / "own", TRAINED)
    first = FREE - timedelta(days=days_before)
    found = evaluate(asked(tmp_path, first, pair), lambda _: None, lambda *_: None)
    warned = [note for note in found["notes"] if note.startswith("IN SAMPLE")]
    expected = (
        f"IN SAMPLE: own was trained to {TRAINED} on series like these;"
        f" only --from {FREE} or later judges it"
    )
    assert warned == ([expected] if days_before else [])
    for shown in (terminal(found), page(found)):
        assert ("IN SAMPLE" in shown) == bool(days_before)


def test_without_a_pair_nothing_is_in_sample(tmp_path: Path) -> None:
    found = evaluate(asked(tmp_path, FREE - timedelta(days=60), None), lambda _: None, print)
    assert not any("IN SAMPLE" in note for note in found["notes"])
