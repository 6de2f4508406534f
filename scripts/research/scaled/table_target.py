"""A Llama of one layer whose rows are a table's: the least network that vLLM can serve.

Nothing is trained. The last token's query finds the class word (head 0) and the frequency word
(head 1) by two rotary dimensions that hardly turn over a prompt's length; the feed-forward part
has one unit for each pair of the two, and the head has that pair's row as logits. Returns and news
words change nothing: within a class and frequency, the scale is all that varies.

Weights are stored as float16, so the rows as served differ from the table's by about 0.2 %;
`served_rows` returns them, and the drafter's table is made of those.
"""

import math
from typing import Final, cast

import torch
from torch import Tensor

from inference.codec import vocabulary as words
from inference.training.model import Layer, ModelShape, SmallLlama
from inference.training.series import Floats

TABLE_TARGET: Final = ModelShape(layers=1, width=64, heads=2, kv_heads=1, ffn=32, tied=False)
N_PAIRS: Final = words.N_FREQUENCIES * words.N_CLASSES
_FREQUENCY: Final = words.N_CLASSES
_OTHER: Final = 10
_FOUND_CLASS: Final = 16
_FOUND_FREQUENCY: Final = 24
_PAIR: Final = 32
"""Places of the residual stream: words as embedded, words as found, pairs of both."""
_SLOWEST: Final = 15
_NEXT_SLOWEST: Final = 14
"""Rotary dimensions that turn by less than 0.1 over a prompt."""
_LOOK: Final = 2.5
"""Query and key weight: a score of 70, so attention to anything else is below 1e-25."""
_GATE: Final = 2.0
_OUTSIDE: Final = -40.0
"""Logit of an id that is not a bin."""


def table_target(rows: Floats) -> SmallLlama:
    """Return the model of rows [16, 256], one for each frequency and class."""
    if rows.shape != (N_PAIRS, words.N_BINS):
        raise ValueError(f"expected rows {(N_PAIRS, words.N_BINS)}, was {rows.shape}")
    model = SmallLlama(TABLE_TARGET)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0 if parameter.ndim == 1 else 0.0)
        _embed(model.embed.weight)
        layer = cast("Layer", model.layers[0])
        _attend(layer)
        _pair(layer)
        if model.head is None:
            raise AssertionError("the shape is not tied")
        model.head.weight[:, _PAIR : _PAIR + N_PAIRS] = _OUTSIDE / _last_unit()
        logits = torch.from_numpy(rows).log().float()
        logits -= logits.max(dim=1, keepdim=True).values
        bins = slice(words.BIN_START, words.BIN_START + words.N_BINS)
        model.head.weight[bins, _PAIR : _PAIR + N_PAIRS] = logits.T / _last_unit()
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    return model


def served_rows(model: SmallLlama) -> Floats:
    """Return the rows [16, 256] of a model for a prompt of each frequency and class."""
    rows = []
    for frequency in range(words.N_FREQUENCIES):
        for kind in range(words.N_CLASSES):
            head = [words.BOS, words.CLASS_START + kind, words.FREQUENCY_START + frequency]
            tokens = torch.tensor([[*head, words.BIN_START, words.LEVEL_START]])
            with torch.no_grad():
                logits = model(tokens)[0, -1, words.BIN_START :]
            rows.append(torch.softmax(logits.double(), dim=-1))
    return torch.stack(rows).numpy()


def row_columns(pairs: slice) -> slice:
    """Return the head's columns that hold the rows of these pairs of frequency and class."""
    return slice(_PAIR + pairs.start, _PAIR + pairs.stop)


def _embed(weight: Tensor) -> None:
    """Give every id one unit: its class, its frequency, or "other"."""
    weight[:, _OTHER] = 1.0
    for start, count, place in (
        (words.CLASS_START, words.N_CLASSES, 0),
        (words.FREQUENCY_START, words.N_FREQUENCIES, _FREQUENCY),
    ):
        for index in range(count):
            weight[start + index, _OTHER] = 0.0
            weight[start + index, place + index] = 1.0


def _attend(layer: Layer) -> None:
    """Head 0 carries the class to the last token, head 1 the frequency."""
    size, width = TABLE_TARGET.head_dim, TABLE_TARGET.width
    inner = TABLE_TARGET.heads * size
    query, key, value = layer.qkv.weight.split((inner, size, size))
    one = math.sqrt(width)  # a unit after the norm of a one-hot vector
    query[_SLOWEST, _OTHER] = query[size + _NEXT_SLOWEST, _OTHER] = _LOOK
    key[_SLOWEST, : words.N_CLASSES] = _LOOK
    key[_NEXT_SLOWEST, _FREQUENCY : _FREQUENCY + words.N_FREQUENCIES] = _LOOK
    for index in range(words.N_CLASSES + words.N_FREQUENCIES):
        value[index, index] = 1.0 / one
    for kind in range(words.N_CLASSES):
        layer.out.weight[_FOUND_CLASS + kind, kind] = 1.0
    for frequency in range(words.N_FREQUENCIES):
        place = size + _FREQUENCY + frequency
        layer.out.weight[_FOUND_FREQUENCY + frequency, place] = 1.0


def _pair(layer: Layer) -> None:
    """One feed-forward unit for each frequency and class, which is on when both were found."""
    gate, up = layer.gate_up.weight.chunk(2, dim=0)
    unit = math.sqrt(TABLE_TARGET.width / 3.0)  # three units in the stream: other and two found
    on = unit * _GATE
    product = on / (1.0 + math.exp(-on)) * unit
    for index in range(N_PAIRS):
        frequency, kind = divmod(index, words.N_CLASSES)
        gate[index, _FOUND_CLASS + kind] = _GATE
        up[index, _FOUND_FREQUENCY + frequency] = 1.0
        layer.down.weight[_PAIR + index, index] = 1.0 / product


def _last_unit() -> float:
    return math.sqrt(TABLE_TARGET.width / 4.0)
