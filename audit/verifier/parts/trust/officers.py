"""The officers' public keys, as an outsider brings them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.verifier.parts.report import Bad

OFFICERS = ("compliance", "risk")
"""The roles that sign together."""
_OFFICER = re.compile(
    r"countersign-officer-public (compliance|risk) [a-z][a-z0-9-]{1,31} ([0-9a-f]{64})", re.ASCII
)


def read_officers(texts: Iterable[tuple[str, str]]) -> dict[str, bytes]:
    """Return the raw public key of each role from files (name and text), or {} without files.

    Raises:
        Bad: a file is no officer's public key, a role comes twice, or one is missing.
    """
    found: dict[str, bytes] = {}
    for name, text in texts:
        key = _OFFICER.fullmatch(" ".join(text.split()))
        if key is None:
            raise Bad(f"{name}: `countersign officer-key --from` writes an officer's .pub file")
        if key[1] in found:
            raise Bad(f"{name}: the key of the role {key[1]} is given twice")
        found[key[1]] = bytes.fromhex(key[2])
    lacking = [role for role in OFFICERS if role not in found]
    if found and lacking:
        raise Bad(f"give the key of the role {lacking[0]} too: two officers sign together")
    return found


def both_signed(statement: bytes, signatures: object, keys: Mapping[str, bytes]) -> bool:
    """Return whether both officers signed; `signatures` is hex by role, of any shape."""
    given: Mapping[str, Any] = signatures if isinstance(signatures, dict) else {}
    return all(one_signed(statement, given.get(role), keys.get(role, b"")) for role in OFFICERS)


def one_signed(statement: bytes, signature: object, key: bytes) -> bool:
    """Return whether a key signed a statement; the signature is hex, of any shape."""
    if not isinstance(signature, str):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(signature), statement)
    except (ValueError, InvalidSignature):
        return False
    return True
