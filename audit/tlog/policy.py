"""Trust policy: which logs, which witnesses, and how many of them make a checkpoint valid. Pure.

The file names logs and witnesses by their keys, and one quorum over witnesses and groups. Names are
opaque octets and mean nothing outside the file. Any invalid line is refused with its number: a
policy read in part would be weaker.

A log may have any signature type; one of an unknown type can be listed but never satisfies.

Source: https://c2sp.org/tlog-policy
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from audit.errors import NoteError, TrustPolicyError
from audit.tlog.cosignature import COSIGNER_TYPES, Signed, verify_signatures
from audit.tlog.note import COSIGNATURE_ED25519, PUBLIC_KEY_BYTES, Note, VerifierKey, split_vkey
from audit.tlog.treehead import TreeHead, parse_tree_head

NONE = b"none"
LINES_MAX = 10_000
_ALLOWED = frozenset({0x09, 0x0A, *range(0x20, 0x7F), *range(0x80, 0x100)})
_BLANK = re.compile(rb"[ \t]+")
_THRESHOLD = re.compile(rb"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log line; `key` is None for an unknown signature type."""

    vkey: str
    key: VerifierKey | None
    url: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWitness:
    """A witness line."""

    name: bytes
    key: VerifierKey
    url: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group line: at least `threshold` of the members."""

    name: bytes
    threshold: int
    members: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """A witness that cosigned, and when; zero is a cosignature without a time."""

    name: bytes
    key: VerifierKey
    time_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Satisfied:
    """A checkpoint that meets the policy: its head, the log that signed, who cosigned."""

    head: TreeHead
    log: VerifierKey
    witnesses: tuple[Witnessed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumPolicy:
    """A parsed policy; `quorum` names a witness or group, or is `none`."""

    logs: tuple[Log, ...]
    witnesses: tuple[PolicyWitness, ...]
    groups: tuple[Group, ...]
    quorum: bytes

    @classmethod
    def parse(cls, data: bytes) -> "QuorumPolicy":
        """Read a policy file; for other bytes raise TrustPolicyError, which names the line."""
        if not _ALLOWED.issuperset(data):
            raise TrustPolicyError("policy holds a control character other than tab and newline")
        if not data.endswith(b"\n"):
            raise TrustPolicyError("policy's last line does not end in a newline")
        lines = data.split(b"\n")[:-1]
        if len(lines) > LINES_MAX:
            raise TrustPolicyError(f"policy has {len(lines)} lines; at most {LINES_MAX} are taken")
        draft = _Draft()
        for number, line in enumerate(lines, 1):
            words = _BLANK.split(line.strip(b" \t"))
            if not words[0] or words[0].startswith(b"#"):
                continue
            try:
                draft.take(words)
            except (TrustPolicyError, NoteError) as error:
                raise TrustPolicyError(f"policy line {number}: {error}") from error
        return draft.policy()

    def with_logs(self, keys: Iterable[VerifierKey]) -> "QuorumPolicy":
        """Return the policy with more logs."""
        listed = {log.key for log in self.logs}
        more = [Log(vkey=str(key), key=key) for key in keys if key not in listed]
        return replace(self, logs=(*self.logs, *more))

    def satisfied_by(self, note: Note) -> Satisfied:
        """Return who signed and cosigned a checkpoint that meets the policy.

        Raises:
            NoteError: not a checkpoint, no listed log of this origin signed it, or a line of a
                listed log or witness does not verify.
            TrustPolicyError: the witnesses that cosigned are not a quorum.
        """
        head = parse_tree_head(note.text)
        logs = [log.key for log in self.logs if log.key and log.key.name == head.origin]
        signed = verify_signatures(note, logs)
        return Satisfied(head=head, log=signed[0].key, witnesses=self.witnessed(note))

    def witnessed(self, note: Note) -> tuple[Witnessed, ...]:
        """Return who cosigned a checkpoint with quorum; the log's signature is not checked.

        Raises:
            NoteError: a line of a listed witness does not verify.
            TrustPolicyError: the witnesses that cosigned are not a quorum.
        """
        cosigned = _cosigned(note, [witness.key for witness in self.witnesses])
        witnessed = tuple(
            Witnessed(name=witness.name, key=witness.key, time_s=cosigned[witness.key])
            for witness in self.witnesses
            if witness.key in cosigned
        )
        if not self._met({witness.name for witness in witnessed}):
            names = ", ".join(w.name.decode("utf-8", "replace") for w in witnessed) or "nobody"
            quorum = self.quorum.decode("utf-8", "replace")
            raise TrustPolicyError(f"quorum {quorum!r} is not met: cosigned by {names}")
        return witnessed

    def _met(self, present: set[bytes]) -> bool:
        """Return whether the witnesses are a quorum; groups come after their members."""
        if self.quorum == NONE:
            return True
        met = set(present)
        for group in self.groups:
            if len(met.intersection(group.members)) >= group.threshold:
                met.add(group.name)
        return self.quorum in met


def _cosigned(note: Note, keys: list[VerifierKey]) -> Mapping[VerifierKey, int]:
    known = [key for key in keys if any(line.made_by(key) for line in note.signatures)]
    signed: tuple[Signed, ...] = verify_signatures(note, known) if known else ()
    return {line.key: line.time_s for line in signed if line.time_s is not None}


@dataclass(slots=True)
class _Draft:
    """A policy while its lines are read."""

    logs: list[Log] = field(default_factory=list)
    witnesses: list[PolicyWitness] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    quorum: bytes | None = None
    names: set[bytes] = field(default_factory=set)
    members: set[bytes] = field(default_factory=set)
    log_keys: set[bytes] = field(default_factory=set)
    witness_keys: set[bytes] = field(default_factory=set)

    def take(self, words: list[bytes]) -> None:
        match words:
            case [b"log", vkey, *url] if len(url) <= 1:
                self._log(vkey, url[0] if url else None)
            case [b"witness", name, vkey, *url] if len(url) <= 1:
                self._witness(name, vkey, url[0] if url else None)
            case [b"group", name, threshold, *members] if members:
                self._group(name, threshold, tuple(members))
            case [b"quorum", name]:
                self._quorum(name)
            case _:
                word = words[0].decode("utf-8", "replace")
                raise TrustPolicyError(f"{word!r} does not start a line of {len(words)} words")

    def policy(self) -> QuorumPolicy:
        if self.quorum is None:
            raise TrustPolicyError("policy has no quorum line")
        return QuorumPolicy(
            logs=tuple(self.logs),
            witnesses=tuple(self.witnesses),
            groups=tuple(self.groups),
            quorum=self.quorum,
        )

    def _log(self, vkey: bytes, url: bytes | None) -> None:
        text = _text(vkey)
        _, _, key_type, public_key = split_vkey(text)
        if key_type == COSIGNATURE_ED25519:
            raise TrustPolicyError("a log's key is of a witness's type 0x04")
        if public_key in self.log_keys:
            raise TrustPolicyError("this log's key is listed twice")
        self.log_keys.add(public_key)
        key = VerifierKey.parse(text) if key_type in PUBLIC_KEY_BYTES else None
        self.logs.append(Log(vkey=text, key=key, url=url))

    def _witness(self, name: bytes, vkey: bytes, url: bytes | None) -> None:
        key = VerifierKey.parse(_text(vkey))
        if key.key_type not in COSIGNER_TYPES:
            raise TrustPolicyError(
                f"a witness's key has type 0x04 or 0x06, not 0x{key.key_type:02x}"
            )
        if key.public_key in self.witness_keys:
            raise TrustPolicyError("this witness's key is listed twice")
        self._define(name)
        self.witness_keys.add(key.public_key)
        self.witnesses.append(PolicyWitness(name=name, key=key, url=url))

    def _group(self, name: bytes, threshold: bytes, members: tuple[bytes, ...]) -> None:
        for member in members:
            if member not in self.names:
                raise TrustPolicyError(f"member {_shown(member)} is not defined above")
            if member in self.members:
                raise TrustPolicyError(f"{_shown(member)} is a member twice")
            self.members.add(member)
        self._define(name)
        self.groups.append(
            Group(name=name, threshold=_threshold(threshold, len(members)), members=members)
        )

    def _quorum(self, name: bytes) -> None:
        if self.quorum is not None:
            raise TrustPolicyError("there is a second quorum line")
        if name != NONE and name not in self.names:
            raise TrustPolicyError(f"{_shown(name)} is not defined above")
        self.quorum = name

    def _define(self, name: bytes) -> None:
        if name == NONE:
            raise TrustPolicyError("the name none is taken")
        if name in self.names:
            raise TrustPolicyError(f"{_shown(name)} is defined twice")
        self.names.add(name)


def _threshold(word: bytes, count: int) -> int:
    if word == b"all":
        return count
    if word == b"any":
        return 1
    if not _THRESHOLD.fullmatch(word) or int(word) > count:
        raise TrustPolicyError(f"threshold {_shown(word)} is not all, any or 1 to {count}")
    return int(word)


def _text(word: bytes) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TrustPolicyError("verifier key is not UTF-8") from error


def _shown(word: bytes) -> str:
    return repr(word.decode("utf-8", "replace"))
