"""A checkpoint: the log's origin, its size and its root, signed as a note. Pure.

Source: https://c2sp.org/tlog-checkpoint
"""

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass

from audit.errors import NoteError
from audit.merkle import HASH_BYTES
from audit.note import Note, NoteSigner, VerifierKey, parse_note, sign_note, verify_note

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a checkpoint says, and the note that says it."""

    origin: str
    size: int
    root: bytes
    note: bytes

    @property
    def root_hex(self) -> str:
        """Return the root as hex, for pages and logs."""
        return self.root.hex()


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """Return the text that is signed."""
    return f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"


def make_checkpoint(size: int, root: bytes, signer: NoteSigner) -> Checkpoint:
    """Sign a size and root; the signer's name is the log's origin."""
    origin = signer.vkey.name
    note = sign_note(checkpoint_text(origin, size, root), signer)
    return Checkpoint(origin=origin, size=size, root=root, note=note.to_bytes())


def parse_checkpoint(data: bytes) -> Checkpoint:
    """Read a checkpoint without judging its signatures.

    Raises:
        NoteError: any bytes that are not a checkpoint.
    """
    return _from_note(parse_note(data), data)


def open_checkpoint(data: bytes, keys: Iterable[VerifierKey]) -> Checkpoint:
    """Read a checkpoint that a trusted key whose name is the origin has signed.

    Raises:
        NoteError: malformed, or signed by nobody who may.
    """
    note = parse_note(data)
    checkpoint = _from_note(note, data)
    verify_note(note, [key for key in keys if key.name == checkpoint.origin])
    return checkpoint


def _from_note(note: Note, data: bytes) -> Checkpoint:
    lines = note.text.split("\n")
    if len(lines) < 4 or "" in lines[:-1]:  # noqa: PLR2004 - origin, size, root, end
        raise NoteError("checkpoint needs origin, size and root, and no empty line")
    origin, size, root = lines[0], lines[1], lines[2]
    if not _SIZE.fullmatch(size):
        raise NoteError("checkpoint size is not a plain decimal")
    try:
        digest = base64.b64decode(root, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("checkpoint root is not base64") from error
    if len(digest) != HASH_BYTES or base64.b64encode(digest).decode() != root:
        raise NoteError("checkpoint root is not a SHA-256 hash")
    return Checkpoint(origin=origin, size=int(size), root=digest, note=data)
