"""Order identity: the broker's key for an order names the ledger record that approved it.

Not here: the approving record, which arrives as its leaf hash. Rules:

- ClOrdID is the first 100 bits of the approving record's leaf hash in base32: 20 characters, which
  is TT's limit, from the alphabet ``A-Z2-7`` that every broker takes.
- A cancel's own ClOrdID comes from its ledger record in the same way. The child's sweep, which has
  no ledger, derives its ids from the order and the attempt, so that a repeated sweep is recognised.
"""

import base64
import hashlib

CL_ORD_ID_LENGTH = 20
LEAF_BYTES = 32
_BITS_IN_BYTES = 13


def cl_ord_id(leaf: bytes) -> str:
    """Return the ClOrdID (tag 11) of the order approved by the record with this leaf hash.

    Args:
        leaf: SHA-256 leaf hash, 32 bytes.

    Raises:
        ValueError: the leaf is not 32 bytes long.
    """
    if len(leaf) != LEAF_BYTES:
        message = f"a leaf hash has {LEAF_BYTES} bytes, not {len(leaf)}"
        raise ValueError(message)
    return base64.b32encode(leaf[:_BITS_IN_BYTES]).decode("ascii")[:CL_ORD_ID_LENGTH]


def sweep_id(kind: str, orig_cl_ord_id: str, attempt: int) -> str:
    """Return the id of a message that the child's sweep sends without the ledger.

    Args:
        kind: message type, ``q``, ``F`` or ``H``.
        orig_cl_ord_id: the order concerned; empty for a mass cancel.
        attempt: number of the sweep, so that two sweeps never share an id.
    """
    text = f"countersign sweep {kind} {orig_cl_ord_id} {attempt}"
    return cl_ord_id(hashlib.sha256(text.encode("ascii")).digest())
