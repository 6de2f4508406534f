"""Who cosigned the newest cosigned checkpoint, as stored.

Not here: whether the cosignatures verify, which takes a verifier with the witness policy.
"""

from dataclasses import dataclass
from typing import Final

from audit.store.reader import LedgerReader
from audit.tlog.note import (
    COSIGNATURE_ED25519,
    COSIGNATURE_ML_DSA_44,
    RAW_SIGNATURE_BYTES,
    parse_note,
)

TIME_BYTES: Final = 8
# a cosignature is a time and a signature, so its length tells its type
TYPES: Final = {
    TIME_BYTES + RAW_SIGNATURE_BYTES[COSIGNATURE_ED25519]: "Ed25519",
    TIME_BYTES + RAW_SIGNATURE_BYTES[COSIGNATURE_ML_DSA_44]: "ML-DSA-44",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CosignerRow:
    """One stored cosignature."""

    name: str
    kind: str
    time_us: int


def cosigners(reader: LedgerReader) -> tuple[int, tuple[CosignerRow, ...]]:
    """Return the size of the largest cosigned tree and its cosigners; 0 and none without one."""
    newest = next(iter(reader.cosigned_checkpoints(limit=1)), None)
    if newest is None:
        return 0, ()
    own = set(parse_note(newest.note).signatures)
    lines = parse_note(reader.cosigned_note(newest)).signatures
    return newest.size, tuple(
        CosignerRow(
            name=line.name,
            kind=TYPES.get(len(line.signature), "another type"),
            time_us=int.from_bytes(line.signature[:TIME_BYTES], "big") * 1_000_000,
        )
        for line in lines
        if line not in own
    )
