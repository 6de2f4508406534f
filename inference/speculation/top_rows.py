"""The head of a row over a large vocabulary: its 20 likeliest ids, before the grammar's mask.

A row over 100,000 ids is not kept. What decided is: the law over the few symbols that the grammar
permits (`evidence.py`). The head says besides what the model would have said, and how much of its
law the grammar left: `legal`. Where an answer's token is among the 20, its probability over `legal`
is the one that decided, which replay checks.

A place with one legal symbol decides nothing and has no head.

In bytes: 20 ids u32, 20 probabilities f32 in the same order, legal f32; little-endian.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from inference.errors import CaptureError
from inference.speculation.evidence import Evidence

K: Final = 20
"""Ids in a head."""
_HEAD: Final = struct.Struct(f"<{K}I{K}ff")
WIDTH: Final = _HEAD.size
NONE: Final = b""
"""Stands for a place without a head."""
LEGAL_MIN: Final = 1e-6
"""Smallest legal share whose quotients float32 can bear out."""
TOLERANCE: Final = 1e-4
"""Largest accepted gap between a probability that decided and the head's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRow:
    """One head, read."""

    ids: tuple[int, ...]
    p: tuple[float, ...]  # of the whole law, before the mask
    legal: float  # what the grammar left of the law

    def share_of(self, vocabulary_id: int) -> float | None:
        """Return an id's probability among the legal ones; None if the head cannot say it."""
        if vocabulary_id not in self.ids or self.legal < LEGAL_MIN:
            return None
        return self.p[self.ids.index(vocabulary_id)] / self.legal


def top_bytes(ids: Sequence[int], p: Sequence[float], legal: float) -> bytes:
    """Write a head."""
    return _HEAD.pack(*ids, *p, legal)


def read_top(data: bytes) -> TopRow:
    """Read a head.

    Raises:
        CaptureError: when it has another length or a number that is no probability.
    """
    if len(data) != WIDTH:
        raise CaptureError(f"a head has {WIDTH} bytes, found {len(data)}")
    found = _HEAD.unpack(data)
    p, legal = found[K : 2 * K], found[2 * K]
    if any(not 0.0 <= value <= 1.0 + TOLERANCE for value in (*p, legal)):
        raise CaptureError("a head has a number that is no probability")
    return TopRow(ids=found[:K], p=p, legal=legal)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadCheck:
    """What the heads of a capture bear out."""

    rows: int  # places that have a head
    borne_out: int  # probabilities that decided and follow from a head
    legal_mean: float  # mean share of the law that the grammar left; 0.0 without a head
    faults: tuple[str, ...]  # probabilities that a head contradicts


def check_heads(evidence: Evidence, id_of: Callable[[int], int]) -> HeadCheck:
    """Compare every probability that decided with its head; `id_of` knows each token's id.

    Raises:
        CaptureError: when a head cannot be read.
    """
    legal, borne_out, faults = [], 0, []
    for r in evidence.rounds:
        decided = [*zip(r.drafts, r.p, strict=False)][: r.accepted]
        decided.append((r.token, r.token_p))
        for j, (data, (token, p)) in enumerate(zip(r.tops, decided, strict=False)):
            if data == NONE:
                continue
            top = read_top(data)
            legal.append(top.legal)
            share = top.share_of(id_of(token))
            if share is None:
                continue
            borne_out += 1
            if not abs(share - p) <= TOLERANCE:
                faults.append(f"trajectory {r.trajectory} step {r.step}: head {j}")
    return HeadCheck(
        rows=len(legal),
        borne_out=borne_out,
        legal_mean=fsum(legal) / len(legal) if legal else 0.0,
        faults=tuple(faults),
    )


def pool_of(rows: Sequence[tuple[bytes, ...]]) -> tuple[list[bytes], list[list[int]]]:
    """Return each distinct head once, and the references of each round: 0 for none, else 1 on."""
    pool: dict[bytes, int] = {}
    refs = [
        [0 if one == NONE else pool.setdefault(one, len(pool) + 1) for one in row] for row in rows
    ]
    return list(pool), refs


def heads_of(pool: Sequence[bytes], refs: Sequence[int]) -> tuple[bytes, ...]:
    """Return the heads of references; see `pool_of`.

    Raises:
        CaptureError: when a reference names no head.
    """
    if any(not 0 <= ref <= len(pool) for ref in refs):
        raise CaptureError("a reference to a head that is not there")
    return tuple(NONE if ref == 0 else pool[ref - 1] for ref in refs)


def split_pool(data: bytes, n: int) -> list[bytes]:
    """Return n heads from their bytes.

    Raises:
        CaptureError: when there are more or fewer bytes, or a head cannot be read.
    """
    if n < 0 or len(data) != n * WIDTH:
        raise CaptureError(f"expected {n} heads of {WIDTH} bytes, found {len(data)} bytes")
    pool = [data[at : at + WIDTH] for at in range(0, len(data), WIDTH)]
    for one in pool:
        read_top(one)
    return pool
