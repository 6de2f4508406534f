"""Drawing continuations from a model in plain torch, with the rows each draw came from.

For distillation and evaluation only; serving goes through the engine.
"""

from __future__ import annotations

import torch
from torch import Tensor

from inference import vocabulary as words
from inference.training.model import SmallLlama


def bin_rows(logits: Tensor) -> Tensor:
    """Give probabilities [..., 256] over the bins; every other id is masked, as in serving."""
    return torch.softmax(logits[..., words.BIN_START :].float(), dim=-1)


@torch.no_grad()
def continue_paths(
    model: SmallLlama, prompts: Tensor, steps: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Sample one continuation per prompt.

    Args:
        model: The model to draw from.
        prompts: Token ids [n, length], all of one length.
        steps: Bins to draw.
        generator: Source of the draws.

    Returns:
        Tokens [n, steps] and the rows [n, steps, 256] they were drawn from.
    """
    logits, cache = model.extend(prompts, None)
    return _go_on(model, logits[:, -1], cache, steps, generator)


@torch.no_grad()
def fan_out(
    model: SmallLlama, prompts: Tensor, paths: int, steps: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Sample several continuations per prompt, reading each prompt once.

    Returns:
        Tokens [n, paths, steps] and the first row of each prompt [n, 256].
    """
    count = prompts.shape[0]
    logits, cache = model.extend(prompts, None)
    first = bin_rows(logits[:, -1])
    wide = [
        (keys.repeat_interleave(paths, 0), values.repeat_interleave(paths, 0))
        for keys, values in cache
    ]
    last = logits[:, -1].repeat_interleave(paths, 0)
    tokens, _ = _go_on(model, last, wide, steps, generator)
    return tokens.view(count, paths, steps), first


def _go_on(
    model: SmallLlama,
    last: Tensor,
    cache: list[tuple[Tensor, Tensor]],
    steps: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    tokens, rows = [], []
    for step in range(steps):
        row = bin_rows(last)
        drawn = torch.multinomial(row, 1, generator=generator) + words.BIN_START
        rows.append(row)
        tokens.append(drawn)
        if step + 1 < steps:
            logits, cache = model.extend(drawn, cache)
            last = logits[:, -1]
    return torch.cat(tokens, dim=1), torch.stack(rows, dim=1)
