"""`receipt` and `prove`: evidence in one small file, for verifiers that trust nothing here."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from audit.errors import FileError, LedgerError
from audit.evidence.bundle import NotYetSignedError, consistency
from audit.evidence.receipt import build_receipt, mapped_until, prove_range, prove_record
from audit.files import STDOUT, appearing, beside, named
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.policy import QuorumPolicy
from audit.tlog.proof import parse_proof
from gateway.evidence.bundle import sign_missing, unwitnessed
from gateway.evidence.publication.policy import read_policy
from gateway.installation.place import Place

VERIFIER = "python audit/verifier/verify.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to prove.

    Attributes:
        seq: that this record is in the log.
        from_size: that a newer checkpoint extends the one of this size.
        stream: that these are all records of a stream from number `first` to `last`.
    """

    seq: int | None = None
    from_size: int | None = None
    stream: str | None = None
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file to write, its verifier's further options, and a warning."""

    path: Path
    data: bytes
    more: str = ""
    lacks: str = ""


def write_receipt(place: Place, decision_id: str, out: Path | None) -> int:
    """Write a decision's receipt; sign a checkpoint first if its records have none.

    Raises:
        LedgerError: when there is no such decision, it is open, or the file cannot be written.
    """
    _, policy = read_policy(place.settings.ledger)
    data = _signed(place, lambda: build_receipt(place.reader, decision_id, policy))
    return _write(_proof(out or Path(f"{decision_id}.receipt.tlog-proof"), data, policy))


def answer(place: Place, question: Question, out: Path | None) -> int:
    """Write the proof that a question asks for; a record with an old size gives two files.

    Everything is built before anything is written: an error leaves no file.

    Raises:
        LedgerError: when the question is empty or cannot be answered, or a file cannot be written.
    """
    _check(question, out)
    if question.stream is not None:
        return _write(_range(place, question.stream, question, out))
    if question.seq is None:
        return _write(_consistency(place, question, None, out))
    _, policy = read_policy(place.settings.ledger)
    seq, least = question.seq, question.from_size or 0
    _kept(place, question)
    data = _signed(place, lambda: prove_record(place.reader, seq, policy, least))
    proof = _proof(out or Path(f"{seq}.tlog-proof"), data, policy)
    if question.from_size is None:
        return _write(proof)
    beside = proof.path.with_name(proof.path.name + ".consistency")
    return _write(proof, _consistency(place, question, parse_proof(data).checkpoint, beside))


def _check(question: Question, out: Path | None) -> None:
    """Refuse an empty question, and one that no single proof answers."""
    alone = question.seq is None and question.from_size is None
    if question.stream is None and alone:
        raise LedgerError("nothing to prove: give a record, --from-size or --stream")
    if question.stream is not None and not alone:
        raise LedgerError("--stream cannot be combined with a record or --from-size")
    if out == STDOUT and None not in (question.seq, question.from_size):
        raise LedgerError(
            "a record with --from-size makes two files: leave out --out, which names one"
        )
    if question.stream is None and (question.first, question.last) != (None, None):
        raise LedgerError("--first and --last number the records of a stream: give --stream too")


def _kept(place: Place, question: Question) -> None:
    """Refuse an old size for which there never was a checkpoint."""
    size = question.from_size
    if size is None or place.reader.checkpoint_of(size) is not None:
        return
    after = place.reader.checkpoint_after(size)
    near = "the newest is smaller" if after is None else f"the next one is of {after.size}"
    raise LedgerError(
        f"no checkpoint has size {size} (the second line of a checkpoint is its size); {near}"
    )


def _range(place: Place, stream: str, question: Question, out: Path | None) -> Written:
    """Prove a range; without bounds, every record of the stream that can be proven."""
    _, policy = read_policy(place.settings.ledger)
    first, last = question.first or 0, question.last
    if last is None:
        last = mapped_until(place.reader, stream)
    bounds = (first, last)
    data = _signed(place, lambda: prove_range(place.reader, stream, bounds, policy))
    name = f"{stream.replace('/', '_')}-{first}-{last}.tlog-proof"
    return _proof(out or Path(name), data, policy)


def _proof(path: Path, data: bytes, policy: QuorumPolicy | None) -> Written:
    """Return a proof to write, with a warning if its checkpoint lacks the policy's quorum."""
    return Written(
        path=path, data=data, lacks=unwitnessed(policy, parse_proof(data).checkpoint_note)
    )


def _consistency(
    place: Place, question: Question, checkpoint: Checkpoint | None, out: Path | None
) -> Written:
    """Prove that a checkpoint, by default the newest, extends a kept one."""
    _kept(place, question)
    old_size = question.from_size or 0
    found = checkpoint or next(iter(place.reader.checkpoints(limit=1)))
    return Written(
        path=out or Path(f"{old_size}-{found.size}.consistency"),
        data=consistency(place.reader, old_size, found),
        more=f" --checkpoint THE-KEPT-ONE-OF-{old_size}",
    )


def _signed(place: Place, build: Callable[[], bytes]) -> bytes:
    """Build a proof; if a record has no checkpoint yet, sign one and build again."""
    try:
        return build()
    except NotYetSignedError:
        sign_missing(place)
        return build()


def _write(*files: Written) -> int:
    """Write all files or none; print how to check each."""
    try:
        with ExitStack() as all_of_them:
            for file in files:
                all_of_them.enter_context(appearing(file.path)).write(file.data)
    except (FileError, OSError) as error:
        raise LedgerError(f"nothing was written: {error}") from error
    for file in files:
        beside(file.path).write(
            f"{named(file.path)}: {len(file.data)} bytes\n{file.lacks}"
            f"  check it with: {VERIFIER} {named(file.path)} --key KEYFILE{file.more}\n"
        )
    return 0
