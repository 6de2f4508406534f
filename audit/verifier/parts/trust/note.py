"""Verifier keys, signed notes, the text of a checkpoint, and signatures."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.verifier.parts.canonical import SIZE_MAX, decimal, unbase64, unhash
from audit.verifier.parts.report import Bad

try:  # an older cryptography has no ML-DSA: its lines are then reported as not checkable
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
except ImportError:
    MLDSA44PublicKey = None  # type: ignore[assignment,misc]

ED25519, COSIGNER, COSIGNER_ML_DSA_44 = 1, 4, 6
KEY_BYTES = {ED25519: 32, COSIGNER: 32, COSIGNER_ML_DSA_44: 1312}
LINES_MAX = 100
DASH = "\u2014 "
BLANK = " \t\r\n"
_CONTROL, _NOT_IN_NAMES = re.compile(r"[\0-\x09\x0b-\x1f]"), re.compile(r"[\s+\0-\x1f]")


class Key(NamedTuple):
    """A verifier key: name, key id, signature type, public key."""

    name: str
    key_id: bytes
    kind: int
    public: bytes


def split_vkey(text: str) -> Key:
    """Return the fields of `<name>+<id>+<type and key>`; any type is accepted."""
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    data = unbase64(encoded)
    _check_name(name)
    if re.fullmatch("[0-9a-fA-F]{8}", key_id) is None or not data:
        raise Bad("key is not <name>+<id>+<base64>")
    return Key(name, bytes.fromhex(key_id), data[0], data[1:])


def read_vkey(text: str) -> Key:
    """Return a verifier key of a known type whose id fits its name and bytes."""
    key = split_vkey(text.strip(BLANK))
    if KEY_BYTES.get(key.kind) != len(key.public):
        raise Bad("key is neither Ed25519 (0x01, 0x04) nor ML-DSA-44 (0x06)")
    try:
        named = key.name.encode() + b"\n" + bytes([key.kind])
    except ValueError as error:
        raise Bad("a name cannot be a key's") from error
    if hashlib.sha256(named + key.public).digest()[:4] != key.key_id:
        raise Bad("the key's id does not fit its name and bytes")
    return key


def _check_name(name: str) -> None:
    if not name or _NOT_IN_NAMES.search(name):
        raise Bad("a name cannot be a key's")


class SignedNote(NamedTuple):
    """A signed note: its text and its lines (name, key id, signature)."""

    text: str
    lines: tuple[tuple[str, bytes, bytes], ...]


def read_note(data: bytes) -> SignedNote:
    """Return a signed note read from its exact form."""
    try:
        whole = data.decode()
    except ValueError as error:
        raise Bad("a note is not UTF-8") from error
    cut = whole.rfind("\n\n")
    block = whole[cut + 2 :].split("\n")
    if cut < 0 or block.pop() or not 0 < len(block) <= LINES_MAX:
        raise Bad("a note has no block of 1 to 100 signature lines")
    if _CONTROL.search(whole):
        raise Bad("a note holds control characters")
    lines = []
    for line in block:
        name, _, encoded = line.removeprefix(DASH).partition(" ")
        signature = unbase64(encoded)
        _check_name(name)
        if not line.startswith(DASH) or len(signature) <= 4:  # noqa: PLR2004 - the key id
            raise Bad("a signature line is malformed")
        lines.append((name, signature[:4], signature[4:]))
    return SignedNote(whole[: cut + 1], tuple(lines))


class Head(NamedTuple):
    """The statement of a checkpoint."""

    origin: str
    size: int
    root: bytes


def _long(origin: str) -> bool:
    return len(origin.encode(errors="surrogatepass")) > 255  # noqa: PLR2004 - the spec's


def read_head(text: str) -> Head:
    """Return a checkpoint's origin, size and root; further lines are not interpreted."""
    lines = text.split("\n")[:-1]
    if len(lines) < 3 or "" in lines or _long(lines[0]):  # noqa: PLR2004 - three
        raise Bad("checkpoint is malformed")
    return Head(lines[0], decimal(lines[1]), unhash(lines[2]))


def signed_time(key: Key, signature: bytes, text: str) -> int | None:
    """Return the time in seconds that a verified cosignature states, 0 for a log's signature.

    None if this installation cannot verify this type; raise Bad if it does not verify.
    """
    message, stated = text.encode(), 0
    if key.kind != ED25519:
        stated = int.from_bytes(signature[:8], "big")
        signature, head = signature[8:], read_head(text)
        if stated > SIZE_MAX:
            raise Bad(f"the cosignature of {key.name} states an impossible time")
        message = f"cosignature/v1\ntime {stated}\n{text}".encode()
        if key.kind == COSIGNER_ML_DSA_44:
            message = b"subtree/v1\n\0" + _opaque(key.name) + stated.to_bytes(8, "big")
            message += _opaque(head.origin) + bytes(8) + head.size.to_bytes(8, "big") + head.root
    try:
        if key.kind != COSIGNER_ML_DSA_44:
            Ed25519PublicKey.from_public_bytes(key.public).verify(signature, message)
        elif MLDSA44PublicKey is None:
            return None
        else:
            MLDSA44PublicKey.from_public_bytes(key.public).verify(signature, message)
    except UnsupportedAlgorithm:
        return None
    except (InvalidSignature, ValueError) as error:
        raise Bad(f"the signature of a trusted key does not verify: {key.name}") from error
    return stated


def _opaque(text: str) -> bytes:
    data = text.encode()
    if not 0 < len(data) < 256:  # noqa: PLR2004 - its length is one byte
        raise Bad("a name is too long to be cosigned")
    return bytes([len(data)]) + data


class Signatures(NamedTuple):
    """The known keys on a note: those verified, with times, and those of a type missing here."""

    times: Mapping[Key, int]
    unread: frozenset[Key]


def signatures_of(note: SignedNote, keys: Iterable[Key]) -> Signatures:
    """Return the verified signatures of known keys; lines of other keys are ignored.

    A witness may sign again at another time: the earliest stated time counts, 0 states none.

    Raises:
        Bad: a known key's line does not verify or is repeated.
    """
    known = {(key.name, key.key_id): key for key in keys}
    times: dict[Key, int] = {}
    unread = set()
    for place, (name, key_id, signature) in enumerate(note.lines):
        key = known.get((name, key_id))
        if key is None:
            continue
        again = (key in times or key in unread) and key.kind == ED25519
        if again or (name, key_id, signature) in note.lines[:place]:
            raise Bad(f"{name} signed twice")
        stated = signed_time(key, signature, note.text)
        if stated is None:
            unread.add(key)
        else:
            times[key] = min(stated, times.get(key) or stated) or times.get(key, 0)
    return Signatures(times, frozenset(unread))
