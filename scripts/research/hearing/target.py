"""A Llama of two layers: a table of numbers, and a part that hears words.

The first 64 places of the residual stream are the table target's (`scaled/table_target.py`), its
weights copied as they are. Words have places of their own:

    layer 0, attention   the age word of a slot finds the type and lean words of its own slot
    layer 0, units       one event from type, lean and age (trained)
    layer 1, attention   four heads sum the three events, each fading at its own rate with the
                         distance to the prompt's clock word
    head                 eight smooth directions of the row (trained)

Rules:
    - Without news the stream of the table is not touched: the words' values and the units' `up`
      read only places that the word of a speaking event fills, so nothing in gives nothing out.
    - ECHO has no place either: a move that already happened is never a signal.

Widths are chosen so that the norms of the table's part are those of the table target times a power
of two; float16 then keeps its weights exactly.
"""

import math
from dataclasses import dataclass
from typing import Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from inference.codec import vocabulary as words
from inference.training.model import Layer, ModelShape, SmallLlama
from scripts.research.hearing.worlds import ECHO
from scripts.research.scaled.table_target import N_PAIRS, TABLE_TARGET

HEADS: Final = 4
SHAPE: Final = ModelShape(
    layers=2,
    width=256,
    heads=HEADS,
    kv_heads=HEADS,
    ffn=128,
    tied=False,
    norm_eps=TABLE_TARGET.norm_eps / 4.0,
)
GAIN: Final = math.sqrt(TABLE_TARGET.width / SHAPE.width)
"""Weight of the norms: with it a normalised unit is that of the table target."""
EVENT: Final = SHAPE.head_dim
"""Places of an event."""
DIRECTIONS: Final = 8
"""Directions in which words can move a row."""
WAVES: Final = 40
"""Cosines that a direction is made of, so that neighbouring bins move alike."""
UNITS: Final = SHAPE.ffn - N_PAIRS
SPEAKING: Final = ECHO
"""Number of types that speak: those before ECHO."""
N_LEANS: Final = words.N_LEANS - 1
N_AGES: Final = words.N_AGES - 1
READ: Final = SPEAKING + N_LEANS + N_AGES
FADES: Final = (0.15, 0.5, 1.2, 3.0)
"""Fading of the four heads, in nats a bar."""
_OTHER: Final = 10
_TYPE, _LEAN, _AGE = 64, 76, 84
_IS_TYPE, _IS_LEAN, _IS_AGE, _IS_CLOCK = 96, 97, 98, 99
_FOUND_TYPE, _FOUND_LEAN = 104, 116
_HEARD, _MOVED = 128, 192
_SLOWEST: Final = 15
_NEXT_SLOWEST: Final = 14
_LINEAR: Final = 7
"""Rotary dimension whose sine is nearly straight over a horizon."""
_SINK: Final = 2.0
"""Score of the clock word at the first bar; an age word has 0."""
_UNIT: Final = math.sqrt(TABLE_TARGET.width)


def norm_of(units: float) -> float:
    """Return what one unit of the stream is after a norm, if its squares sum to `units`."""
    return _UNIT / math.sqrt(units + SHAPE.width * SHAPE.norm_eps)


@dataclass(frozen=True, slots=True)
class _Squares:
    """Squares of the stream at the places that are read, and the pair's unit there."""

    told: float = 7.0  # other, is-age, age, class, frequency, type, lean
    clock: float = 4.0  # other, is-clock, class, frequency
    asked: float = 4.0  # other, class, frequency, pair


KNOWN: Final = _Squares()


def pair_unit(squares: float) -> float:
    """Return the table's pair unit where the stream's squares sum to `squares`; 1 where it is 3."""
    one, full = norm_of(squares), norm_of(3.0)
    return (one * _silu(2.0 * one)) / (full * _silu(2.0 * full))


def _silu(value: float) -> float:
    return value / (1.0 + math.exp(-value))


def head_weights(steps: Tensor) -> Tensor:
    """Return the weight [..., 4] of one event in each head, `steps` [...] bars after the prompt."""
    speed = SHAPE.rope_theta ** (-2.0 * _LINEAR / SHAPE.head_dim)
    turned = torch.sin(speed * steps.double())[..., None] / speed
    sink = _SINK + torch.tensor(FADES, dtype=torch.float64) * turned
    return cast("Tensor", (1.0 / (words.N_SLOTS + torch.exp(sink))).float())


