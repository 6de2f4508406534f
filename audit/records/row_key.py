"""Which rows this gateway wrote: a MAC over each row's leaf, by a key the database does not have.

A database session or superuser can add rows that every proof confirms: the tree shows what the log
holds, not who wrote it. The sequencer stores a MAC beside each row, and readers whose answers lead
to an effect refuse a row without the right one. Outsiders rely on checkpoints instead. Pure.

Rules:

- The MAC covers the leaf, and the leaf covers log, seq, stream, time, `prev` and payload. So a MAC
  fits one row in one place, if the row's columns match its leaf (`sound`).
- The key is derived for one ledger: rows of an earlier ledger of the same name do not count.
- Rows written before there was a key count up to one size and root (`Accepted`).
- Two officers may disavow a row that the gateway did not write. Readers then leave it out, even if
  a restore has accepted all rows. A row that the gateway wrote cannot be disavowed.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.tlog.merkle import EMPTY_ROOT, HASH_BYTES

_BLOCK = 64
_LABEL = b"countersign row\n"


def mac_of(key: bytes) -> Callable[[bytes], bytes]:
    """Return a function that makes a leaf's HMAC-SHA256, three times faster than `hmac.digest`.

    Source: RFC 2104.
    """
    padded = key.ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in padded))
    outer = sha256(bytes(byte ^ 0x5C for byte in padded))

    def mac(leaf: bytes) -> bytes:
        inside, outside = inner.copy(), outer.copy()
        inside.update(leaf)
        outside.update(inside.digest())
        return outside.digest()

    return mac


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The rows that count without a MAC: those of the tree of this size and root."""

    size: int = 0
    root: bytes = EMPTY_ROOT


@dataclass(frozen=True, slots=True)
class RowKey:
    """The key that one ledger's rows are checked against.

    Attributes:
        log: the log's origin.
        mac: makes a row's MAC from its leaf.
        accepted: rows written before there was a key.
        officers: role -> raw Ed25519 public key; all must sign a disavowal.
    """

    log: str
    mac: Callable[[bytes], bytes]
    accepted: Accepted = field(default_factory=Accepted)
    officers: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        secret: bytes,
        origin: str,
        instance: bytes,
        *,
        accepted: Accepted,
        officers: Mapping[str, bytes],
    ) -> "RowKey":
        """Derive one ledger's key from the key file's secret and the ledger's random `instance`."""
        key = hmac.digest(secret, _LABEL + origin.encode() + b"\n" + instance, "sha256")
        return cls(origin, mac_of(key), accepted, officers)

    def made(self, leaf: bytes, mac: bytes | None) -> bool:
        """Return whether this gateway made the MAC for this leaf."""
        return mac is not None and hmac.compare_digest(self.mac(leaf), mac)

    def problem(
        self, seq: int, leaf: bytes, mac: bytes | None, accepted: Callable[[], bytes]
    ) -> str:
        """Return why a row does not count, empty if it does.

        `accepted` returns the joined leaves of the accepted rows.
        """
        if self.made(leaf, mac):
            return ""
        at = seq * HASH_BYTES
        if seq < self.accepted.size and accepted()[at : at + HASH_BYTES] == leaf:
            return ""
        return "has no MAC" if mac is None else "has a MAC that this gateway did not make"


def disavowal(log: str, seq: int, leaf: bytes) -> bytes:
    """Return the bytes that officers sign to disavow one row of one log."""
    return (
        f"countersign statement v2\nrow disavowal\n{log}\nrecord {seq}\nleaf {leaf.hex()}\n"
    ).encode()


def signed_by_all(
    statement: bytes, signatures: Mapping[str, str], officers: Mapping[str, bytes]
) -> bool:
    """Return whether every officer signed (hex signatures by role); False without officers."""
    for role, key in officers.items():
        try:
            given = bytes.fromhex(signatures[role])
            Ed25519PublicKey.from_public_bytes(key).verify(given, statement)
        except (KeyError, TypeError, ValueError, AttributeError, InvalidSignature):
            return False
    return bool(officers)
