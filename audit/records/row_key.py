"""Which rows this gateway wrote: a MAC over each row's leaf, by a key the database does not have.

Whoever has the database's password, or is its superuser, can add rows that every proof confirms:
the tree says what stands in the log, not who may write there. The sequencer stores a MAC beside
each row; readers whose answers lead to an effect refuse a row without the right one. Rules:

- the MAC covers the leaf, and the leaf covers log, seq, stream, time, `prev` and payload: no MAC
  fits another row or place, if the columns are what the leaf says (`sound`);
- the key is one ledger's own: drawn anew for each, so rows of an earlier ledger of the same name
  are strangers;
- rows from before there was a key count up to a size and root that are named once (`Accepted`);
- two officers may disavow a row that is not the gateway's: readers then leave it out, also when a
  restore has made all its rows count. A row that the gateway wrote cannot be disavowed.

Outsiders rely on checkpoints, not on the MAC: whoever has the key could make any. Pure.
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
    """Return what makes the HMAC-SHA256 of a leaf; three times faster than `hmac.digest`.

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
    """Rows without a MAC that count all the same: those of the tree of this size and root."""

    size: int = 0
    root: bytes = EMPTY_ROOT


@dataclass(frozen=True, slots=True)
class RowKey:
    """What one ledger's rows are held against.

    Attributes:
        log: the log's origin.
        mac: makes a row's MAC of its leaf.
        accepted: rows from before there was a key.
        officers: role -> raw Ed25519 public key; all of them must sign a disavowal.
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
        """Return the key of one ledger, made of the installation's secret.

        Args:
            secret: of the key file.
            origin: of the log.
            instance: what was drawn for this ledger.
            accepted: see the class.
            officers: see the class.
        """
        key = hmac.digest(secret, _LABEL + origin.encode() + b"\n" + instance, "sha256")
        return cls(origin, mac_of(key), accepted, officers)

    def made(self, leaf: bytes, mac: bytes | None) -> bool:
        """Say whether a MAC is this gateway's own of a leaf."""
        return mac is not None and hmac.compare_digest(self.mac(leaf), mac)

    def problem(
        self, seq: int, leaf: bytes, mac: bytes | None, accepted: Callable[[], bytes]
    ) -> str:
        """Say why a row is not the gateway's, empty if it is.

        Args:
            seq: its number.
            leaf: as it is stored.
            mac: as it is stored beside.
            accepted: returns the leaves of the accepted rows, joined.
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
    """Say whether every officer signed a statement (hex signatures by role); False without any."""
    for role, key in officers.items():
        try:
            given = bytes.fromhex(signatures[role])
            Ed25519PublicKey.from_public_bytes(key).verify(given, statement)
        except (KeyError, TypeError, ValueError, AttributeError, InvalidSignature):
            return False
    return bool(officers)
