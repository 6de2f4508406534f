"""The byte form of a direct capture: 1 to 2 kB however many paths and steps there are.

Numbers are little-endian; `varint` is LEB128.

    magic line
    varint length and ASCII of the rule, 32 bytes seed, 32 bytes digest of the table
    varint bin_start, varint n_bins, varint paths, varint steps
    varint first state, f32 x n_bins its row
    varint states, then of each, ascending: varint distance from the one before, 32 bytes row
        digest, varint tokens
    32 bytes digest of all tokens
"""

import struct
from typing import Final

from inference.errors import CaptureError
from inference.speculation.direct import BINS_MAX, DirectCapture, StateUse
from inference.speculation.fields import (
    DIGEST,
    DIRECT_MAGIC,
    CaptureFields,
    digest_bytes,
    varint,
)

_RULE_MAX: Final = 32


def encode_direct(capture: DirectCapture) -> bytes:
    """Return the bytes of a direct capture; equal captures give equal bytes.

    Raises:
        CaptureError: when a number does not fit its field.
    """
    rule, before = capture.rule.encode("ascii"), 0
    try:
        out = bytearray(DIRECT_MAGIC) + varint(len(rule)) + rule
        out += digest_bytes(capture.seed) + digest_bytes(bytes.fromhex(capture.table_digest))
        for number in (capture.bin_start, capture.n_bins, capture.paths, capture.steps):
            out += varint(number)
        out += varint(capture.first_state)
        out += struct.pack(f"<{capture.n_bins}f", *capture.first_row)
        out += varint(len(capture.states))
        for one in capture.states:
            out += varint(one.state - before) + digest_bytes(one.row_digest) + varint(one.tokens)
            before = one.state
        return bytes(out + digest_bytes(capture.tokens_digest))
    except (struct.error, ValueError, OverflowError) as error:
        raise CaptureError(f"a number does not fit its field: {error}") from error


def decode_direct(data: bytes) -> DirectCapture:
    """Read a direct capture.

    Raises:
        CaptureError: for any bytes that `encode_direct` would not have written.
    """
    reader = CaptureFields(data, at=len(DIRECT_MAGIC))
    if not reader.begins(DIRECT_MAGIC):
        raise CaptureError("not a direct capture of version 1")
    length = reader.varint()
    if length > _RULE_MAX:
        raise CaptureError(f"a rule's name has {length} bytes")
    rule = reader.take(length).decode("ascii", errors="replace")
    seed, table = reader.take(DIGEST), reader.take(DIGEST).hex()
    bin_start, n_bins, paths, steps = (reader.varint() for _ in range(4))
    if not 0 < n_bins <= BINS_MAX:
        raise CaptureError(f"{n_bins} bins are too many or none")
    first_state, first_row = reader.varint(), reader.floats(n_bins)
    states, at = [], 0
    for _ in range(reader.varint()):
        at += reader.varint()
        states.append(StateUse(state=at, row_digest=reader.take(DIGEST), tokens=reader.varint()))
    capture = DirectCapture(
        rule=rule,
        seed=seed,
        table_digest=table,
        bin_start=bin_start,
        n_bins=n_bins,
        paths=paths,
        steps=steps,
        first_state=first_state,
        first_row=first_row,
        states=tuple(states),
        tokens_digest=reader.take(DIGEST),
    )
    if reader.left:
        raise CaptureError("bytes behind the last field")
    if encode_direct(capture) != data:
        raise CaptureError("capture is not in canonical form")
    return capture
