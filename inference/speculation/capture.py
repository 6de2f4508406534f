"""The byte form of rounds, version 1 of a capture: canonical JSON, then a pool of float32 rows.

Rounds refer to rows by their place in the pool, so a row that several rounds share (all first
tokens of one prompt) is stored once. Without a compressor the same capture gives the same bytes on
every machine, and a reader needs only JSON and float32.

Layout: magic line, header line, then `rows` rows of `n_bins` little-endian float32 values, then the
heads of rows over a large vocabulary (`top_rows.py`), which only a text pair has.
"""

import json
import sys
from math import isfinite
from typing import Any

from inference.errors import CaptureError
from inference.speculation.rounds import (
    Capture,
    DrafterKind,
    DraftRound,
    PlainReason,
    RoundOutcome,
    row_values,
)
from inference.speculation.top_rows import heads_of, pool_of, split_pool

MAGIC = b"countersign.capture/1\n"
_ROUND_WIDTH = 13
_ONE = 0x3F800000  # the bits of 1.0


def encode_capture(capture: Capture) -> bytes:
    """Return the bytes of a capture; equal captures give equal bytes.

    Raises:
        CaptureError: when a row does not have `n_bins` values.
    """
    pool: dict[bytes, int] = {}
    header: dict[str, Any] = {
        "drafter": capture.drafter.value,
        "spec_k": capture.spec_k,
        "bin_start": capture.bin_start,
        "n_bins": capture.n_bins,
        "greedy": capture.greedy,
        "table_digest": capture.table_digest,
        "seeds": [str(seed) for seed in capture.seeds],
        "rounds": [_round_list(r, pool) for r in capture.rounds],
        "rows": len(pool),
    }
    heads, refs = pool_of([r.tops for r in capture.rounds])
    if heads:
        header["tops"] = {"heads": len(heads), "rounds": refs}
    if any(len(row) != 4 * capture.n_bins for row in pool):
        raise CaptureError(f"a row does not have {capture.n_bins} values")
    line = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return MAGIC + line + b"\n" + b"".join(pool) + b"".join(heads)


def decode_capture(data: bytes) -> Capture:
    """Read a capture.

    Raises:
        CaptureError: for any bytes that `encode_capture` would not have written, and for
            probabilities that are not finite and in [0, 1].
    """
    if not data.startswith(MAGIC):
        raise CaptureError("not a capture of version 1")
    end = data.find(b"\n", len(MAGIC))
    try:
        header = json.loads(data[len(MAGIC) : end])
        n_bins = int(header["n_bins"])
        rows_end = end + 1 + 4 * n_bins * int(header["rows"])
        pool = _pool(data[end + 1 : rows_end], n_bins, int(header["rows"]))
        heads = _heads(header, data[rows_end:])
        capture = Capture(
            drafter=DrafterKind(header["drafter"]),
            spec_k=int(header["spec_k"]),
            bin_start=int(header["bin_start"]),
            n_bins=n_bins,
            greedy=bool(header["greedy"]),
            table_digest=str(header["table_digest"]),
            seeds=tuple(int(seed) for seed in header["seeds"]),
            rounds=tuple(
                _round(item, pool, tops) for item, tops in zip(header["rounds"], heads, strict=True)
            ),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise CaptureError(f"malformed capture: {error}") from error
    if encode_capture(capture) != data:
        raise CaptureError("capture is not in canonical form")
    return capture


def _round_list(r: DraftRound, pool: dict[bytes, int]) -> list[Any]:
    def refs(rows: tuple[bytes, ...]) -> list[int]:
        return [pool.setdefault(row, len(pool)) for row in rows]

    return [
        r.trajectory,
        r.step,
        list(r.drafts),
        list(r.q_states),
        refs(r.q_rows),
        refs(r.p_rows),
        [u.hex() for u in r.draws],
        r.accepted,
        r.token,
        r.outcome.value,
        r.plain_reason.value if r.plain_reason else None,
        r.truncated,
        r.logits_digest.hex(),
    ]


def _round(item: list[Any], pool: list[bytes], tops: tuple[bytes, ...]) -> DraftRound:
    if len(item) != _ROUND_WIDTH:
        raise CaptureError(f"a round has {_ROUND_WIDTH} fields, found {len(item)}")
    return DraftRound(
        trajectory=int(item[0]),
        step=int(item[1]),
        drafts=tuple(int(x) for x in item[2]),
        q_states=tuple(int(x) for x in item[3]),
        q_rows=tuple(pool[int(x)] for x in item[4]),
        p_rows=tuple(pool[int(x)] for x in item[5]),
        draws=tuple(float.fromhex(x) for x in item[6]),
        accepted=int(item[7]),
        token=int(item[8]),
        outcome=RoundOutcome(item[9]),
        plain_reason=None if item[10] is None else PlainReason(item[10]),
        truncated=int(item[11]),
        logits_digest=bytes.fromhex(item[12]),
        tops=tops,
    )


def _heads(header: dict[str, Any], data: bytes) -> list[tuple[bytes, ...]]:
    """Return the heads of each round; () for each where the capture has none."""
    found = header.get("tops")
    if found is None:
        if data:
            raise CaptureError(f"{len(data)} bytes after the rows")
        return [()] * len(header["rounds"])
    pool = split_pool(data, int(found["heads"]))
    return [heads_of(pool, [int(ref) for ref in refs]) for refs in found["rounds"]]


def _pool(data: bytes, n_bins: int, rows: int) -> list[bytes]:
    width = 4 * n_bins
    if n_bins <= 0 or rows < 0 or len(data) != rows * width:
        raise CaptureError(f"expected {rows} rows of {n_bins} values, found {len(data)} bytes")
    # Bits of a float32 in [0, 1] are at most those of 1.0; a larger word is looked at as a number.
    plain = sys.byteorder == "little" and max(memoryview(data).cast("I"), default=0) <= _ONE
    if not plain and any(not (isfinite(v) and 0.0 <= v <= 1.0) for v in row_values(data)):
        raise CaptureError("a probability is not a finite number in [0, 1]")
    return [data[i * width : (i + 1) * width] for i in range(rows)]
