"""The limit that `make bench` compares the engine with: a compiled loop of the same weights.

64 paths of 20 bars from one prompt, keys and values in tensors of fixed size, one compiled step a
token, no scheduler, no requests, no drafts, no capture. What an engine adds to this is its price.
"""

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from inference.codec import vocabulary as words
from inference.engine.self_test import golden_prompt
from inference.training.model import SmallLlama, load_model, rotate
from inference.training.sampling import bin_rows

PATHS = 64
TOKENS = 20
MAX_GAP = 1e-3  # of logits, from the model's own


class Loop:
    """Samples paths, one token at a time, all paths at once."""

    def __init__(self, model: SmallLlama, length: int, threads: int) -> None:
        shape, places = model.shape, length + TOKENS
        self._model = model
        self._length = length
        self.threads = threads
        size = (PATHS, shape.kv_heads, places, shape.head_dim)
        # One tensor a layer: written through a view of one, the compiler copies all of it.
        self._keys = [torch.zeros(size) for _ in range(shape.layers)]
        self._values = [torch.zeros(size) for _ in range(shape.layers)]
        self._turns = model.turn(torch.arange(places))
        self._places = torch.arange(places)
        self._step = torch.compile(self._pass, dynamic=False)

    def sample(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Return tokens [paths, tokens]; the prompt, [1, length], is read once."""
        torch.set_num_threads(self.threads)  # the compiler keeps to what it finds at the first call
        with torch.inference_mode():
            return self._sample(prompt, generator)

    def step(self, tokens: Tensor, place: int) -> Tensor:
        """Return logits [paths, vocabulary] after tokens [paths, 1] at a place."""
        with torch.inference_mode():
            return cast("Tensor", self._step(tokens, torch.tensor([place])))

    def _sample(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        logits, cache = self._model.extend(prompt, None)
        for layer, (key, value) in enumerate(cache):
            self._keys[layer][:, :, : self._length] = key
            self._values[layer][:, :, : self._length] = value
        last, tokens = logits[:, -1].expand(PATHS, -1), []
        for step in range(TOKENS):
            drawn = torch.multinomial(bin_rows(last), 1, generator=generator) + words.BIN_START
            tokens.append(drawn)
            if step + 1 < TOKENS:
                last = self.step(drawn, self._length + step)
        return torch.cat(tokens, dim=1)

    def _pass(self, tokens: Tensor, place: Tensor) -> Tensor:
        shape = self._model.shape
        inner, side = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        turn = (self._turns[0][place], self._turns[1][place])
        seen = (self._places <= place).view(1, 1, 1, -1)
        x = self._model.embed(tokens)
        for index, layer in enumerate(self._model.layers):
            query, key, value = (
                part.view(PATHS, 1, -1, shape.head_dim).transpose(1, 2)
                for part in layer.qkv(layer.norm_in(x)).split((inner, side, side), dim=-1)
            )
            keys, values = self._keys[index], self._values[index]
            keys.index_copy_(2, place, rotate(key, turn))
            values.index_copy_(2, place, value)
            # Query heads of a group are the rows of one product, so no key is copied.
            grouped = rotate(query, turn).view(PATHS, shape.kv_heads, -1, shape.head_dim)
            scores = grouped @ keys.transpose(-1, -2) * shape.head_dim**-0.5
            weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)
            x = x + layer.out((weights @ values).reshape(PATHS, 1, inner))
            gate, up = layer.gate_up(layer.norm_mid(x)).chunk(2, dim=-1)
            x = x + layer.down(functional.silu(gate) * up)
        head = self._model.head
        weight = self._model.embed.weight if head is None else head.weight
        return functional.linear(self._model.norm(x), weight)[:, -1]


def serve(pair: Path) -> None:
    """Answer each line, which ends in a number, with the time of one call seeded by it.

    On a busy machine more threads can be slower, so the faster of one thread and all serves.
    """
    model = load_model(pair / "target").float().eval()
    prompt = torch.tensor([golden_prompt()])
    loops = [Loop(model, prompt.shape[1], n) for n in sorted({1, torch.get_num_threads()})]
    gap = max(_gap(model, loop, prompt) for loop in loops)
    loop = min(loops, key=lambda one: min(_timed(one, prompt, seed) for seed in range(3)))
    print(json.dumps({"passed": gap < MAX_GAP, "gap": gap, "threads": loop.threads}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"ms": _timed(loop, prompt, int(line.split()[-1])) * 1000}), flush=True)


def _timed(loop: Loop, prompt: Tensor, seed: int) -> float:
    started = perf_counter()
    loop.sample(prompt, torch.Generator().manual_seed(seed))
    return perf_counter() - started


def _gap(model: SmallLlama, loop: Loop, prompt: Tensor) -> float:
    """Return how far the loop's last logits are from the model's own, after one call."""
    tokens = loop.sample(prompt, torch.Generator().manual_seed(1))
    with torch.inference_mode():
        whole = torch.cat((prompt.expand(PATHS, -1), tokens[:, :-1]), dim=1)
        own = model(whole)[:, -1]
        found = loop.step(tokens[:, -2:-1], prompt.shape[1] + TOKENS - 2)
        return float((own - found).abs().max())
