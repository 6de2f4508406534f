"""Training can be stopped anywhere, and what it makes obeys the codec."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typing_extensions import override

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.errors import TrainingDataError
from inference.training.model import ModelShape, SmallLlama, load_model
from scripts.research.pair_v1.distil import (
    STEPS,
    acceptance,
    draft_rows,
    draw_pool,
    make_table,
    train_draft,
)
from scripts.research.pair_v1.export import read_manifest, write_pair
from scripts.research.pair_v1.phases import publish
from scripts.research.pair_v1.train import TrainPlan, ordinal_labels, train
from scripts.research.pair_v1.windows import SEQUENCE, Mixture, Sampler, TrainingBatch
from scripts.research.series import CodedSeries, code_all
from tests.doubles.training_cases import raw_walk

TINY = ModelShape(layers=3, width=32, heads=1, kv_heads=1, ffn=32, tied=True)
FEW = Mixture(real=2, tagged=2, synthetic=1)
LAST = Mixture(real=1, tagged=1, synthetic=0, news=4)
ROOT = Path(__file__).resolve().parents[2]
DYING = """
import os, signal, sys
from pathlib import Path
import torch
from inference.training.model import ModelShape
from inference.training.series import code_all
from scripts.research.pair_v1.train import TrainPlan, train
from scripts.research.pair_v1.windows import Mixture, Sampler
from tests.doubles.training_cases import raw_walk

class DieAtFive(Sampler):
    def batch(self, step, mixture):
        if step == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().batch(step, mixture)

