"""Whether a pair's target has one row for each state of its codec's table, where no word acts.

The table of pairs 2, 3 and 4 has the rows that their target serves; of a trained network (pair 1)
it has what a state knows at best. Which of the two a pair is, its weights say: the target's rows
are computed again (`teacher.py`) after prompts of every class, frequency and ratio, short and
long, with bars drawn from a hash and no words, and after answers that pass through every move.

It is a test, not a proof: a prompt could be found on which it fails. The forecasts made by it are
compared with the weights again in replay, as every row on record is.
"""

import hashlib
from collections.abc import Iterator
from math import inf

import numpy as np

from inference.codec import vocabulary as words
from inference.codec.codec import RATIO_COARSE
from inference.codec.scaled import codec_named, reads_numbers_only
from inference.weights.regeneration import ROW_TOLERANCE
from inference.weights.registry import ModelPair, load_table
from inference.weights.teacher import Teacher

_LENGTHS = (16, 128)
_ANSWERS, _TOKENS = 6, 8


def state_gap(pair: ModelPair, most: float = ROW_TOLERANCE) -> float:
    """Return the largest gap between the target's rows and its table's of the same states.

    It stops at the first gap above `most`. A pair of another kind has an infinite one.

    Raises:
        RegistryError: a model file or the table cannot be read.
        CodecError: no codec of this version is the pair's.
    """
    if not reads_numbers_only(pair.codec_digest):
        return inf
    codec, table, teacher = codec_named(pair.codec_digest), load_table(pair), Teacher(pair.target)
    rows = np.frombuffer(table.rows, dtype="<f4").reshape(-1, table.n_bins).astype(np.float64)
    if rows.shape != (codec.n_table_states, codec.n_bins):
        return inf
    bins, worst = slice(codec.bin_start, codec.bin_start + codec.n_bins), 0.0
    for prompt in _prompts():
        base = codec.table_base(prompt)
        drawn = _bins(f"answers {prompt}", _ANSWERS * _TOKENS)
        answers = [drawn[i::_ANSWERS] for i in range(_ANSWERS)]
        for answer, found in zip(answers, teacher.rows(prompt, answers, bins), strict=True):
            states = [codec.table_state(prompt)]
            states += [codec.table_step(base, token) for token in answer[:-1]]
            gap = float(np.abs(found - rows[states]).max())
            worst = max(worst, gap if gap >= 0.0 else inf)  # NaN counts against the pair
            if worst > most:
                return worst
    return worst


def _prompts() -> Iterator[tuple[int, ...]]:
    """Yield prompts of every class, frequency and ratio without words."""
    for number in range(words.N_CLASSES * words.N_FREQUENCIES * RATIO_COARSE):
        rest, kind = divmod(number, words.N_CLASSES)
        ratio, frequency = divmod(rest, words.N_FREQUENCIES)
        fine = words.N_RATIOS // RATIO_COARSE
        yield (
            words.BOS,
            words.CLASS_START + kind,
            words.FREQUENCY_START + frequency,
            *_bins(f"prompt {number}", _LENGTHS[number % len(_LENGTHS)]),
            *words.NO_NEWS * words.N_SLOTS,
            words.CLOCK_START + number % (words.N_WEEKDAYS + words.N_HOURS),
            words.RATIO_START + ratio * fine + number % fine,
            words.LEVEL_START + number % words.N_LEVELS,
        )


def _bins(name: str, count: int) -> list[int]:
    drawn = hashlib.shake_256(f"countersign/by-state/1 {name}".encode()).digest(count)
    return [words.BIN_START + byte for byte in drawn]
