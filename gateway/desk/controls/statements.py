"""The statements that the signing roles sign, each bound to one purpose and one ledger.

A statement is lines of UTF-8 text, each ended by a line feed: the form's name, the purpose, the log
id, then the particulars.

Rules:

- The log id is the log's origin and the leaf hash of its first record, so that a statement is not
  valid in another ledger of the same origin.
- A statement must not be valid twice: a release names the 128 random bits of its press, which no
  copy of the ledger brings back (decision 030).

Not here: keys, and what follows from a signature.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.records.record_kind import RecordKind
from gateway.errors import ReleaseRefusedError, RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES

FORM: Final = "countersign statement v2"
RELEASE: Final = "kill release"


def statement(purpose: str, log: str, *particulars: str) -> bytes:
    """Return the bytes to sign: purpose, log id, and one line for each particular.

    Raises:
        ValueError: a part is empty or has more than one line.
    """
    lines = (FORM, purpose, log, *particulars)
    if any(line.splitlines() != [line] for line in lines):
        message = "each part of a statement is one line of text"
        raise ValueError(message)
    return "".join(f"{line}\n" for line in lines).encode()


def release_statement(log: str, kill_epoch: int, press_id: str, live: Sequence[str] = ()) -> bytes:
    """Return the statement that releases one press of the kill, and names the orders still live."""
    known = (f"although live {' '.join(live)}",) if live else ()
    return statement(RELEASE, log, f"epoch {kill_epoch}", f"press {press_id}", *known)


def refuse_unnamed(live: Sequence[str], named: Sequence[str]) -> None:
    """Refuse a release that does not name every order that may still work.

    Raises:
        ReleaseRefusedError: an order in `live` is not in `named`.
    """
    unnamed = sorted(set(live) - set(named))
    if unnamed:
        raise ReleaseRefusedError(
            problem=f"{len(unnamed)} orders may still work at the broker: {' '.join(unnamed)}. Let"
            " the kill cancel them, end each with `countersign resolve`, or release although they"
            " work: sign the statement that names them (`countersign release --although-live`)"
        )


def signed_text(entered: RecordKind, log: str) -> bytes:
    """Return what both officers sign of a record, as its filing says."""
    purpose, *particulars = entered.signed_lines()
    return statement(purpose, log, *particulars)


def refuse_unsigned(entered: RecordKind, log: str, keys: Mapping[str, bytes]) -> None:
    """Refuse a record that both officers must sign, and did not; its filing says what they sign.

    Raises:
        RequestError: a signature is missing, or is of other words, another log or another key.
    """
    given: Any = entered.document()["signatures"]
    if not all_signed(signed_text(entered, log), given, keys):
        raise RequestError(
            problem=f"both officers, risk and compliance, must sign this {entered.filing.signed[0]}"
            " for this ledger: the verb signs with --risk-key and --compliance-key"
        )


def all_signed(signed: bytes, signatures: Mapping[str, str], keys: Mapping[str, bytes]) -> bool:
    """Return whether every signing role signed a statement.

    Signatures are hex and keys raw Ed25519 public keys, by role; other roles are ignored.
    """
    return signed_by(signed, signatures, keys) == SIGNING_ROLES


def signed_by(
    signed: bytes, signatures: Mapping[str, str], keys: Mapping[str, bytes]
) -> tuple[str, ...]:
    """Return the signing roles that signed a statement; see `all_signed`."""
    return tuple(role for role in SIGNING_ROLES if _signed(signed, signatures, keys, role))


def _signed(
    signed: bytes, signatures: Mapping[str, str], keys: Mapping[str, bytes], role: str
) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(keys[role])
        key.verify(bytes.fromhex(signatures[role]), signed)
    except (KeyError, ValueError, InvalidSignature):
        return False
    return True
