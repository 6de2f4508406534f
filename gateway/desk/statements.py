"""What the signing roles sign: one form for every statement, bound to one purpose and one ledger.

A statement is lines of UTF-8 text, each ended by a line feed: the form's name, the purpose, the log
id, then what it is about. Not here: keys, and what happens once it is signed. Rules:

- The log id is the log's origin and the leaf hash of its first record. Another ledger has another
  first record even under the same origin, so a statement for it holds nowhere else.
- What is signed once must not hold twice: a release names the 128 random bits of its press, which
  the kill word keeps and no copy of the ledger brings back.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.store.reader import LedgerReader
from gateway.errors import NotReadyError, ReleaseRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES

FORM: Final = "countersign statement v2"
RELEASE: Final = "kill release"


def log_id(reader: LedgerReader, origin: str) -> str:
    """Return what names this ledger and no other: the origin and the leaf of its first record.

    Raises:
        NotReadyError: the ledger is empty.
        LedgerError: the ledger cannot be read.
    """
    first = reader.record(0)
    if first is None:
        raise NotReadyError(part="ledger", state="empty: nothing names it yet")
    return f"{origin}#{first.leaf.hex()}"


def statement(purpose: str, log: str, *particulars: str) -> bytes:
    """Return the bytes to sign.

    Args:
        purpose: what the signature is for; a signature for one purpose serves no other.
        log: the log id.
        particulars: what exactly, one line each.

    Raises:
        ValueError: a part is empty or has more than one line.
    """
    lines = (FORM, purpose, log, *particulars)
    if any(line.splitlines() != [line] for line in lines):
        message = "each part of a statement is one line of text"
        raise ValueError(message)
    return "".join(f"{line}\n" for line in lines).encode()


def release_statement(log: str, kill_epoch: int, press_id: str, live: Sequence[str] = ()) -> bytes:
    """Return what releases one press of the kill: the newest of this epoch in this ledger.

    Args:
        log: the log id.
        kill_epoch: of the press.
        press_id: its random bits.
        live: ClOrdIDs that may still work at the broker, which the signers know of.
    """
    known = (f"although live {' '.join(live)}",) if live else ()
    return statement(RELEASE, log, f"epoch {kill_epoch}", f"press {press_id}", *known)


def refuse_unnamed(live: Sequence[str], named: Sequence[str]) -> None:
    """A kill ends when nothing is live, or with what is live named in what both roles sign.

    Raises:
        ReleaseRefusedError: an order may work at the broker that the release does not name.
    """
    unnamed = sorted(set(live) - set(named))
    if unnamed:
        raise ReleaseRefusedError(
            problem=f"{len(unnamed)} orders may still work at the broker: {' '.join(unnamed)}. Let"
            " the kill cancel them, end each with `countersign resolve`, or release although they"
            " work: sign the statement that names them (`countersign release --although-live`)"
        )


def release_statement_v1(origin: str, kill_epoch: int) -> bytes:
    """Return what earlier versions signed; nothing is released by it any more."""
    return f"countersign kill release\n{origin}\n{kill_epoch}\n".encode()


def all_signed(signed: bytes, signatures: Mapping[str, str], keys: Mapping[str, bytes]) -> bool:
    """Tell whether every signing role signed these bytes.

    Args:
        signed: a statement.
        signatures: hex by role; others than the signing roles' count for nothing.
        keys: raw Ed25519 public keys by role.
    """
    for role in SIGNING_ROLES:
        try:
            Ed25519PublicKey.from_public_bytes(keys[role]).verify(
                bytes.fromhex(signatures[role]), signed
            )
        except (KeyError, ValueError, InvalidSignature):
            return False
    return True
