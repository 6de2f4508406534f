"""A proof in one file: an entry's index, its inclusion path and a cosigned checkpoint. Pure.

The file is verified offline against a policy of trusted logs and witnesses from elsewhere. The
extra data is not authenticated and must not be trusted.

Source: https://c2sp.org/tlog-proof
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from audit.errors import NoteError, ProofError
from audit.tlog.checkpoint import Checkpoint, parse_checkpoint
from audit.tlog.merkle import HASH_BYTES, leaf_hash, verify_inclusion
from audit.tlog.note import VerifierKey, decode_base64, parse_note
from audit.tlog.policy import QuorumPolicy, Satisfied
from audit.tlog.treehead import parse_size

HEADER = "c2sp.org/tlog-proof@v1"
PATH_MAX = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class TlogProof:
    """A parsed proof; nothing in it is trusted before `verify`."""

    index: int
    path: tuple[bytes, ...]
    checkpoint_note: bytes
    extra: bytes = b""

    @property
    def checkpoint(self) -> Checkpoint:
        """The parsed checkpoint; raises NoteError if it is not one."""
        return parse_checkpoint(self.checkpoint_note)

    def to_bytes(self) -> bytes:
        """Return the file's bytes."""
        lines = [HEADER]
        if self.extra:
            lines.append(f"extra {base64.b64encode(self.extra).decode()}")
        lines.append(f"index {self.index}")
        lines.extend(base64.b64encode(node).decode() for node in self.path)
        return "".join(f"{line}\n" for line in [*lines, ""]).encode() + self.checkpoint_note

    def verify(
        self, entry: bytes, policy: QuorumPolicy, log_keys: Iterable[VerifierKey] = ()
    ) -> Satisfied:
        """Check that an entry is in the tree of a checkpoint that the policy accepts.

        Raises:
            ProofError: the entry is not at the proof's index.
            AuditError: as `QuorumPolicy.satisfied_by`.
        """
        satisfied = policy.with_logs(log_keys).satisfied_by(parse_note(self.checkpoint_note))
        head = satisfied.head
        verify_inclusion(leaf_hash(entry), self.index, head.size, self.path, head.root)
        return satisfied


def parse_proof(data: bytes) -> TlogProof:
    """Read a proof, unverified; raise ProofError for anything but its exact form."""
    head, separator, note = data.partition(b"\n\n")
    try:
        lines = head.decode("utf-8").split("\n")
        checkpoint = parse_checkpoint(note)
        if not separator or lines[0] != HEADER:
            raise ProofError(f"proof does not start with {HEADER}")
        extra = _extra(lines)
        index = _index(lines[2:] if extra else lines[1:])
        path = tuple(_node(line) for line in lines[3 if extra else 2 :])
    except (UnicodeDecodeError, NoteError) as error:
        raise ProofError(f"proof is malformed: {error}") from error
    if len(path) > PATH_MAX:
        raise ProofError(f"proof has {len(path)} hashes; no tree is that deep")
    if index >= checkpoint.size:
        raise ProofError(f"index {index} is outside a tree of {checkpoint.size}")
    return TlogProof(index=index, path=path, checkpoint_note=note, extra=extra)


def _extra(lines: list[str]) -> bytes:
    if len(lines) < 2 or not lines[1].startswith("extra "):  # noqa: PLR2004 - the second line
        return b""
    extra = decode_base64(lines[1].removeprefix("extra "))
    if not extra:
        raise ProofError("proof has an empty extra line")
    return extra


def _index(lines: list[str]) -> int:
    if not lines or not lines[0].startswith("index "):
        raise ProofError("proof has no index line")
    return parse_size(lines[0].removeprefix("index "))


def _node(line: str) -> bytes:
    node = decode_base64(line)
    if len(node) != HASH_BYTES:
        raise ProofError("a line of the path is not a SHA-256 hash")
    return node