torch.set_num_threads(1)
coded, _ = code_all([raw_walk("walk", 900, seed=3), raw_walk("other", 700, seed=4)])
shape = ModelShape(layers=3, width=32, heads=1, kv_heads=1, ffn=32, tied=True)
few = Mixture(real=2, tagged=2, synthetic=1)
last = Mixture(real=1, tagged=1, synthetic=0, news=4)
plan = TrainPlan(
    shape=shape, seed=11, minutes=0.0, steps=8, mixture=few, news_mixture=last,
    checkpoint_every_s=0.0,
)
train(plan, DieAtFive(coded, 11), Path(sys.argv[1]), print)
"""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums depend on the number of threads; equal bytes need an equal number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class StopAtFour(Sampler):
    """Presses Ctrl-C while the fourth step is under way."""

    @override
    def batch(self, step: int, mixture: Mixture) -> TrainingBatch:
        if step == 3:
            signal.raise_signal(signal.SIGINT)
        return super().batch(step, mixture)


@pytest.fixture(scope="module")
def coded() -> list[CodedSeries]:
    series, _ = code_all([raw_walk("walk", 900, seed=3), raw_walk("other", 700, seed=4)])
    return series


def plan_of(steps: int) -> TrainPlan:
    return TrainPlan(shape=TINY, seed=11, minutes=0.0, steps=steps, mixture=FEW, news_mixture=LAST)


def weights_of(model: SmallLlama) -> bytes:
    return b"".join(t.numpy().tobytes() for t in model.state_dict().values())


def silent(_line: str) -> None:
    """Say nothing."""


def test_a_run_stopped_by_ctrl_c_and_resumed_equals_one_that_was_not(
    coded: list[CodedSeries], tmp_path: Path
) -> None:
    sampler = Sampler(coded, 11)
    whole = train(plan_of(9), sampler, tmp_path / "whole.pt", silent)

    part = train(plan_of(9), StopAtFour(coded, 11), tmp_path / "cut.pt", silent)
    assert (part.step, part.finished) == (4, False)
    rest = train(plan_of(9), sampler, tmp_path / "cut.pt", silent)
    assert (rest.step, rest.finished) == (9, True)
    assert weights_of(rest.average) == weights_of(whole.average)


def test_a_run_killed_between_checkpoints_resumes_from_the_last_and_ends_the_same(
    coded: list[CodedSeries], tmp_path: Path
) -> None:
    sampler = Sampler(coded, 11)
    whole = train(plan_of(8), sampler, tmp_path / "whole.pt", silent)
    path = tmp_path / "killed.pt"
    plan = replace(plan_of(8), checkpoint_every_s=0.0)
    child = subprocess.run(
        [sys.executable, "-c", DYING, str(path)], cwd=ROOT, check=False, timeout=100
    )
    assert child.returncode == -signal.SIGKILL
    saved = torch.load(path, weights_only=True)
    assert saved["step"] == 5
    rest = train(plan, sampler, path, silent)
    assert weights_of(rest.average) == weights_of(whole.average)


def test_a_checkpoint_of_another_plan_is_refused(coded: list[CodedSeries], tmp_path: Path) -> None:
    sampler = Sampler(coded, 11)
    train(plan_of(1), sampler, tmp_path / "c.pt", silent)
    with pytest.raises(TrainingDataError, match="expected a checkpoint of"):
        train(plan_of(2), sampler, tmp_path / "c.pt", silent)


def test_more_minutes_may_be_given_on_resume_and_are_kept_on_record(
    coded: list[CodedSeries], tmp_path: Path
) -> None:
    sampler, path = Sampler(coded, 11), tmp_path / "c.pt"
    train(replace(plan_of(0), minutes=1e-9), sampler, path, silent)
    again = train(replace(plan_of(0), minutes=2e-9), sampler, path, silent)
    assert again.finished
    assert torch.load(path, weights_only=True)["budgets"] == [1e-9, 2e-9]


def test_a_batch_is_a_function_of_seed_and_step(coded: list[CodedSeries]) -> None:
    one, two = Sampler(coded, 5).batch(7, FEW), Sampler(coded, 5).batch(7, FEW)
    assert (one.tokens == two.tokens).all()
    assert (one.tokens != Sampler(coded, 6).batch(7, FEW).tokens).any()
    assert one.tokens.shape == (5, SEQUENCE)


def test_dense_news_is_judged_after_the_prompt_only_and_a_quarter_is_silent(
    coded: list[CodedSeries],
) -> None:
    batch = Sampler(coded, 5).news_batch(3, 40)
    assert (batch.tokens == Sampler(coded, 5).news_batch(3, 40).tokens).all()
    silent_rows = 0
    for tokens, weights, last in zip(batch.tokens, batch.weights, batch.as_of, strict=True):
        assert weights[: last + 1].sum() == 0.0
        assert (weights[last + 1 : last + 6] == 1.0).all()
        assert (tokens[last + 1 :] >= words.BIN_START).all()
        narrative = [int(t) for t in tokens if int(t) in words.NARRATIVE_IDS]
        assert len(narrative) == 3 * words.N_SLOTS
        silent_rows += narrative == list(words.NO_NEWS * words.N_SLOTS)
    assert silent_rows == 10


def test_the_loss_falls(coded: list[CodedSeries], tmp_path: Path) -> None:
    lines: list[str] = []
    train(plan_of(1), Sampler(coded, 11), tmp_path / "a.pt", lines.append)
    train(plan_of(60), Sampler(coded, 11), tmp_path / "b.pt", lines.append)
    first, last = (float(line.split("loss")[1].split()[0]) for line in (lines[0], lines[-1]))
    assert last < first - 0.1


def test_the_drafters_are_laws_and_blind_to_news(coded: list[CodedSeries], tmp_path: Path) -> None:
    target = scrambled(TINY)
    pool = draw_pool(target, Sampler(coded, 3), 0.0)
    table = make_table(pool)
    draft = train_draft(pool, 1e9, silent, steps=3)
    write_pair(tmp_path / "pair", target, draft, table, {"acceptance": {}})
    (tmp_path / "pair" / "MODEL_CARD.md").write_text("card")
    publish(tmp_path / "pair", tmp_path / "out")
    shipped = load_model(tmp_path / "out" / "draft")
    hidden = sorted(ReturnCodec.narrative_ids)
    assert torch.count_nonzero(shipped.embed.weight[hidden]) == 0
    assert torch.count_nonzero(shipped.embed.weight[words.BIN_START :]) > 0
    torch.testing.assert_close(table.sum(dim=1), torch.ones(ReturnCodec.n_table_states))
    assert table.min() > 0.0
    assert set(read_manifest(tmp_path / "out")["files"]) == {
        "target/config.json",
        "target/model.safetensors",
        "draft/config.json",
        "draft/model.safetensors",
        "table.safetensors",
    }
    rows = draft_rows(draft, pool)
    assert rows.shape == (pool.tokens.shape[0], STEPS, words.N_BINS)


def test_equal_rows_accept_everything_and_disjoint_rows_nothing() -> None:
    rows = torch.full((3, STEPS, 4), 0.25)
    same = acceptance(rows, rows)
    assert (same.per_token, same.mean_accepted) == (1.0, 4.0)
    left = torch.tensor([0.5, 0.5, 0.0, 0.0]).expand(3, STEPS, 4)
    none = acceptance(left, left.flip(-1))
    assert (none.per_token, none.mean_accepted) == (0.0, 0.0)
    half = acceptance(rows, left)
    assert half.per_token == 0.5
    assert half.mean_accepted == 0.5 + 0.25 + 0.125 + 0.0625


def test_ordinal_labels_are_laws_with_their_mode_at_the_bin() -> None:
    rows = ordinal_labels()
    torch.testing.assert_close(rows.sum(dim=1), torch.ones(words.N_BINS))
    assert torch.equal(rows.argmax(dim=1), torch.arange(words.N_BINS))


def scrambled(shape: ModelShape) -> SmallLlama:
    """A model in which every weight matters."""
    torch.manual_seed(9)
    model = SmallLlama(shape)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    return model
