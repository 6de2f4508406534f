"""The log keys that count: those given, plus their successors, minus the revoked."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from audit.verifier.parts.canonical import SIZE_MAX, decimal
from audit.verifier.parts.report import NOT_CHECKABLE, Bad, Report, Unknown, stamp
from audit.verifier.parts.trust.note import (
    COSIGNER,
    Head,
    Key,
    SignedNote,
    read_head,
    read_note,
    read_vkey,
    signatures_of,
)
from audit.verifier.parts.trust.policy import read_policy

ROTATION = "countersign.dev/key-rotation/v1"
REVOCATION = "countersign.dev/key-revocation/v1"
CHANGED = "; if the log's key was changed since, give the signed change as --rotation"
NOT_FOLLOWED = ": not followed, no trusted key that still counts says so"
NO_TIME = "no witness says that it was signed before"


class Change(NamedTuple):
    """A rotation from `old` to `new`, or a revocation if both are the same key.

    `bound` is the last size that the old key signs, or the microsecond from which it is revoked.
    """

    note: SignedNote
    old: Key
    new: Key
    bound: int
    words: str


def read_change(statement: object, origin: str) -> Change:
    """Return a change of keys, or raise Bad; a revocation's signatures are not verified yet."""
    if not isinstance(statement, str):
        raise Bad("a change of keys is no text")
    note = read_note(statement.encode())
    title, *lines = note.text.split("\n")[:-1]
    if not lines or lines[0] != origin:
        raise Bad("a change of keys is of another log")
    match title, lines:
        case [str(), [_, first, second, size, _]] if title == ROTATION:
            old, new, bound = read_vkey(first), read_vkey(second), decimal(size)
            if old == new or {old.name, new.name} != {origin}:
                raise Bad("a rotation names other keys than two of the log")
            if signatures_of(note, {old, new}).times.keys() != {old, new}:
                raise Bad("a rotation is not signed by both keys")
            words = f"key {old.key_id.hex()} is followed by {new.key_id.hex()} from {bound} on"
            return Change(note, old, new, bound, words)
        case [str(), [_, first, from_us]] if title == REVOCATION:
            key, bound = read_vkey(first), decimal(from_us)
            words = f"key {key.key_id.hex()} is revoked from {stamp(bound // 1_000_000)} on"
            return Change(note, key, key, bound, words)
    if title in {ROTATION, REVOCATION}:
        raise Bad("a change of keys is malformed")
    raise Unknown("a change of keys of an unknown sort")


class SeenCheckpoint(NamedTuple):
    """A checkpoint with the log's keys and the witnesses whose signatures verified.

    `strangers`: a line has the log's name but no key that is known so far.
    """

    head: Head
    signers: frozenset[Key]
    cosigners: Mapping[bytes, int]
    unread: frozenset[bytes]
    strangers: bool


