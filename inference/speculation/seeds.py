"""The source of every random number of a forecast.

A forecast's seed is derived from the last checkpointed root and its prompt's token ids, so nobody
chose it and anyone can recompute it. Each trajectory has its own 63-bit seed; each draw of a
trajectory is a function of (trajectory seed, purpose, position, index). No generator has state, so
a trajectory draws the same numbers alone or in a batch, and a verifier needs only SHA-256.

Rules:
    - A draw is never 0 and never 1: "accept when u <= p/q" neither accepts p = 0 nor rejects p = q.
    - An accept draw has 24 significant bits: exact in the float32 that the rejection kernel uses.

Source: RFC 5869 (HKDF) with SHA-256.
"""

import hashlib
import hmac
import json
from bisect import bisect_right
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate
from struct import unpack

_SALT = b"countersign/decision-seed/v1"
_DRAW = b"countersign/draw/v1"
_TRAJECTORY = b"countersign/trajectory/v1"


class Purpose(IntEnum):
    """What a draw decides; part of the hashed message, so values never change."""

    DRAFT = 1
    ACCEPT = 2
    RECOVER = 3
    SAMPLE = 4
    PLACEBO = 5
    SELF_TEST = 6
    GJR = 7


def prompt_label(token_ids: Sequence[int]) -> str:
    """Return the label of a forecast's seed: the SHA-256, hex, of its prompt's token ids as JSON.

    Nothing else of the inputs is in it: a time or a name that moves by a little would draw another
    sample of the same forecast.
    """
    return hashlib.sha256(json.dumps([*token_ids], separators=(",", ":")).encode()).hexdigest()


def decision_seed(root: bytes, label: str, attempt: int) -> bytes:
    """Return the 32-byte seed of one attempt at a forecast.

    Args:
        root: Root hash of the largest signed checkpoint not above the first opening record.
        label: What the forecast is of, `prompt_label`.
        attempt: 0 for the first, then 1, 2, ..

    Raises:
        ValueError: when the attempt is outside 0..2^32-1.
    """
    if not 0 <= attempt < 1 << 32:
        raise ValueError(f"attempt {attempt} is not a 32-bit counter")
    info = label.encode() + b"\x00" + attempt.to_bytes(4, "big")
    key = hmac.digest(_SALT, root, hashlib.sha256)
    return hmac.digest(key, info + b"\x01", hashlib.sha256)


def trajectory_seeds(seed: bytes, n: int) -> tuple[int, ...]:
    """Return n trajectory seeds of 63 bits; a longer list starts with the shorter one."""
    return tuple(
        int.from_bytes(hmac.digest(seed, _TRAJECTORY + i.to_bytes(4, "big"), hashlib.sha256)[:8])
        >> 1
        for i in range(n)
    )


def dither_key(seed: bytes, trajectory: int) -> bytes:
    """Return the codec's dither key of one trajectory of a decision."""
    return seed + trajectory.to_bytes(4, "big")


def accept_draw(seed: int, position: int, index: int) -> float:
    """Return the uniform draw that accepts or rejects draft `index` of a round.

    `seed` is the trajectory's; `position` is that of the round's first token in the output, from 0.
    """
    return (2 * (_bits(seed, Purpose.ACCEPT, position, index) >> 41) + 1) / (1 << 24)


def token_draw(seed: int, purpose: Purpose, position: int, index: int = 0) -> float:
    """Return the uniform draw, 53 bits, that picks a token from a row of probabilities."""
    return (2 * (_bits(seed, purpose, position, index) >> 12) + 1) / (1 << 53)


def four_draws(
    seed: int, purpose: Purpose, position: int, index: int
) -> tuple[float, float, float, float]:
    """Return four uniform draws, 53 bits each, of one hash; the first is `token_draw`'s."""
    digest = hashlib.sha256(_message(seed, purpose, position, index)).digest()
    a, b, c, d = unpack(">4Q", digest)
    return (
        (2 * (a >> 12) + 1) / (1 << 53),
        (2 * (b >> 12) + 1) / (1 << 53),
        (2 * (c >> 12) + 1) / (1 << 53),
        (2 * (d >> 12) + 1) / (1 << 53),
    )


def pick(row: Sequence[float], draw: float) -> int:
    """Return the index that `draw` picks from `row` by inverse cumulative sum.

    The sum runs left to right in float64, so the same bytes give the same index everywhere. The row
    need not sum to one. Entries of zero are never picked.

    Raises:
        ValueError: when no entry is positive.
    """
    cumulative = list(accumulate(row))
    total = cumulative[-1] if cumulative else 0.0
    if not 0.0 < total < float("inf"):
        raise ValueError("a row of probabilities must have a positive finite sum")
    index = bisect_right(cumulative, draw * total)
    if index < len(cumulative):
        return index
    return max(i for i, value in enumerate(row) if value > 0.0)


def _bits(seed: int, purpose: Purpose, position: int, index: int) -> int:
    message = _message(seed, purpose, position, index)
    return int.from_bytes(hashlib.sha256(message).digest()[:8], "big")


def _message(seed: int, purpose: Purpose, position: int, index: int) -> bytes:
    return (
        _DRAW
        + seed.to_bytes(8, "big")
        + bytes((purpose,))
        + position.to_bytes(4, "big")
        + index.to_bytes(2, "big")
    )
