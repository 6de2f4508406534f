"""A small Llama in plain torch, and its files in Hugging Face's form.

It computes what `LlamaForCausalLM` computes (RMSNorm, rotary positions, grouped-query attention,
SwiGLU, no biases). Fused projections keep the matrix products large on a CPU.

A layer above `active_layers` has zero output projections and is an exact identity, so a model can
be trained shallow first, and every export has the full depth.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from inference.codec import vocabulary as words

INIT_SD = 0.02
SMOOTH_FEATURES = 48
SMOOTH_SIZE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Sizes of a model; the vocabulary is the codec's."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    ffn: int
    tied: bool
    head_dim: int = 32
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5
    max_positions: int = 512


TARGET = ModelShape(layers=12, width=192, heads=6, kv_heads=2, ffn=448, tied=True)
DRAFT = ModelShape(layers=1, width=64, heads=2, kv_heads=1, ffn=160, tied=False)

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values per layer, each [batch, kv_heads, positions, head_dim]."""


class RmsNorm(nn.Module):
    """Root-mean-square normalisation with a learned gain."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    @override
    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Layer(nn.Module):
    """Attention and feed-forward, each with a norm before it; starts as an identity."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        inner = shape.heads * shape.head_dim
        self.shape = shape
        self.norm_in = RmsNorm(shape.width, shape.norm_eps)
        self.norm_mid = RmsNorm(shape.width, shape.norm_eps)
        self.qkv = nn.Linear(shape.width, inner + 2 * shape.kv_heads * shape.head_dim, bias=False)
        self.out = nn.Linear(inner, shape.width, bias=False)
        self.gate_up = nn.Linear(shape.width, 2 * shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.width, bias=False)
        for matrix in (self.qkv, self.gate_up):
            nn.init.normal_(matrix.weight, std=INIT_SD)
        for matrix in (self.out, self.down):
            nn.init.zeros_(matrix.weight)

    @override
    def forward(
        self,
        x: Tensor,
        turn: tuple[Tensor, Tensor],
        past: tuple[Tensor, Tensor] | None,
        mask: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, length, _ = x.shape
        shape = self.shape
        inner, side = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        query, key, value = (
            part.view(batch, length, -1, shape.head_dim).transpose(1, 2)
            for part in self.qkv(self.norm_in(x)).split((inner, side, side), dim=-1)
        )
        query, key = rotate(query, turn), rotate(key, turn)
        if past is not None:
            key, value = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
        repeat = shape.heads // shape.kv_heads
        mixed = functional.scaled_dot_product_attention(
            query,
            key.repeat_interleave(repeat, 1),
            value.repeat_interleave(repeat, 1),
            attn_mask=mask,
            is_causal=mask is None,
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, inner))
        gate, up = self.gate_up(self.norm_mid(x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up), (key, value)


class SmallLlama(nn.Module):
    """Decoder over codec v1's vocabulary."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        self.active_layers = shape.layers
        self.embed = nn.Embedding(words.VOCAB_SIZE, shape.width)
        nn.init.normal_(self.embed.weight, std=INIT_SD)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = RmsNorm(shape.width, shape.norm_eps)
        self.head: nn.Linear | None = None
        if not shape.tied:
            self.head = nn.Linear(shape.width, words.VOCAB_SIZE, bias=False)
            nn.init.normal_(self.head.weight, std=INIT_SD)

    @override
    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits [batch, positions, vocabulary] for tokens [batch, positions]."""
        return self.extend(tokens, None)[0]

    def extend(
        self,
        tokens: Tensor,
        cache: Cache | None,
        places: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Cache]:
        """Return logits of the new tokens, and the cache extended by them.

        Args:
            tokens: New ids [batch, new].
            cache: Keys and values of earlier tokens, None at the start.
            places: Positions [new] of the new tokens; the next ones when None.
            mask: Positions that each new token attends to [new, read]; itself and all before it
                when None.
        """
        past = 0 if cache is None else cache[0][0].shape[2]
        length = tokens.shape[1]
        turn = self.turn(torch.arange(past, past + length) if places is None else places)
        if mask is None and past:
            mask = torch.ones(length, past + length, dtype=torch.bool).tril(past)
        x = self.embed(tokens)
        grown: Cache = []
        for index in range(self.active_layers):
            x, pair = self.layers[index](x, turn, None if cache is None else cache[index], mask)
            grown.append(pair)
        weight = self.embed.weight if self.head is None else self.head.weight
        return functional.linear(self.norm(x), weight), grown

    def turn(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return cosine and sine, each [places, head_dim], of the rotary positions."""
        half = torch.arange(0, self.shape.head_dim, 2, dtype=torch.float32)
        speed = 1.0 / (self.shape.rope_theta ** (half / self.shape.head_dim))
        angle = torch.outer(places.float(), speed)
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos(), angle.sin()


def smooth_start(model: SmallLlama) -> None:
    """Initialise the bins' vectors along a smooth curve, so that neighbours are alike."""
    place = (torch.arange(words.N_BINS) + 0.5) / words.N_BINS
    count = min(SMOOTH_FEATURES, model.shape.width // 2)
    waves = torch.cos(math.pi * torch.outer(place, torch.arange(1, count + 1)))
    ends = [model.embed.weight] if model.head is None else [model.embed.weight, model.head.weight]
    with torch.no_grad():
        for weight in ends:
            bins = weight[words.BIN_START :]
            bins[:, :count] = SMOOTH_SIZE * waves + 0.1 * bins[:, :count]


def rotate(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Return x, [.., places, head_dim], turned by cosine and sine."""
    low, high = x.chunk(2, dim=-1)
    return x * turn[0] + torch.cat((-high, low), dim=-1) * turn[1]


def hugging_face_config(shape: ModelShape, dtype: str) -> dict[str, Any]:
    """Return `config.json` of a LlamaForCausalLM with these sizes."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": words.VOCAB_SIZE,
        "hidden_size": shape.width,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": shape.max_positions,
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": shape.rope_theta,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": shape.tied,
        "pad_token_id": words.PAD,
        "bos_token_id": words.BOS,
        "eos_token_id": words.EOS,
        "torch_dtype": dtype,
        "initializer_range": INIT_SD,
    }


def save_model(model: SmallLlama, folder: Path, dtype: torch.dtype = torch.float16) -> None:
    """Write `config.json` and `model.safetensors` as a LlamaForCausalLM."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: tensor.detach().to(dtype).contiguous()
        for name, tensor in _to_hugging_face(model).items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = hugging_face_config(model.shape, str(dtype).removeprefix("torch."))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def load_model(folder: Path) -> SmallLlama:
    """Read what `save_model` wrote, in float32."""
    config = json.loads((folder / "config.json").read_text())
    shape = ModelShape(
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        ffn=config["intermediate_size"],
        tied=config["tie_word_embeddings"],
        head_dim=config["head_dim"],
        rope_theta=config["rope_theta"],
        norm_eps=config["rms_norm_eps"],
        max_positions=config["max_position_embeddings"],
    )
    model = SmallLlama(shape)
    tensors = load_file(folder / "model.safetensors")
    model.load_state_dict(_from_hugging_face(shape, {n: t.float() for n, t in tensors.items()}))
    return model


def _to_hugging_face(model: SmallLlama) -> dict[str, Tensor]:
    shape = model.shape
    inner, side = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    tensors = {
        "model.embed_tokens.weight": model.embed.weight,
        "model.norm.weight": model.norm.weight,
    }
    if model.head is not None:
        tensors["lm_head.weight"] = model.head.weight
    for index in range(shape.layers):
        layer = cast("Layer", model.layers[index])
        query, key, value = layer.qkv.weight.split((inner, side, side))
        gate, up = layer.gate_up.weight.chunk(2)
        prefix = f"model.layers.{index}."
        tensors |= {
            prefix + "input_layernorm.weight": layer.norm_in.weight,
            prefix + "post_attention_layernorm.weight": layer.norm_mid.weight,
            prefix + "self_attn.q_proj.weight": query,
            prefix + "self_attn.k_proj.weight": key,
            prefix + "self_attn.v_proj.weight": value,
            prefix + "self_attn.o_proj.weight": layer.out.weight,
            prefix + "mlp.gate_proj.weight": gate,
            prefix + "mlp.up_proj.weight": up,
            prefix + "mlp.down_proj.weight": layer.down.weight,
        }
    return tensors


def _from_hugging_face(shape: ModelShape, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    state = {
        "embed.weight": tensors["model.embed_tokens.weight"],
        "norm.weight": tensors["model.norm.weight"],
    }
    if not shape.tied:
        state["head.weight"] = tensors["lm_head.weight"]
    for index in range(shape.layers):
        prefix, own = f"model.layers.{index}.", f"layers.{index}."
        attention, mlp = prefix + "self_attn.", prefix + "mlp."
        state |= {
            own + "norm_in.weight": tensors[prefix + "input_layernorm.weight"],
            own + "norm_mid.weight": tensors[prefix + "post_attention_layernorm.weight"],
            own + "qkv.weight": torch.cat(
                [tensors[f"{attention}{side}_proj.weight"] for side in ("q", "k", "v")]
            ),
            own + "out.weight": tensors[attention + "o_proj.weight"],
            own + "gate_up.weight": torch.cat(
                [tensors[f"{mlp}{side}_proj.weight"] for side in ("gate", "up")]
            ),
            own + "down.weight": tensors[mlp + "down_proj.weight"],
        }
    return state
