"""Training can be stopped anywhere, and what it makes obeys the codec."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from inference.codec import vocabulary as words
from inference.training.model import ModelShape, SmallLlama, load_model, save_model
from inference.training.sampling import bin_rows, fan_out

TINY = ModelShape(layers=3, width=32, heads=1, kv_heads=1, ffn=32, tied=True)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums depend on the number of threads; equal bytes need an equal number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_layer_that_is_not_active_changes_nothing() -> None:
    torch.manual_seed(1)
    model = SmallLlama(TINY)
    tokens = torch.randint(0, words.VOCAB_SIZE, (2, 20))
    whole = model(tokens)
    model.active_layers = 1
    assert torch.equal(model(tokens), whole)


def test_reading_in_two_parts_gives_the_logits_of_one() -> None:
    model = scrambled(TINY)
    tokens = torch.randint(0, words.VOCAB_SIZE, (2, 20))
    with torch.no_grad():
        whole = model(tokens)
        _, cache = model.extend(tokens[:, :9], None)
        middle, cache = model.extend(tokens[:, 9:19], cache)
        last, _ = model.extend(tokens[:, 19:], cache)
    parts = torch.cat((middle, last), dim=1)
    torch.testing.assert_close(parts, whole[:, 9:], rtol=1e-5, atol=1e-5)


def test_no_logit_depends_on_a_later_token() -> None:
    model = scrambled(TINY)
    tokens = torch.randint(0, words.VOCAB_SIZE, (1, 20))
    other = tokens.clone()
    other[0, 15:] = 7
    with torch.no_grad():
        torch.testing.assert_close(model(tokens)[:, :15], model(other)[:, :15])


def test_the_saved_model_is_the_model_and_loads_as_a_llama(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    model = scrambled(TINY)
    save_model(model, tmp_path, torch.float32)
    tokens = torch.randint(0, words.VOCAB_SIZE, (2, 30))
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    with torch.no_grad():
        own = model(tokens)
        torch.testing.assert_close(load_model(tmp_path)(tokens), own)
        torch.testing.assert_close(theirs(tokens).logits, own, rtol=1e-4, atol=1e-4)


def test_sampling_follows_the_rows() -> None:
    model = scrambled(TINY)
    prompts = torch.tensor([[1, 5, 12, 200, 210, 300]])
    tokens, rows = fan_out(model, prompts, 20_000, 1, torch.Generator().manual_seed(2))
    counts = torch.bincount(tokens.flatten() - words.BIN_START, minlength=256)
    expected = rows[0, 0, 0] * 20_000
    statistic = float((((counts - expected) ** 2) / expected).sum())
    assert statistic < 340.0  # chi-square, 255 degrees, p = 0.0003


def test_paths_side_by_side_do_not_see_each_other() -> None:
    model = scrambled(TINY)
    prompts = torch.tensor([[1, 5, 12, 200, 210, 300], [1, 4, 13, 220, 180, 250]])
    tokens, rows = fan_out(model, prompts, 3, 4, torch.Generator().manual_seed(2))
    for index in range(2):
        for path in range(3):
            alone = torch.cat((prompts[index], tokens[index, path, :-1]))[None]
            with torch.no_grad():
                own = bin_rows(model(alone)[0, -4:])
            torch.testing.assert_close(rows[index, path], own, rtol=1e-4, atol=1e-6)


def scrambled(shape: ModelShape) -> SmallLlama:
    """A model in which every weight matters."""
    torch.manual_seed(9)
    model = SmallLlama(shape)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    return model
