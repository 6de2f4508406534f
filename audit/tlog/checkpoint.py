"""A checkpoint: the log's origin, its size and its root, signed as a note. Pure.

The log's name in its signature line is its origin. Our checkpoints carry one more line, of a key
that does not exist ("grease"), so that a reader that fails on unknown signatures fails at once, not
at the first key rotation or witness. The line is derived from the text, so the same head always
gives the same note.

Source: https://c2sp.org/tlog-checkpoint
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha512

from audit.errors import NoteError
from audit.tlog.cosignature import COSIGNER_TYPES, cosign, verify_signatures
from audit.tlog.note import (
    KEY_ID_BYTES,
    Note,
    NoteSignature,
    NoteSigner,
    VerifierKey,
    parse_note,
    sign_note,
)
from audit.tlog.treehead import TreeHead, parse_tree_head

GREASE_NAME = "grease.invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A parsed checkpoint, and its note."""

    origin: str
    size: int
    root: bytes
    note: bytes
    extensions: tuple[str, ...] = ()

    @property
    def root_hex(self) -> str:
        """The root in hex."""
        return self.root.hex()


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """Return the text to sign."""
    return TreeHead(origin=origin, size=size, root=root).to_text()


def make_checkpoint(size: int, root: bytes, signer: NoteSigner, *others: NoteSigner) -> Checkpoint:
    """Sign a size and root; the first signer's name is the log's origin.

    The others are more keys of the same log: the old one while a rotation overlaps, or one of
    ML-DSA-44, which cosigns without a time (zero).

    Raises:
        NoteError: a signer has another name than the first, the first is a cosigner, or the
            checkpoint would be invalid (long origin, bad size or root).
    """
    origin = signer.vkey.name
    text = checkpoint_text(origin, size, root)
    parse_tree_head(text)
    if any(other.vkey.name != origin for other in others):
        raise NoteError("every key of a log has the log's name")
    plain = [key for key in others if key.vkey.key_type not in COSIGNER_TYPES]
    timed = [key for key in others if key.vkey.key_type in COSIGNER_TYPES]
    note = sign_note(text, signer, *plain)
    note = note.with_signatures(*(cosign(text, key, 0) for key in timed))
    note = _greased(note)
    return Checkpoint(origin=origin, size=size, root=root, note=note.to_bytes())


def parse_checkpoint(data: bytes) -> Checkpoint:
    """Read a checkpoint, its signatures unverified; raise NoteError for anything else."""
    return _from_note(parse_note(data), data)


def open_checkpoint(data: bytes, keys: Iterable[VerifierKey]) -> Checkpoint:
    """Read a checkpoint; raise NoteError unless a trusted key with the origin's name signed it."""
    note = parse_note(data)
    checkpoint = _from_note(note, data)
    verify_signatures(note, [key for key in keys if key.name == checkpoint.origin])
    return checkpoint


def _greased(note: Note) -> Note:
    """Return the note with a grease line, first or last depending on the text's hash."""
    digest = sha512(b"countersign grease\n" + note.text.encode()).digest()
    tail = sha512(b"countersign grease signature\n" + note.text.encode()).digest()
    line = NoteSignature(name=GREASE_NAME, key_id=digest[:KEY_ID_BYTES], signature=tail)
    first = digest[KEY_ID_BYTES] & 1
    lines = (line, *note.signatures) if first else (*note.signatures, line)
    return Note(text=note.text, signatures=lines)


def _from_note(note: Note, data: bytes) -> Checkpoint:
    head = parse_tree_head(note.text)
    return Checkpoint(
        origin=head.origin, size=head.size, root=head.root, note=data, extensions=head.extensions
    )
