"""C2SP signed notes and verifier keys, Ed25519. Pure.

A note is text ending in a newline, an empty line, then signature lines
`— <name> <base64(key id || signature)>`. A reader ignores signatures of keys it does not know.

Source: https://c2sp.org/signed-note (signature type 0x01, Ed25519).
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from typing_extensions import override

from audit.errors import NoteError

ED25519 = 0x01
KEY_ID_BYTES = 4
ED25519_KEY_BYTES = 32
ED25519_SIGNATURE_BYTES = 64
SIGNATURES_MAX = 100
_DASH = "— "


class NoteSigner(Protocol):
    """What a note needs of a signer; the key never leaves it."""

    @property
    def vkey(self) -> "VerifierKey":
        """The public half, with its name."""

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierKey:
    """A name and an Ed25519 public key; text form `<name>+<key id hex>+<base64>`."""

    name: str
    public_key: bytes

    def __post_init__(self) -> None:
        """Refuse a name or key that no note can carry.

        Raises:
            NoteError: bad name or key length.
        """
        _check_name(self.name)
        if len(self.public_key) != ED25519_KEY_BYTES:
            raise NoteError(f"public key has {len(self.public_key)} bytes, expected 32")

    @property
    def key_id(self) -> bytes:
        """Return the first 4 bytes of SHA-256(name || 0x0A || type || key)."""
        data = self.name.encode() + b"\n" + bytes([ED25519]) + self.public_key
        return sha256(data).digest()[:KEY_ID_BYTES]

    @override
    def __str__(self) -> str:
        """Return the text form."""
        key = base64.b64encode(bytes([ED25519]) + self.public_key).decode()
        return f"{self.name}+{self.key_id.hex()}+{key}"

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Read the text form.

        Raises:
            NoteError: it is malformed, of another type, or its id does not fit.
        """
        parts = text.strip().split("+", 2)
        if len(parts) != 3:  # noqa: PLR2004 - name, id, key
            raise NoteError("verifier key is not name+id+key")
        name, key_id, encoded = parts
        data = _decode(encoded)
        if not data or data[0] != ED25519:
            raise NoteError("verifier key is not Ed25519")
        key = cls(name=name, public_key=data[1:])
        if key.key_id.hex() != key_id:
            raise NoteError("verifier key's id does not fit its name and key")
        return key

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Say whether the signature over the message is this key's."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSignature:
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A parsed note: its text (with the final newline) and its signature lines."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def to_bytes(self) -> bytes:
        """Return the note's own bytes."""
        lines = [
            f"{_DASH}{s.name} {base64.b64encode(s.key_id + s.signature).decode()}\n"
            for s in self.signatures
        ]
        return (self.text + "\n" + "".join(lines)).encode()


def sign_note(text: str, *signers: NoteSigner) -> Note:
    """Sign a text with every signer.

    Raises:
        NoteError: the text cannot be a note's.
    """
    _check_text(text)
    signatures = tuple(
        NoteSignature(
            name=signer.vkey.name,
            key_id=signer.vkey.key_id,
            signature=signer.sign(text.encode()),
        )
        for signer in signers
    )
    return Note(text=text, signatures=signatures)


def parse_note(data: bytes) -> Note:
    """Read a note; only the exact form is taken.

    Raises:
        NoteError: any bytes that are not a note.
    """
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoteError("note is not UTF-8") from error
    cut = whole.rfind("\n\n")
    if cut < 0 or not whole.endswith("\n"):
        raise NoteError("note has no signature block")
    text, block = whole[: cut + 1], whole[cut + 2 :]
    _check_text(text)
    lines = block.removesuffix("\n").split("\n") if block else []
    if not 0 < len(lines) <= SIGNATURES_MAX:
        raise NoteError(f"note has {len(lines)} signature lines")
    note = Note(text=text, signatures=tuple(_parse_line(line) for line in lines))
    if note.to_bytes() != data:
        raise NoteError("note is not in its exact form")
    return note


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """Return the trusted keys that signed; signatures of unknown keys are ignored.

    Raises:
        NoteError: a trusted key's line does not verify, or occurs twice, or nobody trusted signed.
    """
    known = {(key.name, key.key_id): key for key in keys}
    found: dict[tuple[str, bytes], VerifierKey] = {}
    for line in note.signatures:
        key = known.get((line.name, line.key_id))
        if key is None:
            continue
        if (line.name, line.key_id) in found:
            raise NoteError(f"{line.name} signed twice")
        if not key.verify(line.signature, note.text.encode()):
            raise NoteError(f"signature of {line.name} does not verify")
        found[line.name, line.key_id] = key
    if not found:
        raise NoteError("no trusted key signed this note")
    return tuple(found.values())


def _parse_line(line: str) -> NoteSignature:
    if not line.startswith(_DASH):
        raise NoteError("signature line does not start with a dash")
    name, separator, encoded = line.removeprefix(_DASH).partition(" ")
    _check_name(name)
    data = _decode(encoded)
    if not separator or len(data) <= KEY_ID_BYTES:
        raise NoteError("signature line is malformed")
    return NoteSignature(name=name, key_id=data[:KEY_ID_BYTES], signature=data[KEY_ID_BYTES:])


def _check_name(name: str) -> None:
    if not name or "+" in name or any(ch.isspace() or ord(ch) < ord(" ") for ch in name):
        raise NoteError(f"{name!r} cannot name a key")


def _check_text(text: str) -> None:
    if not text.endswith("\n") or any(ord(ch) < ord(" ") and ch != "\n" for ch in text):
        raise NoteError("text must end in a newline and hold no control characters")


def _decode(text: str) -> bytes:
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise NoteError("not base64") from error
    if base64.b64encode(data).decode() != text:
        raise NoteError("base64 is not in its exact form")
    return data
