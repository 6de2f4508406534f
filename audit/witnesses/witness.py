"""The answers of a witness to `add-checkpoint`. Pure.

A witness promises to cosign one history of each log. So it refuses a tree that does not extend the
last one that it cosigned, and it remembers the new tree before it answers. The caller of `judge`
must hold the log's lock until the new tree is durable (`memory`), or two requests could both
extend the same tree.

Source: https://c2sp.org/tlog-witness
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from audit.errors import NoteError, ProofError, WitnessError
from audit.tlog.checkpoint import Checkpoint, parse_checkpoint
from audit.tlog.cosignature import verify_signatures
from audit.tlog.merkle import EMPTY_ROOT, HASH_BYTES, verify_consistency
from audit.tlog.note import VerifierKey, decode_base64, parse_note
from audit.tlog.treehead import parse_size

PROOF_LINES_MAX = 63
BODY_BYTES_MAX = 262_144
"""Enough for 63 proof lines and a note of 60 large signatures."""
TEXT = "text/plain; charset=utf-8"
SIZE_TYPE = "text/x.tlog.size"


class Status(IntEnum):
    """The HTTP status codes of the protocol."""

    COSIGNED = 200
    MALFORMED = 400
    NOT_SIGNED = 403
    UNKNOWN_LOG = 404
    CONFLICT = 409
    INCONSISTENT = 422


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessAnswer:
    """An HTTP answer."""

    status: int
    body: bytes
    content_type: str = TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The last tree of a log that was cosigned."""

    size: int = 0
    root: bytes = EMPTY_ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCheckpoint:
    """A request: the size that the witness has probably seen, the proof from there, the checkpoint.

    The checkpoint is parsed but not verified.
    """

    old_size: int
    proof: tuple[bytes, ...]
    checkpoint: Checkpoint


def encode_request(old_size: int, proof: Sequence[bytes], note: bytes) -> bytes:
    """Return a request's body."""
    lines = [f"old {old_size}", *(base64.b64encode(node).decode() for node in proof), ""]
    return "".join(f"{line}\n" for line in lines).encode() + note


def parse_request(body: bytes) -> AddCheckpoint:
    """Return a request read from its exact form; raise WitnessError for other bytes."""
    head, separator, note = body.partition(b"\n\n")
    try:
        lines = head.decode("ascii").split("\n")
        if not separator or not lines[0].startswith("old "):
            raise WitnessError("the body is not an old size, proof lines, an empty line and a note")
        old_size = parse_size(lines[0].removeprefix("old "))
        if len(lines) - 1 > PROOF_LINES_MAX:
            raise WitnessError(f"{len(lines) - 1} proof lines; at most {PROOF_LINES_MAX} are taken")
        proof = tuple(decode_base64(line) for line in lines[1:])
        checkpoint = parse_checkpoint(note)
    except (UnicodeDecodeError, NoteError) as error:
        raise WitnessError(f"malformed request: {error}") from error
    if any(len(node) != HASH_BYTES for node in proof):
        raise WitnessError("a proof line is not a SHA-256 hash")
    return AddCheckpoint(old_size=old_size, proof=proof, checkpoint=checkpoint)


def refuse_stranger(
    request: AddCheckpoint, trusted: Mapping[str, Sequence[VerifierKey]]
) -> WitnessAnswer | None:
    """Return a refusal if the log is unknown or did not sign the note, else None.

    This needs no memory, so it comes before the lock. `trusted` has the keys of each log by its
    origin; a key may have another name.
    """
    keys = trusted.get(request.checkpoint.origin)
    if not keys:
        return _refusal(Status.UNKNOWN_LOG, "this witness does not follow that log")
    try:
        verify_signatures(parse_note(request.checkpoint.note), keys)
    except NoteError as error:
        return _refusal(Status.NOT_SIGNED, f"not signed by a key of that log: {error}")
    return None


def judge(request: AddCheckpoint, seen: Seen) -> WitnessAnswer | None:
    """Return a refusal if the tree does not extend the last one; None if it may be cosigned."""
    checkpoint = request.checkpoint
    if request.old_size > checkpoint.size:
        return _refusal(Status.MALFORMED, "the old size is beyond the checkpoint's")
    if request.old_size != seen.size:
        return conflict(seen)
    if checkpoint.size == 0 and checkpoint.root != EMPTY_ROOT:
        return _refusal(Status.INCONSISTENT, "a tree of no leaves has another root")
    if checkpoint.size == seen.size and checkpoint.root != seen.root:
        # not as a size: a log would ask again from that size, for ever
        return _refusal(Status.CONFLICT, f"another tree of {seen.size} leaves was cosigned")
    try:
        verify_consistency(
            seen.size, seen.root, checkpoint.size, checkpoint.root, list(request.proof)
        )
    except ProofError as error:
        return _refusal(Status.INCONSISTENT, str(error))
    return None


def conflict(seen: Seen) -> WitnessAnswer:
    """Return the answer that states the size of the last cosigned tree."""
    body = f"{seen.size}\n".encode()
    return WitnessAnswer(status=Status.CONFLICT, body=body, content_type=SIZE_TYPE)


def malformed(error: WitnessError) -> WitnessAnswer:
    """Return the answer to a malformed request."""
    return _refusal(Status.MALFORMED, str(error))


def _refusal(status: Status, why: str) -> WitnessAnswer:
    return WitnessAnswer(status=status, body=f"{why}\n".encode())