class WordsPart(nn.Module):
    """The trained numbers of the words' part, and the row that the network gives with them."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()

        def normal(*shape: int, size: float) -> nn.Parameter:
            return nn.Parameter(size * torch.randn(*shape, generator=generator))

        self.gate = normal(UNITS, READ, size=0.3)
        self.up = normal(UNITS, SPEAKING, size=0.1)
        self.down = normal(EVENT, UNITS, size=0.05)
        self.out = normal(HEADS, DIRECTIONS, EVENT, size=0.05)
        self.waves = normal(DIRECTIONS, WAVES, size=0.5)
        place = (torch.arange(words.N_BINS) + 0.5) / words.N_BINS
        count = torch.arange(1, WAVES + 1)
        self.basis = torch.cos(math.pi * torch.outer(count, place)) * (8.0 / (3.0 + count))[:, None]

    def directions(self) -> Tensor:
        """Return the head's columns [8, 256]."""
        return self.waves @ self.basis

    def heard(self) -> Tensor:
        """Return what each event adds, normalised as layer 1 reads it [types, leans, ages, 32]."""
        one = norm_of(KNOWN.told)
        kinds, leans = SPEAKING, N_LEANS
        gate = (
            self.gate[:, :kinds].T[:, None, None]
            + self.gate[:, kinds : kinds + leans].T[None, :, None]
            + self.gate[:, kinds + leans :].T[None, None]
        )
        up = self.up.T[:, None, None] * one
        event = functional.linear(functional.silu(gate * one) * up, self.down)
        squares = KNOWN.told + pair_unit(KNOWN.told) ** 2 + (event * event).sum(-1, keepdim=True)
        return cast("Tensor", event * _UNIT / torch.sqrt(squares + SHAPE.width * SHAPE.norm_eps))

    def moved(self, events: Tensor, steps: Tensor) -> Tensor:
        """Return the stream's words [n, s, 8] from summed events [n, 32] and steps [n, s]."""
        by_head = torch.einsum("hke,ne->nhk", self.out, events)
        return torch.einsum("nsh,nhk->nsk", head_weights(steps), by_head)

    def logits(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Return logits [n, s, 256] of a table's rows [n, 256] moved by words [n, s, 8]."""
        squares = KNOWN.asked + (moved * moved).sum(-1, keepdim=True)
        less = torch.rsqrt(squares + SHAPE.width * SHAPE.norm_eps)
        full = 1.0 / math.sqrt(KNOWN.asked + SHAPE.width * SHAPE.norm_eps)
        return rows.log()[:, None] * (less / full) + (moved * _UNIT * less) @ self.directions()


def hearing_target(table: SmallLlama, hearing: WordsPart) -> SmallLlama:
    """Return the network whose numbers are the table target's and whose words are `hearing`'s."""
    model = SmallLlama(SHAPE)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(GAIN if "norm" in name else 0.0)
        _copy_table(model, table)
        _name_words(model.embed.weight)
        first, second = (cast("Layer", layer) for layer in model.layers)
        _find_slot(first)
        _sum_events(second)
        _write_hearing(model, first, second, hearing)
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    return model


def _copy_table(model: SmallLlama, table: SmallLlama) -> None:
    size, narrow = TABLE_TARGET.head_dim, TABLE_TARGET.width
    source, layer = cast("Layer", table.layers[0]), cast("Layer", model.layers[0])
    model.embed.weight[:, :narrow] = table.embed.weight
    inner = TABLE_TARGET.heads * size
    query, key, value = source.qkv.weight.split((inner, size, size))
    queries, keys, values = layer.qkv.weight.chunk(3)
    queries[:inner, :narrow] = query
    for head in range(TABLE_TARGET.heads):
        part = slice(head * size, (head + 1) * size)
        keys[part, :narrow], values[part, :narrow] = key, value
    layer.out.weight[:narrow, :inner] = source.out.weight
    own, theirs = layer.gate_up.weight.chunk(2), source.gate_up.weight.chunk(2)
    for mine, other in zip(own, theirs, strict=True):
        mine[:N_PAIRS, :narrow] = other[:N_PAIRS]
    layer.down.weight[:narrow, :N_PAIRS] = source.down.weight[:, :N_PAIRS]
    if model.head is None or table.head is None:
        raise AssertionError("the shapes are not tied")
    model.head.weight[:, :narrow] = table.head.weight


def _name_words(weight: Tensor) -> None:
    """Give the words of a slot, and the clock, their units."""
    clocks = words.N_WEEKDAYS + words.N_HOURS
    for start, count, speaking, place, kind in (
        (words.TYPE_START, words.N_TYPES, SPEAKING, _TYPE, _IS_TYPE),
        (words.LEAN_START, words.N_LEANS, N_LEANS, _LEAN, _IS_LEAN),
        (words.AGE_START, words.N_AGES, N_AGES, _AGE, _IS_AGE),
        (words.CLOCK_START, clocks, 0, 0, _IS_CLOCK),
    ):
        weight[start : start + count, kind] = 1.0
        for index in range(speaking):
            weight[start + index, place + index] = 1.0


def _find_slot(layer: Layer) -> None:
    """Heads 2 and 3 of layer 0: an age word reads the type two words back, the lean one back.

    Every other word looks at the class word, whose value is nothing.
    """
    size = SHAPE.head_dim
    queries, keys, values = layer.qkv.weight.chunk(3)
    told = norm_of(3.0)
    for head, kind, back, place, count, found in (
        (2, _IS_TYPE, 2, _TYPE, SPEAKING, _FOUND_TYPE),
        (3, _IS_LEAN, 1, _LEAN, N_LEANS, _FOUND_LEAN),
    ):
        start = head * size
        queries[start + _SLOWEST, _OTHER] = keys[start + _SLOWEST, : words.N_CLASSES] = 1.5
        for turn in (0, 1):
            angle = back * SHAPE.rope_theta ** (-2.0 * turn / size)
            queries[start + turn, _IS_AGE] = 3.0 * math.cos(angle)
            queries[start + turn + size // 2, _IS_AGE] = -3.0 * math.sin(angle)
            keys[start + turn, kind] = 3.0
        for index in range(count):
            values[start + index, place + index] = 1.0 / told
            layer.out.weight[found + index, start + index] = 1.0


def _sum_events(layer: Layer) -> None:
    """All heads of layer 1: age words score 0, the clock word by its distance, the rest -30."""
    size = SHAPE.head_dim
    queries, keys, _ = layer.qkv.weight.chunk(3)
    asked, clock = norm_of(KNOWN.asked), norm_of(KNOWN.clock + pair_unit(KNOWN.clock) ** 2)
    scale = math.sqrt(size)
    speed = SHAPE.rope_theta ** (-2.0 * _LINEAR / size)
    distance = words.TAIL_LENGTH - 3 * words.N_SLOTS - 1
    for head, fade in enumerate(FADES):
        start = head * size
        queries[start + _SLOWEST, _OTHER] = keys[start + _SLOWEST, _IS_AGE] = 3.5
        keys[start + _SLOWEST, _IS_CLOCK] = 3.5
        for place in (_OTHER, *range(words.N_CLASSES + words.N_FREQUENCIES)):
            keys[start + _SLOWEST, place] = -3.5
        both = scale / (asked * clock)
        queries[start + _NEXT_SLOWEST, _OTHER] = _SINK * both
        keys[start + _NEXT_SLOWEST, _IS_CLOCK] = 1.0
        strength = math.sqrt(fade / speed * both)
        angle = math.pi / 2.0 + distance * speed
        queries[start + _LINEAR, _OTHER] = strength * math.cos(angle)
        queries[start + _LINEAR + size // 2, _OTHER] = -strength * math.sin(angle)
        keys[start + _LINEAR, _IS_CLOCK] = strength


def _write_hearing(model: SmallLlama, first: Layer, second: Layer, hearing: WordsPart) -> None:
    size = SHAPE.head_dim
    gate, up = first.gate_up.weight.chunk(2)
    kinds, leans = SPEAKING, N_LEANS
    mine = slice(N_PAIRS, SHAPE.ffn)
    gate[mine, _FOUND_TYPE : _FOUND_TYPE + kinds] = hearing.gate[:, :kinds]
    gate[mine, _FOUND_LEAN : _FOUND_LEAN + leans] = hearing.gate[:, kinds : kinds + leans]
    gate[mine, _AGE : _AGE + N_AGES] = hearing.gate[:, kinds + leans :]
    up[mine, _FOUND_TYPE : _FOUND_TYPE + kinds] = hearing.up
    first.down.weight[_HEARD : _HEARD + EVENT, mine] = hearing.down
    values = second.qkv.weight.chunk(3)[2]
    for head in range(HEADS):
        part = slice(head * size, (head + 1) * size)
        values[part, _HEARD : _HEARD + EVENT] = torch.eye(size)
        second.out.weight[_MOVED : _MOVED + DIRECTIONS, part] = hearing.out[head]
    if model.head is None:
        raise AssertionError("the shape is not tied")
    bins = slice(words.BIN_START, words.BIN_START + words.N_BINS)
    model.head.weight[bins, _MOVED : _MOVED + DIRECTIONS] = hearing.directions().T
