"""Rows of given tokens by teacher forcing, in float64, without an engine.

A second implementation of the served model (RMSNorm, rotary positions, grouped-query attention,
SwiGLU), in numpy, read from the same safetensors. Its rows are exact to about 1e-14, so a
difference from a recorded row is the engine's float32 rounding.

Not here: the comparison (`regeneration.py`).

Source: Touvron et al. (2023), LLaMA; Su et al. (2021), rotary position embedding; the safetensors
format: 8 bytes little-endian header length, JSON header, tensors.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.errors import RegistryError

Doubles = npt.NDArray[np.float64]
_DTYPES = {"F16": "<f2", "F32": "<f4"}
_MAX_HEADER = 1 << 20


class Teacher:
    """One model of a pair, its weights in float64."""

    def __init__(self, folder: Path) -> None:
        """Read `config.json` and `model.safetensors`.

        Raises:
            RegistryError: when a file is missing or is not a Llama model.
        """
        try:
            config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
            self._weights = read_tensors((folder / "model.safetensors").read_bytes())
            self._layers = int(config["num_hidden_layers"])
            self._heads = int(config["num_attention_heads"])
            self._sides = int(config["num_key_value_heads"])
            self._size = int(config["head_dim"])
            self._theta = float(config["rope_theta"])
            self._eps = float(config["rms_norm_eps"])
            embed = self._weights["model.embed_tokens.weight"]
            self._head = embed if config["tie_word_embeddings"] else self._weights["lm_head.weight"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RegistryError(f"model in {folder.name}: {error}") from error

    def rows(
        self, prompt: Sequence[int], answers: Sequence[Sequence[int]], bins: slice
    ) -> list[Doubles]:
        """Return, for each answer, the row over the bins before each of its tokens.

        The prompt, of at least one token, is read once for all answers.

        Raises:
            RegistryError: when the model does not know a token.
        """
        longest = max((len(answer) for answer in answers), default=0)
        padded = [[*answer, *[prompt[-1]] * (longest - len(answer))][:-1] for answer in answers]
        vocabulary = len(self._weights["model.embed_tokens.weight"])
        if any(not 0 <= t < vocabulary for row in (prompt, *padded) for t in row):
            raise RegistryError("a token outside the model's vocabulary")
        cache: list[tuple[Doubles, Doubles]] = []
        first = self._read(np.array([prompt]), cache)[:, -1:]
        shared = np.repeat(first, len(answers), axis=0)
        logits = shared
        if longest > 1:
            logits = np.concatenate((shared, self._read(np.array(padded), cache)), axis=1)
        found = _softmax(logits[:, :, bins])
        return [found[i, : len(answer)] for i, answer in enumerate(answers)]

    def _read(self, tokens: npt.NDArray[np.int64], cache: list[tuple[Doubles, Doubles]]) -> Doubles:
        """Return logits [batch, new, vocabulary]; fill an empty cache with keys and values."""
        past = cache[0][0].shape[2] if cache else 0
        filled = bool(cache)
        turn = self._turn(np.arange(past, past + tokens.shape[1]))
        x = self._weights["model.embed_tokens.weight"][tokens]
        for layer in range(self._layers):
            name = f"model.layers.{layer}."
            h = self._norm(x, name + "input_layernorm")
            query, key, value = (self._split(h, f"{name}self_attn.{p}_proj") for p in "qkv")
            query, key = _rotate(query, turn), _rotate(key, turn)
            before = cache[layer] if filled else None
            if not filled:
                cache.append((key, value))
            mixed = self._attend(query, key, value, before)
            x = x + mixed @ self._weights[name + "self_attn.o_proj.weight"].T
            h = self._norm(x, name + "post_attention_layernorm")
            gate = h @ self._weights[name + "mlp.gate_proj.weight"].T
            up = h @ self._weights[name + "mlp.up_proj.weight"].T
            gate = gate / (1.0 + np.exp(-gate)) * up
            x = x + gate @ self._weights[name + "mlp.down_proj.weight"].T
        return np.asarray(self._norm(x, "model.norm") @ self._head.T)

    def _attend(
        self, query: Doubles, key: Doubles, value: Doubles, before: tuple[Doubles, Doubles] | None
    ) -> Doubles:
        """Return the causal mix of values; `before` is the prompt's cache, shared by the batch."""
        batch, _, new, _ = query.shape
        repeat = self._heads // self._sides
        key, value = np.repeat(key, repeat, 1), np.repeat(value, repeat, 1)
        scores = query @ key.swapaxes(2, 3) / np.sqrt(self._size)
        scores = np.where(np.tri(new, dtype=bool), scores, -np.inf)
        if before is None:
            mixed = _softmax(scores) @ value
        else:
            past_key, past_value = (np.repeat(side, repeat, 1) for side in before)
            past = query @ past_key.swapaxes(2, 3) / np.sqrt(self._size)
            weights = _softmax(np.concatenate((past, scores), axis=3))
            n = past.shape[3]
            mixed = weights[..., :n] @ past_value + weights[..., n:] @ value
        return mixed.swapaxes(1, 2).reshape(batch, new, self._heads * self._size)

    def _norm(self, x: Doubles, name: str) -> Doubles:
        scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self._eps)
        return np.asarray(x / scale * self._weights[name + ".weight"])

    def _split(self, x: Doubles, name: str) -> Doubles:
        flat = x @ self._weights[name + ".weight"].T
        batch, new, _ = flat.shape
        return np.asarray(flat.reshape(batch, new, -1, self._size).swapaxes(1, 2))

    def _turn(self, places: npt.NDArray[np.int64]) -> tuple[Doubles, Doubles]:
        speed = self._theta ** -(np.arange(0, self._size, 2) / self._size)
        angle = np.outer(places, speed)
        angle = np.concatenate((angle, angle), axis=1)
        return np.cos(angle), np.sin(angle)


def read_tensors(data: bytes) -> dict[str, Doubles]:
    """Parse a safetensors file of float16 or float32 tensors.

    Raises:
        RegistryError: when the bytes are not such a file.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        if not 0 < length <= min(_MAX_HEADER, len(data) - 8):
            raise RegistryError("not a safetensors file")
        header: dict[str, Any] = json.loads(data[8 : 8 + length])
        found: dict[str, Doubles] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            start, end = (8 + length + int(n) for n in entry["data_offsets"])
            flat = np.frombuffer(data[start:end], dtype=_DTYPES[entry["dtype"]])
            found[name] = flat.astype(np.float64).reshape([int(n) for n in entry["shape"]])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RegistryError(f"tensors: {error}") from error
    return found


def _rotate(x: Doubles, turn: tuple[Doubles, Doubles]) -> Doubles:
    half = x.shape[-1] // 2
    turned = np.concatenate((-x[..., half:], x[..., :half]), axis=-1)
    return np.asarray(x * turn[0] + turned * turn[1])


def _softmax(scores: Doubles) -> Doubles:
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
