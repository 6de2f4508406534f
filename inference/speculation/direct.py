"""The direct sampler's draws, and what is kept of it: a few numbers, none of them of one token.

Where a target's row depends on the state of the codec's table alone, nothing needs drafting: each
token is picked from the row of its path's state. All draws of a forecast come from SHAKE-256 of
(rule, seed, step), so that the ledger keeps a rule's name and a seed instead of tokens.

The rule `direct-1`, step by step and within a step path by path:

    stream of a step    SHAKE-256("countersign/direct/1" + seed + step, 4 bytes big-endian)
    path i reads        bytes 16 i to 16 i + 16: two 64-bit big-endian words
    token draw          (2 (first word >> 12) + 1) / 2^53: never 0, never 1, as `seeds.token_draw`
    token               the first bin whose cumulative sum, left to right in float64, exceeds draw
                        times the row's whole sum: `seeds.pick`
    place in the bin    (second word >> 11) / 2^53, as the codec's dither

Fewer paths read a prefix of each stream and a shorter horizon reads fewer streams, so both get the
same tokens as far as they go. Depth buys more of one sample, never another.

Not here: the states (`inference/forecast/direct.py`) and the byte form (`direct_bytes.py`).

Source: FIPS 202 for SHAKE-256.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, isfinite
from typing import Final

import numpy as np
import numpy.typing as npt

from inference.errors import CaptureError
from inference.speculation.evidence import TOTAL_TOLERANCE
from inference.speculation.fields import DIGEST
from inference.speculation.rounds import row_values
from inference.speculation.seeds import pick

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
RULE: Final = "direct-1"
_TAG: Final = b"countersign/direct/1"
_WORDS: Final = 2
_WIDTH: Final = 8 * _WORDS
_UNIT: Final = 2.0**53
TOKENS_MAX: Final = 1 << 21
"""Most tokens of a capture that is read: a few bytes must not ask for hours and gigabytes."""
BINS_MAX: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUse:
    """One state that tokens were picked in."""

    state: int
    row_digest: bytes  # SHA-256 of its row's float32 bytes
    tokens: int  # picked from it


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectCapture:
    """What determines every token of a direct forecast, given the weights' rows."""

    seed: bytes  # the forecast's, 32 bytes
    table_digest: str  # SHA-256, hex, of the file that has the rows
    bin_start: int
    n_bins: int
    paths: int
    steps: int
    first_state: int
    first_row: tuple[float, ...]  # float32, whole: the closed-form law needs it
    states: tuple[StateUse, ...]  # ascending
    tokens_digest: bytes  # `tokens_digest`
    rule: str = RULE

    def __post_init__(self) -> None:
        """Raise `CaptureError` when the parts cannot be of one forecast."""
        if self.rule != RULE:
            raise CaptureError(f"expected the rule {RULE}, was {self.rule[:40]!r}")
        if not (
            self.paths > 0
            and self.steps > 0
            and self.paths * self.steps <= TOKENS_MAX
            and 0 < self.n_bins <= BINS_MAX
            and self.bin_start >= 0
        ):
            raise CaptureError(f"{self.paths} paths of {self.steps} steps are too many or none")
        names = [one.state for one in self.states]
        firsts = [one for one in self.states if one.state == self.first_state]
        if (
            len(self.seed) != DIGEST
            or len(self.tokens_digest) != DIGEST
            or not _is_digest(self.table_digest)
            or len(self.first_row) != self.n_bins
            or any(len(one.row_digest) != DIGEST or one.tokens < 1 for one in self.states)
            or names != sorted(set(names))
            or names[:1] < [0]
            or sum(one.tokens for one in self.states) != self.paths * self.steps
            or not firsts
            or firsts[0].tokens < self.paths
        ):
            raise CaptureError("the capture's parts do not fit together")
        refuse_no_row(self.first_row)
        try:
            own = np.array(self.first_row, dtype="<f4").tobytes()
        except OverflowError as error:
            raise CaptureError(f"the first row is not of float32: {error}") from error
        if row_digest(own) != firsts[0].row_digest or row_values(own) != self.first_row:
            raise CaptureError("the first row is not that of the first state")


class StateRow:
    """One state's row, read and summed once however many draws pick from it."""

    def __init__(self, data: bytes) -> None:
        """Take float32 bytes.

        Raises:
            CaptureError: when they are not a row of probabilities.
        """
        self.digest = row_digest(data)
        self.values = row_values(data)
        refuse_no_row(self.values)
        self._sums = np.array(list(accumulate(self.values)))
        self._last = pick(self.values, 1.0)

    def picked(self, draws: Doubles) -> Ints:
        """Return the bin that each draw picks, as `seeds.pick`."""
        total = self._sums[-1]
        found = np.searchsorted(self._sums, draws * total, side="right")
        # A product may round up to the whole sum: `pick` then takes the last bin that has any mass.
        return np.where(found < len(self._sums), found, self._last).astype(np.int64)


def step_draws(seed: bytes, step: int, paths: int) -> tuple[Doubles, Doubles]:
    """Return the token draws and the places in their bins of one step, each [paths]."""
    message = _TAG + seed + step.to_bytes(4, "big")
    stream = hashlib.shake_256(message).digest(_WIDTH * paths)
    words = np.frombuffer(stream, dtype=">u8").astype(np.uint64).reshape(paths, _WORDS)
    draws = (words[:, 0] >> np.uint64(12)) * np.uint64(2) + np.uint64(1)
    places = words[:, 1] >> np.uint64(11)
    return draws.astype(np.float64) / _UNIT, places.astype(np.float64) / _UNIT


def row_digest(row: bytes) -> bytes:
    """Return the SHA-256 of a row's float32 bytes."""
    return hashlib.sha256(row).digest()


def tokens_digest(bins: Ints) -> bytes:
    """Return the SHA-256 of bins [paths, steps], 2 bytes little-endian each, path by path."""
    return hashlib.sha256(np.ascontiguousarray(bins, dtype="<u2").tobytes()).digest()


def refuse_no_row(values: Sequence[float]) -> None:
    """Raise `CaptureError` unless values are probabilities that sum to one."""
    if not values or any(not (isfinite(value) and 0.0 <= value <= 1.0) for value in values):
        raise CaptureError("a probability is not a finite number in [0, 1]")
    if not abs(fsum(values) - 1.0) <= TOTAL_TOLERANCE:
        raise CaptureError(f"expected a row with a sum of one, was {fsum(values):.6f}")


def _is_digest(text: str) -> bool:
    return len(text) == 2 * DIGEST and not set(text) - set("0123456789abcdef")
