"""Continuations drawn from a model, with their rows; for distillation and evaluation only."""

import torch
from torch import Tensor

from inference.codec import vocabulary as words
from inference.training.model import SmallLlama


def bin_rows(logits: Tensor) -> Tensor:
    """Return probabilities [..., 256] over the bins; other ids are masked, as in serving."""
    return torch.softmax(logits[..., words.BIN_START :].float(), dim=-1)


@torch.no_grad()
def fan_out(
    model: SmallLlama, prompts: Tensor, paths: int, steps: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return sampled tokens [n, paths, steps] and their rows [n, paths, steps, 256].

    The paths of a prompt, which is read once, share one sequence; a mask lets each attend to the
    prompt and itself only, and all tokens of a step have the same position.
    """
    length = prompts.shape[1]
    logits, cache = model.extend(prompts, None)
    last = logits[:, -1:].expand(-1, paths, -1)
    mask = torch.ones(paths, length, dtype=torch.bool)
    own = torch.eye(paths, dtype=torch.bool)
    tokens, rows = [], []
    for step in range(steps):
        row = bin_rows(last)
        flat = torch.multinomial(row.reshape(-1, words.N_BINS), 1, generator=generator)
        drawn = flat.view(-1, paths) + words.BIN_START
        rows.append(row)
        tokens.append(drawn)
        if step + 1 < steps:
            mask = torch.cat((mask, own), dim=1)
            places = torch.full((paths,), length + step)
            last, cache = model.extend(drawn, cache, places, mask)
    return torch.stack(tokens, dim=2), torch.stack(rows, dim=2)
