"""C2SP signed notes and verifier keys. Pure.

A note is text ending in a newline, an empty line, then signature lines
`— <name> <base64(key id || signature)>`.

Rules:

- Only the exact form is accepted: UTF-8, no control characters, every line ended, base64 as
  encoders write it. So a parsed note writes its own bytes.
- A key is identified by name and id together; lines of other keys are ignored.
- A known key's line that does not verify, or occurs twice, invalidates the note.
- At most `SIGNATURES_MAX` lines are accepted (the spec requires at least 16).

Type 0x01 signs the text and is verified here. The cosigner types 0x04 and 0x06 sign a message built
from a checkpoint (`cosignature`).

Source: https://c2sp.org/signed-note
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
from typing_extensions import override

from audit.errors import NoteError

ED25519 = 0x01
COSIGNATURE_ED25519 = 0x04
COSIGNATURE_ML_DSA_44 = 0x06
PUBLIC_KEY_BYTES = {ED25519: 32, COSIGNATURE_ED25519: 32, COSIGNATURE_ML_DSA_44: 1312}
RAW_SIGNATURE_BYTES = {ED25519: 64, COSIGNATURE_ED25519: 64, COSIGNATURE_ML_DSA_44: 2420}
KEY_ID_BYTES = 4
SIGNATURES_MAX = 100
BLANK = " \t\r\n"
_DASH = "— "
_HEX = frozenset("0123456789abcdefABCDEF")


class NoteSigner(Protocol):
    """A signer of notes; the private key never leaves it."""

    @property
    def vkey(self) -> "VerifierKey":
        """The public half, with its name and signature type."""

    def sign(self, message: bytes) -> bytes:
        """Return the raw signature of the message (64 bytes of Ed25519, 2420 of ML-DSA-44)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierKey:
    """A name, a signature type and a public key; text form `<name>+<key id hex>+<base64>`."""

    name: str
    public_key: bytes
    key_type: int = ED25519

    def __post_init__(self) -> None:
        """Raise NoteError for a bad name, an unknown type or a wrong key length."""
        _check_name(self.name)
        expected = PUBLIC_KEY_BYTES.get(self.key_type)
        if expected is None:
            raise NoteError(f"signature type 0x{self.key_type:02x} is not known here")
        if len(self.public_key) != expected:
            raise NoteError(f"public key has {len(self.public_key)} bytes, expected {expected}")

    @property
    def key_id(self) -> bytes:
        """The first 4 bytes of SHA-256(name || 0x0A || type || key)."""
        data = self.name.encode() + b"\n" + bytes([self.key_type]) + self.public_key
        return sha256(data).digest()[:KEY_ID_BYTES]

    @override
    def __str__(self) -> str:
        key = base64.b64encode(bytes([self.key_type]) + self.public_key).decode()
        return f"{self.name}+{self.key_id.hex()}+{key}"

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Read the text form, without surrounding blanks and newlines.

        Raises:
            NoteError: it is malformed, of an unknown type, or its id does not match.
        """
        name, key_id, key_type, public_key = split_vkey(text.strip(BLANK))
        key = cls(name=name, key_type=key_type, public_key=public_key)
        if key.key_id != key_id:
            raise NoteError("verifier key's id does not match its name and key")
        return key

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Return whether this key made the raw signature over the message."""
        try:
            if self.key_type == COSIGNATURE_ML_DSA_44:
                MLDSA44PublicKey.from_public_bytes(self.public_key).verify(signature, message)
            else:
                Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def split_vkey(text: str) -> tuple[str, bytes, int, bytes]:
    """Split a key of any type into name, id, type and key; raise NoteError for another form."""
    parts = text.split("+", 2)
    if len(parts) != 3:  # noqa: PLR2004 - name, id, key
        raise NoteError("verifier key is not name+id+key")
    name, key_id, encoded = parts
    _check_name(name)
    if len(key_id) != 2 * KEY_ID_BYTES or not _HEX.issuperset(key_id):
        raise NoteError("verifier key's id is not 8 hex digits")
    data = decode_base64(encoded)
    if not data:
        raise NoteError("verifier key has no type")
    return name, bytes.fromhex(key_id), data[0], data[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSignature:
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes

    @override
    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.key_id + self.signature).decode()}\n"

    def made_by(self, key: VerifierKey) -> bool:
        """Return whether the line names this key; its signature is not verified."""
        return self.name == key.name and self.key_id == key.key_id

    @classmethod
    def parse(cls, line: str) -> "NoteSignature":
        """Read one line with its newline; raise NoteError for anything but its exact form."""
        if not line.startswith(_DASH) or not line.endswith("\n"):
            raise NoteError("signature line needs a dash and a newline")
        name, separator, encoded = line[len(_DASH) : -1].partition(" ")
        _check_name(name)
        data = decode_base64(encoded)
        if not separator or len(data) <= KEY_ID_BYTES:
            raise NoteError("signature line is malformed")
        return cls(name=name, key_id=data[:KEY_ID_BYTES], signature=data[KEY_ID_BYTES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A parsed note: its text (with the final newline) and its signature lines."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def to_bytes(self) -> bytes:
        """Return the note's bytes."""
        return (self.text + "\n" + "".join(map(str, self.signatures))).encode()

    def with_signatures(self, *more: NoteSignature) -> "Note":
        """Return the note with more lines, without repeats."""
        fresh = [line for line in dict.fromkeys(more) if line not in self.signatures]
        return Note(text=self.text, signatures=(*self.signatures, *fresh))


def sign_note(text: str, *signers: NoteSigner) -> Note:
    """Sign a valid text with every signer, each of type 0x01; raise NoteError otherwise."""
    check_text(text)
    signatures = tuple(
        NoteSignature(
            name=signer.vkey.name,
            key_id=signer.vkey.key_id,
            signature=signer.sign(_plain(signer.vkey, text)),
        )
        for signer in signers
    )
    return Note(text=text, signatures=signatures)


def parse_note(data: bytes) -> Note:
    """Read a note; raise NoteError for anything else."""
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoteError("note is not UTF-8") from error
    cut = whole.rfind("\n\n")
    if cut < 0 or not whole.endswith("\n"):
        raise NoteError("note has no signature block")
    text, block = whole[: cut + 1], whole[cut + 2 :]
    check_text(text)
    lines = parse_signature_lines(block)
    if not lines:
        raise NoteError("note has no signature line")
    return Note(text=text, signatures=lines)


def parse_signature_lines(block: str) -> tuple[NoteSignature, ...]:
    """Read zero or more signature lines; raise NoteError for a malformed one or too many."""
    if block and not block.endswith("\n"):
        raise NoteError("the last signature line does not end in a newline")
    lines = block.split("\n")[:-1]
    if len(lines) > SIGNATURES_MAX:
        raise NoteError(f"{len(lines)} signature lines; at most {SIGNATURES_MAX} are taken")
    return tuple(NoteSignature.parse(line + "\n") for line in lines)


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """Return the trusted keys (type 0x01) that signed; lines of unknown keys are ignored.

    Raises:
        NoteError: a trusted key's line does not verify or occurs twice, no trusted key signed, or
            a key is a cosigner's.
    """
    known = {(key.name, key.key_id): (key, _plain(key, note.text)) for key in keys}
    found: dict[tuple[str, bytes], VerifierKey] = {}
    for line in note.signatures:
        key, message = known.get((line.name, line.key_id), (None, b""))
        if key is None:
            continue
        if (line.name, line.key_id) in found:
            raise NoteError(f"{line.name} signed twice")
        if not key.verify(line.signature, message):
            raise NoteError(f"signature of {line.name} does not verify")
        found[line.name, line.key_id] = key
    if not found:
        raise NoteError("no trusted key signed this note")
    return tuple(found.values())


def check_text(text: str) -> None:
    """Raise NoteError for a control character, a lone surrogate or no newline at the end."""
    if not text.endswith("\n") or any(ch < " " and ch != "\n" for ch in text):
        raise NoteError("text must end in a newline and hold no control characters")
    _check_unicode(text)


def decode_base64(text: str) -> bytes:
    """Decode base64 exactly as an encoder writes it; raise NoteError for anything else."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise NoteError("not base64") from error
    if base64.b64encode(data).decode() != text:
        raise NoteError("base64 is not in its exact form")
    return data


def _plain(key: VerifierKey, text: str) -> bytes:
    """Return the message that a key of type 0x01 signs: the text itself."""
    if key.key_type != ED25519:
        raise NoteError(f"{key.name} is a cosigner: it signs checkpoints, not plain notes")
    return text.encode()


def _check_name(name: str) -> None:
    if not name or "+" in name or any(ch.isspace() or ch < " " for ch in name):
        raise NoteError(f"{name!r:.100} cannot name a key")
    _check_unicode(name)


def _check_unicode(text: str) -> None:
    if any("\ud800" <= ch <= "\udfff" for ch in text):
        raise NoteError("text holds a lone surrogate")
