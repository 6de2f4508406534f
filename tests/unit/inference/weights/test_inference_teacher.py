"""Rows come again from the weights, by a second implementation; a number they do not give shows."""

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from inference.codec.alphabet import Alphabet
from inference.engine.flight import Flight, Step
from inference.engine.self_test import golden_prompt
from inference.errors import RegistryError
from inference.speculation.condense import condense
from inference.speculation.evidence import Evidence, OtherFirst, judge
from inference.speculation.rounds import Capture, DrafterKind
from inference.speculation.seeds import trajectory_seeds
from inference.training.model import load_model
from inference.weights.regeneration import Rows, compare, rows_of
from inference.weights.registry import ModelPair, load_pair, load_table
from inference.weights.teacher import Teacher, read_tensors

torch = pytest.importorskip("torch")
PAIR = Path(__file__).parents[4] / "inference" / "models" / "pair_v1"
BINS = slice(128, 384)
STEPS = 4
SEEDS = trajectory_seeds(b"teacher", 5)


@lru_cache
def _pair() -> ModelPair:
    return load_pair(PAIR)


@pytest.mark.parametrize("name", ["target", "draft"])
def test_rows_are_those_of_the_trained_model(name: str) -> None:
    prompt, answers = golden_prompt(), [[200, 255, 256, 300, 128], [383, 240], [250]]
    rows = Teacher(PAIR / name).rows(prompt, answers, BINS)
    model = load_model(PAIR / name).eval()
    for answer, found in zip(answers, rows, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *answer]]))[0]
        expected = logits[len(prompt) - 1 : -1, BINS].softmax(-1).numpy()
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() < 1e-6


@lru_cache
def _sampled() -> Evidence:
    """A capture sampled plainly from the weights, as an engine of float32 would."""
    teacher, tokens = Teacher(PAIR / "target"), [[0] for _ in SEEDS]
    flights = [
        Flight(key="", index=i, seed=seed, spec_k=0, n_tokens=STEPS, greedy=False, table_base=0)
        for i, seed in enumerate(SEEDS)
    ]
    for at in range(STEPS):
        rows = teacher.rows(golden_prompt(), [[*path, 0][: at + 1] for path in tokens], BINS)
        last = np.array([row[at] for row in rows], dtype=np.float32)
        step = Step(flights, [0] * len(flights), Alphabet.of_range(BINS.start, 256))
        drawn = [[int(token)] for token in step.sample(last)]
        step.close(np.log(last), drawn, [])
        tokens = [[*path[:at], *token] for path, token in zip(tokens, drawn, strict=True)]
    capture = Capture(
        drafter=DrafterKind.NONE,
        spec_k=0,
        bin_start=BINS.start,
        n_bins=BINS.stop - BINS.start,
        greedy=False,
        table_digest="",
        seeds=SEEDS,
        rounds=tuple(r for flight in flights for r in flight.rounds),
    )
    return condense(capture)


@lru_cache
def _rows() -> Rows:
    return rows_of(_sampled(), golden_prompt(), _pair())


def test_a_sampled_record_agrees_with_its_weights() -> None:
    found = compare(_sampled(), _rows(), load_table(_pair()))
    assert found.faults == ()
    assert found.target_rows == len(SEEDS) * STEPS
    assert found.drafter_rows == 0
    assert 0.0 < found.row_gap < 1e-6
    assert found.entropy_gap < 1e-3


def _bent(place: int, **change: object) -> Evidence:
    rounds = list(_sampled().rounds)
    rounds[place] = replace(rounds[place], **change)  # type: ignore[arg-type]
    return replace(_sampled(), rounds=tuple(rounds))


def test_numbers_that_decide_but_are_not_the_weights_are_named() -> None:
    evidence, table = _sampled(), load_table(_pair())
    r = evidence.rounds[2]
    assert r.picked is not None
    wider = replace(r.picked, before=r.picked.before - 1e-4)
    first = (evidence.first_row[0] + 1e-4, *evidence.first_row[1:])
    for bent, name in (
        (_bent(2, token_p=r.token_p + 2e-4, picked=wider), "trajectory 0 step 2: token p"),
        (_bent(2, picked=replace(wider), token_p=r.token_p + 1e-4), "token sum"),
        (_bent(2, entropies=(r.entropies[0] + 4,)), "trajectory 0 step 2: entropy 0"),
        (replace(evidence, first_row=first), "first row 0"),
    ):
        found = compare(bent, _rows(), table)
        assert any(name in fault for fault in found.faults), found.faults
    assert judge(_bent(2, token_p=r.token_p + 2e-4, picked=wider)) == (), "the record alone decides"


def test_every_distinct_first_row_is_held_against_the_weights() -> None:
    evidence = _sampled()
    row = (evidence.first_row[0] + 1e-6, *evidence.first_row[1:])
    other = OtherFirst(row=row, entropy=evidence.first_entropy, trajectories=(2,))
    table = load_table(_pair())
    assert compare(replace(evidence, other_firsts=(other,)), _rows(), table).faults == ()
    far = replace(other, row=(row[0] + 1e-4, *row[1:]))
    (fault,) = compare(replace(evidence, other_firsts=(far,)), _rows(), table).faults
    assert fault.startswith("trajectory 2 first row 0 is")


def test_another_prompt_does_not_give_the_rows() -> None:
    other = (*golden_prompt()[:-1], golden_prompt()[-1] - 1)
    rows = rows_of(_sampled(), other, _pair())
    assert len(compare(_sampled(), rows, load_table(_pair())).faults) > STEPS


def test_files_that_are_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError):
        Teacher(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(RegistryError):
        Teacher(tmp_path)
    with pytest.raises(RegistryError, match="vocabulary"):
        Teacher(PAIR / "draft").rows(golden_prompt(), [[384, 0]], BINS)
    entry = {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}
    headers: list[object] = [
        {"a": {**entry, "dtype": "I8"}},
        {"a": {**entry, "shape": [3]}},
        {"a": 1},
        [],
    ]
    for header in headers:
        text = json.dumps(header).encode()
        with pytest.raises(RegistryError):
            read_tensors(len(text).to_bytes(8, "little") + text + b"\0\0")
    for data in (b"", b"\xff" * 40, (2).to_bytes(8, "little") + b"{]", b"\x00" * 8):
        with pytest.raises(RegistryError):
            read_tensors(data)
