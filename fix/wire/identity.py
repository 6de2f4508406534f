"""ClOrdIDs that name the ledger record behind an order.

Rules:
- ClOrdID is the first 100 bits of the approving record's leaf hash in base32: 20 characters, which
  is TT's limit, of the alphabet ``A-Z2-7`` that every broker accepts.
- A cancel's ClOrdID comes from its ledger record in the same way. The child's sweep has no ledger
  and derives its ids from the order and the attempt.

Not here: the record itself.
"""

import base64
import hashlib
import re
from functools import lru_cache

CL_ORD_ID_LENGTH = 20
LEAF_BYTES = 32
_BITS_IN_BYTES = 13
_FORM = re.compile(r"[A-Z2-7]{20}")


@lru_cache(maxsize=1024)
def cl_ord_id(leaf: bytes) -> str:
    """Return the ClOrdID (11) for a record's SHA-256 leaf hash.

    Raises:
        ValueError: the leaf is not 32 bytes long.
    """
    if len(leaf) != LEAF_BYTES:
        raise ValueError(f"a leaf hash has {LEAF_BYTES} bytes, not {len(leaf)}")
    return base64.b32encode(leaf[:_BITS_IN_BYTES]).decode("ascii")[:CL_ORD_ID_LENGTH]


def has_our_form(name: str) -> bool:
    """Return whether a ClOrdID could be one of ours; a broker's own or a trader's is not."""
    return _FORM.fullmatch(name) is not None


def sweep_id(kind: str, orig_cl_ord_id: str, attempt: int) -> str:
    """Return the ClOrdID of a cancel (F) or mass cancel (q) that the child's sweep sends.

    `orig_cl_ord_id` is empty for a mass cancel; `attempt` is unique to the message.
    """
    text = f"countersign sweep {kind} {orig_cl_ord_id} {attempt}"
    return cl_ord_id(hashlib.sha256(text.encode("ascii")).digest())
