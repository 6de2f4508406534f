"""Cosignatures: a witness's or a log's timestamped statement about a checkpoint. Pure.

Two signature types over a checkpoint:

- 0x04, Ed25519 over `cosignature/v1`, the time and the whole text, extension lines included;
- 0x06, ML-DSA-44 over a binary `cosigned_message` with cosigner name, time, origin, range and
  root, without extension lines. With time zero it does not state that the tree is the largest seen.

A signature line holds the time (seconds, big-endian u64, at most 2^63 - 1) before the signature.
This module also verifies notes with signers of mixed types, because a log may sign with 0x01 or
0x06. The caller compares times with a clock.

Source: https://c2sp.org/tlog-cosignature; draft-ietf-plants-merkle-tree-certs for subtrees.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from audit.errors import NoteError
from audit.tlog.merkle import EMPTY_ROOT, HASH_BYTES
from audit.tlog.note import (
    COSIGNATURE_ED25519,
    COSIGNATURE_ML_DSA_44,
    ED25519,
    RAW_SIGNATURE_BYTES,
    Note,
    NoteSignature,
    NoteSigner,
    VerifierKey,
)
from audit.tlog.treehead import SIZE_MAX, parse_tree_head

TIME_MAX_S = 2**63 - 1
COSIGNER_TYPES = frozenset({COSIGNATURE_ED25519, COSIGNATURE_ML_DSA_44})
_TIME_BYTES = 8
_LABEL = b"subtree/v1\n\0"
NAME_BYTES_MAX = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A key whose line verified; `time_s` is None for the plain type 0x01."""

    key: VerifierKey
    time_s: int | None


def cosign(text: str, signer: NoteSigner, time_s: int) -> NoteSignature:
    """Cosign a checkpoint's text; the signer's key type chooses the form.

    Raises:
        NoteError: not a checkpoint, not a cosigner's key, or a time out of range.
    """
    key = signer.vkey
    signature = signer.sign(_message(key, text, time_s))
    if len(signature) != RAW_SIGNATURE_BYTES[key.key_type]:
        raise NoteError(f"{key.name} made a signature of {len(signature)} bytes")
    return NoteSignature(
        name=key.name, key_id=key.key_id, signature=struct.pack(">Q", time_s) + signature
    )


def verify_signatures(note: Note, keys: Iterable[VerifierKey]) -> tuple[Signed, ...]:
    """Return the trusted keys of any type that signed, in the order of their first lines.

    Lines of unknown keys are ignored. A key may have several lines with different times: all must
    verify, and the earliest time counts.

    Raises:
        NoteError: not a checkpoint, a trusted key's line does not verify or occurs twice, or no
            trusted key signed.
    """
    known = {(key.name, key.key_id): key for key in keys}
    found: dict[tuple[str, bytes], Signed] = {}
    seen: set[NoteSignature] = set()
    for line in note.signatures:
        key = known.get((line.name, line.key_id))
        if key is None:
            continue
        if line in seen:
            raise NoteError(f"{line.name} signed twice")
        seen.add(line)
        time_s = _verify_line(note.text, line, key)
        before = found.get((line.name, line.key_id))
        if before is not None and before.time_s is not None and time_s is not None:
            time_s = min(before.time_s, time_s)
        found[line.name, line.key_id] = Signed(key=key, time_s=time_s)
    if not found:
        raise NoteError("no trusted key signed this checkpoint")
    return tuple(found.values())


def cosigned_message(
    *, cosigner: str, time_s: int, origin: str, start: int, end: int, root: bytes
) -> bytes:
    """Return the `cosigned_message` structure that an ML-DSA-44 cosigner signs.

    Raises:
        NoteError: a field is invalid. Names have 1 to 255 bytes, the range is a subtree, the root
            has 32 bytes (for no leaves, the empty tree's), the time is 0 unless it starts at 0.
    """
    if not 0 <= start <= end <= SIZE_MAX:
        raise NoteError(f"{start} to {end} is not a range of leaves")
    if start < end and start % (1 << (end - start - 1).bit_length()):
        raise NoteError(f"leaves {start} to {end} are not a subtree")
    if start and time_s:
        raise NoteError("a range that does not start at zero is signed with time zero")
    if len(root) != HASH_BYTES or (start == end and root != EMPTY_ROOT):
        raise NoteError("root is not a SHA-256 hash, or not the empty tree's")
    return b"".join(
        (
            _LABEL,
            _opaque(cosigner),
            struct.pack(">Q", _checked_time(time_s)),
            _opaque(origin),
            struct.pack(">QQ", start, end),
            root,
        )
    )


def _verify_line(text: str, line: NoteSignature, key: VerifierKey) -> int | None:
    """Verify a line; return its time (None for type 0x01)."""
    if key.key_type == ED25519:
        if not key.verify(line.signature, text.encode()):
            raise NoteError(f"signature of {line.name} does not verify")
        return None
    if len(line.signature) != _TIME_BYTES + RAW_SIGNATURE_BYTES[key.key_type]:
        raise NoteError(f"cosignature of {line.name} has the wrong length")
    time_s = int.from_bytes(line.signature[:_TIME_BYTES], "big")
    if not key.verify(line.signature[_TIME_BYTES:], _message(key, text, time_s)):
        raise NoteError(f"cosignature of {line.name} does not verify")
    return time_s


def _message(key: VerifierKey, text: str, time_s: int) -> bytes:
    """Return the message that a cosigner of this type signs for a checkpoint's text."""
    head = parse_tree_head(text)
    _checked_time(time_s)
    if key.key_type == COSIGNATURE_ED25519:
        return f"cosignature/v1\ntime {time_s}\n{text}".encode()
    if key.key_type == COSIGNATURE_ML_DSA_44:
        return cosigned_message(
            cosigner=key.name,
            time_s=time_s,
            origin=head.origin,
            start=0,
            end=head.size,
            root=head.root,
        )
    raise NoteError(f"{key.name} is not a cosigner's key")


def _checked_time(time_s: int) -> int:
    if not 0 <= time_s <= TIME_MAX_S:
        raise NoteError(f"time {time_s} is outside 0 to 2^63 - 1")
    return time_s


def _opaque(text: str) -> bytes:
    data = text.encode()
    if not 0 < len(data) <= NAME_BYTES_MAX:
        raise NoteError(f"a name of {len(data)} bytes cannot be cosigned with ML-DSA-44")
    return bytes([len(data)]) + data