class Trust:
    """The trust given from outside: log keys, their successors, a witness policy."""

    def __init__(self, vkeys: Iterable[str], policy: bytes | None = None) -> None:
        """Read the keys and the policy; raise Bad if one of them is malformed."""
        self.policy = None if policy is None else read_policy(policy)
        self.keys = set() if self.policy is None else set(self.policy.logs)
        for key in map(read_vkey, vkeys):
            if key.kind == COSIGNER:
                raise Bad(f"{key.name} is a witness's key: it belongs into a policy")
            self.keys.add(key)
        self.revoked: dict[Key, int] = {}
        self.until: dict[Key, int] = {}
        self._roots = frozenset(self.keys)
        self._given: list[Change] = []
        self._logged: list[Change] = []
        self._vouched: dict[Key, Key] = {}

    def open(self, data: bytes) -> SeenCheckpoint:
        """Return a checkpoint; raise Bad if malformed, or a known key's line does not verify."""
        note = read_note(data)
        head = read_head(note.text)
        own = signatures_of(note, [key for key in self.keys if key.name == head.origin])
        witnesses = {} if self.policy is None else self.policy.witnesses
        others = signatures_of(note, witnesses.values())
        return SeenCheckpoint(
            head,
            frozenset(own.times),
            {name: others.times[key] for name, key in witnesses.items() if key in others.times},
            frozenset(name for name, key in witnesses.items() if key in others.unread),
            len(own.times) < sum(name == head.origin for name, _, _ in note.lines),
        )

    def met(self, seen: Iterable[SeenCheckpoint]) -> bool:
        """Return whether the policy's quorum cosigned one of these checkpoints."""
        return self.policy is None or any(self.policy.met(one.cosigners) for one in seen)

    def follow(self, statement: object, origin: str, *, given: bool = False) -> str:
        """Apply a change of keys as far as it can be judged now; return what was done, in words.

        Both keys sign a rotation: the old key counts for trees up to the stated size, the new one
        for later trees. Another trusted key signs a revocation: the revoked key counts for nothing
        made from the stated time on. Statements of the log come in the log's order; `given` marks
        one from outside the judged file.

        Raises:
            Bad: the statement is malformed, of another log, or a signature does not verify.
        """
        change = read_change(statement, origin)
        (self._given if given else self._logged).append(change)
        return change.words if self._take(change) else change.words + NOT_FOLLOWED

    def give(self, report: Report, statements: Iterable[str], origin: str) -> bool:
        """Apply changes from outside; return whether all are readable.

        An unreadable one is a finding, but says nothing about the judged file.
        """
        try:
            for statement in statements:
                self.follow(statement, origin, given=True)
        except Bad as error:
            report.find(NOT_CHECKABLE, f"a change of keys that was given: {error}")
            return False
        return True

    def settle(self, report: Report) -> None:
        """Apply all changes again, now that all are here, and report what was done.

        Changes from outside come first, in any order; then the log's own, in their order, with
        those from outside tried again after each, since the log may name the key that signed them.
        A change in the log that no trusted key signed proves nothing and is only mentioned. Such
        a change from outside is a finding, since somebody relied on it.

        Raises:
            Bad: a signature of a key that is known by now does not verify.
        """
        self.keys, self.until, self.revoked = set(self._roots), {}, {}
        self._vouched = {}
        logged = dict.fromkeys(self._logged)
        given = dict.fromkeys(sorted(self._given, key=lambda one: one.old != one.new))
        done = self._take_given(given, set())
        self._look_back([*logged, *(one for one in self._given if one not in logged)])
        self._take_given(given, done)
        for one in logged:
            if one not in done and self._take(one):
                done.add(one)
                self._take_given(given, done)
        for old, new in self._vouched.items():
            for bounds in (self.until, self.revoked):
                if new in bounds:
                    bounds[old] = min(bounds[new], bounds.get(old, bounds[new]))
        for one in {**given, **logged}:
            if one not in done and one in given:
                report.find(NOT_CHECKABLE, f"given: {one.words}{NOT_FOLLOWED}")
            else:
                report.say(one.words + ("" if one in done else NOT_FOLLOWED))

    def _take_given(self, given: Iterable[Change], done: set[Change]) -> set[Change]:
        """Apply changes from outside until none is left to apply; revocations come first."""
        before = -1
        while len(done) > before:
            before = len(done)
            for change in given:
                self._look_back([change])
            for change in given:
                with contextlib.suppress(Bad):  # an altered change is not applied
                    done.update([change] if change not in done and self._take(change) else ())
        return done

    def _look_back(self, changes: Sequence[Change]) -> None:
        """Add the keys that preceded the trusted ones.

        A key vouches for its predecessor, unless it had been replaced or revoked before it did. The
        older key ends at that rotation, hands over to no other key, and counts for no more than
        the key that vouches: a thief of the older key could name his own successor, and a thief
        of the newer one could invent the older.
        """
        ended: dict[Key, int] = {}
        for place, change in enumerate(changes):
            ended.setdefault(change.old, place)
        for place, change in reversed(list(enumerate(changes))):
            old, new = change.old, change.new
            if new in self.keys and old not in self.keys and ended.get(new, place) >= place:
                self.keys.add(old)
                self.until[old] = change.bound
                self._vouched[old] = new

    def _take(self, change: Change) -> bool:
        """Apply one change if a key that still counts signed it; return whether it applies."""
        old, new = change.old, change.new
        if new == old:
            if not signatures_of(change.note, self.keys - {old} - self.revoked.keys()).times:
                return False
            self.revoked[old] = min(change.bound, self.revoked.get(old, change.bound))
            return True
        if new in self.keys and self.until.get(old) == change.bound:
            return True  # applied before
        handed = old in self.keys and old not in self.until
        if not handed or (old in self.revoked and new not in self.keys):
            return False
        self.keys.add(new)
        self.until[old] = change.bound
        return True

    def made_us(self, seen: Iterable[SeenCheckpoint]) -> int:
        """Return when the first of these checkpoints had its quorum, in microseconds."""
        stood = [] if self.policy is None else [self.policy.stood(one.cosigners) for one in seen]
        return min([SIZE_MAX, *(at * 1_000_000 for at in stood if at is not None)])

    def counts(self, signers: Iterable[Key], size: int, made_us: int) -> str:
        """Return why no key counts for a tree of this size and time; "" if one does."""
        current = [key for key in signers if size <= self.until.get(key, SIZE_MAX)]
        if any(made_us < self.revoked.get(key, SIZE_MAX + 1) for key in current):
            return ""
        return "revoked" if current else "replaced"
