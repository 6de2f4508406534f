"""A log's keys over time: rotations, revocations, and which key counts for which checkpoint. Pure.

A verifier holds one key from outside (a root). Both keys sign a rotation, which hands over to the
next key. Another valid key signs a revocation, which states from when a key no longer counts. Both
are C2SP signed notes and stand alone; the log also records them.

Rules of `trusted_keys`:

- A rotated key counts for trees up to the size that its rotation names, its successor for later
  ones. While both keys overlap, later checkpoints carry both signatures, for readers who have only
  the old key.
- A revoked key counts for nothing made from the stated time on. Only a quorum's cosignatures prove
  an earlier time (`TrustedKey.counts`).
- A revoked key hands over to no other key afterwards, whatever time its statement names.
- A verifier that holds only a later key learns the earlier ones from it, for earlier trees. They
  count for no tree and no time beyond the key that vouches for them, and hand over only to that
  key, because a thief can still sign with a key that ended long ago.

Source: https://c2sp.org/signed-note for the form; the texts are our own, named in their first line.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from audit.errors import NoteError
from audit.tlog.checkpoint import Checkpoint, parse_checkpoint
from audit.tlog.cosignature import verify_signatures
from audit.tlog.note import ED25519, NoteSigner, VerifierKey, parse_note, sign_note, verify_note
from audit.tlog.treehead import parse_size

ROTATION = "countersign.dev/key-rotation/v1"
REVOCATION = "countersign.dev/key-revocation/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """A statement that the old key hands over to the new one."""

    old: VerifierKey
    new: VerifierKey
    from_size: int
    from_us: int
    statement: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """A statement that a key no longer counts from a time on (UTC microseconds)."""

    key: VerifierKey
    from_us: int
    statement: bytes


KeyRecord: TypeAlias = Rotation | Revocation


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedKey:
    """A key, the largest tree it alone signs, from when nothing of it counts; None is no bound."""

    key: VerifierKey
    until_size: int | None = None
    revoked_us: int | None = None

    def counts(self, size: int, made_us: int | None) -> bool:
        """Return whether its signature on a tree of `size`, made by `made_us`, counts.

        `made_us` is the time by which a quorum of witnesses had cosigned this checkpoint or a later
        one of the same tree. A time in a record is no proof: a thief of the key can write it. With
        None a revoked key does not count.
        """
        if self.until_size is not None and size > self.until_size:
            return False
        return self.revoked_us is None or (made_us is not None and made_us < self.revoked_us)


def rotate(old: NoteSigner, new: NoteSigner, from_size: int, from_us: int) -> Rotation:
    """Sign a rotation by both keys; raise NoteError unless they are two of one name, type 0x01."""
    text = "".join(
        f"{line}\n" for line in (ROTATION, old.vkey.name, old.vkey, new.vkey, from_size, from_us)
    )
    return parse_rotation(sign_note(text, old, new).to_bytes())


def revoke(signer: NoteSigner, key: VerifierKey, from_us: int) -> Revocation:
    """Sign a revocation; raise NoteError unless it is of another key of the same log."""
    text = "".join(f"{line}\n" for line in (REVOCATION, key.name, key, from_us))
    revocation = parse_revocation(sign_note(text, signer).to_bytes())
    if signer.vkey == key:
        raise NoteError("a key cannot revoke itself: rotate first, then revoke with the new key")
    if signer.vkey.name != key.name:
        raise NoteError("a key cannot revoke one of another log")
    return revocation


def parse_rotation(statement: bytes) -> Rotation:
    """Read a rotation and verify both signatures; `trusted_keys` judges the old key.

    Raises:
        NoteError: any other bytes.
    """
    note = parse_note(statement)
    lines = _lines(note.text, ROTATION, 6)
    old, new = (_log_key(line, lines[1]) for line in lines[2:4])
    if old == new:
        raise NoteError("a key cannot hand over to itself")
    if set(verify_note(note, [old, new])) != {old, new}:
        raise NoteError("a rotation needs the signatures of both keys")
    return Rotation(
        old=old,
        new=new,
        from_size=parse_size(lines[4]),
        from_us=parse_size(lines[5]),
        statement=statement,
    )


def parse_revocation(statement: bytes) -> Revocation:
    """Read a revocation, raising NoteError for anything else; `trusted_keys` judges its signer."""
    lines = _lines(parse_note(statement).text, REVOCATION, 4)
    key = _log_key(lines[2], lines[1])
    return Revocation(key=key, from_us=parse_size(lines[3]), statement=statement)


def parse_key_record(statement: bytes) -> KeyRecord:
    """Read a rotation or a revocation; raise NoteError for anything else."""
    first, _, _ = parse_note(statement).text.partition("\n")
    return parse_revocation(statement) if first == REVOCATION else parse_rotation(statement)


def trusted_keys(
    roots: Iterable[VerifierKey], records: Iterable[KeyRecord]
) -> tuple[TrustedKey, ...]:
    """Follow rotations and revocations, in the log's order, from the roots.

    A statement without a trusted key's signature changes nothing.
    """
    ordered = tuple(records)
    vouched = _with_predecessors(roots, ordered)
    trusted = {
        key: TrustedKey(key=key, until_size=None if voucher is None else voucher.from_size)
        for key, voucher in vouched.items()
    }
    for record in ordered:
        if isinstance(record, Rotation):
            _follow_rotation(trusted, record)
        else:
            _follow_revocation(trusted, record)
    for key, voucher in vouched.items():
        if voucher is not None:
            trusted[key] = _bounded(trusted[key], trusted[voucher.new])
    return tuple(trusted.values())


def open_trusted(
    data: bytes, trusted: Iterable[TrustedKey], made_us: int | None = None
) -> Checkpoint:
    """Read a checkpoint signed by a key that counts; see `TrustedKey.counts` for `made_us`.

    Raises:
        NoteError: malformed, or not signed by such a key.
    """
    checkpoint = parse_checkpoint(data)
    known = {item.key: item for item in trusted if item.key.name == checkpoint.origin}
    signed = [known[line.key] for line in verify_signatures(parse_note(data), known)]
    if not any(item.counts(checkpoint.size, made_us) for item in signed):
        names = ", ".join(item.key.key_id.hex() for item in signed)
        raise NoteError(f"signed only by keys that no longer count here: {names}")
    return checkpoint


def _with_predecessors(
    roots: Iterable[VerifierKey], records: tuple[KeyRecord, ...]
) -> dict[VerifierKey, Rotation | None]:
    """Return the roots (None) and the keys before them, each with the rotation that vouches for it.

    A key vouches for its predecessor until it hands over or is revoked by anybody.
    """
    known: dict[VerifierKey, Rotation | None] = dict.fromkeys(roots)
    for place in range(len(records) - 1, -1, -1):
        record = records[place]
        if isinstance(record, Rotation) and record.new in known:
            ended = (
                earlier.old if isinstance(earlier, Rotation) else earlier.key
                for earlier in records[:place]
            )
            if record.new not in ended:
                known.setdefault(record.old, record)
    return known


def _bounded(item: TrustedKey, voucher: TrustedKey) -> TrustedKey:
    """Bound a key by the one that vouches for it, whose thief could have invented it."""
    sizes = [n for n in (item.until_size, voucher.until_size) if n is not None]
    times = [n for n in (item.revoked_us, voucher.revoked_us) if n is not None]
    return replace(item, until_size=min(sizes, default=None), revoked_us=min(times, default=None))


def _follow_rotation(trusted: dict[VerifierKey, TrustedKey], record: Rotation) -> None:
    old = trusted.get(record.old)
    if old is None or old.revoked_us is not None or old.until_size is not None:
        return
    trusted[record.old] = replace(old, until_size=record.from_size)
    trusted.setdefault(record.new, TrustedKey(key=record.new))


def _follow_revocation(trusted: dict[VerifierKey, TrustedKey], record: Revocation) -> None:
    revoked = trusted.get(record.key)
    if revoked is None:
        return
    signers = [item.key for item in trusted.values() if item.revoked_us is None]
    try:
        found = verify_note(parse_note(record.statement), signers)
    except NoteError:
        return
    if all(key == record.key for key in found):
        return
    earliest = min(
        record.from_us, record.from_us if revoked.revoked_us is None else revoked.revoked_us
    )
    trusted[record.key] = replace(revoked, revoked_us=earliest)


def _lines(text: str, first: str, count: int) -> list[str]:
    lines = text.split("\n")
    if lines[0] != first or len(lines) != count + 1:
        raise NoteError(f"not a statement of {first}")
    return lines


def _log_key(text: str, origin: str) -> VerifierKey:
    key = VerifierKey.parse(text)
    if str(key) != text or key.name != origin or key.key_type != ED25519:
        raise NoteError("a log's statement names keys of that log, of type 0x01")
    return key
