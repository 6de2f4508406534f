"""receipt and prove: evidence in one small file for somebody who trusts nothing here."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from audit.checkpoint import Checkpoint
from audit.errors import LedgerError
from audit.export import NotYetSignedError, consistency
from audit.proof import parse_proof
from audit.receipt import build_receipt, mapped_until, prove_range, prove_record
from gateway.attach import Place
from gateway.exporting import sign_missing
from gateway.publishing import read_policy

VERIFIER = "python audit/verify.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What shall be proven.

    Attributes:
        seq: that this record is in the log.
        from_size: that the newest checkpoint, or the one of the record's proof, extends this one.
        stream: that these are all records of a stream between two numbers (`first`, `last`).
    """

    seq: int | None = None
    from_size: int | None = None
    stream: str | None = None
    first: int | None = None
    last: int | None = None


def write_receipt(place: Place, decision_id: str, out: Path | None) -> int:
    """Write a decision's receipt; signs a checkpoint first when its records have none yet.

    Raises:
        LedgerError: there is no such decision, or it is still going on.
    """
    _, policy = read_policy(place.settings.ledger)
    data = _signed(place, lambda: build_receipt(place.reader, decision_id, policy))
    _write(out or Path(f"{decision_id}.receipt.tlog-proof"), data, "")
    return 0


def answer(place: Place, question: Question, out: Path | None) -> int:
    """Write the proof that a question asks for; with a record and an old size, two files.

    Raises:
        LedgerError: nothing is asked for, or what is asked for is not there.
    """
    reader = place.reader
    _, policy = read_policy(place.settings.ledger)
    if question.stream is not None:
        stream, bounds = question.stream, _bounds(place, question)
        data = _signed(place, lambda: prove_range(reader, stream, bounds, policy))
        name = f"{stream.replace('/', '_')}-{bounds[0]}-{bounds[1]}.tlog-proof"
        _write(out or Path(name), data, "")
        return 0
    newest: Checkpoint | None = None
    if question.seq is not None:
        seq = question.seq
        data = _signed(place, lambda: prove_record(reader, seq, policy))
        newest = parse_proof(data).checkpoint
        out = out or Path(f"{seq}.tlog-proof")
        _write(out, data, "")
        out = out.with_name(out.name + ".consistency")
    if question.from_size is not None:
        _write_consistency(place, question.from_size, newest, out)
    elif question.seq is None:
        raise LedgerError("nothing to prove: give a record, --from-size or --stream")
    return 0


def _bounds(place: Place, question: Question) -> tuple[int, int]:
    """Return the first and last number asked for; without them, all that can be proven."""
    assert question.stream is not None  # noqa: S101 - the caller looked; narrows the type
    last = question.last
    if last is None:
        last = mapped_until(place.reader, question.stream)
    return question.first or 0, last


def _write_consistency(
    place: Place, old_size: int, newest: Checkpoint | None, out: Path | None
) -> None:
    """Write that a checkpoint extends an earlier one, which its reader has kept."""
    found = newest or next(iter(place.reader.checkpoints(limit=1)), None)
    if found is None:
        raise LedgerError("there is no checkpoint yet")
    if place.reader.checkpoint_of(old_size) is None:
        raise LedgerError(f"there never was a checkpoint of {old_size}")
    path = out or Path(f"{old_size}-{found.size}.consistency")
    kept = f" --checkpoint THE-KEPT-ONE-OF-{old_size}"
    _write(path, consistency(place.reader, old_size, found), kept)


def _signed(place: Place, build: Callable[[], bytes]) -> bytes:
    """Build, and once more after signing what had no checkpoint yet."""
    try:
        return build()
    except NotYetSignedError:
        sign_missing(place)
        return build()


def _write(path: Path, data: bytes, more: str) -> None:
    path.write_bytes(data)
    sys.stdout.write(
        f"{path}: {len(data)} bytes\n  check it with: {VERIFIER} {path} --key KEYFILE{more}\n"
    )
