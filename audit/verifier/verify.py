"""Verify files that Countersign hands out, without trusting who made them.

    python verify.py FILE --key VKEY [--policy POLICY] [--checkpoint NOTE] [--broker-fills FILE] ..

One file; it needs the standard library and cryptography. Take it, the key and the policy from
places you trust, never from beside FILE. It reads the formats with code of its own: it shares
nothing with the ledger that it judges.

The type of FILE is recognised by its content:

    bundle        ZIP: one decision, what it rests on, its checkpoint
    receipt       one decision's list of records and its seal, as a C2SP tlog-proof
    proof         one record (or a range of one stream) in the tree, as a C2SP tlog-proof
    consistency   a later checkpoint extends an earlier one (body of C2SP add-checkpoint)
    checkpoint    a C2SP signed note alone
    dump          JSON lines: the whole log
    folder        C2SP tlog-tiles: checkpoint and tile/..., the whole log's hashes and headers

Exit codes: 0 all as signed; 1 tampered; 2 incomplete (records, blobs or cosignatures missing);
3 not checkable (no trusted key, an unknown version, a signature type that is missing here).

Source: RFC 6962 section 2.1, RFC 9162 section 2.1, RFC 8785, https://c2sp.org/signed-note,
tlog-checkpoint, tlog-cosignature, tlog-policy, tlog-proof, tlog-tiles and tlog-witness.
"""

# Built by `make verifier` from audit/verifier/parts/: change it there.

import argparse
import base64
import contextlib
import csv
import datetime as dt
import hashlib
import hmac
import io
import itertools
import json
import math
import re
import sys
import time
import zipfile
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import comb, isqrt, lcm
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

try:  # an older cryptography has no ML-DSA: its lines are then reported as not checkable
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
except ImportError:
    MLDSA44PublicKey = None  # type: ignore[assignment,misc]

# ---------------------------------------------------------------- report
# The report: findings, the exit code, lines for people.

OK, TAMPERED, INCOMPLETE, NOT_CHECKABLE = 0, 1, 2, 3
WORDS = {OK: "OK", TAMPERED: "TAMPERED", INCOMPLETE: "INCOMPLETE", NOT_CHECKABLE: "NOT CHECKABLE"}
FINDINGS_MAX = 50
TEXT_MAX = 500


class Bad(Exception):  # noqa: N818 - reads as what it says: this input is bad
    """Something in the input is not what it must be."""


class Unknown(Bad):
    """The input has a version that this file does not know, so nothing is said about it."""


@dataclass(slots=True, kw_only=True)
class Report:
    """The exit code and its reason, lines for people, the first bad and first unsigned record."""

    exit_code: int = OK
    reason: str = ""
    lines: list[str] = field(default_factory=list)
    first_bad_seq: int | None = None
    findings: int = 0
    unsigned_from: int | None = None

    def find(self, code: int, text: str, seq: int | None = None) -> None:
        """Add a finding; tampered outweighs incomplete, which outweighs not checkable."""
        self.findings += 1
        if seq is not None:
            text = f"record {seq}: {text}"
        if self.exit_code == OK or code < self.exit_code:
            self.exit_code, self.reason = code, text
        if seq is not None and code != NOT_CHECKABLE:
            self.first_bad_seq = seq if self.first_bad_seq is None else min(seq, self.first_bad_seq)
        if self.findings <= FINDINGS_MAX:
            self.say(f"{WORDS[code]}: {text}")

    def conclude(self) -> None:
        """Add the last line: the exit code's word and the first reason."""
        default = "all as signed" if self.exit_code == OK else "see above"
        self.say(f"{WORDS[self.exit_code]}: {self.reason or default}")
        if self.lines[-2:-1] == self.lines[-1:]:
            self.lines.pop()

    def say(self, text: str) -> None:
        """Add a line, cut short and in printable ASCII: the input may have written part of it."""
        shown = (c if " " <= c <= "~" else ascii(c)[1:-1] for c in text[:TEXT_MAX])
        self.lines.append("".join(shown))

    def caught(self, error: Exception) -> None:
        """Add the error that stopped the verification as a finding; a sound file causes none."""
        text = str(error)
        if not isinstance(error, Bad):
            text = f"the input cannot be judged: {type(error).__name__}: {error}"
        self.find(NOT_CHECKABLE if isinstance(error, Unknown) else TAMPERED, text)


@contextlib.contextmanager
def judging() -> Iterator[Report]:
    """Yield a report; an exception in the block becomes a finding."""
    report = Report()
    try:
        yield report
    except Exception as error:  # noqa: BLE001 - see above
        report.caught(error)


def stamp(time_s: int) -> str:
    """Return a Unix time in seconds as text for people."""
    try:
        return f"{dt.datetime.fromtimestamp(time_s, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return f"second {time_s}"


# ---------------------------------------------------------------- canonical
# Canonical JSON (RFC 8785), base64, hex and decimals; each value has one valid spelling.

ZERO_HASH = bytes(32)
DIGEST = re.compile(r"[0-9a-f]{64}")
INT_MAX, DEPTH_MAX, ENTRY_MAX = 2**53 - 1, 32, 65_535
"""Limits that every log keeps: integers, nesting, bytes of a header or payload."""
DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
SIZE_MAX = 2**63 - 1


def canonical(value: object) -> bytes:
    """Return a value without floats in RFC 8785's form; the caller orders the keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(value: object) -> str:
    """Return a value as texts name it: a text as it is, "None" for null, other values as JSON."""
    if isinstance(value, str):
        return value
    return "None" if value is None else canonical(value).decode()


def parse_canonical(data: bytes, depth: int = DEPTH_MAX) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of JSON in exact canonical form, without floats or large integers."""

    def ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key.encode("utf-16-be") for key, _ in pairs]
        if any(a >= b for a, b in itertools.pairwise(keys)):
            raise Bad("keys out of order")
        return dict(pairs)

    def refuse(text: str) -> None:
        raise Bad(f"number {text}")

    def whole(text: str) -> int:
        if abs(number := int(text)) > INT_MAX:
            refuse(text)
        return number

    hooks: dict[str, Any] = {"parse_float": refuse, "parse_constant": refuse, "parse_int": whole}
    try:
        value = json.loads(data.decode(), object_pairs_hook=ordered, **hooks)
        exact = canonical(value) == data
    except (ValueError, RecursionError) as error:
        raise Bad(f"not canonical JSON: {error}") from error
    if not exact or (data.count(b"[") + data.count(b"{") > depth and _deeper(value, depth)):
        raise Bad("not canonical JSON, or nested too deep")
    return value


def _deeper(value: object, depth: int) -> bool:
    level: list[Any] = [value]
    for _ in range(depth + 1):
        nests = [item for item in level if isinstance(item, dict | list)]
        level = [x for nest in nests for x in (nest.values() if isinstance(nest, dict) else nest)]
    return bool(level)


def unbase64(text: object) -> bytes:
    """Return the bytes of base64 in its one exact encoding."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError as error:
        raise Bad("not base64") from error
    if data is None or base64.b64encode(data).decode() != text:
        raise Bad("not base64")
    return data


def unhash(text: str) -> bytes:
    """Return a SHA-256 digest written in base64."""
    digest = unbase64(text)
    if len(digest) != len(ZERO_HASH):
        raise Bad("a line is not a SHA-256 hash")
    return digest


def decimal(text: str) -> int:
    """Return a number below 2^63, written without sign or leading zeros."""
    if DECIMAL.fullmatch(text) is None or int(text) > SIZE_MAX:
        raise Bad(f"{text[:30]!r} is not a plain decimal")
    return int(text)


def unhex(digest: object) -> bytes:
    """Return a SHA-256 digest written in lower-case hex."""
    if not isinstance(digest, str) or DIGEST.fullmatch(digest) is None:
        raise Bad("not a SHA-256 in hex")
    return bytes.fromhex(digest)


# ---------------------------------------------------------------- tree
# Hashes and RFC 6962 trees: roots, inclusion and consistency.


def leaf_hash(entry: bytes) -> bytes:
    """Return the leaf hash of a tree entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node above two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A growing RFC 6962 tree in O(log n) memory."""

    def __init__(self) -> None:
        self.size = 0
        self.nodes: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Append a leaf hash."""
        self.nodes.append(leaf)
        self.size += 1
        bits = self.size
        while bits & 1 == 0:
            right = self.nodes.pop()
            self.nodes.append(node_hash(self.nodes.pop(), right))
            bits >>= 1

    def root(self) -> bytes:
        """Return the tree's root."""
        if not self.nodes:
            return hashlib.sha256(b"").digest()
        result = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            result = node_hash(node, result)
        return result


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that an inclusion path leads to; None if a length is wrong."""
    last, result = size - 1, leaf
    if {*map(len, (leaf, *path))} != {32}:  # a byte moved to the next node would hash the same
        return None
    for node in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            result = node_hash(node, result)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            result = node_hash(result, node)
        index, last = index >> 1, last >> 1
    return result if last == 0 else None


def root_up_to(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root of the tree that ends with a leaf, from its path in a larger tree.

    The nodes on the left of the path cover everything before the leaf.
    """
    last, result = size - 1, leaf
    for node in path:
        if index & 1 or index == last:
            result = node_hash(node, result)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        index, last = index >> 1, last >> 1
    return result


def extends(old: tuple[int, bytes], new: tuple[int, bytes], path: Sequence[bytes]) -> bool:
    """Return whether a consistency path proves that the tree `new` (size, root) extends `old`."""
    size, last = old[0], new[0] - 1
    if size in {0, new[0]}:
        return not path and old[1] == (new[1] if size == new[0] else Tree().root())
    index, nodes = size - 1, list(path)
    if size > new[0] or not nodes or {*map(len, (old[1], *path))} != {32}:
        return False
    if size & (size - 1) == 0:
        nodes.insert(0, old[1])
    while index & 1:
        index, last = index >> 1, last >> 1
    before = after = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if index & 1 or index == last:
            before, after = node_hash(node, before), node_hash(node, after)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            after = node_hash(after, node)
        index, last = index >> 1, last >> 1
    return last == 0 and (before, after) == (old[1], new[1])


# ---------------------------------------------------------------- note
# Verifier keys, signed notes, the text of a checkpoint, and signatures.

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


# ---------------------------------------------------------------- policy
# The witness policy (C2SP tlog-policy): logs, witnesses, groups and a quorum.


@dataclass(slots=True)
class WitnessPolicy:
    """A policy: logs, witnesses by their name in the file, groups in order, a quorum."""

    logs: list[Key] = field(default_factory=list)
    witnesses: dict[bytes, Key] = field(default_factory=dict)
    groups: dict[bytes, tuple[int, set[bytes]]] = field(default_factory=dict)
    quorum: bytes | None = None
    listed: set[tuple[bytes, bytes]] = field(default_factory=set)

    @property
    def asks(self) -> bool:
        """Return whether the policy requires any witness."""
        return self.quorum != b"none"

    def met(self, present: Iterable[bytes]) -> bool:
        """Return whether these witnesses are a quorum."""
        there = {b"none", *present}
        for name, (threshold, members) in self.groups.items():
            if len(there & members) >= threshold:
                there.add(name)
        return self.quorum in there

    def stood(self, times_s: Mapping[bytes, int]) -> int | None:
        """Return when the quorum was reached, in seconds; None if stated times do not show it."""
        for until_s in sorted(set(times_s.values()) - {0}) if self.asks else ():
            if self.met(name for name, at in times_s.items() if 0 < at <= until_s):
                return until_s
        return None

    def take(self, words: list[bytes]) -> None:
        """Take one line."""
        match words:
            case [b"log", vkey] | [b"log", vkey, _]:
                self._log(vkey)
            case [b"witness", name, vkey] | [b"witness", name, vkey, _]:
                key = read_vkey(vkey.decode())
                if key.kind == ED25519:
                    raise Bad("a witness's key has type 0x04 or 0x06")
                self._define(name)
                self._once(b"witness", key.public)
                self.witnesses[name] = key
            case [b"group", name, threshold, *members] if members:
                known = self.witnesses.keys() | self.groups.keys()
                if not known.issuperset(members):
                    raise Bad("a member is not defined above")
                for member in members:
                    self._once(b"member", member)
                self._define(name)
                self.groups[name] = (_threshold(threshold, len(members)), set(members))
            case [b"quorum", name] if self.quorum is None:
                if name not in {b"none", *self.witnesses, *self.groups}:
                    raise Bad("the quorum is not defined above")
                self.quorum = name
            case _:
                raise Bad("not a line of a policy")

    def _log(self, vkey: bytes) -> None:
        key = split_vkey(vkey.decode())
        if key.kind == COSIGNER:
            raise Bad("a log's key is of a witness's type")
        self._once(b"log", key.public)
        if key.kind in KEY_BYTES:  # another type may be listed; it never satisfies
            self.logs.append(read_vkey(vkey.decode()))

    def _once(self, sort: bytes, what: bytes) -> None:
        if (sort, what) in self.listed:
            raise Bad("a key or a member is listed twice")
        self.listed.add((sort, what))

    def _define(self, name: bytes) -> None:
        if name in {b"none", *self.witnesses, *self.groups}:
            raise Bad("a name is taken")


def _threshold(word: bytes, count: int) -> int:
    if word in {b"all", b"any"}:
        return count if word == b"all" else 1
    if re.fullmatch(rb"[1-9][0-9]{0,8}", word) is None or int(word) > count:
        raise Bad(f"a threshold is not all, any or 1 to {count}")
    return int(word)


def read_policy(data: bytes) -> WitnessPolicy:
    """Return a policy; one unreadable line refuses the file, as the rest could be weaker."""
    policy = WitnessPolicy()
    if any(c in b"\x7f" or (c < ord(" ") and c not in b"\t\n") for c in data):
        raise Bad("the policy holds a control character other than tab and newline")
    if not data.endswith(b"\n"):
        raise Bad("the policy's last line does not end")
    for number, line in enumerate(data.split(b"\n"), 1):
        words = [word for word in re.split(rb"[ \t]+", line) if word]
        if not words or words[0].startswith(b"#"):
            continue
        try:
            policy.take(words)
        except (Bad, ValueError) as error:
            raise Bad(f"the policy's line {number}: {error}") from error
    if policy.quorum is None:
        raise Bad("the policy has no quorum line")
    return policy


# ---------------------------------------------------------------- keys
# The log keys that count: those given, plus their successors, minus the revoked.

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


# ---------------------------------------------------------------- wire
# FIX messages as text: the one place that cuts one into its fields.
#
# A data field (96, 355 and the like) is read by its length, so it may hold the mark. A length
# that does not end at a mark is wrong; the value then ends at the first one. Of a tag that comes
# twice the first counts.
#
# Source: FIX 4.4 volume 1, "Embedded delimiters: the data type"; FIX 5.0 SP2, fields of type DATA.

_LENGTHS = {
    90: 91, 93: 89, 95: 96, 212: 213, 348: 349, 350: 351, 352: 353, 354: 355, 356: 357, 358: 359,
    360: 361, 362: 363, 364: 365, 445: 446, 618: 619, 621: 622, 1184: 1185, 1277: 1278, 1280: 1281,
    1282: 1283, 1397: 1398, 1401: 1402, 1403: 1404, 1468: 1469, 1525: 1527, 1578: 1579, 1620: 1621,
    1664: 1665, 1678: 1697, 1733: 1734, 1871: 1872, 1874: 1875, 2072: 2073, 2074: 2075, 2111: 2112,
    2179: 2180, 2287: 2288, 2351: 2352, 2372: 2371, 2481: 2482, 2494: 2493, 2522: 2521, 2637: 2638,
    2651: 2652, 2665: 2666, 2715: 2716, 2718: 2719, 2721: 2722, 2797: 2798, 2802: 2801, 2809: 2808,
    2815: 2814,
}  # fmt: skip
DATA_FIELDS: Mapping[str, str] = {str(count): str(data) for count, data in _LENGTHS.items()}
"""Length field to its data field; the length counts bytes."""
_BEFORE_EXEC_TYPE = frozenset({"FIX.4.0", "FIX.4.1", "FIX.4.2"})
_TRANS_TYPES = {"1": "H", "2": "G", "3": "I"}
"""ExecTransType (20) as the ExecType (150) that FIX 4.3 put in its place; 0 is new."""
_LENGTH = re.compile(r"[0-9]{1,7}", re.ASCII)


def wire_fields(text: str, mark: str = "\x01") -> dict[str, str]:
    """Return a message's fields by tag."""
    return first_of_each(wire_pairs(text, mark))


def first_of_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the first value of each tag."""
    fields: dict[str, str] = {}
    for tag, value in pairs:
        fields.setdefault(tag, value)
    return fields


def wire_pairs(text: str, mark: str = "\x01") -> list[tuple[str, str]]:
    """Return a message's fields in their order."""
    pairs: list[tuple[str, str]] = []
    data_tag, length, place = "", 0, 0
    while place <= len(text):
        end = text.find(mark, place)
        end = len(text) if end < 0 else end
        cut = text.find("=", place, end)
        tag, begin = (text[place:cut], cut + 1) if cut >= 0 else ("", place)
        if tag and tag == data_tag and text[begin + length : begin + length + 1] == mark:
            end = max(end, begin + length)
        value = text[begin:end]
        data_tag = DATA_FIELDS.get(tag, "") if _LENGTH.fullmatch(value) else ""
        length = int(value) if data_tag else 0
        if tag:
            pairs.append((tag, value))
        place = end + 1
    return pairs


def exec_type_of(fields: Mapping[str, str]) -> str:
    """Return what a report tells: ExecType (150), which FIX 4.2 says in ExecTransType (20)."""
    if fields.get("8") in _BEFORE_EXEC_TYPE and fields.get("20") in _TRANS_TYPES:
        return _TRANS_TYPES[fields["20"]]
    return fields.get("150", "")


# ---------------------------------------------------------------- brokerfile
# The broker's own fill file: CSV with a header, or a FIX log with ExecutionReports (35=8).

SCALE = 18
"""Decimals that a number of a broker's file may have; amounts are integers of 10**-18."""
_NUMBER = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]{1,18}))?", re.ASCII)
_NEXT_MESSAGE = re.compile(r"(?<=[\x01|]10=[0-9]{3}[\x01|])(?=8=FIX)")
_DAY = re.compile(r"[12][0-9]{7}", re.ASCII)
_COLUMNS = {  # our name: the FIX name that a header may have instead
    "cl_ord_id": "clordid",
    "exec_id": "execid",
    "instrument": "symbol",
    "side": "side",
    "quantity": "lastqty",
    "price": "lastpx",
    "account": "account",
    "time": "transacttime",
    "exec_type": "exectype",
    "exec_ref_id": "execrefid",
    "orig_cl_ord_id": "origclordid",
    "fee": "commission",
    "currency": "currency",
}
_NEEDED = ("cl_ord_id", "exec_id", "instrument", "side", "quantity", "price")
_TAGS = {  # of an ExecutionReport, FIX 4.2 to 5.0
    "cl_ord_id": 11,
    "exec_id": 17,
    "instrument": 55,
    "side": 54,
    "quantity": 32,
    "price": 31,
    "account": 1,
    "time": 60,
    "exec_type": 150,
    "exec_ref_id": 19,
    "orig_cl_ord_id": 41,
    "fee": 12,
    "currency": 15,
}
_SIDES = {"1": "BUY", "B": "BUY", "BUY": "BUY", "2": "SELL", "S": "SELL", "SELL": "SELL"}
_SIDES |= {"5": "SELL", "6": "SELL"}  # sell short, sell short exempt
TRADE, BUST, CORRECTION, OTHER = "trade", "bust", "correction", ""
_TYPES = {"": TRADE, "F": TRADE, "1": TRADE, "2": TRADE, "TRADE": TRADE}
_TYPES |= {"H": BUST, "BUST": BUST, "CANCEL": BUST, "G": CORRECTION, "CORRECT": CORRECTION}


class BrokerFill(NamedTuple):
    """One trade as the broker tells it; amounts are integers of 10**-18, day is YYYYMMDD or ""."""

    line: int
    cl_ord_id: str
    orig_cl_ord_id: str
    exec_id: str
    exec_ref_id: str
    event: str
    instrument: str
    side: str
    quantity: int
    price: int
    account: str
    day: str
    time: str
    fee: int | None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFile:
    """What brokers' files tell, and which trades of the ledger they must have.

    Attributes:
        names: of the files, for people.
        fills: trades that stand, after busts and corrections, each with its names (ExecIDs).
        first_day: YYYYMMDD from which on every trade of the ledger must be in it; "" is every day.
        last_day: YYYYMMDD up to which, inclusive.
        accounts: the only accounts whose trades must be in it; empty means all.
    """

    names: Sequence[str] = ()
    fills: Sequence[tuple[BrokerFill, Sequence[str]]] = ()
    first_day: str = ""
    last_day: str = ""
    accounts: Sequence[str] = ()

    def covers(self, day: str, account: str) -> bool:
        """Return whether a trade of this day and account must be in the file."""
        inside = (not self.first_day or self.first_day <= day) and (
            not self.last_day or day <= self.last_day
        )
        return inside and (not self.accounts or account in self.accounts)


@dataclass(slots=True)
class _Net:
    """The trades of files that stand after busts and corrections."""

    fills: dict[tuple[str, ...], tuple[BrokerFill, list[str]]] = field(default_factory=dict)
    seen: dict[tuple[str, ...], list[BrokerFill]] = field(default_factory=dict)
    alias: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def take(self, name: str, fill: BrokerFill, *, again: bool) -> None:
        """Take one line; a FIX log may have the same report `again`.

        A broker that gives two trades one ExecID has traded twice.
        """
        where = f"{name} line {fill.line}"
        key = (fill.orig_cl_ord_id or fill.cl_ord_id, fill.exec_id)
        before = self.seen.setdefault((*key, fill.event), [])
        same = [
            one for one in before if one._replace(line=0, time="") == fill._replace(line=0, time="")
        ]
        if again and same:
            return
        if same or (before and fill.event != TRADE):
            raise Bad(f"{where}: ExecID {fill.exec_id} of line {before[0].line} again")
        before.append(fill)
        if fill.event == TRADE:
            place = key if len(before) == 1 else (*key, str(len(before)))
            self.fills[place] = (fill, [fill.exec_id])
            self.alias.setdefault(key, key)
            return
        first = self.alias.get((key[0], fill.exec_ref_id), (key[0], fill.exec_ref_id))
        if fill.event == CORRECTION:
            names = [*self.fills.get(first, (fill, [fill.exec_ref_id]))[1], fill.exec_id]
            self.fills[first] = (fill, names)
            self.alias[key] = first
        else:  # a trade of an earlier file may be busted in this one
            self.fills.pop(first, None)


def read_broker_files(
    files: Sequence[tuple[str, bytes]],
    first_day: str = "",
    last_day: str = "",
    accounts: Sequence[str] = (),
) -> BrokerFile:
    """Return what files (name and content) tell; Bad names the line that cannot be read.

    Without days given, they are those of the first and the last message or line with a time.
    """
    net, days = _Net(), set[str]()
    for name, data in files:
        is_log = b"8=FIX" in data
        for day, fill in _fix_lines(name, data) if is_log else _csv_lines(name, data):
            days |= {day} - {""}
            if fill is not None:
                net.take(name, fill, again=is_log)
    for given in (first_day, last_day):
        if given and not _DAY.fullmatch(given):
            raise Bad(f"{given} is not a day: write YYYYMMDD")
    if not net.fills and not days and not (first_day and last_day):
        raise Bad("the broker's file has no fill and no day: name the days that it covers")
    return BrokerFile(
        names=[name for name, _ in files],
        fills=list(net.fills.values()),
        first_day=first_day or min(days, default=""),
        last_day=last_day or max(days, default=""),
        accounts=accounts,
    )


def _csv_lines(name: str, data: bytes) -> Iterator[tuple[str, BrokerFill | None]]:
    try:
        text = data.decode("utf-8-sig")
    except ValueError as error:
        raise Bad(f"{name} is not UTF-8") from error
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in first else ",")
    try:
        header = [_column(cell) for cell in next(rows, [])]
        missing = [column for column in _NEEDED if column not in header]
        if missing or len({c for c in header if c}) < len([c for c in header if c]):
            raise Bad(
                f"{name} line 1: the header lacks {', '.join(missing)}"
                if missing
                else f"{name} line 1: a column stands twice in the header"
            )
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise Bad(f"{name} line {rows.line_num}: {len(row)} cells, not {len(header)}")
            cells = {c: cell.strip() for c, cell in zip(header, row, strict=True) if c}
            fill = _fill_of(f"{name} line {rows.line_num}", rows.line_num, cells)
            yield fill.day, fill if fill.event else None
    except csv.Error as error:
        raise Bad(f"{name} line {rows.line_num}: {error}") from error


def _column(cell: str) -> str:
    """Return our name of a header's cell, or "" for a column that nobody reads."""
    plain = re.sub(r"[^a-z]", "", cell.lower())
    found = (ours for ours, fix in _COLUMNS.items() if plain in {ours.replace("_", ""), fix})
    return next(found, "")


def _fix_lines(name: str, data: bytes) -> Iterator[tuple[str, BrokerFill | None]]:
    for number, line in enumerate(data.decode("latin-1").replace("^A", "\x01").split("\n"), 1):
        for text in _NEXT_MESSAGE.split(line):
            fields = _fields_of(text)
            day = _day(fields.get("52", ""))
            event = exec_type_of(fields) or "-"
            if fields.get("35") != "8" or event not in _TYPES:
                yield day, None
                continue
            cells = {column: fields.get(str(tag), "") for column, tag in _TAGS.items()}
            fill = _fill_of(f"{name} line {number}", number, {**cells, "exec_type": event})
            yield day, fill
            if fields.get("43") != "Y":  # a report sent again may be of any day
                yield fill.day, None


def _fields_of(text: str) -> dict[str, str]:
    """Return a FIX message's fields; some logs write | for the delimiter."""
    start = text.find("8=FIX")
    return (
        wire_fields(text[start:].strip(), "\x01" if "\x01" in text else "|") if start >= 0 else {}
    )


def _fill_of(where: str, line: int, cells: Mapping[str, str]) -> BrokerFill:
    """Return one line's fill; a line of another type has the event OTHER."""
    event = _TYPES.get(cells.get("exec_type", "").upper(), OTHER)
    side = _SIDES.get(cells["side"].upper())
    if event and side is None:
        raise Bad(f"{where}: side {cells['side']!r} is neither BUY nor SELL")
    for column in ("exec_id", "instrument") if event else ():
        if not cells[column]:
            raise Bad(f"{where}: {column} is empty")
    if event in {BUST, CORRECTION} and not cells.get("exec_ref_id"):
        raise Bad(f"{where}: a {event} without exec_ref_id, the ExecID of its trade")
    quantity = _number(where, "quantity", cells["quantity"] or "0")
    if event in {TRADE, CORRECTION} and quantity <= 0:
        raise Bad(f"{where}: the quantity of a trade must be positive")
    fee = cells.get("fee", "")
    return BrokerFill(
        line=line,
        cl_ord_id=cells["cl_ord_id"],
        orig_cl_ord_id=cells.get("orig_cl_ord_id", ""),
        exec_id=cells["exec_id"],
        exec_ref_id=cells.get("exec_ref_id", ""),
        event=event,
        instrument=cells["instrument"],
        side=side or "",
        quantity=quantity,
        price=_number(where, "price", cells["price"] or "0"),
        account=cells.get("account", ""),
        day=_day(cells.get("time", "")),
        time=cells.get("time", ""),
        fee=_number(where, "fee", fee) if fee else None,
        currency=cells.get("currency", ""),
    )


def _day(text: str) -> str:
    """Return the day of a FIX or ISO time as YYYYMMDD, or "" if there is none."""
    found = _DAY.match(re.sub(r"[^0-9]", "", text[:10]))
    return found.group() if found else ""


def units_of(text: str) -> int | None:
    """Return decimal text as an integer of 10**-18, or None if it is none."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, part = found.groups()
    return int(f"{sign}{whole}{(part or '').ljust(SCALE, '0')}")


def _number(where: str, column: str, text: str) -> int:
    value = units_of(text)
    if value is None:
        raise Bad(f"{where}: {column} {text[:24]!r} is not a decimal number")
    return value


def decimal_of(units: int, digits: int = SCALE) -> str:
    """Return an integer of 10**-digits as decimal text for people."""
    whole, part = divmod(abs(units), 10**digits)
    sign, fraction = "-" if units < 0 else "", f"{part:0{digits}d}".rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def moment_of(time: str) -> str:
    """Return a FIX or ISO time in the form of `stamp`, or "" if it names no second."""
    at = re.sub(r"[^0-9]", "", time)[:14]
    if len(at) < 14:  # noqa: PLR2004 - YYYYMMDDHHMMSS
        return ""
    return f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:]}Z"


# ---------------------------------------------------------------- officers
# The officers' public keys, as an outsider brings them.

OFFICERS = ("compliance", "risk")
"""The roles that sign together."""
_OFFICER = re.compile(
    r"countersign-officer-public (compliance|risk) [a-z][a-z0-9-]{1,31} ([0-9a-f]{64})", re.ASCII
)


def read_officers(texts: Iterable[tuple[str, str]]) -> dict[str, bytes]:
    """Return the raw public key of each role from files (name and text), or {} without files.

    Raises:
        Bad: a file is no officer's public key, a role comes twice, or one is missing.
    """
    found: dict[str, bytes] = {}
    for name, text in texts:
        key = _OFFICER.fullmatch(" ".join(text.split()))
        if key is None:
            raise Bad(f"{name}: `countersign officer-key --from` writes an officer's .pub file")
        if key[1] in found:
            raise Bad(f"{name}: the key of the role {key[1]} is given twice")
        found[key[1]] = bytes.fromhex(key[2])
    lacking = [role for role in OFFICERS if role not in found]
    if found and lacking:
        raise Bad(f"give the key of the role {lacking[0]} too: two officers sign together")
    return found


def both_signed(statement: bytes, signatures: object, keys: Mapping[str, bytes]) -> bool:
    """Return whether both officers signed; `signatures` is hex by role, of any shape."""
    given: Mapping[str, Any] = signatures if isinstance(signatures, dict) else {}
    return all(one_signed(statement, given.get(role), keys.get(role, b"")) for role in OFFICERS)


def one_signed(statement: bytes, signature: object, key: bytes) -> bool:
    """Return whether a key signed a statement; the signature is hex, of any shape."""
    if not isinstance(signature, str):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(signature), statement)
    except (ValueError, InvalidSignature):
        return False
    return True


# ---------------------------------------------------------------- checkpoint
# The judgement of one checkpoint: signers, quorum, and checkpoints kept outside.


class Link(NamedTuple):
    """A consistency proof from an old size to a checkpoint."""

    old_size: int
    path: tuple[bytes, ...]
    note: bytes


def read_link(data: bytes) -> Link:
    """Return a consistency proof, read from C2SP tlog-witness's add-checkpoint form."""
    block, _, note = data.partition(b"\n\n")
    try:
        first, *lines = block.decode().split("\n")
    except ValueError as error:
        raise Bad("the consistency proof is not UTF-8") from error
    if not first.startswith("old ") or len(lines) > 63 or not note:  # noqa: PLR2004 - the spec's
        raise Bad("the consistency proof is malformed")
    return Link(decimal(first.removeprefix("old ")), tuple(map(unhash, lines)), note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Everything from outside the judged file.

    Attributes:
        vkeys: trusted log keys.
        policy: a C2SP tlog-policy.
        notes: checkpoints kept outside, which the log must contain.
        links: consistency proofs between checkpoints.
        rotations: changes of keys, as signed notes.
        disclosures: disclosed personal values.
        fills: the broker's own fill files.
        officers: raw public keys of both officers by role, or none.
    """

    vkeys: Sequence[str] = ()
    policy: bytes | None = None
    notes: Sequence[bytes] = ()
    links: Sequence[bytes] = ()
    rotations: Sequence[str] = ()
    disclosures: Sequence[bytes] = ()
    fills: BrokerFile | None = None
    officers: Mapping[str, bytes] = field(default_factory=dict)

    def check(self) -> None:
        """Raise Bad for unreadable input, which must not look like a finding about the file."""
        try:
            Trust(self.vkeys, self.policy)
            for note in (*self.notes, *(read_link(link).note for link in self.links)):
                read_head(read_note(note).text)
            for statement in self.rotations:
                read_note(statement.encode())
        except (Bad, ValueError) as error:
            raise Bad(f"something given from outside cannot be read: {error}") from error


def judge_head(report: Report, trust: Trust, note: bytes, outside: Outside) -> Head:
    """Return the checkpoint of a proof after judging signers, cosigners and kept checkpoints.

    Raises:
        Bad: it is malformed, or the line of a trusted key does not verify.
    """
    origin = read_head(read_note(note).text).origin
    if not trust.give(report, outside.rotations, origin):
        raise Unknown("nothing is said about the file: what was given cannot be read")
    trust.settle(report)
    seen = trust.open(note)
    public = _joined(report, trust, seen, outside)
    if not trust.keys:
        report.find(NOT_CHECKABLE, "no trusted key given: nothing says who signed this")
    elif not seen.signers:
        report.find(TAMPERED, "signed by no trusted key" + CHANGED)
    else:
        made_us = trust.made_us(public)
        why = trust.counts(seen.signers, seen.head.size, made_us)
        if why == "replaced":
            report.find(TAMPERED, "signed only by a key that had been replaced")
        elif why and all(trust.counts(one.signers, one.head.size, made_us) for one in public):
            report.find(NOT_CHECKABLE, f"signed only by a key that is revoked: {NO_TIME}")
    judge_quorum(report, trust, public)
    return seen.head


def _keeps(report: Report, trust: Trust, kept: SeenCheckpoint, seen: SeenCheckpoint) -> bool:
    """Return whether a kept checkpoint may be compared; if not, it is a finding."""
    if trust.keys and not kept.signers:
        text = f"the kept checkpoint of {kept.head.size} is signed by no trusted key"
    elif kept.head.origin != seen.head.origin:
        text = f"the kept checkpoint is of the log {kept.head.origin}, not {seen.head.origin}"
    elif kept.head.size == seen.head.size and kept.head.root != seen.head.root:
        text = f"the kept checkpoint of {kept.head.size} has another root: the log forked"
    else:
        return True
    report.find(TAMPERED, text)
    return False


def _joined(
    report: Report, trust: Trust, seen: SeenCheckpoint, outside: Outside
) -> list[SeenCheckpoint]:
    """Return the equal or later checkpoints of this log that are proven to contain this tree.

    Two trees that extend the same older one can be a fork. So a later tree counts only if proofs
    lead from this tree to it; a tree older than such a one agrees with this tree as well.
    """
    kept = [one for one in map(trust.open, outside.notes) if _keeps(report, trust, one, seen)]
    links = [(link, trust.open(link.note)) for link in map(read_link, outside.links)]
    there = [seen, *kept, *(new for _, new in links if new.signers or not trust.keys)]
    steps = [step for link, new in links for step in _step(report, trust, link, new, there)]
    after, agreeing = {seen.head}, {seen.head}
    for _ in steps:
        after |= {new for old, new in steps if old in after}
    agreeing |= after
    for _ in steps:
        agreeing |= {old for old, new in steps if new in agreeing}
    for old, new in steps:
        text = f"the tree of {new.size} extends that of {old.size}"
        if new in agreeing:
            report.say(text)
        else:
            report.find(NOT_CHECKABLE, f"{text}, which nothing joins to that of {seen.head.size}")
    for one in kept:
        if one.head not in agreeing:
            text = f"the kept checkpoint of {one.head.size} is not comparable with that of"
            text += f" {seen.head.size} here: give a consistency proof, or judge a dump"
            report.find(NOT_CHECKABLE, text)
    return [one for one in there if one.head in agreeing and one.head.size >= seen.head.size]


def _step(
    report: Report, trust: Trust, link: Link, new: SeenCheckpoint, there: Sequence[SeenCheckpoint]
) -> list[tuple[Head, Head]]:
    """Return the checkpoints that one consistency proof leads from and to; none if it fails."""
    same_log = [one.head for one in there if one.head.origin == new.head.origin]
    old = next((head for head in same_log if head.size == link.old_size), None)
    forked = any(head.size == new.head.size and head != new.head for head in same_log)
    if trust.keys and not new.signers:
        report.find(TAMPERED, "the consistency proof's checkpoint is signed by no trusted key")
    elif old is None:
        report.find(NOT_CHECKABLE, f"no checkpoint of {link.old_size} is here to be extended")
    elif forked or not extends(old[1:], new.head[1:], link.path):
        text = f"the tree of {new.head.size} does not extend that of {link.old_size}"
        report.find(TAMPERED, f"{text}: the log forked")
    else:
        return [(old, new.head)]
    return []


def judge_quorum(report: Report, trust: Trust, seen: Sequence[SeenCheckpoint]) -> None:
    """Report whether the policy's quorum of witnesses cosigned a checkpoint."""
    policy = trust.policy
    if policy is None or not policy.asks:
        report.say("no witness policy given: that others saw this checkpoint is not shown")
        return
    there = {name: time_s for one in seen for name, time_s in one.cosigners.items()}
    shown = [f"{name.decode(errors='replace')} at {stamp(at)}" for name, at in there.items()]
    who = ", ".join(shown) or "nobody that the policy names"
    if trust.met(seen):
        report.say(f"quorum met: cosigned by {who}")
    elif any(policy.met([*one.cosigners, *one.unread]) for one in seen):
        text = "the quorum needs ML-DSA-44 cosignatures, which this cryptography cannot verify"
        report.find(NOT_CHECKABLE, text)
    else:
        report.find(INCOMPLETE, f"the policy's quorum is not met: cosigned by {who}")


# ---------------------------------------------------------------- kinds
# The kinds of version 1 that this file interprets; of others it verifies the bytes only.
#
# Written by `make verifier` from the table of kinds; do not edit.

_KINDS = """
intent_received forecast_taken gjr_made quote_taken intent_proposed placebo_judged gjr_judged
decision_sealed operator_note snapshot_taken forecast_sealed forecast_listed mode_chosen
forecast_requested rounds_captured tokens_drawn news_twin_made paths_joined forecast_failed
placebo_made forecast_made order_sending order_sent order_refused order_unknown order_withdrawn
order_reported order_ended cancel_requested cancel_ended replace_requested replace_sent
replace_ended verdict_given approval_requested approval_resumed approval_given approval_refused
reservation_released fix_inbound fix_anomaly session_event foreign_reported processes_agreed
policy_announced feed_condition run_finished run_started instrument_listed engine_event
witness_event policy_activated model_loaded mark_taken ledger_restored book_difference
difference_resolved book_adjusted kill_drilled kill_pressed kill_outcome kill_released cancel_sent
mode_entered digests_registered promotion_tested model_promoted stop_begun stop_ended
cancel_all_asked flatten_asked cancel_all_outcome read_recorded access_refused receipt_key
agent_scoped alarm_lost review_drawn review_answered override_granted override_ended
decision_annotated forecast_scored sampler_checked policy_tried case_opened case_noted case_moved
swaps_tested justification_entered justification_ended publication_noted publication_ended
fairness_tested fairness_agreed order_allocated basket_received basket_decided rows_accepted
key_rotated key_revoked key_destroyed officer_key_changed record_disavowed stream_heads hold_placed
hold_lifted retention_expired subject_erased personal_disclosed clock_observed
"""
KNOWN_KINDS = dict.fromkeys(_KINDS.split(), 1)
"""The kinds with their version."""


# ---------------------------------------------------------------- records
# Records: headers, payloads, places in the tree, streams, stream-head maps, disclosed values.

_STRINGS = ("actor", "idem_key", "kind", "log", "payload_sha256", "prev", "stream")
NUMBERS = ("seq", "stream_seq", "version", "recorded_at_us")
HEADER_FIELDS: dict[str, type] = dict.fromkeys(_STRINGS, str) | {"commitments": list}
HEADER_FIELDS |= dict.fromkeys(NUMBERS, int)
HEADER_FIELDS = dict(sorted(HEADER_FIELDS.items()))
COLUMNS = ("seq", "stream", "stream_seq", "kind", "version", "recorded_at_us", "actor", "idem_key")
KIND = re.compile(r"[a-z_]{1,64}")
IDENTITIES = dict.fromkeys(("cl_ord_id", "decision_id", "exec_id", "orig_cl_ord_id"), True)
IDENTITIES |= dict.fromkeys(("basket_id", "override_id"), False)
"""Fields that name something, in order, with whether null is allowed for none."""
MAP_BROKEN = "the parts of a stream-head map do not follow each other, without a record between"
Header = Mapping[str, Any]


def read_header(header: bytes) -> dict[str, Any]:
    """Return a record's header: canonical JSON of exactly its fields and types."""
    head = parse_canonical(header)
    if not isinstance(head, dict) or tuple(head) != tuple(HEADER_FIELDS):
        raise Bad("the header has another shape")
    if any(type(head[name]) is not wanted for name, wanted in HEADER_FIELDS.items()):
        raise Bad("a field of the header has another type")
    if KIND.fullmatch(head["kind"]) is None:
        raise Bad("the kind has another shape")
    if len(header) > ENTRY_MAX or min(head[name] for name in NUMBERS) < 0:
        raise Bad("the header is too long, or a number in it is negative")
    if min(head["stream"], default="") < " ":
        raise Bad("the stream has no name")
    for digest in (head["prev"], head["payload_sha256"], *head["commitments"]):
        unhex(digest)
    return head


def known(head: Mapping[str, Any]) -> bool:
    """Return whether this file interprets records of this kind and version."""
    return bool(KNOWN_KINDS.get(head["kind"]) == head["version"])


def read_record(header: bytes, payload: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's header and payload; the header must name the payload's hash."""
    head, body = read_header(header), parse_canonical(payload)
    if not isinstance(body, dict) or len(payload) > ENTRY_MAX:
        raise Bad("the payload has another shape, or is too long")
    if head["kind"] == "stream_heads" and known(head):
        _check_map(body)
    if known(head):
        _check_names(body)
    if hashlib.sha256(payload).hexdigest() != head["payload_sha256"]:
        raise Bad("the payload is not the one that the header names")
    return head, body


def _check_names(body: Mapping[str, Any]) -> None:
    """Refuse an identity that is not a text: other records could not name it."""
    for name, may_lack in IDENTITIES.items():
        value = body.get(name, "")
        if not isinstance(value, str) and not (may_lack and value is None):
            raise Bad(f"its {name} is not a text")


def _check_map(body: Mapping[str, Any]) -> None:
    part, parts, heads = (body.get(name) for name in ("part", "parts", "heads"))
    if type(part) is not int or type(parts) is not int or not 0 <= part < parts:
        raise Bad("the stream-head map counts its parts in another way")
    if not isinstance(heads, list) or not all(
        isinstance(row, list) and list(map(type, row)) == [str, int, str] for row in heads
    ):
        raise Bad("the stream-head map has another shape")


def blobs_of(value: object) -> Iterator[str]:
    """Yield the digests of `*_blob` fields at any depth; anything else in them is refused."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key, below in item.items():
                if not key.endswith("_blob"):
                    waiting.append(below)
                elif below is not None:
                    yield unhex(below).hex()
        elif isinstance(item, list):
            waiting.extend(item)


class Disclosed:
    """Disclosed personal values, compared with the commitments of the records."""

    def __init__(self, disclosures: Iterable[bytes]) -> None:
        """Take disclosures: base64url of `[salt, path, value]`; a commitment is their SHA-256."""
        self._open: dict[str, str | None] = {}
        for data in disclosures:
            text = data.removesuffix(b"\n")
            self._open[hashlib.sha256(text).hexdigest()] = _path_of(text)

    def see(self, report: Report, head: Mapping[str, Any]) -> None:
        """Look for disclosed values among a verified record's commitments."""
        for digest in head["commitments"] if self._open else ():
            if digest in self._open:
                path = self._open.pop(digest)
                if path is None:
                    report.find(TAMPERED, "commits to what is no disclosure", head["seq"])
                else:
                    report.say(f"record {head['seq']} commits to the disclosed value of {path}")

    def finish(self, report: Report) -> None:
        """Report the disclosures that no record commits to."""
        for path in self._open.values():
            text = f"no record here commits to the disclosed value of {path or 'nothing known'}"
            report.find(TAMPERED, text)


def _path_of(text: bytes) -> str | None:
    """Return the path that a disclosure states; None if it is malformed."""
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        parts = parse_canonical(data)
    except (ValueError, Bad):
        return None
    exact = base64.urlsafe_b64encode(data).rstrip(b"=") == text
    right = isinstance(parts, list) and [type(part) for part in parts] == [str, str, str]
    return parts[1] if exact and right else None


class Streams:
    """The end of every stream; records must be dense, chained by `prev`, with unique keys."""

    def __init__(self) -> None:
        self.heads: dict[str, tuple[int, bytes, int]] = {}
        self.keys: set[bytes] = set()

    def follow(self, report: Report, head: Mapping[str, Any], leaf: bytes) -> None:
        """Compare a record with the last one of its stream."""
        number, before, last = self.heads.get(head["stream"], (-1, ZERO_HASH, -1))
        if head["stream_seq"] != number + 1:
            code = INCOMPLETE if head["stream_seq"] > number else TAMPERED
            text = f"{head['stream']} goes from {number} to {head['stream_seq']}"
            report.find(code, text, head["seq"])
        elif head["prev"] != before.hex():
            text = f"is not the record that record {head['seq']} follows: one of them was altered"
            report.find(TAMPERED, text, max(last, 0))
        name = f"{head['stream']}\0{head['idem_key']}".encode()
        key = hashlib.sha256(name).digest()[:16]
        if key in self.keys:
            text = f"{head['stream']} has the idempotency key {head['idem_key']} twice"
            report.find(TAMPERED, text, head["seq"])
        self.keys.add(key)
        self.heads[head["stream"]] = (head["stream_seq"], leaf, head["seq"])


def follow_keys(trust: Trust, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Apply a record that changes the log's keys; its statement is signed by itself."""
    if known(head) and head["kind"] in {"key_rotated", "key_revoked"}:
        trust.follow(body.get("statement"), head["log"])


def unread_of(heads: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, int]]:
    """Return how many records have each unknown kind and version."""
    return Counter((head["kind"], head["version"]) for head in heads if not known(head))


def judge_place(
    report: Report, head: Mapping[str, Any], leaf: bytes, path: Sequence[bytes], signed: Head
) -> None:
    """Check that a record sits where it says in the signed tree of its own log."""
    index, size = head["seq"], signed.size
    if not 0 <= index < size or root_by_path(leaf, index, size, path) != signed.root:
        report.find(TAMPERED, "is not in the signed tree", index)
    if head["log"] != signed.origin:
        report.find(TAMPERED, "is of another log", index)


def judge_end(report: Report, row: Sequence[Any], number: int, leaf: bytes) -> None:
    """Compare the end of a stream here with its row of a stream-head map."""
    if list(row[1:]) != [number, leaf.hex()]:
        text = f"{row[0]} ends at {row[1]} in the signed map, at {number} here"
        report.find(INCOMPLETE if row[1] > number else TAMPERED, text)


def judge_seal(
    report: Report, stream: str, heads: Sequence[Mapping[str, Any]], kind: str = "decision_sealed"
) -> None:
    """Require the record that ends a decision, or an attempt at a forecast."""
    seals = [head for head in heads if head["kind"] == kind]
    if any(known(head) for head in seals):
        return
    if seals:
        report.find(NOT_CHECKABLE, "the seal is of an unknown version", seals[0]["seq"])
    else:
        report.find(INCOMPLETE, f"{stream} is not sealed")


def next_part(awaited: list[int], body: Mapping[str, Any], seq: int) -> tuple[bool, list[int]]:
    """Return whether a part of a map is in its place, and what must come next."""
    part, parts = body["part"], body["parts"]
    joins = (awaited or [seq, 0, parts]) == [seq, part, parts]
    return joins, [] if part + 1 == parts else [seq + 1, part + 1, parts]


def judge_map(
    report: Report,
    shown: Sequence[tuple[Header, Header]],
    signed_size: int,
    others: Iterable[Header],
) -> None:
    """Require all parts of each map, one after the other, in the signed tree.

    A map says where streams ended before its first part. A record between two parts would be in no
    map, so a part that is not shown could be a hidden record of the stream. `shown` has the
    header and payload of each part in the order listed, `others` the other records' headers.
    """
    maps: dict[tuple[int, int], list[int]] = {}
    for head, body in shown:
        maps.setdefault((head["seq"] - body["part"], body["parts"]), []).append(head["seq"])
    beside, at, behind = sorted(head["seq"] for head in others), 0, 0
    for (first, parts), seqs in maps.items():
        if first < 0 or first + parts > signed_size:
            report.find(TAMPERED, "a stream-head map has not all its parts in the signed tree")
        there = set(seqs)
        if first < behind or seqs != sorted(there):
            report.find(TAMPERED, MAP_BROKEN, first)
        behind = first + parts
        while at < len(beside) and beside[at] < first:  # maps that go back are broken anyway
            at += 1
        if at < len(beside) and beside[at] < behind:
            report.find(TAMPERED, MAP_BROKEN, beside[at])
        if len(seqs) < parts:
            missing = next(n for n in itertools.count() if first + n not in there)
            text = f"part {missing} of a stream-head map of {parts} parts is not shown"
            report.find(INCOMPLETE, f"{text}: a record may be hidden in its place", first + missing)


def say_unread(report: Report, unread: Mapping[tuple[str, int], int]) -> None:
    """Report the records of which only the bytes were verified; an unread map is a finding."""
    for (kind, version), count in sorted(unread.items()):
        text = f"{kind} version {version} is not known here"
        if kind == "stream_heads" and version == 0:
            text = "a stream-head map of an unknown version: where streams end cannot be seen"
            report.find(NOT_CHECKABLE, text)
        else:
            report.say(f"{text}: of {count} records only the bytes were verified")


# ---------------------------------------------------------------- seeds
# The seeds of forecasts: which root of the log they must come from.

SEED_RULE, LEDGER_WIDE = 3, "control"
"""Rule 3: a seed's root is that of the largest checkpoint before the record that opened the first
attempt at its forecast, for every attempt; its label is the digest of the prompt's token ids.

Every checkpoint ends with a stream-head map, a record of the dense and chained stream `control`. So
the log itself shows that no checkpoint stood between the named one and the opening record.
"""
_SALT, _TRAJECTORY = b"countersign/decision-seed/v1", b"countersign/trajectory/v1"
UNOPENED = "the first attempt at its forecast is not shown"
ENGINE, DIRECT = "engine", "direct"
"""Who draws a forecast: the engine from one seed a path, or one stream of draws for all paths."""
_PATHS_MAX = 1 << 16
_ATTEMPT = re.compile(r"forecast/([A-Z2-7]{26})\.(0|[1-9][0-9]{0,8})")


def attempt_in(stream: str) -> tuple[str, int] | None:
    """Return the forecast and the attempt that a stream is named by; None for other streams."""
    found = _ATTEMPT.fullmatch(stream)
    return None if found is None else (found[1], int(found[2]))


def seed_of(root: bytes, prompt_ids: object, attempt: int) -> bytes:
    """Return the seed of an attempt at a forecast.

    Its label is the digest of the prompt's token ids, in hex.
    """
    key = hmac.digest(_SALT, root, "sha256")
    label = hashlib.sha256(canonical(prompt_ids)).hexdigest()
    info = label.encode() + b"\0" + attempt.to_bytes(4, "big")
    return hmac.digest(key, info + b"\1", "sha256")


def seeds_of(root: bytes, prompt_ids: object, attempt: int, n: int) -> list[str]:
    """Return the seeds of an attempt's trajectories in the form that records have."""
    seed = seed_of(root, prompt_ids, attempt)
    drawn = (hmac.digest(seed, _TRAJECTORY + i.to_bytes(4, "big"), "sha256") for i in range(n))
    return [str(int.from_bytes(one[:8], "big") >> 1) for one in drawn]


def judge_rule(report: Report, head: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Return whether a request's seeds follow rule 3; a later rule is not known here."""
    rule = body.get("seed_rule")
    if type(rule) is int and rule > SEED_RULE:
        report.find(NOT_CHECKABLE, f"its seed follows rule {rule}, not known here", head["seq"])
    elif type(rule) is not int or rule < SEED_RULE:
        report.find(TAMPERED, f"its seed does not follow rule {SEED_RULE}", head["seq"])
    return type(rule) is int and rule == SEED_RULE


def judge_seed(
    report: Report,
    head: Mapping[str, Any],
    body: Mapping[str, Any],
    opened: int,
    attempt: tuple[str, int],
) -> bool:
    """Return whether the seeds follow from the named root and it is not a later one.

    The paths of a direct forecast have none: its capture's record has the seed of its draws.
    """
    seq, root, paths = head["seq"], unhex(body.get("seed_root")), body.get("paths")
    size, digest = body.get("seed_size"), ""
    if type(size) is not int or type(paths) is not int or not 0 < paths <= _PATHS_MAX:
        raise Bad("a request for a forecast says nothing of its seeds")
    if body.get("sampler") != DIRECT:
        seeds = seeds_of(root, body.get("prompt_ids"), attempt[1], paths)
        digest = hashlib.sha256(canonical(seeds)).hexdigest()
    if not 0 < size <= opened:
        report.find(TAMPERED, "its seed comes from a later root", seq)
    elif body.get("seeds_digest") != digest:
        report.find(TAMPERED, "its seeds do not follow from its root", seq)
    else:
        return True
    return False


class Seeds:
    """The seeds of a whole log, judged record by record; memory grows with forecasts."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[int, int]] = {}

    def see(
        self,
        report: Report,
        head: Mapping[str, Any],
        body: Mapping[str, Any],
        mapped: int,
        roots: Mapping[int, bytes],
    ) -> None:
        """Judge a record; `mapped` is the size of the tree that ends with the last whole map."""
        attempt = attempt_in(head["stream"])
        if attempt is None:
            return
        forecast_id, number = attempt
        if number == head["stream_seq"] == 0:
            self._opened[forecast_id] = (head["seq"], mapped)
        if head["kind"] != "forecast_requested" or forecast_id not in self._opened:
            return
        opened, before = self._opened[forecast_id]
        if judge_rule(report, head, body) and judge_seed(report, head, body, opened, attempt):
            self._hold(report, head, body, before, roots.get(before))

    def _hold(
        self,
        report: Report,
        head: Mapping[str, Any],
        body: Mapping[str, Any],
        before: int,
        root: bytes | None,
    ) -> None:
        if body["seed_size"] != before:
            text = (
                f"its seed is the root of {body['seed_size']}, the last checkpoint was of {before}"
            )
            report.find(TAMPERED, text, head["seq"])
        elif root is None:
            report.find(INCOMPLETE, f"no checkpoint of {before}: its seed's root", head["seq"])
        elif root.hex() != body["seed_root"]:
            report.find(TAMPERED, "its seed's root is none that was signed", head["seq"])


class ShownRecord(NamedTuple):
    """A record of a bundle with the root of the tree that ends with it."""

    head: Mapping[str, Any]
    body: Mapping[str, Any]
    leaf: bytes
    root: bytes


def judge_requests(report: Report, shown: Mapping[int, ShownRecord]) -> None:
    """Judge each request for a forecast, as far as records are shown."""
    opened: dict[str, int] = {}
    for seq in sorted(shown):
        one = shown[seq]
        attempt = attempt_in(one.head["stream"])
        if attempt is None:
            continue
        if attempt[1] == one.head["stream_seq"] == 0:
            opened[attempt[0]] = seq
        if one.head["kind"] != "forecast_requested" or not known(one.head):
            continue
        first = opened.get(attempt[0])
        if not judge_rule(report, one.head, one.body):
            continue
        if first is None:
            report.say(f"record {seq}: its seed's root is not checkable: {UNOPENED}")
        elif judge_seed(report, one.head, one.body, first, attempt):
            _judge_last(report, one, first, shown)


def _judge_last(
    report: Report, asked: ShownRecord, opened: int, shown: Mapping[int, ShownRecord]
) -> None:
    """Check by the stream of maps that no later checkpoint stood before the opening record."""
    seq, size = asked.head["seq"], asked.body["seed_size"]
    before = shown.get(size - 1)
    if before is None or not known(before.head):
        return report.say(f"record {seq}: its seed's root is not checkable: its map is not shown")
    if before.root.hex() != asked.body["seed_root"]:
        return report.find(TAMPERED, "its seed's root is not that of its tree", seq)
    if not _ends_map(before):
        return report.find(TAMPERED, "its seed's root is of no checkpoint", seq)
    line = {s.head["stream_seq"]: s for s in shown.values() if s.head["stream"] == LEDGER_WIDE}
    while before.head["seq"] < opened:
        after = line.get(before.head["stream_seq"] + 1)
        if after is None or (after.head["kind"] == "stream_heads" and not known(after.head)):
            text = f"whether a later one stood before record {opened} is not checkable"
            return report.say(f"record {seq}: its seed is the root of {size}; {text}")
        if after.head["prev"] != before.leaf.hex():
            return report.find(TAMPERED, "prev is not the leaf before it", after.head["seq"])
        before = after
        if before.head["seq"] < opened and _ends_map(before):
            text = f"its seed is the root of {size}, a later checkpoint stood before {opened}"
            return report.find(TAMPERED, text, seq)
    return report.say(f"record {seq}: its seed is the root of {size}, the last before {opened}")


def _ends_map(one: ShownRecord) -> bool:
    if one.head["kind"] != "stream_heads" or not known(one.head):
        return False
    return bool(one.body["part"] + 1 == one.body["parts"])


# ---------------------------------------------------------------- phone
# Trades that two officers booked or took out, against the broker's own file.
#
# Trades by phone and give-ups (`book_adjusted`), and resolutions of a difference that name the
# broker's ExecIDs (`difference_resolved`).


@dataclass(slots=True, kw_only=True)
class _Resolved:
    """A resolution's trade, and what its ExecIDs named so far: lines, and trades that it took out.

    The broker's file must have its trade if it covers each of the days, for one of the accounts.
    """

    trade: Mapping[str, Any]
    exec_ids: list[str]
    days: list[str]
    accounts: list[str]
    met: set[str] = field(default_factory=set)
    lines: list[BrokerFill] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Phoned:
    """The trades by phone, give-ups and named resolutions on record.

    Attributes:
        booked: contents of `book_adjusted` by the record's number.
        relied_on: those that account for a line of the broker's, each with that line.
        currency: of the ledger's orders; empty if no run is shown.
        told: other currencies that the broker told of a trade, by its ExecID.
    """

    booked: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    relied_on: dict[int, str] = field(default_factory=dict)
    currency: str = ""
    told: dict[str, str] = field(default_factory=dict)
    _resolved: dict[int, _Resolved] = field(default_factory=dict)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take a record that says what officers booked, in which currency, or what came."""
        match head["kind"]:
            case "run_started":
                profile = body.get("order_profile") or {}
                self.currency = text_of(profile.get("currency", ""))
            case "fix_inbound":
                self._hears(body.get("raw"))
            case "book_adjusted" if body.get("trade"):
                self.booked[head["seq"]] = body
            case _:
                pass

    def _hears(self, raw: object) -> None:
        """Take a message as it came: what it says in another currency officers had before them."""
        fields = wire_fields(text_of(raw))
        name, currency = fields.get("17", ""), fields.get("15", "")
        if name and currency and currency != self.currency:
            self.told[name] = currency

    def resolves(self, seq: int, body: Mapping[str, Any], day: str, account: str) -> bool:
        """Take a resolution; return whether it names the broker's ExecIDs.

        `day` and `account` are those of its order as it was announced, empty if it is none of ours.
        """
        trade, terms = body.get("trade"), body.get("terms")
        names = terms.get("exec_ids") if isinstance(terms, dict) else None
        if not isinstance(trade, dict) or not isinstance(names, list) or not names:
            return False
        own = market_day(body.get("market_time_us"))
        self._resolved[seq] = _Resolved(
            trade=trade,
            exec_ids=[text_of(name) for name in names],
            days=[day or own, own],
            accounts=[account, text_of(body.get("account"))],
        )
        return True

    def takes_out(self, exec_ids: list[str], side: str, quantity: int) -> bool:
        """Return whether a resolution took out a booked trade, which the file then lacks."""
        for one in self._resolved.values():
            named = {name for name in exec_ids if name in one.exec_ids}
            if named and one.trade.get("side") not in {side, None}:
                one.gone.append(quantity)
                one.met |= named
                return True
        return False

    def _resolves_line(self, fill: BrokerFill) -> bool:
        for seq, one in self._resolved.items():
            if fill.exec_id not in one.exec_ids or fill.side != one.trade.get("side"):
                continue
            if any(line.exec_id == fill.exec_id for line in one.lines):
                continue  # an ExecID accounts for one line
            one.lines.append(fill)
            one.met.add(fill.exec_id)
            self.relied_on.setdefault(seq, line_of(fill))
            return True
        return False

    def judge_resolved(self, report: Report, broker: BrokerFile) -> None:
        """Report resolutions whose trade is not that of the lines which they account for.

        Of a line without a price both officers' signatures say the price. A trade that they booked
        or took out under ExecIDs is one that the broker has, or had told.
        """
        had = {fill.exec_id for fill, _ in broker.fills}  # a reused one is of two trades
        for seq, one in self._resolved.items():
            is_due = all(any(broker.covers(day, name) for name in one.accounts) for day in one.days)
            lacking = [name for name in one.exec_ids if name not in one.met | had]
            if is_due and lacking:
                text = f"the broker's file lacks fill {', '.join(lacking)}, which officers resolved"
                report.find(TAMPERED, text, seq)
            quantity = units_of(text_of(one.trade.get("quantity"))) or 0
            price = units_of(text_of(one.trade.get("price"))) or 0
            prices = [line.price for line in one.lines if line.price]
            wrong = []
            if one.gone or one.lines:
                told = sum(one.gone) or sum(line.quantity for line in one.lines)
                wrong += ["quantity"] if told != quantity else []
            if prices and not min(prices) <= price <= max(prices):
                wrong.append("price")
            if any(line.instrument != one.trade.get("instrument") for line in one.lines):
                wrong.append("instrument")
            if any(self._other_money(line) for line in one.lines):
                wrong.append("currency")
            if wrong:
                text = f"it resolves {' '.join(one.exec_ids)} with another {', '.join(wrong)}"
                report.find(TAMPERED, f"{text} than the broker's file has", seq)

    def accounts_for(self, report: Report, fill: BrokerFill) -> bool:
        """Return whether one names this fill; each counts once. Report what differs."""
        for seq, phone in self.booked.items():
            if phone.get("reference") != fill.exec_id or seq in self.relied_on:
                continue
            trade = phone["trade"]
            said = {"instrument": fill.instrument, "side": fill.side}
            wrong = [name for name, value in said.items() if trade.get(name) != value]
            amounts = {"quantity": fill.quantity, "price": fill.price}
            wrong += [n for n, units in amounts.items() if units_of(text_of(trade.get(n))) != units]
            wrong += ["currency"] if self._other_money(fill) else []
            if wrong:
                text = f"{line_of(fill)}: the adjustment of record {seq} has another"
                report.find(TAMPERED, f"{text} {', '.join(wrong)}")
            self.relied_on[seq] = line_of(fill)
            return True
        return self._resolves_line(fill)

    def _other_money(self, fill: BrokerFill) -> bool:
        known = {"", self.currency, self.told.get(fill.exec_id, "")}
        return bool(self.currency) and fill.currency not in known

    def judge_lacking(self, report: Report, broker: BrokerFile) -> None:
        """Report the trades by phone that the file should have and has not."""
        for seq, phone in self.booked.items():
            day = market_day(phone.get("market_time_us"))
            told = seq in self.relied_on or phone.get("sort") != "trade"
            if not told and broker.covers(day, text_of(phone.get("account"))):
                name = phone.get("reference") or "without the broker's ExecID (--reference)"
                text = f"the broker's file lacks the trade by phone {name}, booked on {day}"
                report.find(TAMPERED, text, seq)


def market_day(time_us: object) -> str:
    """Return the day (UTC) of a market time, YYYYMMDD."""
    seconds = time_us // 1_000_000 if type(time_us) is int else 0
    return stamp(seconds)[:10].replace("-", "")


def line_of(fill: BrokerFill) -> str:
    """Return a line of the broker's for people."""
    shown = f"{fill.side} {decimal_of(fill.quantity)} {fill.instrument} at {decimal_of(fill.price)}"
    return f"the broker's line {fill.line}, fill {fill.exec_id} ({shown})"


# ---------------------------------------------------------------- approvals
# Orders and the records that they rest on: an approving verdict, then an announcement.
#
# The records alone show it; no broker's file is needed. An order that nothing approved, or that was
# never announced, contradicts them. So does an approval that its verdict's results do not permit.
#
# Not here: what the broker filled (`fills`), how the verdict follows from its state (a replay).

FIX_SIDES = {"1": "BUY", "2": "SELL", "5": "SELL", "6": "SELL"}
_ANNOUNCED = frozenset({"order_sent", "order_refused", "order_unknown", "order_reported"})
"""Kinds that only an announced order has."""
_SEVERITY = ("ALLOW", "WARN", "THROTTLE", "HOLD", "REJECT", "HALT", "KILL")


def order_name(leaf: bytes) -> str:
    """Return the ClOrdID of the order that a record approves."""
    return base64.b32encode(leaf[:13]).decode("ascii")[:20]


def pairs_of(body: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the FIX fields of an announced order as (tag, text), leaving out other shapes."""
    fields = body.get("fields")
    pairs = fields if isinstance(fields, list) else []
    both = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2]  # noqa: PLR2004 - tag and text
    return [(tag, text) for tag, text in both]


def fields_of(body: Mapping[str, Any]) -> dict[Any, Any]:
    """Return the FIX fields of an announced order by tag; the first of a tag counts."""
    texts = [
        (tag, text) for tag, text in pairs_of(body) if type(tag) is int and isinstance(text, str)
    ]
    return dict(reversed(texts))


def worst_of(verdict: object) -> str:
    """Return the action of a verdict, or nothing if it is not the worst of its results."""
    results = verdict.get("results") if isinstance(verdict, dict) else None
    found = results if isinstance(results, list) else []
    actions = [text_of(one.get("action")) if isinstance(one, dict) else "" for one in found]
    if not isinstance(verdict, dict) or not actions or not set(_SEVERITY).issuperset(actions):
        return ""
    worst = max(actions, key=_SEVERITY.index)
    return worst if verdict.get("action") == worst else ""


@dataclass(slots=True)
class Approvals:
    """The approvals that no order used yet, and the announced orders; give it every record.

    A decision of which an earlier record is not here, or is of an unknown version, is not
    checkable; its absence is judged elsewhere.
    """

    _seen: dict[str, int] = field(default_factory=dict)
    _open: dict[int, tuple[str, bytes, object]] = field(default_factory=dict)
    _names: set[tuple[str, str]] = field(default_factory=set)
    _agreed: dict[str, str] = field(default_factory=dict)

    def see(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes
    ) -> None:
        """Take one record whose bytes were verified."""
        stream, kind = head["stream"], head["kind"]
        if not stream.startswith("decision/"):
            return
        before = self._seen.get(stream, 0)
        self._seen[stream] = before + 1
        code = TAMPERED if before == head["stream_seq"] else NOT_CHECKABLE
        if kind == "verdict_given" and body.get("result") == "approved":
            self._open[head["seq"]] = (stream, leaf, body.get("reservation"))
            self._permitted(report, head, body, code)
        elif kind == "approval_given":
            self._agreed[stream] = text_of(body.get("band"))
        elif kind == "order_sending":
            self._announce(report, head, body, code)
        elif kind in _ANNOUNCED and (stream, text_of(body.get("cl_ord_id"))) not in self._names:
            name = text_of(body.get("cl_ord_id"))
            report.find(code, f"order {name} was never announced before it", head["seq"])

    def _permitted(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], code: int
    ) -> None:
        """Report an approval that its verdict does not permit; a hold needs a person's yes."""
        worst, agreed = worst_of(body.get("verdict")), text_of(body.get("approval"))
        if worst not in {"ALLOW", "WARN", "HOLD"}:
            report.find(TAMPERED, "approved against its own verdict", head["seq"])
        elif worst == "HOLD" and agreed != self._agreed.get(head["stream"]):
            report.find(code, "approved although held, and nobody agreed to it", head["seq"])

    def _announce(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], code: int
    ) -> None:
        """Take an order, after comparing it with the record that approved it; each counts once."""
        name, seq, given = text_of(body.get("cl_ord_id")), head["seq"], body.get("approving_seq")
        self._names.add((head["stream"], name))
        number = given if type(given) is int else -1
        found = self._open.get(number)
        if found is None or found[0] != head["stream"]:
            report.find(code, f"order {name} has no approving record before it", seq)
            return
        _, leaf, reserved = self._open.pop(number)
        if "approving_leaf" in body and body["approving_leaf"] != leaf.hex():
            report.find(TAMPERED, f"order {name} has no approving record before it", seq)
        elif "approving_leaf" in body and name != order_name(leaf):
            report.find(TAMPERED, f"order {name} is not named by its approving record", seq)
        fields = fields_of(body)
        shown = [fields.get(55), FIX_SIDES.get(fields.get(54, ""), "")]
        if isinstance(reserved, dict) and shown != [
            reserved.get(n) for n in ("instrument", "side")
        ]:
            report.find(TAMPERED, f"order {name} is not the one that was approved", seq)


# ---------------------------------------------------------------- fills
# The fills on record against the broker's own file.
#
# A ClOrdID is the first 100 bits of its approving record's leaf in base32. Whoever rewrites what
# was decided changes the leaf, and the broker's file has the ClOrdID of the leaf that was.

_DECISION = "decision/"


@dataclass(slots=True, kw_only=True)
class _SentOrder:
    """An order on record; quantities and prices are integers of 10**-18."""

    seq: int
    stream: str
    cl_ord_id: str
    instrument: str
    side: str
    quantity: int
    price: int
    account: str
    own_account: str
    approved_lots: int
    limit_ticks: int
    currency: str
    day: str
    alarmed: bool = False


@dataclass(slots=True, kw_only=True)
class _Booked:
    """A trade on record, after corrections; `names` are its ExecIDs."""

    seq: int
    order: _SentOrder
    names: list[str]
    quantity: int
    price: int
    lots: int
    day: str
    fee: int | None


@dataclass(slots=True, kw_only=True)
class _Sums:
    fills: int = 0
    bought: int = 0
    sold: int = 0
    value: int = 0

    def add(self, side: str, quantity: int, price: int) -> None:
        """Add one trade."""
        self.fills += 1
        self.value += quantity * price
        if side == "BUY":
            self.bought += quantity
        else:
            self.sold += quantity

    def text(self) -> str:
        """Return it for people."""
        return (
            f"{self.fills} fills, {decimal_of(self.bought)} bought, {decimal_of(self.sold)} sold,"
            f" worth {decimal_of(self.value, 2 * SCALE)}"
        )


@dataclass(slots=True)
class Fills:
    """The orders and trades of a log or of one decision, compared with the broker's file.

    Give it every record in order with `see`, then call `finish`. Without a file it does nothing.
    `whole` says whether all orders are there; a bundle has those of one decision.
    """

    broker: BrokerFile | None
    whole: bool = True
    _named: dict[str, tuple[int, str]] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)
    _approved: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    _last_us: int = 0
    _orders: dict[str, _SentOrder] = field(default_factory=dict)
    _booked: dict[int, _Booked] = field(default_factory=dict)
    _undone: set[tuple[str, str]] = field(default_factory=set)
    _resolved: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    _resolutions: dict[int, str] = field(default_factory=dict)
    _by_officers: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    phoned: Phoned = field(default_factory=Phoned)

    @property
    def relied_on(self) -> dict[int, str]:
        """The adjustments and resolutions that account for a fill, each with what it explains."""
        return {**self.phoned.relied_on, **self._resolutions}

    def __post_init__(self) -> None:
        for fill, _ in () if self.broker is None else self.broker.fills:
            self._wanted |= {fill.cl_ord_id, fill.orig_cl_ord_id} - {""}

    def see(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes
    ) -> None:
        """Take one record whose bytes were verified."""
        if self.broker is None:
            return
        stream, name = head["stream"], order_name(leaf)
        self._last_us = head["recorded_at_us"]
        if name in self._wanted:
            self._named[name] = (head["seq"], stream)
        match head["kind"]:
            case "verdict_given" if body.get("result") == "approved":
                self._approved[stream, head["seq"]] = body.get("reservation") or {}
            case "order_sending":
                self._announced(head, body)
            case "replace_requested":
                self._raised(head, body)
            case "order_reported":
                self._reported(report, head, body)
            case "difference_resolved":
                self._by_person(head, body)
            case _:
                self.phoned.see(head, body)

    def _announced(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take an order; `approvals` compares it with the record that approved it."""
        name, stream = text_of(body.get("cl_ord_id")), head["stream"]
        reserved = self._approved.get((stream, body.get("approving_seq", -1)), {})
        fields = fields_of(body)
        self._orders[name] = _SentOrder(
            seq=head["seq"],
            stream=stream,
            cl_ord_id=name,
            instrument=fields.get(55, ""),
            side=FIX_SIDES.get(fields.get(54, ""), ""),
            quantity=units_of(fields.get(38, "")) or 0,
            price=units_of(fields.get(44, "")) or 0,
            account=fields.get(1, ""),
            own_account=text_of(body.get("account", "")),
            approved_lots=reserved.get("qty_lots", 0),
            limit_ticks=reserved.get("limit_ticks", 0),
            currency=fields.get(15, ""),
            day=market_day(body.get("market_now_us")),
        )

    def _raised(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take the larger quantity that a replace of an order may have."""
        for one in self._orders.values():
            if one.stream == head["stream"] and body["after"]["qty_lots"] > one.approved_lots:
                one.approved_lots = body["after"]["qty_lots"]
                one.quantity = units_of(body["after"]["quantity"]) or 0

    def _reported(self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take what a report books, corrects or takes back."""
        undoes, told, fill = body.get("undoes_seq"), body.get("report") or {}, body.get("fill")
        order = self._orders.get(text_of(body.get("cl_ord_id")))
        if order is not None and body.get("anomaly"):
            order.alarmed = True
        if fill is None and undoes is None:
            return
        seq = head["seq"]
        if order is None or order.stream != head["stream"]:
            name = text_of(body.get("cl_ord_id"))
            report.find(TAMPERED, f"a fill of order {name}: never announced", seq)
            return
        before = self._booked.pop(undoes, None) if undoes is not None else None
        names = [*([] if before is None else before.names), text_of(told.get("exec_id"))]
        if fill is None:
            self._undone |= {(order.cl_ord_id, name) for name in names}
            return
        booked = _Booked(
            seq=seq,
            order=order,
            names=names,
            quantity=units_of(told.get("last_qty", "")) or 0,
            price=units_of(told.get("last_price", "")) or 0,
            lots=fill["qty_lots"],
            day=text_of(body.get("trade_date", ""))[:8] if before is None else before.day,
            fee=units_of(told.get("commission", "")),
        )
        _judge_units(report, booked, fill)
        self._booked[seq if undoes is None else undoes] = booked

    def _by_person(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take a quantity that two officers booked because the broker was right."""
        fill, name, trade = body.get("adjustment"), body.get("decision_id"), body.get("trade")
        if fill and trade:
            sign = 1 if fill["side"] == "BUY" else -1
            more = sign * (units_of(text_of(trade.get("quantity"))) or 0)
            self._by_officers[text_of(trade.get("instrument"))] += more
        stream = f"{_DECISION}{name}"
        order = next((one for one in self._orders.values() if one.stream == stream), None)
        day, account = ("", "") if order is None else (order.day, order.account)
        if self.phoned.resolves(head["seq"], body, day, account):
            return
        if fill and name:
            sign = 1 if fill["side"] == "BUY" else -1
            self._resolved[stream].append((head["seq"], sign * fill["qty_lots"]))

    def finish(self, report: Report) -> None:
        """Compare both sides; report every fill that does not match, and the sums."""
        if self.broker is None:
            return
        names = ", ".join(self.broker.names)
        trades = {(b.order.cl_ord_id, name): b for b in self._booked.values() for name in b.names}
        matched: set[int] = set()
        left: dict[str, list[BrokerFill]] = defaultdict(list)
        strangers = 0
        for fill, execs in self.broker.fills:
            order = self._order_of(fill)
            if (
                order is None
                and not self.whole
                and not self._named.keys() | self._orders.keys() >= {fill.cl_ord_id}
            ):
                strangers += 1
                continue
            if order is None:
                self._judge_stranger(report, fill)
                continue
            found = (trades.get((order.cl_ord_id, name)) for name in execs)
            booked = next((one for one in found if one is not None), None)
            if booked is None or booked.seq in matched:
                if not self.phoned.accounts_for(report, fill):
                    left[order.stream].append(fill)
                continue
            matched.add(booked.seq)
            _judge_pair(report, fill, booked)
        for stream, fills in left.items():
            self._judge_left(report, stream, fills)
        self._judge_lacking(report, matched)
        self.phoned.judge_lacking(report, self.broker)
        self.phoned.judge_resolved(report, self.broker)
        self._judge_approved(report)
        self._say_sums(report, matched)
        if strangers:
            report.say(f"{strangers} fills of the broker's file are of other decisions: not judged")
        if not self.whole and not matched and not left:
            report.find(NOT_CHECKABLE, f"no fill of {names} is of this decision")
        days = f"{self.broker.first_day or 'the beginning'} to {self.broker.last_day or 'the end'}"
        report.say(f"{len(matched)} fills of {names} ({days}) match their approving records")

    def _order_of(self, fill: BrokerFill) -> _SentOrder | None:
        """Return the order that a fill's ClOrdID names through a leaf of this log."""
        for name in (fill.cl_ord_id, fill.orig_cl_ord_id):
            if name in self._orders:
                return self._orders[name]
            seq, stream = self._named.get(name, (-1, ""))
            same = (one for one in self._orders.values() if one.stream == stream and seq >= 0)
            found = next(same, None)  # the name of a later message of that order
            if found is not None:
                return found
        return None

    def _judge_stranger(self, report: Report, fill: BrokerFill) -> None:
        """Judge a fill of no order on record: only a signed adjustment can account for it."""
        if self.phoned.accounts_for(report, fill):
            return
        text = f"{line_of(fill)}: no record of this ledger approved order {fill.cl_ord_id or '-'}"
        report.find(TAMPERED, text)

    def _judge_left(self, report: Report, stream: str, fills: Iterable[BrokerFill]) -> None:
        """Judge the fills of an order that the ledger lacks: a person may have booked their sum."""
        fills = list(fills)
        order = next(one for one in self._orders.values() if one.stream == stream)
        resolved = self._resolved.get(stream, [])
        sign = {"BUY": 1, "SELL": -1}
        left = sum(sign[fill.side] * fill.quantity for fill in fills)
        lots = sum(number for _, number in resolved)
        if resolved and left * order.approved_lots == lots * order.quantity:
            seqs = ", ".join(str(seq) for seq, _ in resolved)
            text = f"{len(fills)} fills of {order.cl_ord_id} are booked by resolution {seqs}"
            self._resolutions |= {seq: text for seq, _ in resolved}
            report.say(text)
            return
        for fill in fills:
            text, code = f"{line_of(fill)} of order {order.cl_ord_id}", TAMPERED
            if (order.cl_ord_id, fill.exec_id) in self._undone:
                text += ": the ledger says that the broker took it back"
            elif moment_of(fill.time) > stamp(self._last_us // 1_000_000):
                code = INCOMPLETE
                text += ": it is later than the last record here"
            else:
                text += ": the ledger lacks it"
            report.find(code, text)

    def _judge_lacking(self, report: Report, matched: set[int]) -> None:
        """Report the trades on record that the file should have and has not."""
        broker = self.broker
        for booked in self._booked.values():
            order = booked.order
            if broker is None or booked.seq in matched:
                continue
            covers = broker.covers
            told = covers(booked.day, order.own_account) or covers(booked.day, order.account)
            if told and not self.phoned.takes_out(booked.names, order.side, booked.quantity):
                text = (
                    f"the broker's file lacks fill {booked.names[0]} of order {order.cl_ord_id},"
                    f" {decimal_of(booked.quantity)} {order.instrument} on {booked.day}"
                )
                report.find(TAMPERED, text, booked.seq)

    def _judge_approved(self, report: Report) -> None:
        """Report orders that were filled beyond what was approved, unless the ledger says so."""
        lots: dict[str, int] = defaultdict(int)
        for booked in self._booked.values():
            lots[booked.order.cl_ord_id] += booked.lots
        for name, filled in lots.items():
            order = self._orders[name]
            if order.approved_lots and filled > order.approved_lots:
                text = f"order {name}: {filled} lots filled, {order.approved_lots} approved"
                if order.alarmed:
                    report.say(f"{text}; the ledger has the alarm")
                else:
                    report.find(TAMPERED, text, order.seq)

    def _say_sums(self, report: Report, matched: set[int]) -> None:
        """Compare the sums per instrument of what both sides have in the file's days."""
        if self.broker is None:
            return
        theirs: dict[str, _Sums] = defaultdict(_Sums)
        ours: dict[str, _Sums] = defaultdict(_Sums)
        for fill, _ in self.broker.fills:
            if self.whole or self._order_of(fill) is not None:
                theirs[fill.instrument].add(fill.side, fill.quantity, fill.price)
        for booked in self._booked.values():
            inside = self.broker.covers(booked.day, booked.order.own_account)
            if inside or booked.seq in matched:
                order = booked.order
                ours[order.instrument].add(order.side, booked.quantity, booked.price)
        for symbol in sorted({*theirs, *ours, *self._by_officers}):
            one, other = theirs[symbol], ours[symbol]
            apart = self._by_officers.get(symbol)
            if apart is not None:
                more = f"{decimal_of(apart)} of officers' resolutions"
                text = f"the ledger has {other.text()}, and {more}"
                report.say(f"{symbol}: the broker's file has {one.text()}; {text}")
            elif one == other:
                report.say(f"{symbol}: {one.text()}: the broker's file and the ledger agree")
            else:
                report.say(
                    f"{symbol}: the broker's file has {one.text()}; the ledger has {other.text()}"
                )


def _judge_pair(report: Report, fill: BrokerFill, booked: _Booked) -> None:
    """Compare a line of the broker's with the trade on record."""
    order = booked.order
    pairs = {
        "quantity": (decimal_of(fill.quantity), decimal_of(booked.quantity)),
        "price": (decimal_of(fill.price), decimal_of(booked.price)),
        "side": (fill.side, order.side),
        "instrument": (fill.instrument, order.instrument),
        "account": (fill.account or order.account, order.account),
    }
    if fill.currency and order.currency:
        pairs["currency"] = (fill.currency, order.currency)
    if fill.fee is not None and booked.fee is not None:
        pairs["fee"] = (decimal_of(fill.fee), decimal_of(booked.fee))
    for name, (theirs, ours) in pairs.items():
        if theirs != ours:
            text = f"{line_of(fill)} of order {order.cl_ord_id}: {name} {theirs}, on record {ours}"
            report.find(TAMPERED, text, booked.seq)


def _judge_units(report: Report, booked: _Booked, fill: Mapping[str, Any]) -> None:
    """Require that the booked lots and ticks are those of the report, in the order's own units."""
    order, seq = booked.order, booked.seq
    if order.approved_lots and booked.quantity * order.approved_lots != (
        fill["qty_lots"] * order.quantity
    ):
        text = f"{fill['qty_lots']} lots are booked for {decimal_of(booked.quantity)} reported"
        report.find(TAMPERED, text, seq)
    if order.limit_ticks and booked.price * order.limit_ticks != fill["price_ticks"] * order.price:
        text = f"{fill['price_ticks']} ticks are booked for a price of {decimal_of(booked.price)}"
        report.find(TAMPERED, text, seq)
    if [fill["instrument"], fill["side"]] != [order.instrument, order.side]:
        report.find(TAMPERED, "a fill is booked for another instrument or side than its order", seq)


# ---------------------------------------------------------------- signed_kinds
# What both officers sign of a record, by its kind.
#
# Written by `make verifier` from the table of kinds; do not edit.

SIGNED_KINDS = {
    "justification_entered": (
        "",
        "log_id",
        "fairness justification",
        "ref {ref}",
        "terms {terms:json}",
    ),
    "justification_ended": (
        "justification_entered",
        "",
        "justification end",
        "record {of_seq} {of_leaf}",
        "reason {reason:json}",
    ),
    "publication_ended": (
        "publication_noted",
        "",
        "publication end",
        "record {of_seq} {of_leaf}",
        "reason {reason:json}",
    ),
}
"""The kind that a record ends, its field that names the log, purpose, particulars."""
SIGNED_FIELDS = {
    "justification_entered": "ref terms log_id signatures",
    "justification_ended": "of_seq of_leaf reason signatures",
    "publication_ended": "of_seq of_leaf reason signatures",
}


# ---------------------------------------------------------------- table
# The statements: what must be true of records, by which other records, signed by whom.
#
# Both verifiers and `docs/statements.md` are built from this table; each verifier has one function
# for each `id` (`make verifier` writes the table into verify.mjs). A finding begins with the id.
#
# `judges` has, for each kind, the fields that are compared: a dotted path covers all below it. A
# field that no statement names is listed as not judged. `apart` says that a class of its own judges
# the statement, as it did before this table.


class Statement(NamedTuple):
    """One statement: its name, its sentence, and the fields of each kind that it judges."""

    id: str
    says: str
    judges: Mapping[str, str]
    apart: bool = False


_ORDER_TAGS = "fields.35 fields.11 fields.1 fields.55 fields.54 fields.38 fields.40 fields.44"
_PLACE = "account decision_id"
_REPORTED = "ord_status average_price commission cum_qty exec_id exec_type last_price last_qty"
_REPORTED += " leaves_qty order_id orig_cl_ord_id exec_ref_id cl_ord_id"

STATEMENTS = (
    Statement(
        "run",
        "A record of a decision or a forecast follows the start of the run that it names; every"
        " record that names a run on record has its mode and its mark as a development run, and"
        " one of a decision, a forecast or joint paths that names none has a mode of a run on"
        " record.",
        {
            "*": "",
            "decision": "run_id mode dev",
            "forecast": "run_id mode dev",
            "paths_joined": "mode",
        },
    ),
    Statement(
        "decision",
        "Each record of a decision names that decision, and the account of its first record.",
        {
            "decision": _PLACE,
            "order_allocated": "decision_id account",
        },
    ),
    Statement(
        "forecast",
        "A forecast's id is that of its inputs, and it is asked for and made by them, after its"
        " capture; one that is drawn directly has the rule, the seed and the size of its"
        " request, and no word acts in its prompt. An attempt follows the recorded failure of"
        " the one before it, and nothing follows its seal. A decision names the record of a"
        " forecast of its instrument that was sealed before, or the failure on record; an intent"
        " rests on such a forecast.",
        {
            "snapshot_taken": "forecast_id attempt instrument snapshot_blob inputs",
            "mode_chosen": "attempt",
            "forecast_requested": "attempt prompt prompt_ids prompt_digest codec_digest sampler"
            " spec_k drafter news_twin",
            "rounds_captured": "attempt",
            "tokens_drawn": "attempt rule seed table_digest paths n_tokens",
            "forecast_failed": "attempt reason",
            "forecast_made": "attempt forecast.instrument forecast.source forecast.model_digest"
            " forecast.codec_digest",
            "placebo_made": "attempt",
            "gjr_made": "attempt",
            "news_twin_made": "attempt",
            "forecast_sealed": "instrument outcome",
            "forecast_taken": "instrument forecast_id forecast_attempt of_seq of_leaf missing",
            "intent_proposed": "intent.instrument",
        },
    ),
    Statement(
        "index",
        "The index of an instrument has a line for each forecast that is opened or ends, right"
        " after the record of it, and one where an earlier forecast stands again. A decision names"
        " the forecast that stands: the last one made, or standing again, before it.",
        {
            "*": "",
            "forecast_listed": "instrument event forecast_id attempt again",
            "forecast_taken": "instrument forecast_id forecast_attempt",
        },
    ),
    Statement(
        "joint",
        "Joint paths are those of a set of forecasts on record, each instrument's once, in one"
        " record; the set's id is that of its members and its seed that of theirs. A decision names"
        " the set of the forecasts that stood when it took its own, which is among them; its"
        " verdict rests on the paths of its intent, and without a set on those of its instrument"
        " alone.",
        {
            "paths_joined": "joint_id members rule without_bp seed",
            "intent_proposed": "paths.joint",
            "placebo_judged": "paths.joint inputs.paths",
            "gjr_judged": "paths.joint inputs.paths",
            "verdict_given": "inputs.paths",
        },
    ),
    Statement(
        "intent",
        "An intent is what was asked for: the author, instrument and account of the request; its"
        " digest is that of its bytes.",
        {
            "intent_proposed": "intent.decision_id intent.account intent.author intent.instrument"
            " intent_digest",
        },
    ),
    Statement(
        "verdict",
        "A verdict judges the intent that was proposed, under the policy in force at its number;"
        " every check of every rule of that policy has one result, which follows from the measured"
        " value, the limit and the policy's arming; and it reserves exactly that intent.",
        {
            "verdict_given": "intent intent_digest policy_digest policy_status.policy_digest"
            " policy_status.standing verdict.action verdict.intent_digest verdict.policy_digest"
            " verdict.results.rule_id verdict.results.check verdict.results.action"
            " verdict.results.outcome verdict.results.margin verdict.results.bound"
            " reservation result state.killed state.kill_epoch state.egress_epoch kill_epoch",
        },
    ),
    Statement(
        "hold",
        "A held order is released by a person who is not its author, who read its sheet, within"
        " the band and the time that the policy gives, for the intent and the rules that he saw;"
        " the order that leaves is inside that band.",
        {
            "approval_requested": "verdict_seq intent_digest policy_digest author verdict_digest"
            " band",
            "approval_given": "verdict_seq approver intent_digest verdict_digest band expires_us"
            " shown.read_seq policy_digest author",
            "approval_refused": "verdict_seq",
            "verdict_given": "approval renewal",
        },
    ),
    Statement(
        "order",
        "An announced order is the one approved, at its number and leaf: account, instrument,"
        " side, quantity, limit, type, time in force and currency, each tag once; it is announced"
        " once, for its run's session, under the verdict's kill epoch, before its time is over.",
        {
            "order_sending": "approving_seq approving_leaf cl_ord_id kill_epoch send_before_us "
            + _ORDER_TAGS
            + " fields.59 fields.15 session",
        },
    ),
    Statement(
        "wire",
        "The message that left has the fields that were announced, and its digest.",
        {
            "order_sent": "cl_ord_id raw_digest raw.11 raw.1 raw.55 raw.54 raw.38 raw.40 raw.44"
            " raw.59 raw.15 raw.35",
            "replace_sent": "raw_digest raw.11 raw.41 raw.1 raw.55 raw.54 raw.38 raw.40 raw.44"
            " raw.59 raw.35",
            "fix_inbound": "digest",
        },
    ),
    Statement(
        "replace",
        "A replace is on record before it leaves, begins from the terms that the order has, and"
        " reserves the larger of both; unless it only reduces, a verdict on exactly its terms"
        " allowed it.",
        {
            "replace_requested": "orig_cl_ord_id before after reservation judged.intent"
            " judged.intent_digest judged.policy_digest judged.verdict.action"
            " judged.verdict.intent_digest judged.verdict.policy_digest"
            " judged.verdict.results.rule_id judged.verdict.results.check"
            " judged.verdict.results.action judged.verdict.results.outcome"
            " judged.verdict.results.margin judged.verdict.results.bound",
            "replace_sent": "cl_ord_id orig_cl_ord_id",
            "replace_ended": "cl_ord_id orig_cl_ord_id",
        },
    ),
    Statement(
        "fill",
        "A report says what the message on record says, and books its quantity, price and fee in"
        " the units of the instrument, for the order's own instrument and side. The message does"
        " not contradict itself or the order's currency; a fee that is not understood is none.",
        {
            "order_reported": "cl_ord_id session inbox_offset exec_id fill.instrument fill.side"
            " fill.qty_lots fill.price_ticks fill.unit_minor fill.fee_minor ord_status "
            + " ".join(f"report.{name}" for name in _REPORTED.split()),
        },
    ),
    Statement(
        "policy",
        "A policy in force is the document on record with its digest, signed by as many different"
        " roles as it asks for.",
        {
            "policy_activated": "policy policy_digest signatures signed_by",
            "policy_tried": "policy policy_digest",
            "policy_announced": "policy policy_digest",
        },
    ),
    Statement(
        "mode",
        "A mode follows the one before it on record; two officers sign one that risks money more.",
        {"mode_entered": "before mode signatures log_id limits"},
    ),
    Statement(
        "release",
        "A release names a kill on record by its epoch and press, and both officers signed it for"
        " this ledger, with the orders still live.",
        {"kill_released": "kill_epoch press_id log_id live signatures"},
    ),
    Statement(
        "resume",
        "A stop that ends had begun; both officers sign where the stop protects the firm.",
        {"stop_ended": "stop_ids log_id signatures"},
    ),
    Statement(
        "promotion",
        "A promoted model is one that a recorded test passed, and both officers signed that"
        " report.",
        {"model_promoted": "model_id model_digest tested_seq report_blob log_id signatures"},
    ),
    Statement(
        "criteria",
        "Criteria of fairness have their digest, and both officers signed it.",
        {"fairness_agreed": "criteria criteria_digest log_id signatures"},
    ),
    Statement(
        "justification",
        "A justification's name is that of the terms that both officers signed.",
        {"justification_entered": "ref terms.ref"},
    ),
    Statement(
        "signed",
        "What both officers sign together is the text that the record's fields give, for this"
        " ledger.",
        SIGNED_FIELDS,
    ),
    Statement(
        "ended",
        "An act that ends is on record before, by number, leaf and name.",
        {kind: "of_seq of_leaf ref" for kind, (ends, *_) in SIGNED_KINDS.items() if ends},
    ),
    Statement(
        "difference",
        "A resolution names a difference on record by number and leaf; where it changes a book or"
        " ends an order, both officers signed its terms, and it books the lots that the book lacked"
        " or had too many.",
        {
            "difference_resolved": "of_seq of_leaf right reason evidence account adjustment ends"
            " terms trade signatures with_seq decision_id book_lots broker_lots"
        },
    ),
    Statement(
        "adjustment",
        "An adjustment of a book is the terms that both officers signed for this ledger; what it"
        " does to the book follows from them, in the units of the instrument and of the money.",
        {
            "book_adjusted": "ref sort account instrument terms signatures reference reason"
            " evidence lots amount_minor fill split positions effective_us marks mark_ticks trade"
        },
    ),
    Statement(
        "override",
        "A limit was lifted once, by two officers, for the order that they named.",
        {
            "override_granted": "override_id account instrument side rule_id check qty_max_lots"
            " notional_max_minor policy_digest not_before_us expires_us reason log_id signatures",
            "verdict_given": "state.override",
        },
        apart=True,
    ),
    Statement(
        "officers",
        "An officer's key changes by a statement that both officers signed.",
        {
            "officer_key_changed": "role before after name signatures",
            "record_disavowed": "seq leaf signatures",
        },
        apart=True,
    ),
    Statement(
        "seed",
        "A forecast's seeds follow from the last signed root before the first attempt at it.",
        {"forecast_requested": "seed_root seed_size seeds seed_rule"},
        apart=True,
    ),
    Statement(
        "basket",
        "A basket's legs are on record, and no order left before the whole was approved.",
        {
            "basket_received": "basket_id legs digest",
            "basket_decided": "basket_id received_seq outcome legs",
            "intent_received": "basket_id",
        },
        apart=True,
    ),
    Statement(
        "trial",
        "A policy that follows another was tried before, where its officers signed so.",
        {"policy_activated": "signatures.trial"},
        apart=True,
    ),
    Statement(
        "window",
        "A run of the tests of fairness follows from the records of its days (verify.py only).",
        {"fairness_tested": "first_day last_day size root cases deals results"},
        apart=True,
    ),
    Statement(
        "heads",
        "A map of the streams' ends is that of the streams, in parts without a gap.",
        {"stream_heads": "heads part parts"},
        apart=True,
    ),
    Statement(
        "keys",
        "A change of the log's keys is signed by itself.",
        {"key_rotated": "statement", "key_revoked": "statement"},
        apart=True,
    ),
)
"""In the order of the walk.

Kind "*" is every kind, "decision" each of a decision's stream, "forecast" each of a forecast's.
"""


# ---------------------------------------------------------------- checks
# The checks of each rule that a policy names; a verdict has one result of each.
#
# Written by `make verifier` from the rules; do not edit.

_CHECKS = """
R00 policy_readable intent_readable state_readable policy subject clock_behind
R01 latch epoch
R02 strategy side
R03 maximum minimum step
R04 notional
R05 collar
R06 position short
R07 gross
R08 net
R09 leverage
R10 instrument sector
R11 day_loss
R12 drawdown
R13 reserve bucket
R14 orders
R15 order_share day_share reference_age
R16 intent order
R17 own_orders
R18 listed
R19 short age
R20 quantity value
R21 basket
R22 line
R23 margin
R24 quote_age quote_ahead spread gap phase
R25 forecast_age forecast_ahead narrative_age narrative_ahead
R26 direction paths interval
R27 move usual bars_age bars_ahead
R28 stressed fall
R30 evidence shift
R31 notional
R32 bursts
R33 second day
R34 orders share
R35 window day
R36 second
R37 withdrawn
R38 levels
R40 move
R42 matches
R43 share
R45 presence sizes spread
R46 model_share agreement
R49 acts
R50 look_age disk_free clock_step
R51 differences
R52 shortfall trip_chance paths paths_age
R53 ladder growing quoted
"""
CHECKS = {
    rule: frozenset(checks)
    for rule, *checks in (line.split() for line in _CHECKS.strip().splitlines())
}


# ---------------------------------------------------------------- messages
# What a broker's message says of a trade: the fields of its report, its money and its fees.
#
# A fee counts only in the money of the trade, of a kind that is understood, and in whole minor
# units; what is left open counts as nothing.
#
# Source: FIX 4.4 volume 6: Commission (12), CommType (13), CommCurrency (479), NoMiscFees (136):
# MiscFeeAmt (137), MiscFeeCurr (138), MiscFeeType (139), MiscFeeBasis (891).

RAW_MAX = 8_192
"""Characters of a message that a record holds; the rest of a longer one is in a blob."""
REPORT_TAGS = {
    "37": "order_id",
    "11": "cl_ord_id",
    "41": "orig_cl_ord_id",
    "17": "exec_id",
    "19": "exec_ref_id",
    "150": "exec_type",
    "39": "ord_status",
    "32": "last_qty",
    "31": "last_price",
    "151": "leaves_qty",
    "14": "cum_qty",
    "6": "average_price",
}
"""The fields of an ExecutionReport that a record of it repeats."""
_SOLE = tuple(
    str(tag) for tag in (11, 14, 15, 17, 19, 20, 31, 32, 37, 39, 41, 54, 55, 120, 150, 151)
)
"""The tags that no group of a report has: two values of one contradict each other."""
_FEE_MEMBERS = frozenset({"137", "138", "139", "891"})
_BASES = {"12": {"": "absolute", "3": "absolute", "1": "unit", "2": "percent"}}
_BASES["137"] = {"": "absolute", "0": "absolute", "1": "unit", "2": "percent"}
_MARKUP = "8"
_FEES_MAX_MINOR = 10**14


class ToldFee(NamedTuple):
    """A fee as a message states it; the basis is empty where it is not understood."""

    amount: str
    basis: str
    money: str


class Message(NamedTuple):
    """What is kept of a message; `fees` is None for one that is cut."""

    report: Mapping[str, str]
    order: Mapping[str, str]
    doubled: Sequence[str]
    commission: str
    fees: Sequence[ToldFee] | None


class ToldTrade(NamedTuple):
    """The trade that a fee is for; money in 10**-`digits` of `currency`."""

    currency: object
    digits: int
    quantity: int
    price_minor: int
    multiplier: int


def message_of(body: Mapping[str, Any]) -> Message:
    """Return what a record of an inbound message holds."""
    raw = text_of(body.get("raw"))
    is_cut = len(raw) == RAW_MAX  # the beginning of a longer message: its last field may be cut too
    pairs = wire_pairs(raw.rpartition("\x01")[0] if is_cut else raw)
    fields = first_of_each(pairs)
    if told := exec_type_of(fields):
        fields["150"] = told
    commission = list(_commission(pairs))
    absolute = next((one.amount for one in commission if one.basis == "absolute"), "")
    values = {tag: {value for one, value in pairs if one == tag} for tag in _SOLE}
    return Message(
        report={tag: fields.get(tag, "") for tag in REPORT_TAGS if not is_cut or tag in fields},
        order={tag: fields.get(tag, "") for tag in ("15", "54", "55", "120")},
        doubled=[tag for tag in _SOLE if len(values[tag]) > 1],
        commission=absolute,
        fees=None if is_cut else [*commission, *_misc_fees(pairs)],
    )


def fee_minor_of(fees: Sequence[ToldFee], trade: ToldTrade) -> int:
    """Return the sum of the fees that are understood, in minor units."""
    total = sum(_charged(fee, trade) or 0 for fee in fees)
    return 0 if abs(total) > _FEES_MAX_MINOR else total


def _charged(fee: ToldFee, trade: ToldTrade) -> int | None:
    """Return a fee in minor units, None if it is left open."""
    units = units_of(fee.amount)
    if not units or not fee.basis or fee.money not in {"", trade.currency}:
        return None
    if fee.basis == "percent":
        units *= trade.quantity * trade.price_minor * trade.multiplier
    else:
        units *= 10**trade.digits * (trade.quantity if fee.basis == "unit" else 1)
    minor, rest = divmod(units, 10**SCALE)
    return None if rest else minor


def _commission(pairs: Sequence[tuple[str, str]]) -> Iterator[ToldFee]:
    said = {
        tag: list(dict.fromkeys(value for one, value in pairs if one == tag))
        for tag in ("12", "13", "479")
    }
    if any(said.values()):
        is_sole = all(len(values) <= 1 for values in said.values())
        amount = said["12"][0] if is_sole and said["12"] else ""
        yield ToldFee(amount, _BASES["12"].get(" ".join(said["13"]), ""), " ".join(said["479"]))


def _misc_fees(pairs: Sequence[tuple[str, str]]) -> Iterator[ToldFee]:
    """Yield each entry of NoMiscFees; none is understood in a group that is not whole."""
    counts = {value for tag, value in pairs if tag == "136"}
    places = [place for place, (tag, _) in enumerate(pairs) if tag in _FEE_MEMBERS]
    entries: list[dict[str, str]] = []
    for tag, value in (pairs[place] for place in places):
        if not entries or tag == pairs[places[0]][0] or tag in entries[-1]:
            entries.append({})
        entries[-1][tag] = value
    if not entries and not counts <= {"0"}:
        yield ToldFee("", "", "")
    together = bool(places) and places[-1] - places[0] + 1 == len(places)
    sound = together and counts == {str(len(entries))} and pairs[places[0] - 1][0] == "136"
    for entry in entries:
        is_open = entry.get("139") == _MARKUP or not sound
        basis = "" if is_open else _BASES["137"].get(entry.get("891", ""), "")
        yield ToldFee(entry.get("137", ""), basis, entry.get("138", ""))


# ---------------------------------------------------------------- positions
# How many lots each account holds, as the records before say it.
#
# The trade of a report counts under the number of the record that booked it. One that is taken back
# or corrected after a split leaves its position unknown: which fractions were cut off is not here.

Place = tuple[str, str]
"""An account and an instrument."""


@dataclass(slots=True)
class Positions:
    """The fold; give it every record with `take`."""

    _lots: dict[Place, int] = field(default_factory=dict)
    _trades: dict[int, tuple[Place, int, int]] = field(default_factory=dict)
    _splits: dict[Place, int] = field(default_factory=dict)
    _unknown: set[Place] = field(default_factory=set)

    def lots(self, account: object, instrument: object) -> int | None:
        """Return the lots of a position, negative if short; None if they are not known."""
        place = (text_of(account), text_of(instrument))
        return None if place in self._unknown else self._lots.get(place, 0)

    def take(self, seq: int, kind: str, body: Mapping[str, Any]) -> None:
        """Fold a record."""
        account = text_of(body.get("account"))
        match kind:
            case "order_reported":
                undone = body.get("undoes_seq")
                number = undone if type(undone) is int else seq
                self._undo(number)
                place, lots = _traded(account, body.get("fill"))
                if lots:
                    self._trades[number] = (place, lots, self._splits.get(place, 0))
                    self._add(place, lots)
            case "difference_resolved":
                self._add(*_traded(account, body.get("adjustment")))
            case "book_adjusted":
                self._adjust(account, body)
            case _:
                pass

    def _undo(self, number: int) -> None:
        place, lots, splits = self._trades.pop(number, (("", ""), 0, 0))
        if splits != self._splits.get(place, 0):
            self._unknown.add(place)
        self._add(place, -lots)

    def _adjust(self, account: str, body: Mapping[str, Any]) -> None:
        lots = body.get("lots")
        for name, more in lots.items() if isinstance(lots, dict) else ():
            self._add((account, name), more if type(more) is int else 0)
        if body.get("sort") == "split":
            place = (account, text_of(body.get("instrument")))
            self._splits[place] = self._splits.get(place, 0) + 1

    def _add(self, place: Place, lots: int) -> None:
        self._lots[place] = self._lots.get(place, 0) + lots


def _traded(account: str, fill: object) -> tuple[Place, int]:
    booked = fill if isinstance(fill, dict) else {}
    lots = booked.get("qty_lots")
    lots = lots if type(lots) is int else 0
    place = (account, text_of(booked.get("instrument")))
    return place, lots if booked.get("side") == "BUY" else -lots


# ---------------------------------------------------------------- attempts
# What earlier records said of forecasts: every attempt, how it ended, and which one stands.
#
# Memory grows with attempts; of each its inputs and its ends stay.

FORECASTS, INDEXES, SETS = "forecast/", "instrument/", "joint/"
_ROOT = re.compile(r"[0-9a-f]{64}")
STANDS = ("made", "again")
"""The lines of an index from which on a forecast stands."""
LISTED = ("snapshot_taken", "forecast_sealed", "forecast_listed")
"""A line of an index, and the records that have one right after them."""


@dataclass(slots=True)
class SeenAttempt:
    """The records of one attempt at a forecast so far; `gap` if an earlier one is not here.

    Attributes:
        inputs: what it rests on; None until they are on record.
        seed: of its samples; empty until it is asked for.
        sampler, paths, n_tokens: who draws, and how much was asked for.
        captured: whether what was sampled is on record.
        made: number and leaf of the record that states the forecast.
        source: who made it, `target` or `table`.
        failed: the reason of its recorded failure; the table may answer all the same.
        outcome: what its seal says; empty until it is sealed.
    """

    records: int = 0
    gap: bool = False
    inputs: Mapping[str, Any] | None = None
    requested: bool = False
    seed: bytes = b""
    sampler: object = None
    paths: object = None
    n_tokens: object = None
    captured: bool = False
    made: tuple[int, str] | None = None
    source: object = None
    failed: object = None
    outcome: object = ""

    @property
    def may_be_followed(self) -> bool:
        """Whether another attempt may be made: this one failed, or the table answered alone."""
        if self.outcome == "made":
            return self.source == "table"
        return self.outcome in ("failed", "abandoned")


@dataclass(slots=True)
class SeenAttempts:
    """The fold over forecasts' streams; `found` has each attempt under its stream's name."""

    found: dict[str, SeenAttempt] = field(default_factory=dict)

    def enter(self, head: Mapping[str, Any]) -> None:
        """Note that a record comes, before it is judged."""
        if head["stream"].startswith(FORECASTS):
            own = self.found.setdefault(head["stream"], SeenAttempt())
            own.gap = own.gap or own.records != head["stream_seq"]
            own.records += 1

    def take(self, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes) -> None:
        """Fold a record, after it was judged."""
        own = self.found.get(head["stream"])
        if own is None:
            return
        match head["kind"]:
            case "snapshot_taken":
                own.inputs = _document(body.get("inputs"))
            case "forecast_requested":
                own.requested, own.sampler = True, body.get("sampler")
                own.paths, own.n_tokens = body.get("paths"), body.get("n_tokens")
                root, named = text_of(body.get("seed_root")), attempt_in(head["stream"])
                if named is not None and _ROOT.fullmatch(root):
                    own.seed = seed_of(bytes.fromhex(root), body.get("prompt_ids"), named[1])
            case "rounds_captured" | "tokens_drawn":
                own.captured = True
            case "forecast_failed":
                own.failed = body.get("reason")
            case "forecast_made":
                own.made = (head["seq"], leaf.hex())
                own.source = _document(body.get("forecast")).get("source")
            case "forecast_sealed":
                own.outcome = body.get("outcome")
            case _:
                pass


@dataclass(slots=True)
class Index:
    """The lines of an instrument's index so far; `gap` if an earlier one is not here.

    Attributes:
        lines: number, id and attempt of each line from which on a forecast stands.
        made: the last attempt that made each forecast, by the forecast's id.
        again: how often each forecast stood again.
    """

    records: int = 0
    gap: bool = False
    lines: list[tuple[int, str, object]] = field(default_factory=list)
    made: dict[str, object] = field(default_factory=dict)
    again: dict[str, int] = field(default_factory=dict)

    @property
    def stands(self) -> tuple[str, object] | None:
        """Id and attempt of the forecast that stands."""
        return self.lines[-1][1:] if self.lines else None

    def stood(self, before: int) -> tuple[str, object] | None:
        """Return id and attempt of the forecast that stood before a record."""
        place = bisect_left(self.lines, before, key=lambda line: line[0])
        return self.lines[place - 1][1:] if place else None

    def take(self, seq: int, body: Mapping[str, Any]) -> None:
        """Fold a line, after it was judged."""
        event, name = body.get("event"), text_of(body.get("forecast_id"))
        if event == "made":
            self.made[name] = body.get("attempt")
        if event == "again":
            self.again[name] = self.again.get(name, 0) + 1
        if event in STANDS:
            self.lines.append((seq, name, body.get("attempt")))


@dataclass(slots=True)
class Indexes:
    """The fold over indexes; `found` has each under its stream's name.

    Attributes:
        last: the number of the last record.
        awaited: the line that must come right after it.
        unread: whether it is of a version of these kinds that is not known here.
    """

    found: dict[str, Index] = field(default_factory=dict)
    last: int = -1
    awaited: Mapping[str, Any] | None = None
    unread: bool = False

    def skip(self, head: Mapping[str, Any]) -> None:
        """Note a record that is not known here: it may be a line, or have one."""
        if head["kind"] in LISTED:
            self.last, self.awaited, self.unread = head["seq"], None, True

    def enter(self, head: Mapping[str, Any]) -> None:
        """Note that a record comes, before it is judged."""
        if head["stream"].startswith(INDEXES):
            own = self.found.setdefault(head["stream"], Index())
            own.gap = own.gap or own.records != head["stream_seq"]
            own.records += 1

    def take(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Fold a record, after it was judged."""
        self.last, self.awaited, self.unread = head["seq"], _line_after(head, body), False
        if head["kind"] == "forecast_listed" and head["stream"] in self.found:
            self.found[head["stream"]].take(head["seq"], body)


def _line_after(head: Mapping[str, Any], body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the line of the index that a record has right after it; None if it has none."""
    named = attempt_in(head["stream"])
    if named is None or head["kind"] not in ("snapshot_taken", "forecast_sealed"):
        return None
    event = "opened" if head["kind"] == "snapshot_taken" else body.get("outcome")
    line = {"instrument": body.get("instrument"), "event": event, "again": 0}
    return {**line, "forecast_id": named[0], "attempt": named[1]}


def _document(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


# ---------------------------------------------------------------- seen
# What earlier records said, as far as a statement about a later one needs it.
#
# Memory grows with decisions; of a sealed one only the order's terms stay.

LIMIT = "2"
TIMES_IN_FORCE = {"DAY": "0", "GTC": "1", "IOC": "3", "FOK": "4"}
_LARGE = re.compile(r"-?[1-9][0-9]{15,38}", re.ASCII)
OWN_STREAM = "decision/"


class VerifiedRecord(NamedTuple):
    """A record whose bytes were verified."""

    head: Mapping[str, Any]
    body: Mapping[str, Any]
    leaf: bytes

    @property
    def seq(self) -> int:
        """Its number."""
        return int(self.head["seq"])

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.head["kind"])

    @property
    def decision(self) -> str:
        """The decision whose stream it is in, or nothing."""
        stream = str(self.head["stream"])
        return stream.removeprefix(OWN_STREAM) if stream.startswith(OWN_STREAM) else ""

    @property
    def walked(self) -> bool:
        """Whether its stream is that of a decision, a forecast or joint paths."""
        return str(self.head["stream"]).startswith((OWN_STREAM, FORECASTS, SETS))


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return an object, empty for any other value."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[Any]:
    """Return a list, empty for any other value."""
    return value if isinstance(value, list) else []


def whole_of(value: object) -> int | None:
    """Return a whole number, which risk's documents write as text beyond 2^53 - 1."""
    if type(value) is int:
        return value
    if isinstance(value, str) and _LARGE.fullmatch(value):
        return int(value)
    return None


def whole_numbers(values: Sequence[object]) -> list[int] | None:
    """Return the values if each is a whole number, else None."""
    found = [one for one in values if type(one) is int]
    return found if len(found) == len(values) else None


def is_given(value: object) -> bool:
    """Return whether a value is there and not the empty text."""
    return value is not None and value != ""


def same(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: 1 is not true."""
    return canonical(one) == canonical(other)


def tagged_digest(tag: str, document: object) -> str:
    """Return the digest of a document of the rules: a tag's line, then its canonical bytes."""
    return hashlib.sha256(f"{tag}\n".encode() + canonical(document)).hexdigest()


@dataclass(slots=True)
class SeenOrder:
    """An announced order: its fields, its terms now, and the replaces that were asked for."""

    intent: Mapping[str, Any]
    fields: Mapping[Any, str]
    name: str
    terms: Mapping[str, Any]
    filled: int = 0
    asked: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class SeenSet(NamedTuple):
    """Joint paths: number and leaf of their record, their digest and number, and the members.

    `members` has forecast, attempt and whose paths by instrument, in the record's order.
    """

    place: tuple[int, str]
    result: tuple[object, object]
    members: Mapping[str, tuple[object, object, object]]


@dataclass(slots=True)
class SeenDecision:
    """The records of one decision so far; `gap` if an earlier one is not here.

    `taken` says which forecast it rests on now; an approval asks for another. `paths` are those
    that the intent rests on; None until one is proposed.
    """

    records: int = 0
    gap: bool = False
    account: object = None
    request: Mapping[str, Any] = field(default_factory=dict)
    author: object = None
    taken: Mapping[str, Any] | None = None
    paths: object = None
    proposed: tuple[Mapping[str, Any], object] | None = None
    verdicts: dict[int, tuple[Mapping[str, Any], bytes]] = field(default_factory=dict)
    agreed: Mapping[str, Any] | None = None
    order: SeenOrder | None = None


@dataclass(slots=True)
class Earlier:
    """The fold. `whole` says whether every record so far is here: a bundle shows some only.

    `fees` has what a trade charged, in minor units, by the record that booked it.
    `named` has the decision and the side of an order by each ClOrdID that it may have had.
    """

    whole: bool = True
    log: str = ""
    first: bytes = b""
    runs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""
    instruments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    policies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    in_force: str = ""
    decisions: dict[str, SeenDecision] = field(default_factory=dict)
    reads: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    messages: dict[tuple[str, str], Message] = field(default_factory=dict)
    presses: dict[str, object] = field(default_factory=dict)
    stops: dict[str, object] = field(default_factory=dict)
    tested: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    acts: dict[int, list[object]] = field(default_factory=dict)
    differences: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    named: dict[str, tuple[str, object]] = field(default_factory=dict)
    fees: dict[int, object] = field(default_factory=dict)
    held: Positions = field(default_factory=Positions)
    attempts: SeenAttempts = field(default_factory=SeenAttempts)
    indexes: Indexes = field(default_factory=Indexes)
    joined: dict[str, SeenSet] = field(default_factory=dict)
    modes: set[str] = field(default_factory=set)
    mode: str = ""
    mode_seq: int = -1
    mode_limits: object = ""

    @property
    def log_id(self) -> str:
        """The origin and the first record's leaf; nothing where the first record is not shown."""
        return f"{self.log}#{self.first.hex()}" if self.first else ""

    def of(self, said: VerifiedRecord) -> SeenDecision:
        """Return what is known of a record's decision."""
        return self.decisions.get(said.decision) or SeenDecision(gap=True)

    def enter(self, said: VerifiedRecord) -> None:
        """Note that a record comes, before it is judged."""
        self.log = said.head["log"]
        if said.seq == 0:
            self.first = said.leaf
        self.attempts.enter(said.head)
        self.indexes.enter(said.head)
        if said.decision:
            own = self.decisions.setdefault(said.decision, SeenDecision())
            own.gap = own.gap or own.records != said.head["stream_seq"]
            own.records += 1
            if own.account is None:
                own.account = said.body.get("account")

    def take(self, said: VerifiedRecord) -> None:
        """Fold a record, after it was judged."""
        self.held.take(said.seq, said.kind, said.body)
        self.attempts.take(said.head, said.body, said.leaf)
        self.indexes.take(said.head, said.body)
        taken = _TAKEN.get(said.kind)
        if taken is not None:
            taken(self, said)

    def knows(self, symbol: object) -> bool:
        """Return whether the units of an instrument are on record."""
        return text_of(symbol) in self.instruments

    def instrument(self, symbol: object) -> Mapping[str, Any]:
        """Return the units of an instrument, empty if they are not on record."""
        return self.instruments.get(text_of(symbol), {})

    def unit_of(self, symbol: object) -> int | None:
        """Return the minor units of one lot and tick of an instrument, None if it is unknown."""
        names = ("tick_minor", "lot", "multiplier")
        numbers = whole_numbers([self.instrument(symbol).get(name) for name in names])
        return None if numbers is None else math.prod(numbers)

    def priced(self, symbol: object, ticks: object, price: object) -> bool:
        """Return whether a price in text is so many ticks of an instrument."""
        tick = self.instrument(symbol).get("tick_minor")
        digits, units = self.profile.get("minor_digits"), units_of(text_of(price))
        if type(tick) is not int or type(digits) is not int or type(ticks) is not int:
            return False
        if units is None or digits < 0:
            return False
        return bool(units * 10**digits == ticks * tick * 10**SCALE)

    def counted(self, symbol: object, lots: object, quantity: object) -> bool:
        """Return whether a quantity in text is so many lots of an instrument."""
        lot = self.instrument(symbol).get("lot")
        if type(lot) is not int or type(lots) is not int:
            return False
        return bool(units_of(text_of(quantity)) == lots * lot * 10**SCALE)


def _run(seen: Earlier, said: VerifiedRecord) -> None:
    seen.runs[text_of(said.body.get("run_id"))] = {n: said.body.get(n) for n in ("mode", "dev")}
    seen.modes.add(text_of(said.body.get("mode")))
    seen.profile = mapping_of(said.body.get("order_profile"))
    seen.session = text_of(mapping_of(said.body.get("fix_profile")).get("name"))
    if said.body.get("dev") is not True:
        seen.mode = text_of(said.body.get("mode"))
    for one in list_of(said.body.get("instruments")):
        seen.instruments[text_of(mapping_of(one).get("symbol"))] = mapping_of(one)


def _listing(seen: Earlier, said: VerifiedRecord) -> None:
    one = mapping_of(said.body.get("instrument"))
    seen.instruments[text_of(one.get("symbol"))] = one


def _policy(seen: Earlier, said: VerifiedRecord) -> None:
    seen.in_force = text_of(said.body.get("policy_digest"))
    seen.policies[seen.in_force] = mapping_of(said.body.get("policy"))


def _asked(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.request, own.author = mapping_of(said.body.get("request")), said.body.get("author")


def _forecast(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    names = ("instrument", "of_seq", "forecast_id")
    own.taken = {
        **{name: said.body.get(name) for name in names},
        "forecast_attempt": said.body.get("forecast_attempt", 0),
        "seq": said.seq,
    }
    if own.author is None:
        own.author = said.body.get("author")


def _proposed(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.proposed = (mapping_of(said.body.get("intent")), said.body.get("intent_digest"))
    own.paths = mapping_of(said.body.get("paths"))


def _set_joined(seen: Earlier, said: VerifiedRecord) -> None:
    members = [mapping_of(one) for one in list_of(said.body.get("members"))]
    seen.joined[text_of(said.body.get("joint_id"))] = SeenSet(
        place=(said.seq, said.leaf.hex()),
        result=(said.body.get("digest"), said.body.get("n_paths")),
        members={
            text_of(one.get("instrument")): (
                one.get("forecast_id"),
                one.get("attempt"),
                one.get("paths"),
            )
            for one in members
        },
    )


def _given(seen: Earlier, said: VerifiedRecord) -> None:
    names = ("intent", "intent_digest", "policy_digest", "reservation", "result", "kill_epoch")
    kept = {name: said.body.get(name) for name in (*names, "send_before_us")}
    verdict = mapping_of(said.body.get("verdict"))
    kept["verdict_digest"] = verdict.get("verdict_digest")
    kept["held_by"] = held_by(verdict)
    seen.of(said).verdicts[said.seq] = (kept, said.leaf)


def held_by(verdict: Mapping[str, Any]) -> list[str]:
    """Return the rules that hold an order for a person, sorted."""
    rows = map(mapping_of, list_of(verdict.get("results")))
    return sorted({text_of(row.get("rule_id")) for row in rows if row.get("action") == "HOLD"})


def _agreed(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.agreed, own.taken = mapping_of(said.body.get("band")), None


def _sending(seen: Earlier, said: VerifiedRecord) -> None:
    own, number = seen.of(said), said.body.get("approving_seq")
    kept, _ = own.verdicts.get(number if type(number) is int else -1, ({}, b""))
    intent, fields = mapping_of(kept.get("intent")), fields_of(said.body)
    name = text_of(said.body.get("cl_ord_id"))
    terms = {
        "qty_lots": intent.get("qty_lots"),
        "limit_ticks": intent.get("limit_ticks"),
        "quantity": fields.get(38, ""),
        "price": fields.get(44, ""),
    }
    own.order = SeenOrder(intent=intent, fields=fields, name=name, terms=terms)
    seen.named[name] = (said.decision, intent.get("side"))


def _replacing(seen: Earlier, said: VerifiedRecord) -> None:
    order = seen.of(said).order
    if order is not None:
        after = mapping_of(said.body.get("after"))
        name = order_name(said.leaf)
        order.asked[name] = {**after, "orig": said.body.get("orig_cl_ord_id")}
        seen.named[name] = (said.decision, order.intent.get("side"))


def _replaced(seen: Earlier, said: VerifiedRecord) -> None:
    order = seen.of(said).order
    if order is not None and said.body.get("outcome") == "replaced":
        order.name = text_of(said.body.get("cl_ord_id"))
        order.terms = mapping_of(said.body.get("terms"))


def _reported(seen: Earlier, said: VerifiedRecord) -> None:
    order, body = seen.of(said).order, said.body
    if order is None:
        return
    if body.get("restated") is not None:
        order.terms = mapping_of(body.get("restated"))
    lots = body.get("last_lots")
    order.filled += lots if type(lots) is int else 0
    undone = body.get("undoes_seq")
    fee = mapping_of(body.get("fill")).get("fee_minor")
    seen.fees[undone if type(undone) is int else said.seq] = fee


def _sealed(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.verdicts.clear()
    own.request, own.proposed, own.agreed, own.taken, own.paths = {}, None, None, None, None


def _inbound(seen: Earlier, said: VerifiedRecord) -> None:
    place = (said.head["stream"], text_of(said.body.get("offset")))
    seen.messages[place] = message_of(said.body)


def _read(seen: Earlier, said: VerifiedRecord) -> None:
    seen.reads[said.seq] = {name: said.body.get(name) for name in ("reader", "object")}


def _pressed(seen: Earlier, said: VerifiedRecord) -> None:
    seen.presses[text_of(said.body.get("kill_epoch"))] = said.body.get("press_id")


def _stopped(seen: Earlier, said: VerifiedRecord) -> None:
    seen.stops[text_of(said.body.get("stop_id"))] = said.body.get("stop")


def _resumed(seen: Earlier, said: VerifiedRecord) -> None:
    for one in list_of(said.body.get("stop_ids")):
        seen.stops.pop(text_of(one), None)


def _tested(seen: Earlier, said: VerifiedRecord) -> None:
    seen.tested[said.seq] = said.body


def _differed(seen: Earlier, said: VerifiedRecord) -> None:
    names = ("account", "cl_ord_id", "instrument", "reason")
    kept = {name: said.body.get(name) for name in names}
    seen.differences[said.seq] = {**kept, "leaf": said.leaf.hex()}


def _named(seen: Earlier, said: VerifiedRecord) -> None:
    seen.acts[said.seq] = [said.kind, said.leaf.hex(), said.body.get("ref")]


def _moded(seen: Earlier, said: VerifiedRecord) -> None:
    seen.modes.add(text_of(said.body.get("mode")))
    seen.mode_seq, seen.mode_limits = said.seq, said.body.get("limits", "")
    seen.mode = text_of(said.body.get("mode"))


_TAKEN = {
    "run_started": _run,
    "instrument_listed": _listing,
    "policy_activated": _policy,
    "intent_received": _asked,
    "forecast_taken": _forecast,
    "intent_proposed": _proposed,
    "paths_joined": _set_joined,
    "verdict_given": _given,
    "approval_given": _agreed,
    "order_sending": _sending,
    "replace_requested": _replacing,
    "replace_ended": _replaced,
    "order_reported": _reported,
    "decision_sealed": _sealed,
    "fix_inbound": _inbound,
    "read_recorded": _read,
    "kill_pressed": _pressed,
    "stop_begun": _stopped,
    "stop_ended": _resumed,
    "promotion_tested": _tested,
    "book_difference": _differed,
    "mode_entered": _moded,
    **{ends: _named for ends, *_ in SIGNED_KINDS.values() if ends},
}


def shown_side(fields: Mapping[Any, str]) -> str:
    """Return the side of an order's fields, or nothing."""
    return FIX_SIDES.get(text_of(fields.get(54)), "")


def differing(said: Mapping[str, Any], wanted: Mapping[str, Any], words: str) -> Iterator[str]:
    """Yield each field of a record that has another value than its reference."""
    for name, value in wanted.items():
        if not same(said.get(name), value):
            yield f"its {name} is not {words}"


# ---------------------------------------------------------------- verdicts
# Statements about what was judged: intents, verdicts, and what a person agreed to.
#
# Not here: how a verdict follows from its state (a replay computes that).

Findings = Iterator[str]
Judge = Callable[[Earlier, VerifiedRecord], Findings]
_BP = 10_000
_ALONE = ["R31"]
"""What an agreement releases that names no rule: such was every earlier one."""
_PASSING = frozenset({"ALLOW", "WARN"})


def judge_run(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a record says of its run that the run's start does not."""
    if said.kind in {"run_started", "mode_entered"}:
        return
    if "run_id" not in said.body:
        mode = said.body.get("mode")
        if seen.whole and said.walked and is_given(mode) and text_of(mode) not in seen.modes:
            yield "its mode is that of no run on record before it"
        return
    run = seen.runs.get(text_of(said.body["run_id"]))
    if run is None:
        if seen.whole and said.walked:
            yield "its run is not on record before it"
        return
    told = {name: said.body[name] for name in ("mode", "dev") if name in said.body}
    yield from differing(told, {name: run[name] for name in told}, "that of its run")


def judge_decision(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a record says of its decision that the decision's first record does not."""
    if not said.decision:
        return
    own, body = seen.of(said), said.body
    if "decision_id" in body and body["decision_id"] != said.decision:
        yield "it names another decision than its stream"
    if "account" in body and not own.gap and not same(body["account"], own.account):
        yield "its account is not that of its decision"


def judge_intent(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what an intent has that its request has not."""
    own, intent = seen.of(said), mapping_of(said.body.get("intent"))
    if said.body.get("intent") is None and said.body.get("intent_digest") is None:
        return  # nothing to trade
    if said.body.get("intent_digest") != tagged_digest("countersign.intent/1", intent):
        yield "its intent_digest is not that of its intent"
    if own.gap:
        return
    wanted = {"decision_id": said.decision, "account": own.account, "author": own.author}
    yield from (
        f"of its intent, {text}" for text in differing(intent, wanted, "that of its request")
    )
    asked = own.request.get("instrument")
    if asked is not None and not same(intent.get("instrument"), asked):
        yield "of its intent, its instrument is not that of its request"


def judge_verdict(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a verdict says that its intent, its policy or its own results do not."""
    body, own = said.body, seen.of(said)
    intent, state = mapping_of(body.get("intent")), mapping_of(body.get("state"))
    if not own.gap and (own.proposed is None or not same(own.proposed[0], intent)):
        yield "its intent is not the one proposed before it"
    yield from judged_faults(seen, body)
    if state.get("egress_epoch") != body.get("kill_epoch") or type(state.get("killed")) is not bool:
        yield "its kill_epoch is not that of its state"
    result, worst = text_of(body.get("result")), worst_of(body.get("verdict"))
    wanted = None
    if result in {"approved", "held"}:
        names = ("instrument", "limit_ticks", "qty_lots", "side")
        wanted = {name: intent.get(name) for name in names}
        wanted["unit_minor"] = seen.unit_of(intent.get("instrument"))
        if wanted["unit_minor"] is None and not seen.whole:
            wanted["unit_minor"] = mapping_of(body.get("reservation")).get("unit_minor")
        if state.get("killed") is not False or state.get("kill_epoch") != state.get("egress_epoch"):
            yield f"it is {result} while a kill is in force"
    if not same(body.get("reservation"), wanted):
        yield "its reservation is not its intent's"
    if result == "held" and worst != "HOLD":
        yield "it is held, and no rule holds it"
    if result not in {"approved", "held"} and worst in _PASSING:
        yield "it is refused, and no rule refuses it"


def judged_faults(seen: Earlier, body: Mapping[str, Any]) -> Findings:
    """Yield what is wrong with a verdict's intent, policy and results."""
    intent, verdict = mapping_of(body.get("intent")), mapping_of(body.get("verdict"))
    digest = tagged_digest("countersign.intent/1", intent)
    if body.get("intent_digest") != digest or verdict.get("intent_digest") != digest:
        yield "its intent_digest is not that of its intent"
    status, in_force = mapping_of(body.get("policy_status")), body.get("policy_digest")
    if verdict.get("policy_digest") != in_force or status.get("policy_digest") != in_force:
        yield "it names two policies"
    if seen.whole and in_force != seen.in_force:
        yield "its policy is not the one in force on record"
    policy = seen.policies.get(text_of(in_force))
    if policy is not None:
        yield from _result_faults(policy, intent, verdict, status)


def _result_faults(
    policy: Mapping[str, Any],
    intent: Mapping[str, Any],
    verdict: Mapping[str, Any],
    status: Mapping[str, Any],
) -> Findings:
    """Yield what a verdict's results are not that the policy asks for."""
    rows = [mapping_of(one) for one in list_of(verdict.get("results"))]
    pairs = [(text_of(one.get("rule_id")), text_of(one.get("check"))) for one in rows]
    arming = _arming_of(policy, intent.get("instrument"))
    wanted = {(rule, check) for rule in arming for check in CHECKS.get(rule, ())}
    missing = sorted(wanted.difference(pairs))
    if missing:
        yield f"it has no result of {' '.join(missing[0])}"
    if len(set(pairs)) != len(pairs):
        yield "it has two results of one check"
    foreign = sorted(rule for rule, _ in pairs if rule not in {*arming, "R29", "R48", "R54"})
    if arming and foreign:
        yield f"it has a result of {foreign[0]}, which its policy does not name"
    if text_of(verdict.get("action")) in _PASSING and status.get("standing") != "ACTIVE":
        yield "its policy was not active, and no rule says so"
    for one, (rule, check) in zip(rows, pairs, strict=True):
        if not _follows(one, armed=arming.get(rule, True)):
            yield f"its result of {rule} {check} does not follow from what was measured"
    if worst_of(verdict) == "":
        yield "its action is not the worst of its results"


def _arming_of(policy: Mapping[str, Any], symbol: object) -> dict[str, bool]:
    """Return the rules that a policy names for an instrument, and whether each is armed."""
    listed = [mapping_of(one) for one in list_of(policy.get("instruments"))]
    of_class = next((one.get("asset_class") for one in listed if one.get("symbol") == symbol), None)
    classes = [mapping_of(one) for one in list_of(policy.get("classes"))]
    section = next((one for one in classes if one.get("asset_class") == of_class), None)
    if section is None:  # an unknown instrument: every rule refuses, armed
        section = {"arming": [{**mapping_of(one), "armed": True} for one in _any_arming(classes)]}
    rows = [mapping_of(one) for one in list_of(section.get("arming"))]
    return {text_of(one.get("rule")): one.get("armed") is True for one in rows}


def _any_arming(classes: list[Mapping[str, Any]]) -> list[Any]:
    return list(list_of(classes[0].get("arming"))) if classes else []


def _follows(one: Mapping[str, Any], *, armed: bool) -> bool:
    """Return whether a result's margin, outcome and action follow from each other."""
    observed, limit, margin = (whole_of(one.get(n)) for n in ("observed", "limit", "margin"))
    if text_of(one.get("bound")) not in {"MAX", "MIN"}:
        return False
    if observed is not None and limit is not None:
        if margin != (limit - observed if one.get("bound") == "MAX" else observed - limit):
            return False
    elif margin is not None:
        return False
    action, reason = text_of(one.get("action")), one.get("reason")
    match one.get("outcome"):
        case "PASS":
            return armed and margin is not None and margin >= 0 and action in _PASSING
        case "BREACH":
            passed = action == "WARN" and reason == "OVERRIDDEN"
            inside = margin is not None and margin < 0
            return armed and inside and (passed or action not in {"ALLOW", "WARN"})
        case "REFUSED":
            return armed and action in {"REJECT", "HALT", "KILL"}
        case "NOT_APPLICABLE":
            return action == "ALLOW" and (reason != "DISARMED" or not armed)
        case _:
            return False


def judge_hold(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a hold, its answer, or the verdict after it says against the others."""
    own = seen.of(said)
    if own.gap:
        return
    if said.kind == "verdict_given":
        yield from _released_faults(seen, said)
        return
    number = said.body.get("verdict_seq")
    held, _ = own.verdicts.get(number if type(number) is int else -1, ({}, b""))
    if held.get("result") != "held":
        yield "it answers no held verdict on record before it"
        return
    if said.kind == "approval_refused":
        return
    names = ("intent_digest", "policy_digest", "verdict_digest")
    told = {name: held.get(name) for name in names if name in said.body}
    yield from differing(said.body, told, "that of the held verdict")
    intent = mapping_of(held.get("intent"))
    if "author" in said.body and not same(said.body["author"], intent.get("author")):
        yield "its author is not that of the held intent"
    policy = mapping_of(seen.policies.get(text_of(held.get("policy_digest"))))
    allowed = _band_of(mapping_of(policy.get("approval")), intent) if policy else {}
    band = mapping_of(said.body.get("band"))
    yield from differing(band, allowed, "the policy's band")
    if said.kind == "approval_given":
        yield from _agreement_faults(seen, said, held, mapping_of(policy.get("approval")))


def _agreement_faults(
    seen: Earlier, said: VerifiedRecord, held: Mapping[str, Any], allowed: Mapping[str, Any]
) -> Findings:
    """Yield what an agreement says that the held verdict, the policy or the read do not."""
    body, band, intent = (
        said.body,
        mapping_of(said.body.get("band")),
        mapping_of(held.get("intent")),
    )
    approver = body.get("approver")
    wanted = {name: held.get(name) for name in ("intent_digest", "policy_digest", "verdict_digest")}
    wanted |= {name: intent.get(name) for name in ("account", "instrument", "side")}
    wanted |= {"approver": approver, "decision_id": said.decision}
    yield from differing(band, wanted, "that of what it agrees to")
    if not approver or not isinstance(approver, str) or approver == intent.get("author"):
        yield "its approver is the author, or nobody"
    if said.head["actor"] != f"person:{text_of(approver)}":
        yield "its approver is not the record's actor"
    if not same(band.get("releases", _ALONE), held.get("held_by")):
        yield "it releases other rules than those that held"
    given, ends = band.get("given_at_us"), band.get("expires_us")
    ttl = mapping_of(allowed.get("ttl")).get("value")
    times = whole_numbers((given, ttl, ends))
    if (times is None and allowed) or ends != body.get("expires_us"):
        yield "its expires_us is not that of its band"
    elif times is not None and times[0] + times[1] != times[2]:
        yield "its expires_us is not after the policy's time to live"
    number = mapping_of(body.get("shown")).get("read_seq")
    read = seen.reads.get(number if type(number) is int else -1)
    if read != {"reader": approver, "object": f"sheet/{said.decision}"} and (seen.whole or read):
        yield "no read of its sheet by the approver is on record before it"


def _band_of(allowed: Mapping[str, Any], intent: Mapping[str, Any]) -> dict[str, int]:
    """Return the band that a policy gives an intent."""
    limits = [
        mapping_of(allowed.get(n)).get("value")
        for n in ("price_band", "size_band", "exposure_band")
    ]
    asked = [intent.get(n) for n in ("limit_ticks", "qty_lots", "target_exposure_bp")]
    numbers = whole_numbers((*limits, *asked))
    if numbers is None:
        return {}
    by_price, by_size, by_exposure, ticks, lots, exposure = numbers
    return {
        "price_low_ticks": ticks - ticks * by_price // _BP,
        "price_high_ticks": ticks + ticks * by_price // _BP,
        "qty_max_lots": lots + lots * by_size // _BP,
        "exposure_low_bp": exposure - by_exposure,
        "exposure_high_bp": exposure + by_exposure,
    }


def _released_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a verdict under an agreement has that the agreement does not cover."""
    body, own = said.body, seen.of(said)
    agreed, approval = own.agreed, body.get("approval")
    if body.get("renewal", agreed is not None) is not (agreed is not None):
        yield "it says of a renewal what the decision's records do not"
    if approval is None:
        if body.get("result") == "approved" and worst_of(body.get("verdict")) == "HOLD":
            yield "it is approved although held, under no agreement"
        return
    if agreed is None or not isinstance(approval, dict) or not same(approval, agreed):
        yield "its approval is not the agreement on record before it"
        return
    if body.get("result") == "approved":
        yield from _beyond_agreed(said, agreed)


def _beyond_agreed(said: VerifiedRecord, agreed: Mapping[str, Any]) -> Findings:
    """Yield what an approved verdict has that is outside its agreement."""
    body = said.body
    intent, ends = mapping_of(body.get("intent")), agreed.get("expires_us")
    bounds = {
        "limit_ticks": ("price_low_ticks", "price_high_ticks"),
        "target_exposure_bp": ("exposure_low_bp", "exposure_high_bp"),
        "qty_lots": ("", "qty_max_lots"),
    }
    for name, (low, high) in bounds.items():
        whole = whole_numbers((agreed.get(low, 1), intent.get(name), agreed.get(high)))
        if whole is None or sorted(whole) != whole:
            yield f"its {name} is outside the agreed band"
    for name in ("account", "decision_id", "instrument", "side"):
        if not same(intent.get(name), agreed.get(name)):
            yield f"its {name} is not the agreed one"
    if not same(body.get("policy_digest"), agreed.get("policy_digest")):
        yield "another policy is in force than when it was agreed to"
    released = list_of(agreed.get("releases", _ALONE))
    if not {*held_by(mapping_of(body.get("verdict")))} <= {*map(text_of, released)}:
        yield "a rule holds it that the approver did not see"
    if type(ends) is not int or ends < said.head["recorded_at_us"]:
        yield "its agreement had expired"
    elif type(body.get("send_before_us")) is not int or body["send_before_us"] > ends:
        yield "it may leave after its agreement expires"


# ---------------------------------------------------------------- forecasts
# Statements about forecasts: what one rests on, and which one a decision names.
#
# Not here: its seeds (`contents.seeds`), and how it follows from its inputs (a replay tells).

_ID_LETTERS = 26
_DRAW_RULE = "direct-1"
_TAIL, _WORDLESS = 12, [84, 91, 96] * 3
"""Tokens at the end of a prompt of numbers, and the first of them where no word acts."""


def forecast_name(inputs: Mapping[str, Any]) -> str:
    """Return the id of the forecast of some inputs: 130 bits of their digest in base32."""
    digest = hashlib.sha256(canonical(inputs)).digest()
    return base64.b32encode(digest).decode()[:_ID_LETTERS]


def judge_forecast(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a forecast, or a decision that names one, says that other records do not."""
    match said.kind:
        case "forecast_taken":
            yield from _taken_faults(seen, said)
        case "intent_proposed":
            yield from _unfounded(seen, said)
        case _:
            yield from _attempt_faults(seen, said)


def _attempt_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what is wrong with a record of an attempt's stream."""
    stream, body = said.head["stream"], said.body
    named = attempt_in(stream)
    if named is None:
        yield "it is in no forecast's stream"
        return
    if "attempt" in body and not same(body["attempt"], named[1]):
        yield "its attempt is not that of its stream"
    own = seen.attempts.found.get(stream, SeenAttempt(gap=True))
    if said.kind == "snapshot_taken":
        yield from _opening_faults(seen, said, named)
    if own.gap:
        return
    if own.outcome != "":
        yield "its forecast is sealed before it"
    elif (own.inputs is None) != (said.kind == "snapshot_taken"):
        yield "its forecast does not begin with its inputs, once"
    elif own.inputs is not None:
        yield from _step_faults(own, own.inputs, said)


def _opening_faults(seen: Earlier, said: VerifiedRecord, named: tuple[str, int]) -> Findings:
    body, inputs, (forecast_id, number) = said.body, mapping_of(said.body.get("inputs")), named
    if body.get("forecast_id") != forecast_id:
        yield "it names another forecast than its stream"
    if forecast_name(inputs) != forecast_id:
        yield "its forecast_id is not that of its inputs"
    if not same(inputs.get("snapshot"), body.get("snapshot_blob")):
        yield "its snapshot_blob is not among its inputs"
    if not same(inputs.get("instrument"), body.get("instrument")):
        yield "its instrument is not among its inputs"
    if not number:
        return
    before = ended_attempt(seen, f"{FORECASTS}{forecast_id}.{number - 1}")
    if before is not None and not before.may_be_followed:
        yield "the attempt before it has no failure on record"
    elif before is None and seen.whole:
        yield "the attempt before it is not on record"


def ended_attempt(seen: Earlier, stream: str) -> SeenAttempt | None:
    """Return an attempt of which all is here; in a bundle its end too, which is asked for there."""
    found = seen.attempts.found.get(stream)
    if found is None or found.gap or found.inputs is None:
        return None
    return found if seen.whole or found.outcome != "" else None


def _step_faults(own: SeenAttempt, inputs: Mapping[str, Any], said: VerifiedRecord) -> Findings:
    """Yield what a record says of an attempt that the records before it do not."""
    body = said.body
    match said.kind:
        case "forecast_requested":
            yield from _request_faults(own, inputs, body)
            yield from _sampler_faults(body)
        case "rounds_captured" | "tokens_drawn":
            yield from _capture_faults(own, inputs, said)
        case "forecast_made":
            yield from _made_faults(own, inputs, mapping_of(body.get("forecast")))
        case "forecast_sealed":
            if not same(body.get("instrument"), inputs.get("instrument")):
                yield "its instrument is not that of the inputs"
            allowed = {"abandoned": own.made is None, "made": own.made is not None}
            allowed["failed"] = own.made is None and own.failed is not None
            if not allowed.get(text_of(body.get("outcome")), False):
                yield "its outcome does not follow from the records before it"
        case _:
            pass


def _request_faults(
    own: SeenAttempt, inputs: Mapping[str, Any], body: Mapping[str, Any]
) -> Findings:
    if own.requested:
        yield "its forecast was asked for before"
    if not same(body.get("prompt_digest"), inputs.get("prompt")):
        yield "its prompt is not among the inputs"
    if not same(body.get("codec_digest"), inputs.get("codec")):
        yield "its codec is not among the inputs"
    prompt = mapping_of(body.get("prompt"))
    if not same(prompt.get("token_ids"), body.get("prompt_ids")):
        yield "its prompt_ids are not those of its prompt"
    if not same(body.get("prompt_digest"), hashlib.sha256(canonical(prompt)).hexdigest()):
        yield "its prompt_digest is not that of its prompt"


def _sampler_faults(body: Mapping[str, Any]) -> Findings:
    """Yield what is wrong with who draws: a direct forecast has no drafts, seeds or words."""
    sampler = body.get("sampler")
    if sampler not in (ENGINE, DIRECT):
        yield "it has another sampler than the engine or direct draws"
    if sampler != DIRECT:
        return
    nothing = {"seeds_digest": "", "spec_k": 0, "drafter": "none", "news_twin": "no_news"}
    if any(not same(body.get(name), value) for name, value in nothing.items()):
        yield "it is drawn directly, and has drafts, seeds or a news twin"
    ids = body.get("prompt_ids")
    if not isinstance(ids, list) or not same(ids[-_TAIL:][: len(_WORDLESS)], _WORDLESS):
        yield "it is drawn directly, and words act in its prompt"


def _capture_faults(own: SeenAttempt, inputs: Mapping[str, Any], said: VerifiedRecord) -> Findings:
    """Yield what a capture's record says of the attempt that the records before it do not."""
    body, drawn = said.body, said.kind == "tokens_drawn"
    if own.captured:
        yield "its forecast was sampled before"
    if not same(own.sampler, DIRECT if drawn else ENGINE):
        yield "it is of another sampler than was asked for"
    if not drawn:
        return
    wanted = {
        "rule": _DRAW_RULE,
        "seed": own.seed.hex(),
        "table_digest": inputs.get("table"),
        "paths": own.paths,
        "n_tokens": own.n_tokens,
    }
    for name, value in wanted.items():
        if not same(body.get(name), value):
            yield f"its {name} is not that of the request"


def _made_faults(
    own: SeenAttempt, inputs: Mapping[str, Any], forecast: Mapping[str, Any]
) -> Findings:
    source = forecast.get("source")
    if not own.requested:
        yield "its forecast was not asked for"
    if own.made is not None:
        yield "its forecast was made before"
    if source == "table" and own.failed is None:
        yield "the table answers alone, and no failure is on record"
    if source not in ("table", "target"):
        yield "it has another source than target or table"
    if source == "target" and not own.captured:
        yield "nothing of what was sampled is on record before it"
    model = inputs.get("table" if source == "table" else "model")
    wanted = {"instrument": inputs.get("instrument"), "codec_digest": inputs.get("codec")}
    for name, value in (wanted | {"model_digest": model}).items():
        if not same(forecast.get(name), value):
            yield f"its {name} is not that of the inputs"


def _taken_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what is wrong with the forecast, or with the failure, that a decision names."""
    body = said.body
    of_seq, missing = body.get("of_seq"), body.get("missing", "")
    forecast_id, number = body.get("forecast_id", ""), body.get("forecast_attempt", 0)
    if is_given(missing) == (of_seq is not None):
        yield "it must name either a forecast or why there is none"
        return
    if forecast_id == "" and is_given(missing):
        return  # nothing could be asked for
    stream = f"{FORECASTS}{text_of(forecast_id)}.{text_of(number)}"
    if attempt_in(stream) is None or type(number) is not int:
        yield "it names no attempt at a forecast"
        return
    if of_seq is not None and not (type(of_seq) is int and of_seq < said.seq):
        yield "its forecast is not before it"
    found = ended_attempt(seen, stream)
    if found is not None and found.inputs is not None:
        yield from _named_faults(found, found.inputs, body)
    elif seen.whole:
        yield "the attempt that it names is not on record before it"


def _named_faults(
    found: SeenAttempt, inputs: Mapping[str, Any], body: Mapping[str, Any]
) -> Findings:
    """Yield what a decision says of an attempt that the attempt's own records do not."""
    missing = body.get("missing", "")
    if not same(inputs.get("instrument"), body.get("instrument")):
        yield "its forecast is of another instrument"
    if is_given(missing):
        if found.outcome != "failed" or not same(found.failed, missing):
            yield "the attempt that it names did not fail so"
    elif found.outcome != "made" or found.made != (body.get("of_seq"), body.get("of_leaf")):
        yield "the record that it names is not the forecast that was made"


def _unfounded(seen: Earlier, said: VerifiedRecord) -> Iterator[str]:
    """Yield why an intent rests on no forecast of its instrument."""
    own, intent = seen.of(said), mapping_of(said.body.get("intent"))
    if own.gap:
        return
    if own.taken is None or own.taken["of_seq"] is None:
        yield "no forecast was taken before it"
    elif intent and not same(intent.get("instrument"), own.taken["instrument"]):
        yield "its forecast is of another instrument"


# ---------------------------------------------------------------- listings
# Statements about the index of an instrument: every line, and which forecast a decision names.
#
# Not here: the part of an index that a bundle has (`contents.standing`).

PASSED_OVER = "a forecast that stood was passed over"


def judge_index(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what the index of an instrument says, or lacks, that other records do not."""
    indexes = seen.indexes
    beside = said.seq == indexes.last + 1
    wanted = indexes.awaited if beside or seen.whole else None
    if wanted is not None and not (beside and said.kind == "forecast_listed"):
        yield f"record {indexes.last} has no line of its index right after it"
    if said.kind == "forecast_taken" and seen.whole:
        yield from _passed_over(seen, said)
    if said.kind != "forecast_listed":
        return
    body, event = said.body, said.body.get("event")
    if said.head["stream"] != f"{INDEXES}{text_of(body.get('instrument'))}":
        yield "it is in the index of another instrument"
    if wanted is not None and beside:
        yield from differing(body, wanted, "that of the record before it")
    elif event == "again":
        yield from _again_faults(seen, said)
    elif (beside and not indexes.unread) or (seen.whole and not beside):
        yield "what it lists is not the record before it"


def _again_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield why a forecast does not stand again from here on."""
    body, own = said.body, seen.indexes.found.get(said.head["stream"])
    if own is None or own.gap:
        return
    name = text_of(body.get("forecast_id"))
    made = own.made.get(name)
    if made is None or not same(made, body.get("attempt")):
        yield "it names no forecast that was made before"
    if own.stands is not None and own.stands[0] == name:
        yield "the forecast that it names stood already"
    if not same(body.get("again"), own.again.get(name, 0) + 1):
        yield "its count is not the next one"


def _passed_over(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield that a decision names another forecast than the one that stood."""
    body = said.body
    if is_given(body.get("missing")) or body.get("of_seq") is None:
        return
    named = [body.get("forecast_id"), body.get("forecast_attempt", 0)]
    own = seen.indexes.found.get(f"{INDEXES}{text_of(body.get('instrument'))}")
    if own is None or own.stands is None:
        if own is None or not own.gap:
            yield "no forecast of its instrument stood"
    elif not own.gap and not same([*own.stands], named):
        yield PASSED_OVER


# ---------------------------------------------------------------- joint
# Statements about joint paths: what a set is joined from, and which set a decision names.
#
# Not here: how the paths follow from the set (a replay joins them again).

_JOINED_BY: Final = b"countersign/joint/1"
_WHOLE_CORRELATION: Final = 1_000_000
_WHOLE_BP: Final = 10_000
_PARTS: Final = ("keep_bp", "without_bp", "shrunk_bp")
FEWEST_JOINED: Final = 2
_NEWS_PATHS: Final = "news_twin_made"
PATHS_OF: Final = {
    "intent_proposed": "forecast_made",
    "placebo_judged": "placebo_made",
    "gjr_judged": "gjr_made",
}
"""Whose paths a record rests on, by its kind."""


def judge_joint(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a set of joint paths, or a record that names one, says that others do not."""
    match said.kind:
        case "paths_joined":
            yield from _set_faults(seen, said)
        case "verdict_given":
            yield from _judged_faults(seen, said)
        case _:
            yield from _naming_faults(seen, said)


def _set_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    body, members = said.body, [mapping_of(one) for one in list_of(said.body.get("members"))]
    named = [
        [one.get(name) for name in ("instrument", "forecast_id", "attempt", "paths")]
        for one in members
    ]
    inputs = {name: body.get(name) for name in ("rule", "without_bp")}
    if said.head["stream"] != f"{SETS}{text_of(body.get('joint_id'))}":
        yield "it is in the stream of another set"
    if said.head["stream_seq"] != 0:
        yield "its set was joined before it"
    if not same(body.get("joint_id"), forecast_name({"members": named, **inputs})):
        yield "its joint_id is not that of its members"
    symbols = [text_of(one.get("instrument")) for one in members]
    if len(symbols) < FEWEST_JOINED or symbols != sorted(set(symbols)):
        yield "its members are not two or more instruments, each once, in order"
    kinds = sorted(text_of(one.get("paths")) for one in members)
    news = kinds.count(_NEWS_PATHS) == 1 and {*kinds} <= {_NEWS_PATHS, "forecast_made"}
    if not news and not (len({*kinds}) == 1 and kinds[0] in PATHS_OF.values()):
        yield "its members' paths are not of one kind"
    count, found = len(members), whole_numbers(list_of(body.get("correlation_1e6")))
    if (
        found is None
        or len(found) != count * (count - 1) // 2
        or any(abs(r) > _WHOLE_CORRELATION for r in found)
    ):
        yield "its correlation is not one number within one for each pair"
    parts = whole_numbers([body.get(name) for name in _PARTS])
    if parts is None or any(not 0 <= part <= _WHOLE_BP for part in parts):
        yield "a part of it is not between none and the whole"
    n_paths = body.get("n_paths")
    if type(n_paths) is not int or n_paths < 1:
        yield "it has no number of paths"
    yield from _members_faults(seen, said, members)


def _members_faults(
    seen: Earlier, said: VerifiedRecord, members: Sequence[Mapping[str, Any]]
) -> Findings:
    """Yield what a set says of its members that their own records do not."""
    seeds = list[bytes]()
    for one in members:
        stream = f"{FORECASTS}{text_of(one.get('forecast_id'))}.{text_of(one.get('attempt'))}"
        found = ended_attempt(seen, stream)
        if found is None or found.inputs is None:
            if seen.whole:
                yield "a forecast that it joins is not on record before it"
            continue
        seeds += [found.seed] if found.seed else []
        if not same(found.inputs.get("instrument"), one.get("instrument")):
            yield "a forecast that it joins is of another instrument"
        named = [one.get("of_seq"), one.get("of_leaf")]
        if found.outcome != "made" or found.made is None or not same([*found.made], named):
            yield "a record that it names is not the forecast that was made"
        elif found.made[0] >= said.seq:
            yield "a forecast that it joins is not before it"
    digest = hashlib.sha256(_JOINED_BY + b"".join(seeds)).hexdigest()
    if len(seeds) == len(members) and not same(said.body.get("seed"), digest):
        yield "its seed is not that of its members' seeds"


def _naming_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a record says of the set of joint paths that it names."""
    own, paths = seen.of(said), mapping_of(said.body.get("paths"))
    if own.gap:
        return
    yield from _read_faults(seen, said, paths)
    joint = mapping_of(paths.get("joint"))
    if not joint:
        return
    found = seen.joined.get(text_of(joint.get("joint_id")))
    if found is None:
        if seen.whole:
            yield "the joint paths that it names are not on record before it"
        return
    if not same([*found.place], [joint.get("of_seq"), joint.get("of_leaf")]):
        yield "it names another record than that of its joint paths"
    if not same([*found.result], [paths.get("digest"), paths.get("n_paths")]):
        yield "its joint paths are not those of the set"
    if own.taken is not None and own.taken.get("of_seq") is not None:
        yield from _standing_faults(seen, said, own.taken, found)


def _standing_faults(
    seen: Earlier, said: VerifiedRecord, taken: Mapping[str, Any], found: SeenSet
) -> Findings:
    """Yield which member is not the forecast that stood when the decision took its own."""
    symbol, wanted = text_of(taken.get("instrument")), PATHS_OF[said.kind]
    if symbol not in found.members:
        yield "its own forecast is not among the members of its joint paths"
    for instrument, (forecast_id, attempt, kind) in found.members.items():
        named = [forecast_id, attempt]
        if kind != wanted:
            yield "its joint paths are of another kind"
        if instrument == symbol:
            if not same(named, [taken.get("forecast_id"), taken.get("forecast_attempt")]):
                yield "its own forecast is not the member of its joint paths"
            continue
        index = seen.indexes.found.get(f"{INDEXES}{instrument}")
        if index is None:
            if seen.whole:
                yield f"of {instrument} no forecast stood"
        elif not index.gap and not same(list(index.stood(taken["seq"]) or ()), named):
            yield f"of {instrument} {PASSED_OVER}"


def _judged_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield that a verdict rests on other paths than the intent that it judges."""
    own = seen.of(said)
    if not own.gap and own.paths is not None:
        yield from _read_faults(seen, said, mapping_of(own.paths))


def _read_faults(seen: Earlier, said: VerifiedRecord, named: Mapping[str, Any]) -> Iterator[str]:
    """Yield that the rules of a record read other paths than those that are named.

    Without a set the paths are of the one instrument of the forecast that was taken.
    """
    inputs, taken = said.body.get("inputs"), seen.of(said).taken
    if not isinstance(inputs, dict):
        return
    read, joint = mapping_of(inputs.get("paths")), mapping_of(named.get("joint"))
    if not same(read.get("digest"), named.get("digest")):
        yield "its rules read other paths than those that are named"
    if not read:
        return
    if not joint and taken is not None and not same(read.get("instruments"), [taken["instrument"]]):
        yield "it rests on paths of other instruments, and no set is named"
    found = seen.joined.get(text_of(joint.get("joint_id"))) if joint else None
    if found is not None and not same(read.get("instruments"), [*found.members]):
        yield "its joint paths are of other instruments than the set"


# ---------------------------------------------------------------- orders
# Statements about what left and what came back: orders, messages, replaces, reports.

_AGAIN = frozenset({447, 448, 452, 2376, 2594, 2595})
"""The tags of repeating groups, which alone may come twice in an order."""
_WORDS = (1, 15, 38, 40, 44, 54, 55, 59)
"""The fields of an order that a broker acts on, besides its name and type."""


def judge_order(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what an announced order has that its approval has not."""
    own, body = seen.of(said), said.body
    number = body.get("approving_seq")
    given, _ = own.verdicts.get(number if type(number) is int else -1, ({}, b""))
    if own.gap or given.get("result") != "approved":
        return  # `Approvals` reports an order without an approval
    intent = mapping_of(given.get("intent"))
    rows = pairs_of(body)
    tags = [tag for tag, _ in rows if type(tag) is int and tag not in _AGAIN]
    twice = sorted({tag for tag in tags if tags.count(tag) > 1})
    if twice:
        yield f"it has tag {twice[0]} twice"
    fields = {tag: text for tag, text in rows if type(tag) is int}
    symbol, account = intent.get("instrument"), seen.profile.get("account")
    account = account if is_given(account) else own.account
    right = {
        35: fields.get(35) == "D",
        11: same(fields.get(11), body.get("cl_ord_id")),
        1: same(fields.get(1), account),
        55: same(fields.get(55), symbol),
        54: same(shown_side(fields), intent.get("side")),
        38: seen.counted(symbol, intent.get("qty_lots"), fields.get(38)),
        40: fields.get(40) == LIMIT,
        44: seen.priced(symbol, intent.get("limit_ticks"), fields.get(44)),
        59: fields.get(59) == TIMES_IN_FORCE.get(text_of(intent.get("tif"))),
        15: same(fields.get(15), seen.profile.get("currency")),
    }
    if seen.knows(symbol) or seen.whole:
        wrong = [str(tag) for tag, is_right in right.items() if not is_right]
        if wrong:
            yield f"its tag {', '.join(wrong)} is not what was approved"
    names = ("kill_epoch", "send_before_us")
    yield from differing(body, {name: given.get(name) for name in names}, "its verdict's")
    session = body.get("session")
    if is_given(session) and seen.session not in {"", session}:
        yield "it was announced for another session than its run has"
    ends = body.get("send_before_us")
    if type(ends) is not int or ends <= said.head["recorded_at_us"]:
        yield "it was announced after its time was over"
    if own.order is not None:
        yield "its decision has an announced order already"


def judge_wire(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a message has that was not announced for it."""
    raw = text_of(said.body.get("raw"))
    digest = said.body.get("digest" if said.kind == "fix_inbound" else "raw_digest")
    if not raw.isascii() and max(raw) > "\xff":
        yield "its message has a character that is not one byte"
    elif len(raw) == RAW_MAX and said.kind == "fix_inbound":
        pass  # the beginning of a longer message, which is a blob
    elif hashlib.sha256(raw.encode("latin-1")).hexdigest() != digest:
        yield "its digest is not that of its message"
    order = seen.of(said).order
    if said.kind == "fix_inbound" or order is None or seen.of(said).gap:
        return
    wanted = {tag: order.fields.get(tag) for tag in _WORDS}
    wanted |= {35: "D", 11: order.name}
    if said.kind == "replace_sent":
        name = text_of(said.body.get("cl_ord_id"))
        asked = order.asked.get(name, {})
        wanted |= {38: asked.get("quantity"), 44: asked.get("price")}
        wanted |= {35: "G", 11: name, 41: asked.get("orig")}
    elif said.body.get("cl_ord_id") != order.name:
        yield "it left under another name than was announced"
    fields = wire_fields(raw)
    wrong = [str(tag) for tag, value in wanted.items() if not _sent(fields.get(str(tag)), value)]
    if wrong:
        yield f"its message has another tag {', '.join(wrong)} than was announced"
    tags = [part.partition("=")[0] for part in raw.split("\x01")]
    twice = [str(tag) for tag in wanted if tags.count(str(tag)) > 1]
    if twice:
        yield f"its message has tag {twice[0]} twice"


def _sent(value: str | None, wanted: object) -> bool:
    """Return whether a message has a value, or a pseudonym where it named a person."""
    return value == wanted or (value is not None and value.startswith("psn-"))


def judge_replace(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a replace asks for, reserves or sends beyond what was allowed."""
    own, body = seen.of(said), said.body
    order = own.order
    if own.gap:
        return
    if order is None:
        yield "its decision has no announced order"
    elif said.kind != "replace_requested":
        asked = order.asked.get(text_of(body.get("cl_ord_id")))
        if asked is None:
            yield "no request on record before it has this name"
        elif not same(body.get("orig_cl_ord_id"), asked.get("orig")):
            yield "it replaces another order than was asked for"
    else:
        yield from _asked_faults(seen, body, order)


def _asked_faults(seen: Earlier, body: Mapping[str, Any], order: SeenOrder) -> Findings:
    before, after = mapping_of(body.get("before")), mapping_of(body.get("after"))
    symbol = order.intent.get("instrument")
    names = ("qty_lots", "limit_ticks", "quantity", "price")
    yield from differing(
        before, {name: order.terms.get(name) for name in names}, "the order's term"
    )
    if body.get("orig_cl_ord_id") != order.name:
        yield "it replaces another order than the one at work"
    whole = whole_numbers(
        [one.get(name) for name in ("qty_lots", "limit_ticks") for one in (before, after)]
    )
    if whole is None or min(whole) <= 0:
        yield "its terms are not numbers of lots and ticks"
        return
    lots, more, ticks, higher = whole
    if seen.knows(symbol) or seen.whole:
        exact = seen.counted(symbol, more, after.get("quantity"))
        if not exact or not seen.priced(symbol, higher, after.get("price")):
            yield "its quantity and price are not its lots and ticks"
    wanted = {
        "instrument": symbol,
        "limit_ticks": max(ticks, higher),
        "qty_lots": max(lots, more),
        "side": order.intent.get("side"),
        "unit_minor": seen.unit_of(symbol),
    }
    if wanted["unit_minor"] is None and not seen.whole:
        wanted["unit_minor"] = mapping_of(body.get("reservation")).get("unit_minor")
    if not same(body.get("reservation"), wanted):
        yield "its reservation is not the larger of both terms"
    yield from _raised_faults(seen, body, order, whole)


def _raised_faults(
    seen: Earlier, body: Mapping[str, Any], order: SeenOrder, whole: Sequence[int]
) -> Findings:
    """Yield what a replace raises that no verdict allowed; `whole` has lots and ticks, in pairs."""
    lots, more, ticks, higher = whole
    side = order.intent.get("side")
    reduces = more <= lots and (higher == ticks or (higher < ticks and side == "BUY"))
    judged = body.get("judged")
    if judged is None:
        if not reduces:
            yield "it raises what the order may do, and no verdict allowed it"
        return
    judged = mapping_of(judged)
    open_lots = max(lots, more) - order.filled
    if not same(
        judged.get("intent"), {**order.intent, "limit_ticks": higher, "qty_lots": open_lots}
    ):
        yield "its verdict judged other terms than it asks for"
    if worst_of(judged.get("verdict")) not in {"ALLOW", "WARN"}:
        yield "its verdict does not allow it"
    yield from judged_faults(seen, judged)


def judge_fill(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a report books that the broker's message or the order do not say."""
    own, body = seen.of(said), said.body
    report, fill, order = mapping_of(body.get("report")), body.get("fill"), own.order
    session, offset = body.get("session"), body.get("inbox_offset")
    message = None
    if fill is not None and session is None and seen.whole:
        yield "it books a trade of no message"
    if session is not None and "inbox_offset" in body:
        message = seen.messages.get((f"session/{text_of(session)}", text_of(offset)))
        if message is None and seen.whole:
            yield "its message is not on record before it"
    if message is not None:
        yield from _told_faults(report, message)
    for name in ("exec_id", "ord_status"):
        if name in body and name in report and not same(body[name], report[name]):
            yield f"its {name} is not its report's"
    if fill is not None and order is not None and not own.gap:
        yield from _booking_faults(seen, report, fill, order)
        if message is not None:
            yield from _unbookable(message, order)
            yield from _fee_faults(seen, body, message)


def _booking_faults(
    seen: Earlier, report: Mapping[str, Any], fill: object, order: SeenOrder
) -> Findings:
    """Yield what a fill books that its report or its order do not say."""
    booked = mapping_of(fill)
    symbol, side = order.intent.get("instrument"), order.intent.get("side")
    yield from differing(booked, {"instrument": symbol, "side": side}, "its order's")
    if not seen.knows(symbol) and not seen.whole:
        return
    if booked.get("unit_minor") != seen.unit_of(symbol):
        yield "its unit_minor is not its instrument's"
    if not seen.counted(symbol, booked.get("qty_lots"), report.get("last_qty")):
        yield "its qty_lots is not what was reported"
    if not seen.priced(symbol, booked.get("price_ticks"), report.get("last_price")):
        yield "its price_ticks is not what was reported"


def _told_faults(report: Mapping[str, Any], message: Message) -> Findings:
    told = {REPORT_TAGS[tag]: value for tag, value in message.report.items()}
    if message.fees is not None:
        told["commission"] = message.commission
    for name, sent in told.items():
        if name in report and not _reads(report[name], sent):
            yield f"its {name} is not that of its message"


def _unbookable(message: Message, order: SeenOrder) -> Findings:
    """Yield why the gateway does not book a trade that this message tells."""
    if message.doubled:
        yield f"its message has tag {message.doubled[0]} with two values"
    for tag, expected in (("15", 15), ("120", 15), ("54", 54), ("55", 55)):
        said, wanted = message.order[tag], order.fields.get(expected)
        if said and wanted and said != wanted:
            yield f"its message has another tag {tag} than its order"


def _fee_faults(seen: Earlier, body: Mapping[str, Any], message: Message) -> Findings:
    """Yield a fee that is not what the message charges; a correction without one keeps the fee."""
    fill, report = mapping_of(body.get("fill")), mapping_of(body.get("report"))
    one, digits = seen.instrument(fill.get("instrument")), seen.profile.get("minor_digits")
    amounts = (units_of(text_of(report.get(name))) for name in ("last_qty", "last_price"))
    quantity, price = (0 if one is None else one for one in amounts)
    multiplier = one.get("multiplier")
    if message.fees is None or type(digits) is not int or type(multiplier) is not int:
        return
    trade = ToldTrade(
        currency=one.get("currency"),
        digits=digits,
        quantity=quantity // 10**SCALE,
        price_minor=price * 10**digits // 10**SCALE,
        multiplier=multiplier,
    )
    wanted: object = fee_minor_of(message.fees, trade)
    undone = body.get("undoes_seq")
    if not message.fees and type(undone) is int:
        wanted = seen.fees.get(undone, fill.get("fee_minor"))
    if not same(fill.get("fee_minor"), wanted):
        yield "its fee_minor is not what its message charges"


def _reads(value: object, sent: str) -> bool:
    """Return whether a record repeats a message's field, in any decimal form of one number."""
    if value == sent or sent.startswith("psn-"):
        return True
    number = units_of(sent)
    return number is not None and number == units_of(text_of(value))


# ---------------------------------------------------------------- governing
# Statements of officers: policies, modes, releases, stops, promotions, criteria, resolutions.
#
# Not here: adjustments, overrides and officers' keys (`signed`), which have classes of their own.

_FORM_2 = "countersign statement v2"
_BY_BOTH = frozenset({"breaker", "secure"})
_ALONE_SIGNED = frozenset({"kill_released", "fairness_agreed"})
_PARTICULAR = re.compile(r"{(\w+)(:json)?}")
"""Kinds whose signed text is in the record itself; others need records before it."""
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
"""Ed25519, hex."""
_RISKS = {"paper": 0, "shadow": 0, "pilot": 1, "live": 2}


class ToSign(NamedTuple):
    """What officers signed: the bytes by role, their signatures, and how many must have."""

    seq: int
    id: str
    statements: Mapping[str, bytes]
    signatures: Mapping[str, Any]
    needed: int


def judge_policy(_: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a policy on record has that its digest and signatures do not cover."""
    body = said.body
    policy = mapping_of(body.get("policy"))
    if body.get("policy_digest") != tagged_digest("countersign.policy/1", policy):
        yield "its policy_digest is not that of its policy"
    if said.kind != "policy_activated":
        return
    rows = [mapping_of(one) for one in list_of(body.get("signatures"))]
    signers = [f"{text_of(one.get('role'))}:{text_of(one.get('signer'))}" for one in rows]
    if not same(body.get("signed_by"), signers):
        yield "its signed_by is not who signed"
    needed = policy.get("signatures_min")
    roles = {text_of(one.get("role")) for one in rows if _is_signature(one.get("signature"))}
    if type(needed) is not int or needed < 1 or len(roles) < needed:
        yield "fewer roles signed it than it asks for"


def judge_mode(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a change of mode says that the records before it do not."""
    body = said.body
    if seen.whole and text_of(body.get("before")) != seen.mode:
        yield "its mode before is not that of the records before it"
    mode = text_of(body.get("mode"))
    if mode not in _RISKS:
        yield "its mode is none"
    if mode_signers(seen, body) > len(signed_roles(body)):
        yield "fewer officers signed it than a change of mode needs"
    yield from _named_log(seen, body, needed=bool(mapping_of(body.get("signatures"))))


def mode_signers(seen: Earlier, body: Mapping[str, Any]) -> int:
    """Return how many officers must sign a change of mode."""
    mode, before = text_of(body.get("mode")), seen.mode
    risk = _RISKS.get(mode, 2)
    if mode == before and same(body.get("limits", ""), seen.mode_limits):
        return 0
    if not seen.whole or (not before and not risk):
        return 0
    lowers = mode == "pilot" and before == "live"
    return 2 if risk and not lowers else 1


def judge_release(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a release says that no kill before it does."""
    body = said.body
    epoch = text_of(body.get("kill_epoch"))
    if seen.whole and epoch not in seen.presses:
        yield "no kill of its kill_epoch is on record before it"
    elif (
        seen.whole
        and seen.presses[epoch] is not None
        and not same(body.get("press_id"), seen.presses[epoch])
    ):
        yield "its press_id is not that of the kill"
    yield from _by_both(seen, body)


def judge_resume(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what an end of stops says that their beginning does not."""
    body = said.body
    ids = [text_of(one) for one in list_of(body.get("stop_ids"))]
    if not ids or len(set(ids)) != len(ids):
        yield "it does not name each stop once"
    if seen.whole and any(one not in seen.stops for one in ids):
        yield "it ends a stop that is not in force on record"
    if any(text_of(seen.stops.get(one)) in _BY_BOTH for one in ids):
        yield from _by_both(seen, body)
    else:
        yield from _named_log(seen, body, needed=bool(mapping_of(body.get("signatures"))))


def judge_promotion(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a promotion says that its recorded test does not."""
    body = said.body
    number = body.get("tested_seq")
    tested = seen.tested.get(number if type(number) is int else -1)
    if tested is None:
        if seen.whole:
            yield "its test is not on record before it"
    else:
        if tested.get("passed") is not True:
            yield "its test did not pass"
        names = ("model_id", "model_digest", "report_blob")
        if any(not same(body.get(name), tested.get(name)) for name in names):
            yield "its test is of another model or report"
    yield from _by_both(seen, body)


def judge_criteria(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what criteria have that their digest and signatures do not cover."""
    body = said.body
    digest = tagged_digest("countersign.fairness.criteria/1", mapping_of(body.get("criteria")))
    if body.get("criteria_digest") != digest:
        yield "its criteria_digest is not that of its criteria"
    yield from _by_both(seen, body)


def judge_justification(_: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a justification has that its terms have not."""
    if not same(said.body.get("ref"), mapping_of(said.body.get("terms")).get("ref")):
        yield "its ref is not that of its terms"


def judge_signed(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield that a record which both officers sign is not signed, or for another log."""
    _, log_field, *_ = SIGNED_KINDS[said.kind]
    if log_field:
        yield from _by_both(seen, said.body)
    elif len(signed_roles(said.body)) < len(OFFICERS):
        yield "it has not both officers' signatures"


def judge_ended(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what the end of an act says that the act on record does not."""
    body, number = said.body, said.body.get("of_seq")
    ends, *_ = SIGNED_KINDS[said.kind]
    found = seen.acts.get(number if type(number) is int else -1)
    if found is None:
        if seen.whole:
            yield "its act is not on record before it"
    elif not same([ends, body.get("of_leaf"), body.get("ref")], found):
        yield "it names another act than the one on record"


def judge_difference(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a resolution says that the difference on record and its terms do not."""
    body = said.body
    number = body.get("of_seq")
    found = seen.differences.get(number if type(number) is int else -1)
    if found is None:
        if seen.whole:
            yield "its difference is not on record before it"
    elif body.get("of_leaf") != found["leaf"]:
        yield "its of_leaf is not that of the difference"
    elif is_given(found["account"]) and not same(body.get("account"), found["account"]):
        yield "its account is not that of the difference"
    if not changes_a_book(body):
        return
    if len(signed_roles(body)) < len(OFFICERS):
        yield "it changes a book or ends an order without both officers' signatures"
    terms = mapping_of(body.get("terms"))
    told = {name: body.get(name, "") for name in ("right", "reason", "evidence", "ends")}
    if any(not same(terms.get(name), value) for name, value in told.items()):
        yield "it says other words than were signed"
    if is_given(terms.get("account")) and not same(terms["account"], body.get("account")):
        yield "it books another account than was signed"
    yield from _booked_faults(seen, body, terms)
    if found is not None and body.get("adjustment") is not None:
        yield from _adjusted_faults(seen, body, terms, found)


def _adjusted_faults(
    seen: Earlier, body: Mapping[str, Any], terms: Mapping[str, Any], found: Mapping[str, Any]
) -> Findings:
    """Yield what a resolution books that its difference is not about.

    The signed lots are those that the book lacks: positive on the side of the difference's order.
    An account's difference counts purchases; a stranger's order has the side that was signed.
    """
    booked, lots = mapping_of(body.get("adjustment")), terms.get("lots")
    if not same(booked.get("instrument"), found["instrument"]):
        yield "it books another instrument than the difference's"
    sides = whole_numbers((body.get("book_lots"), body.get("broker_lots")))
    if sides is None or sides[1] - sides[0] != lots:
        yield "its two sides are not as far apart as what it books"
    decision, side = seen.named.get(text_of(found["cl_ord_id"]), ("", None))
    if found["reason"] == "ACCOUNT_LOTS":
        side = "BUY"
    elif not decision:
        side = terms.get("side") if seen.whole else None
    elif body.get("decision_id") != decision:
        yield "its decision_id is not that of the difference's order"
    wanted = {"BUY": "SELL", "SELL": "BUY"}.get(text_of(side)) if _negative(lots) else side
    if side is not None and not same(booked.get("side"), wanted):
        yield "it books another side than was signed"


def _negative(lots: object) -> bool:
    return type(lots) is int and lots < 0


def _booked_faults(seen: Earlier, body: Mapping[str, Any], terms: Mapping[str, Any]) -> Findings:
    """Yield what a resolution books that its terms do not have."""
    booked, trade = body.get("adjustment"), body.get("trade")
    if booked is None and trade is None:
        return
    booked, lots = mapping_of(booked), terms.get("lots")
    if body.get("adjustment") is not None and not same(booked.get("fee_minor"), 0):
        yield "it books a fee that was not signed"
    symbol, ticks = booked.get("instrument"), booked.get("price_ticks")
    if type(lots) is not int or not same(booked.get("qty_lots"), abs(lots)):
        yield "it books another quantity than was signed"
    if not seen.knows(symbol) and not seen.whole:
        return
    if not seen.priced(symbol, ticks, terms.get("price")):
        yield "it books another price than was signed"
    if not same(booked.get("unit_minor"), seen.unit_of(symbol)):
        yield "its unit_minor is not its instrument's"
    if trade is not None:
        trade = mapping_of(trade)
        wanted = {"instrument": symbol, "side": booked.get("side"), "price": terms.get("price")}
        yield from differing(trade, wanted, "that of what it books")
        if not seen.counted(symbol, booked.get("qty_lots"), trade.get("quantity")):
            yield "its quantity is not its lots"


def changes_a_book(body: Mapping[str, Any]) -> bool:
    """Return whether a resolution needs both officers."""
    booked = body.get("adjustment") is not None or body.get("trade") is not None
    return booked or is_given(body.get("ends"))


def _is_signature(value: object) -> bool:
    return isinstance(value, str) and _SIGNATURE.fullmatch(value) is not None


def signed_roles(body: Mapping[str, Any]) -> list[str]:
    """Return the roles with something in the form of a signature."""
    given = mapping_of(body.get("signatures"))
    return [role for role in OFFICERS if _is_signature(given.get(role))]


def _by_both(seen: Earlier, body: Mapping[str, Any]) -> Findings:
    if len(signed_roles(body)) < len(OFFICERS):
        yield "it has not both officers' signatures"
    yield from _named_log(seen, body, needed=True)


def _named_log(seen: Earlier, body: Mapping[str, Any], *, needed: bool) -> Findings:
    if (
        needed
        and seen.log_id
        and text_of(body.get("log_id")) not in {seen.log_id, f"{seen.log}#new"}
    ):
        yield "its officers signed for another ledger"


def to_sign(seen: Earlier, said: VerifiedRecord) -> Iterator[ToSign]:
    """Yield what officers signed in a record, before it is folded."""
    body, kind = said.body, said.kind
    if kind == "policy_activated":
        rows = [mapping_of(one) for one in list_of(body.get("signatures"))]
        signed = {text_of(one.get("role")): _policy_lines(body, one) for one in rows}
        given = {text_of(one.get("role")): one.get("signature") for one in rows}
        yield ToSign(said.seq, "policy", signed, given, len(OFFICERS))
        return
    found = _lines_of(seen, said)
    if found is None:
        return
    name, purpose, lines, needed = found
    log = text_of(body.get("log_id")) if "log_id" in body else seen.log_id
    alone = said.kind in _ALONE_SIGNED or SIGNED_KINDS.get(said.kind, ("", ""))[1]
    if not log or not (seen.whole or alone):
        return
    text = "".join(f"{line}\n" for line in (_FORM_2, purpose, log, *lines)).encode()
    signatures = mapping_of(body.get("signatures"))
    yield ToSign(said.seq, name, dict.fromkeys(OFFICERS, text), signatures, needed)


def _policy_lines(body: Mapping[str, Any], one: Mapping[str, Any]) -> bytes:
    said = {
        "policy": body.get("policy_digest"),
        "role": one.get("role"),
        "signer": one.get("signer"),
    }
    if not is_given(one.get("trial")):
        return b"countersign policy signature v1\n" + canonical(said)
    return b"countersign policy signature v2\n" + canonical({**said, "trial": one["trial"]})


def _lines_of(seen: Earlier, said: VerifiedRecord) -> tuple[str, str, Sequence[str], int] | None:
    """Return a statement's name, purpose and particulars, and how many officers it needs."""
    body = said.body
    both = len(OFFICERS)

    def of(name: str) -> str:
        return text_of(body.get(name))

    match said.kind:
        case "kill_released":
            live = [text_of(one) for one in list_of(body.get("live"))]
            known = [f"although live {' '.join(live)}"] if live else []
            lines = [f"epoch {of('kill_epoch')}", f"press {of('press_id')}", *known]
            return "release", "kill release", lines, both
        case "stop_ended":
            ids = [text_of(one) for one in list_of(body.get("stop_ids"))]
            needed = both if any(text_of(seen.stops.get(one)) in _BY_BOTH for one in ids) else 0
            return "resume", "stop resume", [f"stop {one}" for one in ids], needed
        case "mode_entered":
            within = [f"within {of('limits')}"] if is_given(body.get("limits")) else []
            lines = [f"from {seen.mode or 'none'}", f"to {of('mode')}", *within]
            lines.append(f"after record {seen.mode_seq}")
            return "mode", "mode change", lines, mode_signers(seen, body)
        case "model_promoted":
            number = body.get("tested_seq")
            tested = seen.tested.get(number if type(number) is int else -1, {})
            lines = [f"model {of('model_digest')}", f"gate {text_of(tested.get('gate'))}"]
            lines += [f"report {of('report_blob')}", f"record {text_of(number)}"]
            return "promotion", "model promotion", lines, both
        case "fairness_agreed":
            version = text_of(mapping_of(body.get("criteria")).get("version"))
            lines = [f"version {version}", f"digest {of('criteria_digest')}"]
            return "criteria", "fairness criteria", lines, both
        case "difference_resolved" if changes_a_book(body):
            return "difference", "difference resolution", _resolution_lines(body), both
        case kind if kind in SIGNED_KINDS:
            _, _, purpose, *lines = SIGNED_KINDS[kind]
            return "signed", purpose, [_filled(line, body) for line in lines], both
        case _:
            return None


def _filled(line: str, body: Mapping[str, Any]) -> str:
    """Return a particular with a record's fields in it."""

    def said(found: re.Match[str]) -> str:
        value = body.get(found[1])
        return json.dumps(value, sort_keys=True) if found[2] else text_of(value)

    return _PARTICULAR.sub(said, line)


def _resolution_lines(body: Mapping[str, Any]) -> Sequence[str]:
    terms = json.dumps(mapping_of(body.get("terms")), sort_keys=True)
    of = f"{text_of(body.get('of_seq'))} {text_of(body.get('of_leaf'))}"
    return [f"difference {of}", f"terms {terms}"]


# ---------------------------------------------------------------- adjustments
# What an adjustment of a book does follows from the terms that both officers signed.
#
# Amounts, prices and quantities of the terms are text; the units of the instrument and the decimals
# of the money are those on record. A split of which no first day was signed begins at its time.

_SIGNED_WORDS = ("ref", "sort", "instrument", "reference", "reason", "evidence")
_NOTHING: Mapping[str, Any] = {
    "lots": {},
    "amount_minor": 0,
    "fill": None,
    "split": None,
    "positions": [],
    "effective_us": None,
    "marks": None,
    "mark_ticks": None,
    "trade": None,
}
"""What moves a book, in an adjustment that moves nothing."""
_RATIO = re.compile(r"([1-9][0-9]{0,3}):([1-9][0-9]{0,3})", re.ASCII)
_FIRST_LAST = re.compile(r"([1-9][0-9]{0,15})-([1-9][0-9]{0,15})", re.ASCII)
_FIRST_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MINUTE_US = 60_000_000
"""A split without a first day begins when it is judged, which is just before it is recorded."""


def judge_adjustment(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what an adjustment has or does that its terms do not say."""
    body, terms = said.body, mapping_of(said.body.get("terms"))
    if len(signed_roles(body)) < len(OFFICERS):
        yield "it has not both officers' signatures"
    other = [name for name in _SIGNED_WORDS if not same(terms.get(name, ""), body.get(name, ""))]
    if is_given(terms.get("account")) and not same(terms["account"], body.get("account")):
        other.append("account")
    if other:
        yield f"it has another {', '.join(other)} than was signed"
    if terms.get("sort") != "split" and not is_given(terms.get("account")):
        yield "its terms name no account"
    symbol, digits = terms.get("instrument"), seen.profile.get("minor_digits")
    if not seen.whole and (digits is None or (is_given(symbol) and not seen.knows(symbol))):
        return  # a bundle that does not show the units
    wanted = _effect_of(seen, body, terms)
    if wanted is None:
        yield "its terms do not say what it does"
        return
    wanted = {**_NOTHING, **wanted}
    for name, value in wanted.items():
        if not same(body.get(name, _NOTHING[name]), value):
            yield f"its {name} is not what was signed"


def minor_of(seen: Earlier, text: object) -> int | None:
    """Return an amount in text in whole minor units, None if it is none."""
    digits, units = seen.profile.get("minor_digits"), units_of(text_of(text))
    if type(digits) is not int or digits < 0 or units is None:
        return None
    minor, rest = divmod(units * 10**digits, 10**SCALE)
    return None if rest else minor


def _effect_of(
    seen: Earlier, body: Mapping[str, Any], terms: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return what the terms do to the record's account; None if they do not say it."""
    match terms.get("sort"):
        case "fee" | "cash" | "dividend" as sort:
            amount = minor_of(seen, terms.get("amount"))
            if amount is None:
                return None
            return {"amount_minor": -amount if sort == "fee" else amount}
        case "opening":
            return _opened(seen, terms)
        case "trade" | "give_up":
            return _traded_beside(seen, terms)
        case "split":
            return _split_of(seen, body, terms)
        case "mark":
            return _marked_anew(seen, terms)
        case _:
            return None


def _whole_of(total: int | None, unit: object) -> int | None:
    """Return how many units a total is, None if it is not whole."""
    if total is None or type(unit) is not int or unit <= 0 or total % unit:
        return None
    return total // unit


def _line_of(seen: Earlier, terms: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Return the lots, ticks and unit of a line of terms: instrument, quantity and price."""
    one = seen.instrument(terms.get("instrument"))
    quantity = terms.get("quantity")
    lots = _whole_of(quantity if type(quantity) is int else None, one.get("lot"))
    ticks = _whole_of(minor_of(seen, terms.get("price")), one.get("tick_minor"))
    unit = seen.unit_of(terms.get("instrument"))
    return None if lots is None or ticks is None or unit is None else (lots, ticks, unit)


def _opened(seen: Earlier, terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    cash, positions = minor_of(seen, terms.get("amount")), []
    for line in map(mapping_of, list_of(terms.get("positions"))):
        found = _line_of(seen, line)
        if found is None:
            return None
        symbol, (lots, ticks, unit) = line.get("instrument"), found
        positions.append(
            {"instrument": symbol, "lots": lots, "price_ticks": ticks, "unit_minor": unit}
        )
    if cash is None:
        return None
    held = {text_of(one["instrument"]): one["lots"] for one in positions}
    return {"amount_minor": cash, "positions": positions, "lots": dict(sorted(held.items()))}


def _traded_beside(seen: Earlier, terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    side, symbol, fee = terms.get("side"), terms.get("instrument"), terms.get("fee")
    fee_minor = minor_of(seen, fee if is_given(fee) else "0")
    found = _line_of(seen, terms)
    if found is None or fee_minor is None or side not in {"BUY", "SELL"}:
        return None
    lots, ticks, unit = found
    fill = {
        "fee_minor": fee_minor,
        "instrument": symbol,
        "price_ticks": ticks,
        "qty_lots": lots,
        "side": side,
        "unit_minor": unit,
    }
    quantity = text_of(terms.get("quantity"))
    trade = {
        "instrument": symbol,
        "price": terms.get("price"),
        "quantity": quantity,
        "side": side,
    }
    moved = {text_of(symbol): lots if side == "BUY" else -lots}
    return {"fill": fill, "trade": trade, "lots": moved}


def _split_of(
    seen: Earlier, body: Mapping[str, Any], terms: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    found = _RATIO.fullmatch(text_of(terms.get("ratio")))
    begins = _day_us(terms, body)
    if found is None or begins is None:
        return None
    new, old = (int(part) for part in found.groups())
    symbol = text_of(terms.get("instrument"))
    held = seen.held.lots(body.get("account"), symbol) if seen.whole else None
    if held is None:
        more = mapping_of(body.get("lots"))
    else:
        more = {symbol: held * new // old - held} if held else {}
    return {"split": [new, old], "effective_us": begins, "lots": more}


def _day_us(terms: Mapping[str, Any], body: Mapping[str, Any]) -> int | None:
    """Return the beginning (UTC) of a split's first day; without one, its own time, if it fits."""
    day = terms.get("effective")
    if is_given(day):
        if not _FIRST_DAY.fullmatch(text_of(day)):
            return None
        try:
            begins = datetime.fromisoformat(text_of(day)).replace(tzinfo=UTC)
        except ValueError:
            return None
        return int(begins.timestamp()) * 1_000_000
    begins_us, now_us = body.get("effective_us"), body.get("market_time_us")
    if type(begins_us) is not int or type(now_us) is not int:
        return None
    return begins_us if 0 <= now_us - begins_us <= _MINUTE_US else now_us


def _marked_anew(seen: Earlier, terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = _FIRST_LAST.fullmatch(text_of(terms.get("marks")))
    if found is None:
        return None
    marks = [int(part) for part in found.groups()]
    if not is_given(terms.get("price")):
        return {"marks": marks}
    unit = seen.instrument(terms.get("instrument")).get("tick_minor")
    ticks = _whole_of(minor_of(seen, terms.get("price")), unit)
    return None if ticks is None else {"marks": marks, "mark_ticks": ticks}


# ---------------------------------------------------------------- judging
# Every statement of the table, judged record by record.
#
# A finding begins with the statement's id. Signatures are checked with the officers' keys that come
# from outside; without them the end says what was not checked.

JUDGES: Mapping[str, Judge] = {
    "run": judge_run,
    "decision": judge_decision,
    "forecast": judge_forecast,
    "index": judge_index,
    "joint": judge_joint,
    "intent": judge_intent,
    "verdict": judge_verdict,
    "hold": judge_hold,
    "order": judge_order,
    "wire": judge_wire,
    "replace": judge_replace,
    "fill": judge_fill,
    "policy": judge_policy,
    "mode": judge_mode,
    "release": judge_release,
    "resume": judge_resume,
    "promotion": judge_promotion,
    "criteria": judge_criteria,
    "justification": judge_justification,
    "signed": judge_signed,
    "ended": judge_ended,
    "difference": judge_difference,
    "adjustment": judge_adjustment,
}
"""The function of each statement that no class of its own judges."""


def _by_kind() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in STATEMENTS:
        for kind in one.judges if one.id in JUDGES else ():
            found.setdefault(kind, []).append(one.id)
    return found


_IDS = _by_kind()


@dataclass(slots=True)
class Statements:
    """The statements over a log or a bundle; give it every record with `see`, then call `finish`.

    `whole` says whether every record is given, from the first on.
    """

    seen: Earlier = field(default_factory=Earlier)
    _signed: list[ToSign] = field(default_factory=list)

    def see(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes
    ) -> None:
        """Take one record whose bytes were verified."""
        said = VerifiedRecord(head, body, leaf)
        self.seen.enter(said)
        ids = [*_IDS.get("*", ()), *(_IDS["decision"] if said.decision else ())]
        for name in dict.fromkeys((*ids, *_IDS.get(said.kind, ()))):
            for text in JUDGES[name](self.seen, said):
                report.find(TAMPERED, f"{name}: {text}", said.seq)
        self._signed.extend(to_sign(self.seen, said))
        self.seen.take(said)

    def skip(self, head: Mapping[str, Any]) -> None:
        """Note a record of which only the bytes were verified."""
        self.seen.indexes.skip(head)

    def finish(self, report: Report, spans: Sequence[tuple[int, Mapping[str, bytes]]]) -> None:
        """Check what officers signed; `spans` has their keys with the record they count from."""
        if self.seen.whole and self.seen.indexes.awaited is not None:
            text = "index: the log ends before the line of its last record"
            report.find(INCOMPLETE, text, self.seen.indexes.last)
        if not spans:
            counts = Counter(one.id for one in self._signed)
            for name, count in sorted(counts.items()):
                text = (
                    f"{count} records of the statement {name}: `verify --officer` checks who signed"
                )
                report.say(text)
            return
        sound = 0
        for one in self._signed:
            keys = next((keys for began, keys in spans if began < one.seq), {})
            given = sum(
                one_signed(text, one.signatures.get(role), keys.get(role, b""))
                for role, text in one.statements.items()
            )
            sound += given >= one.needed
            if given < one.needed:
                text = f"{one.id}: its officers did not sign this"
                report.find(TAMPERED, text, one.seq)
        if self._signed:
            report.say(f"{sound} of {len(self._signed)} statements of officers: signed as needed")


# ---------------------------------------------------------------- standing
# Which forecast stood, by the part of its instrument's index that a bundle has.
#
# The part begins with the line by which the forecast stands that a decision names, and ends with
# the first line after the decision named it. Where there is none, maps of the streams' ends show
# that the index ended: one after the decision names the end, or each one from the last line on is
# there and names no later line.


class ShownLine(NamedTuple):
    """A record of a bundle: a line of an index, or one of the stream of maps."""

    head: Mapping[str, Any]
    body: Mapping[str, Any]
    leaf: bytes

    @property
    def seq(self) -> int:
        """Its number."""
        return int(self.head["seq"])

    @property
    def place(self) -> int:
        """Its number in its stream."""
        return int(self.head["stream_seq"])

    @property
    def is_map(self) -> bool:
        """Whether it is a map of the streams' ends."""
        return bool(self.head["kind"] == "stream_heads")

    @property
    def ends_map(self) -> bool:
        """Whether it is the last part of a map."""
        return self.is_map and bool(self.body["part"] + 1 == self.body["parts"])

    def end_of(self, stream: str) -> Iterator[Sequence[Any]]:
        """Yield the end of a stream, if this is a map that names it."""
        for row in self.body["heads"] if self.is_map and known(self.head) else ():
            if row[0] == stream:
                yield row


def judge_standing(
    report: Report,
    stream: str,
    records: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], bytes]],
) -> None:
    """Check that no forecast was passed over that stood when a decision named another.

    It names its own, and the members of its joint paths.
    """
    shown = [ShownLine(*one) for one in sorted(records, key=lambda one: int(one[0]["seq"]))]
    sets = {one.seq: one for one in shown if one.head["kind"] == "paths_joined"}
    taken, seen = None, set[str]()
    for one in shown:
        if one.head["stream"] != stream or not known(one.head):
            continue
        joint = mapping_of(mapping_of(one.body.get("paths")).get("joint"))
        joined = sets.get(joint["of_seq"]) if type(joint.get("of_seq")) is int else None
        members = [] if joined is None else list_of(joined.body.get("members"))
        named = [(mapping_of(member), "attempt") for member in members]
        if one.head["kind"] == "forecast_taken":
            is_made = one.body.get("of_seq") is not None and not is_given(one.body.get("missing"))
            taken, seen = one if is_made else None, set[str]()
            named = [(one.body, "forecast_attempt")]
        for body, number in named if taken is not None else ():
            instrument = text_of(body.get("instrument"))
            if taken is not None and instrument not in seen:
                seen.add(instrument)
                wanted = [body.get("forecast_id"), body.get(number, 0)]
                _judge_index(report, taken, f"{INDEXES}{instrument}", wanted, shown)


def _judge_index(
    report: Report,
    taken: ShownLine,
    index: str,
    wanted: Sequence[object],
    shown: Sequence[ShownLine],
) -> None:
    """Follow an index from the line of the forecast that a decision names to the one after it."""
    own = [one for one in shown if one.head["stream"] == index]
    lines = {one.place: one for one in own}
    at = None
    for one in own:
        named = [one.body.get("forecast_id"), one.body.get("attempt")]
        if one.seq < taken.seq and _stands(one) and same(named, [*wanted]):
            at = one
    if at is None:
        text = "index: the line by which its forecast stands is not shown"
        return report.find(INCOMPLETE, text, taken.seq)
    while (after := lines.get(at.place + 1)) is not None:
        if after.head["prev"] != at.leaf.hex():
            return report.find(TAMPERED, "prev is not the leaf before it", after.seq)
        if after.seq > taken.seq:
            return None
        if not known(after.head):
            text = "index: a line of an unknown version: which forecast stood cannot be seen"
            return report.find(NOT_CHECKABLE, text, after.seq)
        if _stands(after):
            return report.find(TAMPERED, f"index: {PASSED_OVER}", taken.seq)
        at = after
    beyond = min((place for place in lines if place > at.place), default=None)
    if beyond is not None:
        text = f"{index} goes from {at.place} to {beyond}"
        return report.find(INCOMPLETE, text, lines[beyond].seq)
    return _judge_index_end(report, taken, at, shown)


def _stands(line: ShownLine) -> bool:
    return known(line.head) and bool(line.body.get("event") in STANDS)


def _judge_index_end(
    report: Report, taken: ShownLine, last: ShownLine, shown: Sequence[ShownLine]
) -> None:
    """Check by maps that an index had no line between its last one here and a decision."""
    index, end = last.head["stream"], [last.place, last.leaf.hex()]
    for one in shown:
        for row in one.end_of(index) if one.seq > last.seq else ():
            if row[1:] != end:
                return judge_end(report, row, last.place, last.leaf)
            if one.seq > taken.seq:
                return None
    line = {one.place: one for one in shown if one.head["stream"] == LEDGER_WIDE}
    before = [one for one in line.values() if one.seq < last.seq]
    place, leaf = (before[-1].place, before[-1].leaf) if before else (-1, ZERO_HASH)
    while (after := line.get(place + 1)) is not None and (known(after.head) or not after.is_map):
        if after.head["prev"] != leaf.hex():
            return report.find(TAMPERED, "prev is not the leaf before it", after.seq)
        if after.seq > taken.seq and after.ends_map:
            return None
        place, leaf = after.place, after.leaf
    text = f"record {taken.seq}: whether a newer forecast stood is not checkable"
    return report.say(f"{text}: maps of the streams' ends are not shown")


# ---------------------------------------------------------------- overrides
# Exceptional overrides: signed by two officers, used by one decision, for the limit they name.
#
# A verdict that used one holds its terms under `state.override`. What can be lifted is listed here
# again, so that an outsider does not take the gateway's word for it.

LIFTABLE = frozenset(
    {
        *("R03", "R04", "R05", "R06", "R07", "R08", "R09", "R10", "R11", "R12", "R13"),
        *("R15", "R20", "R21", "R22", "R23", "R27", "R28", "R35", "R46", "R52"),
    }
)
"""The rules whose limits are the firm's own numbers; nothing else can be lifted."""
OF_THE_INSTRUMENT = frozenset({("R03", "minimum"), ("R03", "step")})
"""Checks of those rules that follow from how the instrument trades: not lifted either."""
_OVERRIDE_TERMS = (
    *("override_id", "account", "instrument", "side", "rule_id", "check", "qty_max_lots"),
    *("notional_max_minor", "policy_digest", "not_before_us", "expires_us"),
)
_OVERRIDE_FORM = "countersign statement v2\nexceptional override\n"


@dataclass(slots=True)
class Lifted:
    """Overrides and the verdicts that used them; give it every record, then call `finish`."""

    _granted: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _ended: dict[str, int] = field(default_factory=dict)
    _used: list[tuple[int, Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        match head["kind"]:
            case "override_granted":
                self._granted[text_of(body.get("override_id"))] = (head["seq"], body)
            case "override_ended":
                self._ended[text_of(body.get("override_id"))] = head["seq"]
            case "verdict_given":
                state = body.get("state")
                used = state.get("override") if isinstance(state, dict) else None
                if isinstance(used, dict) or any(_overridden(body)):
                    self._used.append((head["seq"], body, used if isinstance(used, dict) else {}))
            case _:
                pass

    def finish(
        self, report: Report, log_id: str, spans: Sequence[tuple[int, Mapping[str, bytes]]]
    ) -> None:
        """Judge what was seen; `log_id` is empty in a bundle, `spans` has the officers' keys."""
        for seq, body in self._granted.values():
            keys = next((keys for began, keys in spans if began < seq), {})
            self._judge_signed(report, seq, body, log_id, keys)
        by: dict[str, str] = {}
        for seq, body, used in self._used:
            if not isinstance(used.get("override_id", ""), str):
                report.find(TAMPERED, "uses an override whose override_id is not a text", seq)
            granted_seq = self._granted.get(text_of(used.get("override_id")), (seq, {}))[0]
            if granted_seq < seq:
                for text in self._faults(seq, body, used, by):
                    report.find(TAMPERED, text, seq)
            elif log_id:  # a bundle without it is incomplete, which is judged there
                report.find(TAMPERED, "uses an override that is not on record before it", seq)
            for text in _forbidden(body, used):
                report.find(TAMPERED, text, seq)

    def _judge_signed(
        self,
        report: Report,
        seq: int,
        body: Mapping[str, Any],
        log_id: str,
        keys: Mapping[str, bytes],
    ) -> None:
        """Report an override that its two officers did not sign in this log."""
        limit = f"{text_of(body.get('rule_id'))} {text_of(body.get('check'))}"
        if not keys:
            report.say(f"record {seq} lifts {limit} once; give --officer to check both signatures")
            return
        named = text_of(body.get("log_id"))
        if both_signed(override_lines(named, body), body.get("signatures"), keys) and log_id in {
            "",
            named,
        }:
            report.say(f"record {seq} lifts {limit} once: both officers signed")
        elif log_id:
            report.find(TAMPERED, "an override that its two officers did not sign", seq)
        else:  # a bundle does not show which keys counted then
            report.find(NOT_CHECKABLE, "an override that the officers given did not sign", seq)

    def _faults(
        self, seq: int, body: Mapping[str, Any], used: Mapping[str, Any], by: dict[str, str]
    ) -> Iterator[str]:
        """Yield what is wrong with the use of an override on record."""
        name, decision = text_of(used.get("override_id")), text_of(body.get("decision_id"))
        _, granted = self._granted[name]
        if any(canonical(granted.get(t)) != canonical(used.get(t)) for t in _OVERRIDE_TERMS):
            yield f"uses override {name} in other words than were signed"
        if by.setdefault(name, decision) != decision:
            yield f"uses override {name}, which decision {by[name]} had used"
        if self._ended.get(name, seq) < seq:
            yield f"uses override {name} after its end on record"
        status = body.get("policy_status")
        at_us = status.get("checked_at_us") if isinstance(status, dict) else None
        begins, ends = used.get("not_before_us"), used.get("expires_us")
        whole = all(type(one) is int for one in (at_us, begins, ends))
        if not whole or not begins <= at_us < ends:  # type: ignore[operator]
            yield f"uses override {name} outside of its time"
        for text in _beyond(body, granted):
            yield f"uses override {name} for {text}"


def override_lines(log_id: str, body: Mapping[str, Any]) -> bytes:
    """Return the statement that both officers sign, from the fields of `override_granted`."""

    def of(name: str) -> str:
        return text_of(body.get(name))

    lines = (
        f"override {of('override_id')}",
        f"account {of('account')}",
        f"instrument {of('instrument')}",
        f"side {of('side')}",
        f"limit {of('rule_id')} {of('check')}",
        f"at most {of('qty_max_lots')} lots",
        f"at most {of('notional_max_minor')} minor units",
        f"policy {of('policy_digest')}",
        f"from {of('not_before_us')}",
        f"until {of('expires_us')}",
        f"reason {of('reason')}",
    )
    return (_OVERRIDE_FORM + f"{log_id}\n" + "".join(f"{line}\n" for line in lines)).encode()


def _beyond(body: Mapping[str, Any], granted: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of a verdict's order is not what was signed, or more of it.

    The worth is at the order's own limit, by the unit that its reservation has; a verdict that
    reserves nothing lets nothing leave.
    """
    intent, reserved = (_object(body.get(name)) for name in ("intent", "reservation"))
    for name in ("account", "instrument", "side"):
        if canonical(intent.get(name)) != canonical(granted.get(name)):
            yield f"another {name} than was signed"
    if canonical(body.get("policy_digest")) != canonical(granted.get("policy_digest")):
        yield "another policy than was signed"
    names = ("qty_lots", "limit_ticks")
    lots, ticks, unit = *(intent.get(name) for name in names), reserved.get("unit_minor")
    if not _within(granted.get("qty_max_lots"), lots):
        yield "more lots than were signed"
    shown = ("instrument", "side", *names)
    if body.get("result") not in {"approved", "held"}:
        return
    if any(canonical(intent.get(n)) != canonical(reserved.get(n)) for n in shown):
        yield "another order than it reserves"
    elif not _within(granted.get("notional_max_minor"), lots, ticks, unit):
        yield "a larger worth than was signed"


def _within(limit: object, *factors: object) -> bool:
    """Return whether a product of positive whole numbers is at most a limit."""
    worth = 1
    for one in factors:
        if type(one) is not int or one <= 0:
            return False
        worth *= one
    return type(limit) is int and worth <= limit


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _forbidden(body: Mapping[str, Any], used: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a verdict lifted and may not."""
    for rule_id, check in _overridden(body):
        if rule_id not in LIFTABLE or (rule_id, check) in OF_THE_INSTRUMENT:
            yield f"lifts {rule_id} {check}, which nothing may lift"
        if (rule_id, check) != (used.get("rule_id"), used.get("check")):
            yield f"lifts {rule_id} {check}, and its override names another limit"


def _overridden(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rule and check of each result that an override lifted."""
    verdict = body.get("verdict")
    results = verdict.get("results") if isinstance(verdict, dict) else None
    for one in results if isinstance(results, list) else ():
        if isinstance(one, dict) and one.get("reason") == "OVERRIDDEN":
            yield text_of(one.get("rule_id")), text_of(one.get("check"))


# ---------------------------------------------------------------- signed
# What two officers signed: adjustments of a book, overrides, changes of officers, disavowals.
#
# Each signature is over a text that names this log (its origin and the leaf of its first record) or
# its origin. The keys come from outside: who writes the log could put keys of his own into it.

_FORM = "countersign statement v2"


@dataclass(slots=True)
class OfficersWord:
    """Statements of two officers in a log; give it every record with `see`, then call `finish`.

    Attributes:
        officers: raw public keys by role, the newest of each; empty judges no signature.
    """

    officers: Mapping[str, bytes]
    _log: str = ""
    _first: bytes = b""
    _adjusted: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _changed: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    _disavowed: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    _lifted: Lifted = field(default_factory=Lifted)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes) -> None:
        """Take one record whose bytes were verified."""
        self._log = head["log"]
        if head["seq"] == 0:
            self._first = leaf
        self._lifted.see(head, body)
        match head["kind"]:
            case "book_adjusted":
                self._adjusted[head["seq"]] = body
            case "officer_key_changed":
                self._changed.append((head["seq"], body))
            case "record_disavowed":
                self._disavowed.append((head["seq"], body))
            case _:
                pass

    def finish(
        self, report: Report, relied_on: Mapping[int, str]
    ) -> Sequence[tuple[int, Mapping[str, bytes]]]:
        """Judge what was signed; `relied_on` has the records that account for a fill.

        Return the officers' keys with the record after which they count, newest first.
        """
        gone = self._say_disavowed(report)
        for seq in sorted(gone & relied_on.keys()):
            report.find(TAMPERED, f"{relied_on[seq]} rests on record {seq}, which is disavowed")
        log_id = f"{self._log}#{self._first.hex()}" if self._first else ""
        spans = self._spans(report, log_id) if self.officers else []
        self._lifted.finish(report, log_id, spans)
        if self.officers:
            sound = 0
            for seq, body in self._adjusted.items():
                keys = next((keys for began, keys in spans if began < seq), {})
                if seq not in gone and keys:
                    sound += self._judge(report, seq, body, keys)
            if self._adjusted:
                report.say(f"{sound} of {len(self._adjusted)} adjustments: both officers signed")
            return spans
        for seq, line in relied_on.items():
            text = f"{line} rests on record {seq}: give both officers' keys with --officer"
            report.find(NOT_CHECKABLE, text)
        return spans

    def _judge(
        self, report: Report, seq: int, body: Mapping[str, Any], keys: Mapping[str, bytes]
    ) -> bool:
        """Report an adjustment that the officers did not sign; `statements` judges what it does."""
        terms = body.get("terms")
        terms = terms if isinstance(terms, dict) else {}
        particulars = (
            f"ref {text_of(body.get('ref'))}",
            f"sort {text_of(body.get('sort'))}",
            f"account {terms.get('account') or '-'}",
            f"terms {json.dumps(terms, sort_keys=True)}",
        )
        lines = (_FORM, "book adjustment", f"{self._log}#{self._first.hex()}", *particulars)
        statement = "".join(f"{line}\n" for line in lines).encode()
        if not both_signed(statement, body.get("signatures"), keys):
            report.find(TAMPERED, "an adjustment that its two officers did not sign", seq)
            return False
        return True

    def _spans(self, report: Report, log_id: str) -> list[tuple[int, dict[str, bytes]]]:
        """Return the officers' keys with the record after which they count, newest first."""
        keys = dict(self.officers)
        spans: list[tuple[int, dict[str, bytes]]] = []
        for number, (seq, body) in reversed(list(enumerate(self._changed))):
            names = ("role", "before", "after", "name")
            role, before, after, name = (text_of(body.get(one)) for one in names)
            if keys.get(role, b"").hex() != after:
                text = f"record {seq} has another key of the role {role} than the one given"
                report.find(NOT_CHECKABLE, text)
                return spans
            spans.append((seq, dict(keys)))
            statement = (
                f"{_FORM}\nofficer key\n{log_id}\nchange {number}\n"
                f"role {role}\nbefore {before}\nafter {after}\nname {name}\n"
            ).encode()
            keys[role] = bytes.fromhex(before)
            if not both_signed(statement, body.get("signatures"), keys):
                report.find(TAMPERED, "changes an officer's key without both signatures", seq)
                return spans
        return [*spans, (-1, keys)]

    def _say_disavowed(self, report: Report) -> set[int]:
        """Say which records two officers disavowed; return those whose disavowal is proven."""
        gone: set[int] = set()
        for seq, body in self._disavowed:
            names = ("seq", "leaf", "of_stream")
            named, leaf, of_stream = (text_of(body.get(one)) for one in names)
            statement = f"{_FORM}\nrow disavowal\n{self._log}\nrecord {named}\nleaf {leaf}\n"
            text = f"record {named} ({of_stream}) is disavowed by record {seq}"
            if not self.officers:
                report.say(f"{text}; give --officer to check both signatures")
            elif both_signed(statement.encode(), body.get("signatures"), self.officers):
                gone.add(int(body.get("seq") or 0))
                report.say(f"{text}: both officers signed that the gateway did not write it")
            else:
                report.say(f"{text}, without both officers' signatures: it counts for nothing")
        return gone


# ---------------------------------------------------------------- baskets
# Baskets: their legs are on record, and no order left before the whole was approved.
#
# A basket is `basket_received`, the intents that it names, their verdicts, and `basket_decided`,
# which names each leg with its verdict. Each of them is held against the others.
#
# Not here: how the whole was judged; the gateway's replay computes that again.

_LEG_OF = "decision/"
_GOES_ON = frozenset({"approved", "no_trade"})
_VERDICTS = frozenset({"approved", "held"})
Found = Iterator[tuple[bool, str, int]]
"""Findings: whether it is about what is missing, the text, and the record's number."""


@dataclass(slots=True)
class _Leg:
    """A decision that is a leg: the number, basket and request of its intent, its verdicts."""

    seq: int = -1
    basket: str | None = None
    request: object = None
    verdicts: dict[int, str] = field(default_factory=dict)
    awaited: int = 0
    gap: bool = False
    sent: int | None = None

    @property
    def is_shown(self) -> bool:
        """Return whether all records of the decision are here so far."""
        return self.seq >= 0 and not self.gap


@dataclass(slots=True)
class Baskets:
    """Baskets, their legs and the legs' orders; give it every record, then call `finish`."""

    _received: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _decided: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _twice: list[tuple[int, str]] = field(default_factory=list)
    _named: dict[str, str] = field(default_factory=dict)
    _legs: dict[str, _Leg] = field(default_factory=dict)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        kind, stream = head["kind"], head["stream"]
        if kind in {"basket_received", "basket_decided"}:
            self._whole(kind, head["seq"], body)
        elif kind == "intent_received" and ("basket_id" in body or stream in self._named):
            basket = text_of(body["basket_id"]) if "basket_id" in body else None
            seq, place = head["seq"], head["stream_seq"]
            request = body.get("request")
            leg = _Leg(seq=seq, basket=basket, request=request, awaited=place + 1, gap=place > 0)
            self._legs.setdefault(stream, leg)
        elif stream in self._legs:
            _follow(self._legs[stream], head, body)

    def _whole(self, kind: str, seq: int, body: Mapping[str, Any]) -> None:
        """Take a record of a basket as a whole; each basket has one of each kind."""
        name = text_of(body.get("basket_id"))
        known = self._received if kind == "basket_received" else self._decided
        if name in known:
            self._twice.append((seq, f"is a second {kind} of basket {name}"))
        known.setdefault(name, (seq, body))
        if kind == "basket_received":
            for leg in _texts(body.get("legs")):
                self._named.setdefault(_LEG_OF + leg, name)

    def finish(self, report: Report, *, whole: bool, bundle: bool = False) -> None:
        """Judge what was seen; what a part of a log does not show is not judged."""
        for seq, text in self._twice:
            report.find(TAMPERED, text, seq)
        for missing, text, seq in self._faults(whole=whole):
            if not missing or whole:
                report.find(TAMPERED, text, seq)
            elif bundle:
                report.find(INCOMPLETE, text, seq)
        if whole and self._received:
            outcomes = [text_of(body.get("outcome")) for _, body in self._decided.values()]
            approved = outcomes.count("approved")
            report.say(f"{approved} of {len(self._received)} baskets were approved as a whole")

    def _faults(self, *, whole: bool) -> Found:
        for stream, leg in self._legs.items():
            yield from self._of_leg(stream, leg)
        for name, (seq, body) in self._received.items():
            yield from self._of_received(name, seq, body, whole=whole)
        for name, (seq, body) in self._decided.items():
            yield from self._of_decided(name, seq, body, whole=whole)

    def _of_leg(self, stream: str, leg: _Leg) -> Found:
        """Yield what a leg's intent and order contradict."""
        named, name = self._named.get(stream), leg.basket
        if name is not None and self._received.get(name, (leg.seq, {}))[0] >= leg.seq:
            yield True, f"is a leg of basket {name}, which is not on record before it", leg.seq
        elif name is not None and named != name:
            yield False, f"is a leg of basket {name}, which does not name it", leg.seq
        if named is not None and named != name:
            yield False, f"is named as a leg by basket {named}, and does not say so", leg.seq
        if leg.sent is None:
            return
        for one in dict.fromkeys(filter(None, (name, named))):
            if one not in self._decided:
                yield True, f"an order of basket {one} left without its outcome", leg.sent
                continue
            decided, body = self._decided[one]
            outcome = text_of(body.get("outcome"))
            if outcome != "approved":
                yield False, f"an order of basket {one} left, which was {outcome}", leg.sent
            elif decided > leg.sent:
                yield False, f"an order of basket {one} left before the whole was decided", leg.sent

    def _of_received(self, name: str, seq: int, body: Mapping[str, Any], *, whole: bool) -> Found:
        """Yield what a basket names that its legs do not have."""
        names = _texts(body.get("legs"))
        if not names or len(set(names)) != len(names):
            yield False, f"basket {name} does not name each of its legs once", seq
        legs = [self._legs.get(_LEG_OF + one) for one in names]
        for one, leg in zip(names, legs, strict=True):
            if whole and leg is None:
                text = f"basket {name} names the leg {one}, which is not on record after it"
                yield True, text, seq
        if all(leg is not None for leg in legs):
            requests = canonical([leg.request for leg in legs if leg is not None])
            if hashlib.sha256(requests).hexdigest() != body.get("digest"):
                yield False, f"the digest of basket {name} is not that of its legs' requests", seq

    def _of_decided(self, name: str, seq: int, body: Mapping[str, Any], *, whole: bool) -> Found:
        """Yield what an outcome says that the basket and the legs' verdicts do not."""
        outcome, rows = text_of(body.get("outcome")), body.get("legs")
        rows = rows if isinstance(rows, list) else []
        legs = [row if isinstance(row, dict) else {} for row in rows]
        received, asked = self._received.get(name, (seq, {}))
        if received >= seq:
            yield True, f"is the outcome of basket {name}, which is not on record before it", seq
        elif canonical(body.get("received_seq")) != canonical(received):
            yield False, f"is the outcome of basket {name}, and names another record of it", seq
        names = [leg.get("decision_id") for leg in legs]
        if asked and canonical(names) != canonical(asked.get("legs")):
            yield False, f"the outcome of basket {name} names other legs than the basket", seq
        results = [text_of(leg.get("result")) for leg in legs]
        if not _allowed(outcome, results):
            yield False, f"basket {name} is {outcome}, its legs are {', '.join(results)}", seq
        for leg in legs:
            shown = self._legs.get(_LEG_OF + text_of(leg.get("decision_id")))
            if shown is not None and shown.is_shown:
                yield from _of_row(name, seq, leg, shown, stopped=outcome == "stopped")
            elif whole and shown is None:
                text = f"basket {name} was decided with the leg {text_of(leg.get('decision_id'))}"
                yield True, f"{text}, which is not on record", seq


def _follow(leg: _Leg, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Take the next record of a leg's decision."""
    leg.gap = leg.gap or head["stream_seq"] != leg.awaited
    leg.awaited = head["stream_seq"] + 1
    if head["kind"] == "verdict_given":
        leg.verdicts[head["seq"]] = text_of(body.get("result"))
    elif head["kind"] in {"order_sending", "order_sent"} and leg.sent is None:
        leg.sent = head["seq"]


def _allowed(outcome: str, results: Sequence[str]) -> bool:
    """Return whether an outcome is possible with these results of the legs."""
    if outcome == "approved":
        return set(results) <= _GOES_ON and "approved" in results
    return outcome != "no_trade" or set(results) == {"no_trade"}


def _of_row(name: str, seq: int, row: Mapping[str, Any], leg: _Leg, *, stopped: bool) -> Found:
    """Yield what an outcome says of one leg that the leg's verdicts do not."""
    decision, result = text_of(row.get("decision_id")), text_of(row.get("result"))
    number = row.get("verdict_seq")
    before = {at: told for at, told in leg.verdicts.items() if at < seq}
    if type(number) is int:
        if before.get(number) != result:
            text = f"says {result} of leg {decision} by record {number}: no such verdict before it"
            yield False, f"the outcome of basket {name} {text}", seq
    elif result in _VERDICTS or "verdict_seq" in row or (before and not stopped):
        text = f"says {result} of leg {decision} and does not name its verdict"
        yield False, f"the outcome of basket {name} {text}", seq


def _texts(value: object) -> list[str]:
    """Return a list of texts; none if it has another shape."""
    rows = value if isinstance(value, list) else []
    return rows if all(isinstance(one, str) for one in rows) else []


# ---------------------------------------------------------------- policies
# Policies that followed another, and the trials that their signatures name.


@dataclass(slots=True)
class PolicySuccessions:
    """Policies and trials in a log; give it every record with `see`, then call `finish`.

    A trial is of one draft against one policy in force, and stands before the draft follows. In
    paper mode none is asked for; policies of earlier versions name none.
    """

    _modes: dict[str, str] = field(default_factory=dict)
    _tried: set[tuple[str, str, str]] = field(default_factory=set)
    _before: str = ""
    _dev: bool = True
    _count: int = 0
    _sound: int = 0
    _missing: list[int] = field(default_factory=list)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        match head["kind"]:
            case "run_started":
                self._modes[text_of(body.get("run_id"))] = text_of(body.get("mode"))
            case "policy_tried":
                names = ("trial_blob", "policy_digest", "follows_digest")
                trial, draft, follows = (text_of(body.get(one)) for one in names)
                self._tried.add((trial, draft, follows))
            case "policy_activated":
                self._activated(head["seq"], body)
            case _:
                pass

    def _activated(self, seq: int, body: Mapping[str, Any]) -> None:
        digest, before = text_of(body.get("policy_digest")), self._before
        if before not in {"", digest} and not self._dev:
            self._count += 1
            trial = _trial_of(body.get("signatures"))
            if trial and (trial, digest, before) in self._tried:
                self._sound += 1
            elif trial and self._modes.get(text_of(body.get("run_id"))) != "paper":
                self._missing.append(seq)
        self._before, self._dev = digest, body.get("dev") is True

    def finish(self, report: Report, *, whole: bool) -> None:
        """Say how many policies followed a trial; find those whose trial the log has not."""
        if self._count:
            said = f"{self._sound} of {self._count} policies that followed another"
            report.say(f"{said}: both signatures name a trial on record before")
        for seq in self._missing if whole else ():
            text = "its officers signed a trial that no earlier record has"
            report.find(TAMPERED, text, seq)


def _trial_of(signatures: object) -> str:
    """Return the one trial that all signatures name; "" if there is none."""
    given = signatures if isinstance(signatures, list) else []
    named = {text_of(one.get("trial", "")) for one in given if isinstance(one, dict)}
    return named.pop() if len(named) == 1 else ""


# ---------------------------------------------------------------- tables
# The cases of a window, and what the tests over them share: tables, p values, rows.
#
# Not here: the tests (`statistics`), which records the cases are (`windows`).

ENOUGH, WHOLE_BP, MILLE, LONG_P = 30, 10_000, 1_000, 1_000_000
FLAGGED, NOT_FLAGGED, INSUFFICIENT = "flagged", "not flagged", "insufficient"
NO_TEST = "does not apply"
FEW = "fewer than 30 cases in a group, or one group only"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """One decision of a window, with everything that its tests compare."""

    name: str
    day: str
    asset_class: str
    levels: Mapping[str, str]
    features: Mapping[str, str]
    result: str
    rules: frozenset[str]
    exposure: int
    filled: bool
    expected: int | None
    error: int | None
    covered: bool
    forecast: int | None = None

    @property
    def source(self) -> str:
        """The forecast that it rests on; without one, itself."""
        return f"decision {self.name}" if self.forecast is None else f"forecast {self.forecast}"

    @property
    def approved(self) -> bool:
        """Whether the first verdict approved it."""
        return self.result == "approved"


def row_of(test: str, subject: str, attribute: str, finding: str, **more: object) -> Row:
    """Return a row as a run has it: without empty fields, and why where a group is too small."""
    row = {"test": test, "subject": subject, "attribute": attribute, "cases": 0, **more}
    row |= {"finding": finding}
    if finding == INSUFFICIENT:
        row["because"] = FEW
    return {name: value for name, value in row.items() if value is not None and value != ""}


def fisher_p(hits: int, of: int, other_hits: int, of_other: int) -> Fraction:
    """Return the two-sided p value of Fisher's exact test."""
    drawn = hits + other_hits
    seen = comb(of, hits) * comb(of_other, other_hits)
    least, most = max(0, drawn - of_other), min(of, drawn)
    ways = [comb(of, k) * comb(of_other, drawn - k) for k in range(least, most + 1)]
    return Fraction(sum(way for way in ways if way <= seen), comb(of + of_other, drawn))


def holm_of(p_values: Sequence[Fraction]) -> list[bool]:
    """Return which tests are significant together at 1 in 20."""
    found, order = [False] * len(p_values), sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(order):
        if p_values[place] > Fraction(1, 20 * (len(p_values) - rank)):
            break
        found[place] = True
    return found


def p_text(p_value: Fraction | None) -> str:
    """Return a p value as a run has it: a fraction, long ones rounded up to millionths."""
    if p_value is None:
        return ""
    if p_value.denominator > LONG_P:
        return f"{-(-LONG_P * p_value.numerator // p_value.denominator)}/{LONG_P}"
    return str(p_value)


def over_bp(part: int, base: int) -> int:
    """Return a ratio in basis points; nothing over nothing is equal."""
    if base == 0:
        return WHOLE_BP if part == 0 else WHOLE_BP * WHOLE_BP
    return WHOLE_BP * part // base


def stratum_of(case: JudgedCase, name: str, within: str = "") -> str:
    """Return what a case is compared within: asset class, side, and a feature if one is named."""
    side = "" if name == "side" else case.levels.get("side", "")
    plain = f"{case.asset_class} {side}".strip()
    return f"{plain} {case.features.get(within, '')}" if within else plain


def grouped_by(
    cases: Iterable[JudgedCase], by: Callable[[JudgedCase], str]
) -> dict[str, list[JudgedCase]]:
    """Return the cases by what `by` says of them, its names in order."""
    found: dict[str, list[JudgedCase]] = {}
    for case in cases:
        found.setdefault(by(case), []).append(case)
    return {name: found[name] for name in sorted(found)}


# ---------------------------------------------------------------- statistics
# The tests of fairness W1 to W8, computed again in whole numbers, as rows of a recorded run.
#
# Not here: which records a window's cases are (`windows`).
#
# Source: docs/fairness.md of the project, and the papers that it names for each test.

Dealt = tuple[str, int, Fraction | None]
Part = tuple[str, str, str, int]
"""What is compared: its stratum, its name, its group and the value."""
Shared = tuple[str, str, str, int, str]
"""The same, and what it shares with others of its stratum and group: they are dealt together."""


def rows_of(
    cases: Sequence[JudgedCase], root: bytes, attributes: Sequence[str], deals: int
) -> list[Row]:
    """Return every row of a window but what its attributes without a level say of themselves."""
    rows: list[Row] = []
    for name in attributes:
        if any(case.levels.get(name) for case in cases):
            rows += [*_counts(cases, name), *_deals(cases, root, name, deals)]
            rows += _proxies(cases, root, name, deals)
    tests = [row for row in rows if row["test"] == "W3" and "p_value" in row and "unit" not in row]
    hits = holm_of([Fraction(row["p_value"]) for row in tests])
    for row, hit in zip(tests, hits, strict=True):
        unit = f"Holm over {len(tests)} tests"
        rows.append({**row, "test": "W7", "unit": unit, "finding": FLAGGED if hit else NOT_FLAGGED})
    return rows


def _counts(cases: Sequence[JudgedCase], name: str) -> Iterator[Row]:
    known = [case for case in cases if case.levels.get(name)]
    groups = grouped_by(known, lambda case: case.levels[name])
    yield from _selected(groups, name)
    yield from _disparate(groups, grouped_by(known, lambda case: stratum_of(case, name)), name)
    yield from _accurate(cases, name)
    yield from _equal(cases, name, "verdicts", lambda case: case.rules)
    held = frozenset({"held"})
    yield from _equal(
        cases, name, "holds", lambda case: held if case.result == "held" else frozenset()
    )
    sent = [case for case in cases if case.approved]
    unfilled = frozenset({"not filled"})
    yield from _equal(sent, name, "fills", lambda case: frozenset() if case.filled else unfilled)


def _selected(groups: Mapping[str, Sequence[JudgedCase]], name: str) -> Iterator[Row]:
    """W1: the approval rate of each group, against that of the group with the highest."""
    counts = {group: (len(own), sum(c.approved for c in own)) for group, own in groups.items()}
    large = {group: one for group, one in counts.items() if one[0] >= ENOUGH}
    best = max(large, key=lambda g: (Fraction(large[g][1], large[g][0]), g), default="")
    most = large.get(best)
    for group, (of, approved) in counts.items():
        ratio, p_value = None, None
        if of >= ENOUGH and most is not None and most[1]:
            ratio = WHOLE_BP * approved * most[0] // (of * most[1])
            p_value = Fraction(1) if group == best else fisher_p(approved, of, most[1], most[0])
        finding = INSUFFICIENT
        if ratio is not None and p_value is not None:
            finding = FLAGGED if ratio < 8_000 and p_value < Fraction(1, 20) else NOT_FLAGGED  # noqa: PLR2004 - four fifths
        yield row_of(
            "W1",
            "verdicts",
            name,
            finding,
            group=group,
            cases=of,
            observed=ratio,
            limit=8_000,
            unit="bp of the most approved group's rate",
            p_value=p_text(p_value),
        )


def _disparate(
    groups: Mapping[str, Sequence[JudgedCase]],
    strata: Mapping[str, Sequence[JudgedCase]],
    name: str,
) -> Iterator[Row]:
    """W2: a group's share of the refused less its share of the approved, over the strata."""
    mixed = [own for own in strata.values() if 0 < sum(c.approved for c in own) < len(own)]
    total = sum(map(len, mixed))
    for group, own in groups.items():
        gap = None
        if len(own) >= ENOUGH and total:
            sum_ = Fraction(0)
            for found in mixed:
                yes = [c for c in found if c.approved]
                no = [c for c in found if not c.approved]
                share = Fraction(sum(c.levels[name] == group for c in no), len(no))
                share -= Fraction(sum(c.levels[name] == group for c in yes), len(yes))
                sum_ += share * len(found)
            gap = int(WHOLE_BP * sum_ / total)
        finding = INSUFFICIENT if gap is None else FLAGGED if abs(gap) > 500 else NOT_FLAGGED  # noqa: PLR2004 - bp
        yield row_of(
            "W2",
            "verdicts",
            name,
            finding,
            group=group,
            cases=len(own),
            observed=gap,
            limit=500,
            unit="bp of share refused less share approved",
        )


def _accurate(cases: Sequence[JudgedCase], name: str) -> Iterator[Row]:
    """W4: a group's forecast error and coverage, against the best group's."""
    told = [case for case in cases if case.error is not None]
    if not told:
        why = "no forecast of the window has an outcome on record"
        yield row_of("W4", "forecasts", name, NO_TEST, because=why)
    first: dict[tuple[str, str], JudgedCase] = {}
    for case in told:
        if case.levels.get(name):
            first.setdefault((case.levels[name], case.source), case)
    groups = grouped_by([*first.values()], lambda case: case.levels[name])
    sums = {
        group: (len(own), sum(c.error or 0 for c in own), sum(c.covered for c in own))
        for group, own in groups.items()
    }
    large = [one for one in sums.values() if one[0] >= ENOUGH]
    for group, (count, error, inside) in sums.items():
        worst = None
        if count >= ENOUGH and len(large) > 1:
            worst = max(
                *(over_bp(error * other, least * count) for other, least, _ in large),
                *(over_bp(most * count, inside * other) for other, _, most in large),
            )
        finding = INSUFFICIENT if worst is None else FLAGGED if worst > 12_500 else NOT_FLAGGED  # noqa: PLR2004 - bp
        yield row_of(
            "W4",
            "forecasts",
            name,
            finding,
            group=group,
            cases=count,
            observed=worst,
            limit=12_500,
            unit="bp of the best group's error or coverage",
        )


def _equal(
    cases: Sequence[JudgedCase],
    name: str,
    subject: str,
    hit: Callable[[JudgedCase], frozenset[str]],
) -> Iterator[Row]:
    """W5: whether a rule hits one group more often than all others, with Holm's correction."""
    known = [case for case in cases if case.levels.get(name)]
    groups = grouped_by(known, lambda case: case.levels[name])
    rules = sorted({rule for case in known for rule in hit(case)})
    judged: list[tuple[str, str, int, int, int, int, Fraction]] = []
    for rule in rules:
        every = sum(rule in hit(case) for case in known)
        for group, own in groups.items():
            hits, other = sum(rule in hit(case) for case in own), len(known) - len(own)
            if min(len(own), other) >= ENOUGH:
                p_value = fisher_p(hits, len(own), every - hits, other)
                judged.append((rule, group, hits, len(own), every - hits, other, p_value))
    corrected = holm_of([one[-1] for one in judged])
    rest: list[Fraction] = []
    for (rule, group, hits, count, others, of, p_value), low in zip(judged, corrected, strict=True):
        if not low or hits * of <= others * count:
            rest.append(p_value)
            continue
        yield row_of(
            "W5",
            subject,
            name,
            FLAGGED,
            cases=count,
            group=f"{rule} {group}",
            observed=WHOLE_BP * hits // count,
            limit=WHOLE_BP * others // of,
            unit="bp of intents, against all others",
            p_value=p_text(p_value),
        )
    more: dict[str, object] = {"cases": len(cases)}
    if not rules or not groups:
        why = "nothing of this sort happened in the window"
        yield row_of("W5", subject, name, NO_TEST, **more, because=why)
    elif not judged:
        yield row_of("W5", subject, name, INSUFFICIENT, **more)
    elif rest:
        said = f"{len(rest)} other pairs of rule and group"
        yield row_of(
            "W5", subject, name, NOT_FLAGGED, **more, group=said, p_value=p_text(min(rest))
        )


def _deals(cases: Sequence[JudgedCase], root: bytes, name: str, deals: int) -> Iterator[Row]:
    """W3 of exposures and forecasts, and W7 of the exposures day by day."""
    if name == "side":
        why = "the side is the sign of the exposure"
        yield row_of("W3", "verdicts", name, NO_TEST, cases=len(cases), because=why)
    else:
        asked = [(case, case.exposure) for case in cases]
        yield _dealt_row("verdicts", name, dealt_again(asked, root, name, deals))
        yield _by_day(asked, root, name, deals)
    forecast = [(case, case.expected) for case in cases if case.expected is not None]
    if forecast:
        yield _dealt_row("forecasts", name, dealt_again(_once(forecast, name), root, name, deals))
    else:
        why = "no intent of the window came from a forecast"
        yield row_of("W3", "forecasts", name, NO_TEST, because=why)


def _once(asked: Iterable[tuple[JudgedCase, int]], name: str) -> Iterator[tuple[JudgedCase, int]]:
    """Yield the first case of each forecast in a stratum and group."""
    seen: set[tuple[str, str, str]] = set()
    for case, value in asked:
        place = stratum_of(case, name), case.source, case.levels.get(name, "")
        if place not in seen:
            seen.add(place)
            yield case, value


def _by_day(asked: Sequence[tuple[JudgedCase, int]], root: bytes, name: str, deals: int) -> Row:
    days = sorted({case.day for case, _ in asked})
    product = largest = Fraction(1)
    windows = 0
    for day in days:
        own = [(case, value) for case, value in asked if case.day == day]
        p_value = dealt_again(own, root, name, deals)[2]
        if p_value is not None:
            windows += 1
            root_of_p = isqrt(MILLE * MILLE * p_value.denominator // (4 * p_value.numerator))
            product *= Fraction(root_of_p, MILLE)
            largest = max(largest, product)
    finding = FLAGGED if largest >= 20 else NOT_FLAGGED  # noqa: PLR2004 - Ville's inequality, 1 in 20
    return row_of(
        "W7",
        "verdicts",
        name,
        finding if windows else INSUFFICIENT,
        group=f"{windows} of {len(days)} days",
        cases=len(asked),
        observed=int(largest * MILLE),
        limit=20 * MILLE,
        unit="thousandths of evidence",
    )


def _proxies(cases: Sequence[JudgedCase], root: bytes, name: str, deals: int) -> Iterator[Row]:
    """W6: which features stand for the attribute, and W3 within the levels of each that does."""
    for feature in sorted({feature for case in cases for feature in case.features}):
        told = [(c.features.get(feature, ""), c.levels.get(name, "")) for c in cases]
        cells = Counter(pair for pair in told if all(pair))
        rows, columns = Counter[str](), Counter[str]()
        for (one, other), count in cells.items():
            rows[one] += count
            columns[other] += count
        total, spread = sum(cells.values()), min(len(rows), len(columns)) - 1
        v_bp = None
        if total >= ENOUGH and spread > 0:
            sums = (Fraction(n * n, rows[a] * columns[b]) for (a, b), n in cells.items())
            squared = sum(sums, Fraction(-1)) * WHOLE_BP * WHOLE_BP / spread
            v_bp = isqrt(squared.numerator // squared.denominator)
        finding = INSUFFICIENT if v_bp is None else FLAGGED if v_bp >= 3_000 else NOT_FLAGGED  # noqa: PLR2004 - bp
        yield row_of(
            "W6",
            "verdicts",
            name,
            finding,
            group=feature,
            cases=total,
            observed=v_bp,
            limit=3_000,
            unit="bp of Cramer's V",
        )
        if finding == FLAGGED and name != "side":
            asked = [(case, case.exposure) for case in cases]
            again = dealt_again(asked, root, name, deals, within=feature)
            yield _dealt_row("verdicts", name, again, unit=f"within {feature}")


def dealt_again(
    asked: Iterable[tuple[JudgedCase, int]], root: bytes, name: str, deals: int, within: str = ""
) -> Dealt:
    """Return W3's largest group, number of cases and p value; None where groups are too small."""
    return dealt(
        [
            (stratum_of(case, name, within), case.name, case.levels[name], value, case.source)
            for case, value in asked
            if case.levels.get(name)
        ],
        root,
        deals,
    )


def allotted_row(allotted: Sequence[Part], root: bytes, deals: int) -> Row:
    """W8: whether some client got the better orders, within instrument and day."""
    if not allotted:
        why = "no order of the window was split between clients and has a close"
        return row_of("W8", "allocations", "client", NO_TEST, because=why)
    found = dealt([(*one, one[1]) for one in allotted], root, deals)
    return {**_dealt_row("allocations", "client", found), "test": "W8"}


def dealt(parts: Sequence[Shared], root: bytes, deals: int) -> Dealt:
    """Deal the groups again within strata; see `dealt_again`."""
    strata: dict[str, list[tuple[str, int, str]]] = {}
    for stratum, _, group, value, shared in sorted(parts, key=lambda one: one[:2]):
        strata.setdefault(stratum, []).append((group, value, shared))
    scale = lcm(*map(len, strata.values()))
    together = [_together(own, scale) for own in strata.values()]
    groups = [[group for group, _ in own] for own in together]
    centred = [[value for _, value in own] for own in together]
    sizes = Counter(group for own in groups for group in own)
    names, count = sorted(sizes), sum(sizes.values())
    if len(names) < 2 or min(sizes.values()) < ENOUGH:  # noqa: PLR2004 - two groups to compare
        return "", count, None

    def sums(given: list[list[str]]) -> dict[str, int]:
        found = dict.fromkeys(names, 0)
        for inside, values in zip(given, centred, strict=True):
            for group, value in zip(inside, values, strict=True):
                found[group] += value
        return found

    def deal(number: int) -> list[list[str]]:
        given = []
        for place, own in enumerate(groups):
            said = root[:8] + number.to_bytes(8, "big") + place.to_bytes(8, "big")
            data = hashlib.shake_256(said).digest(8 * len(own))
            order = sorted(range(len(own)), key=lambda n: data[8 * n : 8 * n + 8])
            given.append([own[n] for n in order])
        return given

    first = sums(groups)
    seen = max(map(abs, first.values()))
    hits = sum(max(map(abs, sums(deal(n)).values())) >= seen for n in range(deals))
    largest = next(one for one in names if abs(first[one]) == seen)
    return largest, count, Fraction(1 + hits, 1 + deals)


def _together(own: Sequence[tuple[str, int, str]], scale: int) -> list[tuple[str, int]]:
    """Return group and sum of each shared source: values less their mean, times `scale`."""
    mean = sum(value for _, value, _ in own) * (scale // len(own))
    sums: dict[tuple[str, str], int] = {}
    for group, value, shared in own:
        sums[group, shared] = sums.get((group, shared), 0) + scale * value - mean
    return [(group, value) for (group, _), value in sums.items()]


def _dealt_row(subject: str, name: str, found: Dealt, unit: str = "") -> Row:
    group, count, p_value = found
    if p_value is None:
        return row_of("W3", subject, name, INSUFFICIENT, cases=count, unit=unit)
    return row_of(
        "W3",
        subject,
        name,
        FLAGGED if p_value <= Fraction(1, 100) else NOT_FLAGGED,
        group=group,
        cases=count,
        observed=int(WHOLE_BP * p_value),
        limit=100,
        unit=unit,
        p_value=p_text(p_value),
    )


# ---------------------------------------------------------------- together
# The test W9, computed again: orders of two agents that came together more often than by chance.
#
# Each agent's times in an instrument's day are turned round as a whole by an amount that follows
# from the log's root; the largest standardised count of a pair is compared with the largest of each
# deal. A count weighs if it is at least 40 % of the smaller agent's orders.
#
# Not here: which orders were announced (`windows`).

Announced = tuple[str, str, str, int]
"""An order: agent, instrument and day, side, and the time in microseconds."""
_NEAR, _ENOUGH_ORDERS = 1_000_000, 20


def together_row(orders: Sequence[Announced], root: bytes, deals: int) -> Row:
    """W9: the pair of agents whose orders came together most, against turned times."""
    if len({agent for agent, *_ in orders}) <= 1:
        why = "no order of the window was announced, or one agent sent them all"
        return row_of("W9", "orders", "agent", NO_TEST, cases=len(orders), because=why)
    times = _bursts(orders)
    sizes: dict[str, int] = {}
    for (_, agent, _), own in times.items():
        sizes[agent] = sizes.get(agent, 0) + len(own)
    names = sorted(agent for agent, size in sizes.items() if size >= _ENOUGH_ORDERS)
    if len(names) <= 1:
        few = row_of("W9", "orders", "agent", INSUFFICIENT, cases=len(orders))
        return {**few, "because": "fewer than 20 orders of an agent, or of all but one"}
    spans: dict[str, tuple[int, int]] = {}
    for _, day, _, at_us in orders:
        low, high = spans.get(day, (at_us, at_us))
        spans[day] = min(low, at_us), max(high, at_us)
    places = {key: at for at, key in enumerate(sorted({(d, a) for d, a, _ in times}))}
    pairs = [*combinations(names, 2)]
    counts = [
        [_beside(times, spans, places, root, deal, pair) for pair in pairs]
        for deal in range(deals + 1)
    ]
    scores = [
        _standardised([row[at] for row in counts], min(sizes[one], sizes[other]))
        for at, (one, other) in enumerate(pairs)
    ]
    largest = [max(own[deal] for own in scores) for deal in range(deals + 1)]
    p_value = Fraction(sum(one >= largest[0] for one in largest), deals + 1)
    at = max(range(len(pairs)), key=lambda at: (scores[at][0], pairs[at]))
    return row_of(
        "W9",
        "orders",
        "agent",
        FLAGGED if p_value <= Fraction(1, 100) else NOT_FLAGGED,
        group=f"{pairs[at][0]} with {pairs[at][1]}",
        cases=len(orders),
        observed=int(WHOLE_BP * p_value),
        limit=100,
        unit=f"{counts[0][at]} together",
        p_value=p_text(p_value),
    )


def _bursts(orders: Sequence[Announced]) -> dict[tuple[str, str, str], list[int]]:
    """Return the times by day, agent and side; of a burst the first."""
    every: dict[tuple[str, str, str], list[int]] = {}
    for agent, day, side, at_us in orders:
        every.setdefault((day, agent, side), []).append(at_us)
    found: dict[tuple[str, str, str], list[int]] = {}
    for key, own in every.items():
        last = None
        for at_us in sorted(own):
            if last is None or at_us - last > _NEAR:
                found.setdefault(key, []).append(at_us)
            last = at_us
    return found


def _beside(
    times: Mapping[tuple[str, str, str], Sequence[int]],
    spans: Mapping[str, tuple[int, int]],
    places: Mapping[tuple[str, str], int],
    root: bytes,
    deal: int,
    pair: tuple[str, str],
) -> int:
    """Return how many orders of one agent have one of the other beside them, turned round."""
    one, other = pair
    hits = 0
    for (day, agent, side), own in times.items():
        theirs = times.get((day, other, side), ())
        if agent != one or not theirs:
            continue
        low, high = spans[day]
        if deal:
            turn = _drawn(root, deal, places[day, other]) - _drawn(root, deal, places[day, one])
            theirs = sorted(low + (at_us - low + turn) % (high - low + 1) for at_us in theirs)
        for at_us in own:
            at = bisect_left(theirs, at_us - _NEAR)
            hits += at < len(theirs) and theirs[at] <= at_us + _NEAR
    return hits


def _drawn(root: bytes, deal: int, place: int) -> int:
    """Return by how much the times of one agent in one day are turned, microseconds."""
    said = root[:8] + deal.to_bytes(8, "big") + place.to_bytes(8, "big")
    return int.from_bytes(hashlib.shake_256(said).digest(8), "big")


def _standardised(counts: Sequence[int], smaller: int) -> list[Fraction]:
    """Return each count's distance from the mean over the variance, squared, with its sign.

    It is nothing for a count below 40 % of the orders of the smaller agent.
    """
    n, total = len(counts), sum(counts)
    variance = n * sum(count * count for count in counts) - total**2
    if not variance:
        return [Fraction(0)] * n
    far = [n * count - total if 100 * count >= 40 * smaller else 0 for count in counts]
    return [Fraction(one * abs(one), variance) for one in far]


# ---------------------------------------------------------------- windows
# Recorded runs of the tests of fairness, against the records that they speak of.
#
# A run names its days, a size of the log, the log's root there and its rows. This part gathers
# the cases from the verified records below that size, demands that they need exactly that size,
# takes the seed of the permutation tests from the tree's own root, and computes every row again.
#
# Not here: the tests (`statistics`). Rows about prompts (F2) are not computed again.

_REFUSING = frozenset({"THROTTLE", "HOLD", "REJECT", "HALT", "KILL"})
_LISTED = ("region", "sector", "mic", "currency", "asset_class")
_NO_LEVEL, _PROMPTS = "W1-W7", "F2"
_TESTS = "W1-W9"
"""The tests of a run; one of before names fewer, or none."""
_DEALS_MAX = 100_000
"""Most that a gateway puts on record."""
_RETURN_UNIT = 100_000_000

Told = tuple[int, str, str, int, Mapping[str, Any]]
"""A record: number, kind, stream, recorded at (microseconds), and what is kept of its payload."""


@dataclass(slots=True, kw_only=True)
class WindowDecision:
    """One decision of a window as far as records tell."""

    body: Mapping[str, Any]
    day: str
    listed: Mapping[str, str]
    seq: int
    forecast: Mapping[str, Any] | None
    forecast_seq: int | None
    filled: bool = False
    base: int = 0
    closes: dict[int, int] = field(default_factory=dict)
    trades: dict[int, tuple[int, int]] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    split_seq: int = 0
    close: int = 0
    sent_us: int = 0
    sent_seq: int = 0

    @property
    def is_split(self) -> bool:
        """Whether clients have parts of what traded, and its worth at a close is known."""
        return bool(self.parts and self.close and any(lots for lots, _ in self.trades.values()))

    @property
    def last_seq(self) -> int:
        """The last record that it rests on."""
        return max(self.seq, self.split_seq if self.is_split else 0, self.sent_seq)

    @property
    def horizon(self) -> int:
        """After how many closes its forecast can be judged."""
        return 0 if self.forecast is None else int(self.forecast["horizon"])


@dataclass(slots=True)
class Windows:
    """The runs of a whole log; give it every record with `see`, then call `finish`."""

    _told: list[Told] = field(default_factory=list)
    _leaves: bytearray = field(default_factory=bytearray)
    _runs: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)

    def leaf(self, leaf: bytes) -> None:
        """Take the leaf of the next record."""
        self._leaves += leaf

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        kind = head["kind"]
        if kind == "fairness_tested":
            self._runs.append((head["seq"], body))
        elif kind in _KEPT:
            kept: dict[str, Any] = {name: body[name] for name in _KEPT[kind] if name in body}
            if kind == "verdict_given":
                kept["hit"] = _refused_by(body.get("verdict"))
            self._told.append((head["seq"], kind, head["stream"], head["recorded_at_us"], kept))

    def finish(self, report: Report, *, whole: bool) -> None:
        """Judge every run; without the whole log nothing can be gathered."""
        if self._runs and not whole:
            report.find(INCOMPLETE, "records are missing: the tests of fairness cannot be repeated")
            return
        sound = 0
        for seq, run in self._runs:
            try:
                sound += self._judge(report, seq, run)
            except (ArithmeticError, KeyError, TypeError, ValueError) as error:
                text = f"the run, or a record of its days, has another form: {error!r}"
                report.find(TAMPERED, text, seq)
        if self._runs:
            report.say(
                f"{sound} of {len(self._runs)} runs of the tests of fairness: every row of a window"
                " follows from the records, and the seed from the log's root"
            )

    def _judge(self, report: Report, seq: int, run: Mapping[str, Any]) -> bool:
        """Report what of a run does not follow from the records; return whether all does."""
        size, deals = int(run["size"]), int(run["deals"])
        if not 0 < deals <= _DEALS_MAX:  # more would keep a reader waiting for days
            report.find(TAMPERED, f"a run of {deals} deals: 1 to {_DEALS_MAX} are possible", seq)
            return False
        tests = run.get("tests", "")
        if tests != _TESTS:
            text = f"a run of other tests than this verifier makes: {tests or 'W1-W7'}"
            report.find(INCOMPLETE, text, seq)
            return False
        below = [one for one in self._told if one[0] < size] if size <= seq else []
        found = cases_of(below, str(run["first_day"]), str(run["last_day"]))
        needed = max((one.last_seq + 1 for one in found.values()), default=0)
        if size != needed or len(found) != run["cases"]:
            text = f"a run over {run['cases']} cases below {size}; the records have {len(found)}"
            report.find(TAMPERED, f"{text}, below {needed}", seq)
            return False
        root = self._root(size)
        if root.hex() != run["root"]:
            report.find(
                TAMPERED, f"its root is not the log's at {size}, so neither is its seed", seq
            )
            return False
        cases = [judged_case(name.partition("/")[2], one) for name, one in found.items()]
        rows = rows_of(cases, root, run["criteria"]["attributes"], deals)
        parts = [part for name, one in found.items() for part in parts_of(name, one)]
        rows.append(allotted_row(parts, root, deals))
        rows.append(together_row([*announced(found.values())], root, deals))
        differing = [*_differing(run["results"], rows, cases, run["criteria"]["attributes"])]
        for text in differing:
            report.find(TAMPERED, text, seq)
        return not differing

    def _root(self, size: int) -> bytes:
        tree = Tree()
        for at in range(0, 32 * size, 32):
            tree.append(bytes(self._leaves[at : at + 32]))
        return tree.root()


_KEPT: Mapping[str, tuple[str, ...]] = {
    "run_started": ("instruments",),
    "instrument_listed": ("instrument", "reference"),
    "mark_taken": (
        *("account", "instrument", "price_ticks", "market_time_us", "kind"),
        "session_date",
    ),
    "forecast_made": ("forecast",),
    "forecast_taken": ("of_seq",),
    "verdict_given": ("account", "intent", "result"),
    "order_sending": ("market_now_us",),
    "order_reported": ("fill", "undoes_seq"),
    "order_allocated": ("decision_id", "parts"),
}


@dataclass(slots=True)
class _Gathered:
    """The decisions of some days, folded from records in order."""

    first: str
    last: str
    found: dict[str, WindowDecision] = field(default_factory=dict)
    _listed: dict[str, dict[str, str]] = field(default_factory=dict)
    _days: dict[str, str] = field(default_factory=dict)
    _forecasts: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)
    _closes: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _waiting: dict[tuple[str, str], list[WindowDecision]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _trading: dict[tuple[str, str], list[WindowDecision]] = field(default_factory=dict)

    def take(self, told: Told) -> None:
        """Take the next record."""
        seq, kind, stream, at_us, body = told
        match kind:
            case "run_started":
                for one in body["instruments"]:
                    self._list(one, {})
            case "instrument_listed":
                self._list(body["instrument"], body.get("reference", {}))
            case "mark_taken":
                self._mark(seq, body)
            case "forecast_made" | "forecast_taken":
                self._forecast(seq, kind, stream, body)
            case "verdict_given" if stream not in self._seen:
                self._seen.add(stream)
                self._first_verdict(seq, stream, at_us, body)
            case "order_sending" | "order_reported" if stream in self.found:
                self._ordered(seq, kind, self.found[stream], body)
            case "order_allocated":
                own = self.found.get(f"decision/{body['decision_id']}")
                if own is not None:
                    own.parts, own.split_seq = body["parts"], max(own.split_seq, seq)
            case _:
                pass

    def _forecast(self, seq: int, kind: str, stream: str, body: Mapping[str, Any]) -> None:
        """Keep a forecast by its number, and which one a decision names."""
        if kind == "forecast_made":
            self._forecasts[seq] = body["forecast"]
        elif body.get("of_seq") is not None:
            self._taken[stream] = body["of_seq"]

    def _ordered(self, seq: int, kind: str, own: WindowDecision, body: Mapping[str, Any]) -> None:
        if kind == "order_sending":
            own.sent_us, own.sent_seq = int(body["market_now_us"]), seq
            return
        fill, undoes = body.get("fill"), body.get("undoes_seq")
        if fill is not None and undoes is None:
            own.filled, own.seq = True, max(own.seq, seq)
        if fill is None and undoes is None:
            return
        traded = (0, 0) if fill is None else (int(fill["qty_lots"]), int(fill["price_ticks"]))
        own.trades[seq if undoes is None else undoes] = traded
        own.close, own.split_seq = 0, max(own.split_seq, seq)
        place = (own.body["account"], own.body["intent"]["instrument"])
        self._trading.setdefault(place, []).append(own)

    def _list(self, instrument: Mapping[str, Any], reference: Mapping[str, Any]) -> None:
        said = {**instrument, **reference}
        known = self._listed.setdefault(str(instrument["symbol"]), {})
        known.update({name: str(said[name]) for name in _LISTED if said.get(name)})

    def _mark(self, seq: int, mark: Mapping[str, Any]) -> None:
        if mark["kind"] == "open":
            self._days[mark["account"]] = self._days[""] = mark.get("session_date", "")
        if mark["kind"] != "close":
            return
        place = (mark["account"], mark["instrument"])
        self._closes[place] = (mark["market_time_us"], int(mark["price_ticks"]))
        for one in self._trading.pop(place, ()):
            one.close, one.split_seq = int(mark["price_ticks"]), max(one.split_seq, seq)
        still = []
        for one in self._waiting.pop(place, ()):
            if one.forecast is not None and mark["market_time_us"] > one.forecast["as_of_us"]:
                one.closes[mark["market_time_us"]] = int(mark["price_ticks"])
            if len(one.closes) < one.horizon:
                still.append(one)
            else:
                one.seq = max(one.seq, seq)
        self._waiting[place] = still

    def _first_verdict(self, seq: int, stream: str, at_us: int, body: Mapping[str, Any]) -> None:
        account, instrument = body["account"], body["intent"]["instrument"]
        day = self._days.get(account) or self._days.get("") or _utc_day(at_us)
        if not self.first <= day <= self.last:
            return
        named = self._taken.get(stream, -1)
        said = self._forecasts.get(named)
        listed = dict(self._listed.get(instrument, {}))
        own = WindowDecision(
            body=body,
            day=day,
            listed=listed,
            seq=seq,
            forecast=said,
            forecast_seq=None if said is None else named,
        )
        close = self._closes.get((account, instrument), (0, 0))
        if said is not None and 0 < close[0] <= int(said["as_of_us"]):
            own.base = close[1]
            self._waiting.setdefault((account, instrument), []).append(own)
        self.found[stream] = own


def _refused_by(verdict: object) -> frozenset[str]:
    """Return the rules that held or refused in a verdict."""
    results = verdict.get("results") if isinstance(verdict, dict) else None
    rows = results if isinstance(results, list) else []
    return frozenset(
        str(row.get("rule_id"))
        for row in rows
        if isinstance(row, dict) and row.get("action") in _REFUSING
    )


def cases_of(told: Sequence[Told], first: str, last: str) -> dict[str, WindowDecision]:
    """Return the decisions of the days from `first` to `last` by stream, from records in order."""
    gathered = _Gathered(first, last)
    for one in told:
        gathered.take(one)
    return gathered.found


def parts_of(stream: str, found: WindowDecision) -> list[Part]:
    """Return what each client got of an order, and its worth at the close in bp, rounded down."""
    if not found.is_split:
        return []
    lots = sum(one for one, _ in found.trades.values())
    paid = sum(one * price for one, price in found.trades.values())
    intent, gained = found.body["intent"], found.close * lots - paid
    worth = (gained if intent["side"] == "BUY" else -gained) * 10_000 // paid
    name, stratum = stream.partition("/")[2], f"{intent['instrument']} {found.day}"
    return [
        (stratum, f"{name} {client}", client, worth)
        for client, part in sorted(found.parts.items())
        if part > 0
    ]


def announced(found: Iterable[WindowDecision]) -> Iterator[Announced]:
    """Yield agent, instrument's day, side and time of each order that was announced."""
    for one in found:
        if one.sent_seq:
            intent = one.body["intent"]
            day = f"{intent['instrument']} {one.day}"
            yield intent["author"], day, intent["side"], one.sent_us


def judged_case(name: str, found: WindowDecision) -> JudgedCase:
    """Return a decision with what the tests compare."""
    intent, listed, said = found.body["intent"], found.listed, found.forecast
    error, covered = _outcome_of(found)
    return JudgedCase(
        name=name,
        day=found.day,
        asset_class=listed.get("asset_class", ""),
        levels={
            "region": listed.get("region", ""),
            "sector": listed.get("sector", ""),
            "side": intent["side"],
            "agent": intent["author"],
        },
        features={
            "asset class": listed.get("asset_class", ""),
            "currency": listed.get("currency", ""),
            "venue": listed.get("mic", ""),
            "strategy": intent["strategy"],
        },
        result=found.body["result"],
        rules=found.body["hit"],
        exposure=int(intent["target_exposure_bp"]),
        filled=found.filled,
        expected=None if said is None else int(said["expected_1e8"]),
        error=error,
        covered=covered,
        forecast=found.forecast_seq,
    )


def _outcome_of(found: WindowDecision) -> tuple[int | None, bool]:
    """Return how far off a forecast was at its horizon, and whether its interval held."""
    said = found.forecast
    if said is None or not found.base or len(found.closes) < found.horizon:
        return None, False
    close = found.closes[max(found.closes)]
    log_return = (Decimal(close) / Decimal(found.base)).ln()
    happened = int((log_return * _RETURN_UNIT).to_integral_value())
    inside = int(said["interval_low_1e8"]) <= happened <= int(said["interval_high_1e8"])
    return abs(happened - int(said["expected_1e8"])), inside


def _differing(
    recorded: Sequence[Row],
    rows: Sequence[Row],
    cases: Sequence[JudgedCase],
    attributes: Sequence[str],
) -> Iterator[str]:
    """Yield what of the recorded rows is not what the records give."""
    told = [row for row in recorded if row.get("test") not in {_NO_LEVEL, _PROMPTS}]
    for number, (said, row) in enumerate(zip(told, rows, strict=False)):
        if dict(said) != row:
            where = " ".join(str(row.get(key, "")) for key in ("test", "attribute", "group"))
            names = [key for key in {**said, **row} if said.get(key) != row.get(key)]
            yield f"row {number + 1} ({where.strip()}) differs in {', '.join(sorted(names))}"
    if len(told) != len(rows):
        yield f"it has {len(told)} rows about windows, the records give {len(rows)}"
    levelless = {name for name in attributes if not any(c.levels.get(name) for c in cases)}
    if {row.get("attribute") for row in recorded if row.get("test") == _NO_LEVEL} != levelless:
        yield "it says of other attributes than the records that nothing is known of them"


def _utc_day(time_us: int) -> str:
    return dt.datetime.fromtimestamp(time_us // 1_000_000, dt.UTC).date().isoformat()


# ---------------------------------------------------------------- log
# A whole log, record by record.

TAIL_S = 5
"""Seconds that a live log may take until a checkpoint covers its newest records."""
ORDER = ("head", "checkpoint", "blob", "entry", "end")


class LogVerifier:
    """The verification of a whole log.

    Memory grows with streams, blobs, checkpoints, and a digest of each record's key. Call
    `head` once, then `checkpoint`, `blob` and `entry` in this order, then `finish`: a checkpoint
    after its records would never be compared with them.
    """

    def __init__(
        self, vkeys: Sequence[str], notes: Sequence[bytes] = (), outside: Outside | None = None
    ) -> None:
        """Take trusted keys, policy and kept checkpoints; raise Bad if one is malformed."""
        self.report = Report()
        outside = outside or Outside()
        self._trust = Trust([*vkeys, *outside.vkeys], outside.policy)
        self._rotations = outside.rotations
        self._disclosed = Disclosed(outside.disclosures)
        self._stage = ""
        self._tree = Tree()
        self._head: Mapping[str, Any] = {}
        self._origin: str | None = None
        self._roots: dict[int, bytes] = {}
        self._signers: dict[int, frozenset[Key]] = {}
        self._unsigned: list[tuple[int, bytes]] = []
        self._times: dict[int, int] = {}
        self._public: set[int] = set()
        self._newest: SeenCheckpoint | None = None
        self._compared: set[int] = set()
        self._checked = self._witnessed = 0
        self._signed_at_us = self._witnessed_at_us = 0
        self._blobs: set[str] = set()
        self._streams = Streams()
        self._changed: dict[str, list[Any]] = {}
        self._expected: list[list[Any]] = []
        self._map_rows: list[list[Any]] = []
        self._map_next: list[int] = []
        self._mapped = 0
        self._unread: Counter[tuple[str, int]] = Counter()
        self._last = -1
        self._whole = True
        self._disordered = False
        self._seeds = Seeds()
        self._approvals = Approvals()
        self._statements = Statements()
        self._from_start = True
        self._fills = Fills(outside.fills)
        self._signed = OfficersWord(outside.officers)
        self._successions = PolicySuccessions()
        self._baskets = Baskets()
        self._windows = Windows()
        for note in (*notes, *outside.notes):
            self._take_note(None, note)

    @property
    def size(self) -> int:
        """Return how many records were taken."""
        return self._tree.size

    def _enter(self, stage: str) -> None:
        """Require exactly one head, first, then the stages in `ORDER`."""
        before, self._stage = self._stage, stage
        if before == "":
            right = stage == ORDER[0]
        else:
            right = stage != ORDER[0] and ORDER.index(stage) >= ORDER.index(before)
        if not right and not self._disordered:
            self._disordered = True
            self.report.find(TAMPERED, f"a {stage} out of order, after {before or 'nothing'}")

    def head(self, row: Mapping[str, Any]) -> None:
        """Take the stored head: origin, size, root, frontier."""
        self._enter("head")
        if self._origin not in {None, row["origin"]}:
            self.report.find(TAMPERED, f"the trusted checkpoint is not of the log {row['origin']}")
        self._head, self._origin = row, row["origin"]
        self._trust.give(self.report, self._rotations, row["origin"])

    def checkpoint(self, size: int, note: bytes) -> None:
        """Take a checkpoint stored under a size, with its cosignatures if there are any."""
        self._enter("checkpoint")
        self._take_note(size, note)

    def _take_note(self, size: int | None, note: bytes) -> None:
        try:
            seen = self._trust.open(note)
        except Bad as error:
            self.report.find(TAMPERED, f"checkpoint of {size}: {error}")
            return
        origin, stated, root = seen.head
        self._origin = self._origin or origin
        if size not in {None, stated} or origin != self._origin:
            self.report.find(TAMPERED, f"checkpoint of {size} states {origin} and {stated}")
            return
        if self._roots.setdefault(stated, root) != root:
            self.report.find(TAMPERED, f"two checkpoints of {stated} differ")
        elif stated == 0 and not self._compare(root):
            self.report.find(TAMPERED, "the checkpoint of 0 is not that of an empty log")
        if seen.strangers or not seen.signers:
            self._unsigned.append((stated, note))  # a key to come may have signed it
        self._signers[stated] = self._signers.get(stated, frozenset()) | seen.signers
        made_us = self._trust.made_us([seen])
        self._times[stated] = min(made_us, self._times.get(stated, made_us))
        if self._newest is None or stated >= self._newest.head.size:
            self._newest = seen
        if self._trust.policy is not None and self._trust.met([seen]):
            self._public.add(stated)

    def _compare(self, root: bytes) -> bool:
        self._compared.add(self._tree.size)
        return root == self._tree.root()

    def blob(self, digest: bytes, data: bytes) -> None:
        """Take a blob and check its digest."""
        self._enter("blob")
        if hashlib.sha256(data).digest() != digest:
            self.report.find(TAMPERED, f"blob {digest.hex()} has other content")
        self._blobs.add(digest.hex())

    def entry(self, row: Mapping[str, Any]) -> None:
        """Take the next record with all its columns."""
        self._enter("entry")
        seq, leaf = row["seq"], bytes(row["leaf"])
        if seq != self._last + 1:
            self._whole = False
            code, text = TAMPERED, f"out of order, after record {self._last}"
            if seq > self._last:
                code, text = INCOMPLETE, f"missing, as all up to record {seq}"
            self.report.find(code, text, min(seq, self._last + 1))
        self._last = max(seq, self._last)
        try:
            self._entry(row, leaf)
        except Bad as error:
            self.report.find(TAMPERED, str(error), seq)
            self._streams.heads[row["stream"]] = (row["stream_seq"], leaf, seq)
        self._tree.append(leaf)
        self._windows.leaf(leaf)
        root = self._roots.get(self._tree.size)
        if root is not None and self._whole:
            self._under(root, row)

    def _under(self, root: bytes, row: Mapping[str, Any]) -> None:
        size, report = self._tree.size, self.report
        if not self._compare(root):
            where = None if report.first_bad_seq is not None else self._checked
            text = f"the tree of {size} is not the one signed, that of {self._checked} is"
            report.find(TAMPERED, text, where)
            self._whole = False
        elif self._mapped != size and ("stream_heads", 0) not in self._unread:
            report.find(TAMPERED, "signed without a stream-head map before it", row["seq"])
        self._checked, self._signed_at_us = size, row["recorded_at_us"]
        if size in self._public:
            self._witnessed, self._witnessed_at_us = size, row["recorded_at_us"]

    def _entry(self, row: Mapping[str, Any], leaf: bytes) -> None:
        """Compare every column with the hashed bytes, and the record with its stream."""
        if leaf_hash(row["header"]) != leaf:
            raise Bad("the leaf is not the header's hash")
        head, body = read_record(row["header"], row["payload"])
        stated = {name: row[name] for name in COLUMNS}
        stated["prev"] = bytes(row["prev"]).hex()
        stated["payload_sha256"] = bytes(row["payload_digest"]).hex()
        stated["log"] = self._head.get("origin", head["log"])
        differing = [name for name, value in stated.items() if head[name] != value]
        if row["account"] != body.get("account"):
            differing.append("account")
        joined = b"".join(map(unhex, head["commitments"]))
        if bytes(row.get("commitments", joined)) != joined:
            differing.append("commitments")
        if differing:
            raise Bad(f"{', '.join(differing)} differs from the hashed bytes")
        self._streams.follow(self.report, head, leaf)
        self._disclosed.see(self.report, head)
        if known(head):
            self._interpret(head, body)
            self.contents(head, body, leaf, whole=self._whole and self._from_start)
            if self._whole:
                self._seeds.see(self.report, head, body, self._mapped, self._roots)
        else:
            self._unread[head["kind"], head["version"]] += 1
            self._statements.skip(head)
            if head["kind"] == "stream_heads":
                self._unread["stream_heads", 0] += 1
        self._changed[head["stream"]] = [head["stream_seq"], leaf.hex()]

    def contents(
        self, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes, *, whole: bool
    ) -> None:
        """Hold what a known record says against the records before it.

        `whole` says whether these were all given, from the first on.
        """
        self._approvals.see(self.report, head, body, leaf)
        self._fills.see(self.report, head, body, leaf)
        self._statements.seen.whole = whole
        self._statements.see(self.report, head, body, leaf)
        self._signed.see(head, body, leaf)
        self._successions.see(head, body)
        self._baskets.see(head, body)
        self._windows.see(head, body)

    def _interpret(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        for digest in sorted(set(blobs_of(body)) - self._blobs):
            self.report.find(INCOMPLETE, f"blob {digest} is missing", head["seq"])
        if head["kind"] == "stream_heads":
            self._map(body, head["seq"])
        elif head["kind"] in {"key_rotated", "key_revoked"}:
            self._trust.follow(body.get("statement"), head["log"])

    def _map(self, body: Mapping[str, Any], seq: int) -> None:
        """Compare a map, part by part, with the streams that changed since the last one."""
        joins, self._map_next = next_part(self._map_next, body, seq)
        if self._whole and not joins:
            self.report.find(TAMPERED, MAP_BROKEN, seq)
        if body["part"] == 0:
            self._expected = [[name, *head] for name, head in sorted(self._changed.items())]
            self._changed, self._map_rows = {}, []
        self._map_rows += body["heads"]
        if body["part"] + 1 != body["parts"]:
            return
        self._mapped = seq + 1
        if self._map_rows == self._expected:
            return
        stated = {row[0]: row[1:] for row in self._map_rows}
        for name, number, leaf in self._expected:
            if name in stated and stated[name][0] == number and stated[name][1] != leaf:
                text = f"is not the one that the stream-head map of record {seq} names"
                self.report.find(TAMPERED, text, self._streams.heads[name][2])
        if self._whole:
            raise Bad("the stream-head map is not that of the streams")
        for name, (number, _) in stated.items():
            have = self._streams.heads.get(name, (-1,))[0]
            if number > have:
                text = f"{name} ends at {have} here, at {number} in the map of record {seq}"
                self.report.find(INCOMPLETE, text)

    def finish(self, expected: int | None = None, now_us: int | None = None) -> Report:
        """Judge what only the end shows: the announced number of records, head, keys, witnesses.

        `now_us` is the time of reading a live log: its tail may be unsigned if the newest signed
        record is at most `TAIL_S` older.
        """
        size, report = self._tree.size, self.report
        if expected is not None and expected != size:
            report.find(INCOMPLETE, f"{expected} records announced, {size} found", size)
        beyond = max(self._roots, default=0)
        if beyond > size:
            report.find(INCOMPLETE, f"a checkpoint of {beyond} is signed, {size} found", size)
        if not self._head:
            report.find(INCOMPLETE, "there is no head")
        elif self._whole:
            self._judge_stored_head()
        self._judge_keys()
        if self._whole:
            self._judge_signatures(now_us)
            self._judge_witnesses(now_us)
        if not self._trust.keys:
            report.find(NOT_CHECKABLE, "no trusted key given: nothing says who wrote this")
        self._disclosed.finish(report)
        self._fills.finish(report)
        spans = self._signed.finish(report, self._fills.relied_on)
        self._statements.finish(report, spans)
        self._successions.finish(report, whole=self._whole)
        self._baskets.finish(report, whole=self._whole)
        self._windows.finish(report, whole=self._whole)
        say_unread(report, self._unread)
        report.say(
            f"{size} records, {len(self._streams.heads)} streams, {len(self._blobs)} blobs,"
            f" {len(self._roots)} checkpoints; signed up to {self._checked}"
        )
        return report

    def _judge_stored_head(self) -> None:
        """Compare the stored head with the tree; a sound, larger one shows a lost tail."""
        stated, frontier = self._head["size"], bytes(self._head["frontier"])
        larger = Tree()
        larger.nodes = [frontier[i : i + 32] for i in range(0, len(frontier), 32)]
        sound = len(frontier) == 32 * stated.bit_count() and larger.root() == self._head["root"]
        if sound and stated > self._tree.size:
            text = f"the stored head is that of {stated} records, {self._tree.size} found"
            self.report.find(INCOMPLETE, text, self._tree.size)
        elif not sound or (stated, larger.nodes) != (self._tree.size, self._tree.nodes):
            text = f"the stored head is not that of {self._tree.size} records"
            self.report.find(TAMPERED, text)

    def _judge_keys(self) -> None:
        """Judge who signed each checkpoint; all changes of keys in the log are known only now."""
        trust, report = self._trust, self.report
        try:
            trust.settle(report)
        except Bad as error:
            report.find(TAMPERED, f"a change of keys: {error}")
        for size, note in self._unsigned if trust.keys else ():
            try:
                seen = trust.open(note)
            except Bad as error:
                report.find(TAMPERED, f"checkpoint of {size}: {error}")
                continue
            if size in self._signers:
                self._signers[size] |= seen.signers
            if not seen.signers:
                report.find(TAMPERED, f"checkpoint of {size} is signed by no trusted key{CHANGED}")
        made_us, covered = SIZE_MAX, False
        for size, signers in sorted(self._signers.items(), reverse=True):
            made_us = min(made_us, self._times.get(size, SIZE_MAX))
            why = trust.counts(signers & trust.keys, size, made_us)
            text = f"checkpoint of {size} is signed only by a key that had been {why}"
            if signers and why == "replaced":
                report.find(TAMPERED, text)
            elif signers and why and not covered:
                report.find(NOT_CHECKABLE, f"{text}: {NO_TIME}")
            covered = covered or (bool(signers) and not why)

    def _judge_signatures(self, now_us: int | None) -> None:
        """Require that every checkpoint was compared, and that they cover all records."""
        size, report = self._tree.size, self.report
        for missed in sorted(self._roots.keys() - self._compared):
            if missed <= size:
                report.find(TAMPERED, f"the checkpoint of {missed} was not compared")
        if not self._compared:
            report.find(INCOMPLETE, "no checkpoint covers these records")
        elif self._checked < size:
            text = f"records from {self._checked} on are not signed yet"
            self._judge_lag(text, self._checked, self._signed_at_us, now_us)

    def _judge_witnesses(self, now_us: int | None) -> None:
        policy = self._trust.policy
        if policy is None or not policy.asks:
            self.report.say("no witness policy given: that others saw this log is not shown")
        elif self._witnessed:
            self.report.say(f"the policy's quorum cosigned the tree of {self._witnessed}")
            if self._witnessed < self._checked:
                text = f"records from {self._witnessed} on are not cosigned by the quorum yet"
                self._judge_lag(text, self._witnessed, self._witnessed_at_us, now_us)
        elif self._newest is not None:
            judge_quorum(self.report, self._trust, [self._newest])

    def _judge_lag(self, text: str, since: int, at_us: int, now_us: int | None) -> None:
        """Report an unsigned or uncosigned tail; a short one of a live log is no finding."""
        before = self.report.unsigned_from
        self.report.unsigned_from = since if before is None else min(since, before)
        if now_us is not None and abs(now_us - at_us) <= TAIL_S * 1_000_000:
            self.report.say(f"{text}: a running log does it within {TAIL_S} s")
        else:
            self.report.find(INCOMPLETE, text)


# ---------------------------------------------------------------- dump
# A dump: a whole log as JSON lines.

_TEXT = ("stream", "kind", "actor", "idem_key")
_BYTES = ("prev", "payload_digest", "leaf", "header", "payload")
DUMP_FIELDS: dict[str, dict[str, Any]] = {
    "head": {"origin": str, "size": int, "root": bytes, "frontier": bytes},
    "checkpoint": {"size": int, "note": bytes},
    "blob": {"digest": bytes, "data": bytes},
    "entry": {
        **dict.fromkeys(_TEXT, str),
        **dict.fromkeys(NUMBERS, int),
        **dict.fromkeys(_BYTES, bytes),
        "account": str | None,
    },
    "end": {"entries": int},
}


def verify_dump(
    lines: Iterable[bytes],
    vkeys: Sequence[str],
    notes: Sequence[bytes] = (),
    outside: Outside | None = None,
) -> Report:
    """Return the report on a dump: one head, checkpoints, blobs, entries, the end.

    The end announces the number of records. The tree must contain the checkpoints in `notes`.
    """
    log = LogVerifier(vkeys, notes, outside)
    expected = None
    try:
        for line in lines:
            if expected is not None:
                log.report.find(TAMPERED, "the dump goes on after its end")
                break
            expected = take_line(log, line)
    except Bad as error:
        log.report.find(TAMPERED, f"the dump is malformed: {error}")
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        log.report.caught(error)
    if expected is None:
        log.report.find(INCOMPLETE, "the dump has no end")
    return log.finish(expected)


def take_line(log: LogVerifier, line: bytes) -> int | None:
    """Give one line of a dump to the verifier; return the announced number at the end."""
    kind, row = _read_line(line)
    match kind:
        case "head":
            log.head(row)
        case "checkpoint":
            log.checkpoint(row["size"], row["note"])
        case "blob":
            log.blob(row["digest"], row["data"])
        case "entry":
            log.entry(row)
        case _:
            return int(row["entries"])
    return None


def _read_line(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return a line's type and its fields; bytes are base64 in the line."""
    try:
        row = json.loads(line.decode(), object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {type(error).__name__}") from error
    kind = row.pop("type", None) if isinstance(row, dict) else None
    fields = DUMP_FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None or row.keys() != fields.keys():
        raise Bad(f"a line of type {kind!r} has other fields")
    for name, wanted in fields.items():
        value = row[name]
        if wanted is bytes:
            row[name] = value = unbase64(value)
        large = isinstance(value, int) and abs(value) > INT_MAX
        if isinstance(value, bool) or not isinstance(value, wanted) or large:
            raise Bad(f"{name} of a line of type {kind} has another type")
    return str(kind), row


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise Bad("a line has a field twice")
    return row


# ---------------------------------------------------------------- bundle
# A bundle: one decision, the forecasts that it names, and their evidence as a canonical ZIP.

BUNDLE = "countersign-bundle/2"
READ_BY = {"countersign-bundle/1": "commit fe4a99b2 is the last that reads it"}
"""Formats of before, with who reads them."""
_Proven = tuple[dict[str, Any], dict[str, Any], bytes]
"""Header, payload and leaf of a record whose place was checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One decision's evidence: records with their inclusion paths, a checkpoint, blobs.

    Attributes:
        verifier: a copy of this file at that time, for reading; the manifest has its digest.
        link: a consistency proof to a later checkpoint that witnesses cosigned; b"" if none.
    """

    stream: str
    note: bytes
    records: Mapping[str, tuple[bytes, bytes, Sequence[bytes]]]
    blobs: Mapping[str, bytes]
    verifier: bytes
    link: bytes = b""

    def to_zip(self) -> bytes:
        """Return the canonical ZIP: sorted names, no compression, no times."""
        files = {"checkpoint.txt": self.note, "verify.py": self.verifier}
        if self.link:
            files |= {"consistency.txt": self.link, "witnessed.txt": read_link(self.link).note}
        files |= {f"blobs/{digest}": data for digest, data in self.blobs.items()}
        dev = False
        for header, payload, path in self.records.values():
            head, body = read_record(header, payload)
            name = f"{head['seq']:012d}-{head['kind']}"
            files[f"records/{name}.header.json"] = header
            files[f"records/{name}.payload.json"] = payload
            files[f"proofs/{name}.json"] = canonical([node.hex() for node in path])
            if isinstance(body.get("raw"), str):
                files[f"fix/{name}.txt"] = body["raw"].replace("\x01", "|\n").encode()
            dev = dev or body.get("dev") is True
        digest = hashlib.sha256(self.verifier).hexdigest()
        manifest = {"dev": dev, "format": BUNDLE, "stream": self.stream, "verifier_sha256": digest}
        files["manifest.json"] = canonical(manifest)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, 0o100644 << 16
                archive.writestr(info, files[name])
        return out.getvalue()


def read_bundle(data: bytes) -> Bundle:
    """Return a bundle; foreign files in it are dropped here and found by `to_zip` later."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            apart = sum(info.file_size for info in infos) <= len(data)  # none lies on another
            plain = apart and not any(info.compress_type for info in infos)
            files = {info.filename: archive.read(info) for info in infos if plain}
        manifest = parse_canonical(files["manifest.json"])
        _check_format(manifest["format"])
        records = {}
        for name in sorted(files):
            if name.startswith("records/") and name.endswith(".header.json"):
                stem = name.removeprefix("records/").removesuffix(".header.json")
                path = list(map(unhex, parse_canonical(files[f"proofs/{stem}.json"])))
                records[stem] = (files[name], files[f"records/{stem}.payload.json"], path)
        return Bundle(
            stream=str(manifest["stream"]),
            note=files["checkpoint.txt"],
            records=records,
            blobs={n.removeprefix("blobs/"): files[n] for n in files if n.startswith("blobs/")},
            link=files.get("consistency.txt", b""),
            verifier=files["verify.py"],
        )
    except Unknown:
        raise
    except Exception as error:
        raise Bad(f"not a bundle: {error!r}") from error


def _judge_copy(report: Report, bundle: Bundle) -> None:
    """Report a copy of this file that is unknown: nobody should run it.

    No signature covers the copy and no evidence depends on it, so verifiers of any version can
    judge bundles of any version.
    """
    digest = hashlib.sha256(bundle.verifier).hexdigest()
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    if digest != own:
        report.say(f"the verify.py in it is of another version than this one: {digest}")


def _check_format(name: object) -> None:
    """Refuse a bundle of another format; an earlier or later one is `Unknown`."""
    if name != BUNDLE:
        if isinstance(name, str) and re.fullmatch(r"countersign-bundle/[1-9][0-9]{0,3}", name):
            said = READ_BY.get(name, "a later verifier may know it")
            raise Unknown(f"a bundle of the format {name} is not read here: {said}")
        raise Bad("the manifest names no format")


def verify_bundle(
    data: bytes,
    vkeys: Sequence[str] = (),
    notes: Sequence[bytes] = (),
    outside: Outside | None = None,
) -> Report:
    """Return the report on a bundle; a kept checkpoint of another size needs a proof."""
    with judging() as report:
        given, bundle = outside or Outside(), read_bundle(data)
        outside = replace(given, vkeys=(*vkeys, *given.vkeys), notes=(*notes, *given.notes))
        trust, disclosed = Trust(outside.vkeys, outside.policy), Disclosed(outside.disclosures)
        for header, payload, _ in bundle.records.values():
            follow_keys(trust, *read_record(header, payload))
        links = [bundle.link, *outside.links] if bundle.link else outside.links
        head = judge_head(report, trust, bundle.note, replace(outside, links=links))
        records = [_proven(report, stem, item, head) for stem, item in bundle.records.items()]
        for record in records:
            disclosed.see(report, record[0])
        _judge_stream(report, bundle.stream, records, head.size)
        _judge_forecasts(report, records)
        judge_standing(report, bundle.stream, records)
        _judge_context(report, bundle.stream, records)
        _judge_blobs(report, bundle.blobs, records)
        _judge_seeds(report, bundle, records, head)
        _judge_fills(report, records, outside)
        _judge_copy(report, bundle)
        if bundle.to_zip() != data:
            text = "the bytes are not those of the canonical bundle of this content"
            report.find(TAMPERED, text)
        disclosed.finish(report)
        say_unread(report, unread_of(record[0] for record in records))
        report.say(f"{bundle.stream}: {len(records)} records under {head.origin} at {head.size}")
    return report


def _judge_context(report: Report, stream: str, records: Sequence[_Proven]) -> None:
    """Check that runs, policies, messages and forecasts were recorded before they were named."""
    there: dict[bytes, int] = {}  # by canonical bytes: 1 is not true, and a list can be a name
    for head, body, _ in records:
        name = _name_of(head, body) if known(head) else None
        if name is not None:
            key = canonical(name)
            there[key] = min(head["seq"], there.get(key, head["seq"]))
    for head, body, _ in records:
        own = head["stream"] == stream or head["kind"] == "paths_joined"
        if not known(head) or not (own or attempt_in(head["stream"])):
            continue
        named = _names_in(head, body)
        for name in named:
            if name[-1] is not None and there.get(canonical(name), head["seq"]) >= head["seq"]:
                report.find(INCOMPLETE, f"names {' '.join(map(str, name))}: missing", head["seq"])


def _name_of(head: Mapping[str, Any], body: Mapping[str, Any]) -> list[object] | None:
    """Return the name by which other records name this one; None if none does."""
    match head["kind"]:
        case "run_started":
            return ["run", body.get("run_id")]
        case "policy_activated":
            return ["policy", body.get("policy_digest")]
        case "fix_inbound":
            return ["inbound", head["stream"], body.get("offset")]
        case "override_granted":
            return ["override", body.get("override_id")]
        case "snapshot_taken":
            return ["forecast", head["stream"].removeprefix("forecast/")]
        case "paths_joined":
            return ["joint", head["stream"].removeprefix(SETS)]
        case _:
            return None


def _names_in(head: Mapping[str, Any], body: Mapping[str, Any]) -> list[list[object]]:
    """Return what a record names: run, policy, message, override, set of paths, attempt.

    An attempt names the one before it, from which its right to be follows.
    """
    named: list[list[object]] = [["run", body.get("run_id")], ["policy", body.get("policy_digest")]]
    if head["kind"] in {"order_reported", "order_ended"}:
        session = body.get("session")
        stream_of = f"session/{session}" if isinstance(session, str) else None
        named.append(["inbound", stream_of, body.get("inbox_offset")])
    state = body.get("state") if head["kind"] == "verdict_given" else None
    used = state.get("override") if isinstance(state, dict) else None
    if isinstance(used, dict):
        named.append(["override", used.get("override_id")])
    for one in list_of(body.get("members")) if head["kind"] == "paths_joined" else ():
        member = mapping_of(one)
        attempt = f"{text_of(member.get('forecast_id'))}.{text_of(member.get('attempt'))}"
        named.append(["forecast", attempt])
    joint = mapping_of(mapping_of(body.get("paths")).get("joint"))
    named.append(["joint", text_of(joint["joint_id"]) if "joint_id" in joint else None])
    taken, number = body.get("forecast_id"), body.get("forecast_attempt", 0)
    if head["kind"] == "forecast_taken" and is_given(taken):
        named.append(["forecast", f"{text_of(taken)}.{text_of(number)}"])
    opened = attempt_in(head["stream"]) if head["kind"] == "snapshot_taken" else None
    if opened is not None and opened[1]:
        named.append(["forecast", f"{opened[0]}.{opened[1] - 1}"])
    return named


def _judge_blobs(report: Report, blobs: Mapping[str, bytes], records: Sequence[_Proven]) -> None:
    """Check that every named blob is there, and that every blob is named and has its digest."""
    named: set[str] = set()
    for head, body, _ in records:
        digests = set(blobs_of(body))
        named |= digests
        for digest in sorted(digests - blobs.keys()) if known(head) else ():
            report.find(INCOMPLETE, f"blob {digest} is missing", head["seq"])
    for digest, content in blobs.items():
        if hashlib.sha256(content).hexdigest() != digest:
            report.find(TAMPERED, f"blob {digest} has other content")
        if digest not in named:
            report.find(TAMPERED, f"blob {digest} belongs to no record")


def _judge_fills(report: Report, records: Sequence[_Proven], outside: Outside) -> None:
    """Judge approvals, fills, baskets, and what two officers signed."""
    fills, signed = Fills(outside.fills, whole=False), OfficersWord(outside.officers)
    approvals, baskets, statements = Approvals(), Baskets(), Statements(seen=Earlier(whole=False))
    for head, body, leaf in sorted(records, key=lambda record: record[0]["seq"]):
        if known(head):
            approvals.see(report, head, body, leaf)
            fills.see(report, head, body, leaf)
            statements.see(report, head, body, leaf)
            signed.see(head, body, leaf)
            baskets.see(head, body)
        else:
            statements.skip(head)
    fills.finish(report)
    statements.finish(report, signed.finish(report, fills.relied_on))
    baskets.finish(report, whole=False, bundle=True)


def _proven(
    report: Report, stem: str, item: tuple[bytes, bytes, Sequence[bytes]], signed: Head
) -> _Proven:
    """Return one record after checking its place in the signed tree."""
    try:
        head, body = read_record(item[0], item[1])
    except Bad as error:
        raise Bad(f"record {stem}: {error}") from error
    leaf = leaf_hash(item[0])
    judge_place(report, head, leaf, item[2], signed)
    return head, body, leaf


def _judge_stream(report: Report, stream: str, records: Sequence[_Proven], size: int) -> None:
    """Check that the decision's records are complete: dense, chained, mapped, sealed."""
    own = [(head, leaf) for head, _, leaf in records if head["stream"] == stream]
    streams = Streams()
    for head, leaf in own:
        streams.follow(report, head, leaf)
    number, last, _ = streams.heads.get(stream, (-1, ZERO_HASH, -1))
    parts, others = [], []
    for head, body, _ in records:
        if head["kind"] == "stream_heads" and known(head):
            parts.append((head, body))
        else:
            others.append(head)
    judge_map(report, parts, size, others)
    own_map = [body for head, body in parts if head["seq"] - body["part"] + body["parts"] == size]
    rows = [row for body in own_map for row in body["heads"] if row[0] == stream]
    for row in rows:
        judge_end(report, row, number, last)
    if not rows:
        report.find(INCOMPLETE, "the checkpoint's own stream-head map does not name the decision")
    judge_seal(report, stream, [head for head, _ in own])


def _judge_forecasts(report: Report, records: Sequence[_Proven]) -> None:
    """Check that each attempt at a forecast is here from its first record to its seal."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    streams = Streams()
    for head, _, leaf in sorted(records, key=lambda record: record[0]["seq"]):
        if head["stream"].startswith("forecast/"):
            found.setdefault(head["stream"], []).append(head)
            streams.follow(report, head, leaf)
    for stream, heads in found.items():
        judge_seal(report, stream, heads, "forecast_sealed")


def _judge_seeds(report: Report, bundle: Bundle, records: Sequence[_Proven], signed: Head) -> None:
    """Judge the seeds, each record with the root of the tree that ends with it."""
    paths = [item[2] for item in bundle.records.values()]
    shown = {
        head["seq"]: ShownRecord(head, body, leaf, root_up_to(leaf, head["seq"], signed.size, path))
        for (head, body, leaf), path in zip(records, paths, strict=True)
    }
    judge_requests(report, shown)


# ---------------------------------------------------------------- proof
# Proofs and receipts, consistency proofs, and checkpoints alone.

PROOF = "c2sp.org/tlog-proof@v1"
RECORD, RECEIPT, RANGE = "countersign-record/1", "countersign-receipt/1", "countersign-range/1"
WITH_PARTS = {RECEIPT: "countersign-receipt/2", RANGE: "countersign-range/2"}
_LIST: dict[str, type] = {"headers": list, "keys": list, "map": dict, "payloads": list}
_SHAPES: dict[str, dict[str, type]] = {
    RECORD: {"header": dict, "keys": list, "payload": dict},
    RECEIPT: _LIST,
    RANGE: {**_LIST, "first": int, "last": int},
}
_SHAPES |= {new: {**_SHAPES[old], "map": list} for old, new in WITH_PARTS.items()}
EXTRA_FIELDS = {name: dict(sorted({"format": str, **x}.items())) for name, x in _SHAPES.items()}
"""The fields of the extra line of our proofs; nothing in it is trusted unproven.

A receipt has every header of a decision and the payload of its seal. A range has the headers of a
stream from `first` to the end that a stream-head map states, and payloads up to `last`. `map` is
that map: one record, or in the second version a list of all its parts in order. `keys` are
changes of the log's keys.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A C2SP tlog-proof."""

    index: int
    path: tuple[bytes, ...]
    note: bytes
    extra: bytes | None = None


def read_proof(data: bytes) -> Proof:
    """Return a tlog-proof read from its exact form."""
    block, _, note = data.partition(b"\n\n")
    try:
        lines = block.decode().split("\n")
    except ValueError as error:
        raise Bad("the proof is not UTF-8") from error
    if lines[0] != PROOF:
        if re.fullmatch(r"c2sp\.org/tlog-proof@v[1-9][0-9]{0,2}", lines[0]):
            raise Unknown(f"a proof of the form {lines[0]} is not known here")
        raise Bad(f"the proof does not start with {PROOF}")
    extra = None
    if len(lines) > 1 and lines[1].startswith("extra "):
        extra = unbase64(lines.pop(1).removeprefix("extra "))
    if len(lines) < 2 or not lines[1].startswith("index ") or len(lines) > 65:  # noqa: PLR2004
        raise Bad("the proof has no index, or more than 63 hashes")
    index = decimal(lines[1].removeprefix("index "))
    return Proof(index=index, path=tuple(map(unhash, lines[2:])), note=note, extra=extra)


def verify_proof(
    data: bytes, outside: Outside, entry: bytes | None = None, payload: bytes | None = None
) -> Report:
    """Return the report on a proof or receipt.

    `entry` and `payload` are the proven record's, if the proof's extra data lacks them.
    """
    with judging() as report:
        proof = read_proof(data)
        trust, disclosed = Trust(outside.vkeys, outside.policy), Disclosed(outside.disclosures)
        extra = read_extra(proof.extra)
        origin = read_head(read_note(proof.note).text).origin
        for statement in extra.get("keys", ()):
            trust.follow(statement, origin)
        signed = judge_head(report, trust, proof.note, outside)
        for name, given in (("header", entry), ("payload", payload)):
            if given is not None and ("headers" in extra or name in extra):
                report.find(NOT_CHECKABLE, f"--{name} does not apply: the proof holds its own")
        if "headers" in extra:
            _judge_list(report, proof, extra, signed, disclosed)
        else:
            beside = {} if payload is None else {"payload": parse_canonical(payload)}
            _judge_entry(report, proof, {**beside, **extra}, entry, signed, disclosed)
        disclosed.finish(report)
    return report


def read_extra(data: bytes | None) -> dict[str, Any]:
    """Return our extra data, or a header alone; foreign data gives an empty mapping."""
    if data is None or not data.startswith(b"{"):
        return {}
    try:
        extra = parse_canonical(data, DEPTH_MAX + 3)  # where the payload of a map's part lies
    except Bad:
        if b"countersign-" in data:
            raise
        return {}
    if tuple(extra) == tuple(HEADER_FIELDS):
        return {"header": extra}
    sort = extra.get("format")
    fields = EXTRA_FIELDS.get(sort) if isinstance(sort, str) else None
    if fields is None:
        if isinstance(sort, str) and re.fullmatch(r"countersign-[a-z]+/[0-9]{1,4}", sort):
            raise Unknown(f"extra data of the format {sort} is not known here")
        return {}  # another's, which says nothing about the entry
    if list(fields.items()) != [(name, type(value)) for name, value in extra.items()]:
        raise Bad("the extra data has another shape")
    return dict(extra)


def _judge_entry(
    report: Report,
    proof: Proof,
    extra: Mapping[str, Any],
    entry: bytes | None,
    signed: Head,
    disclosed: Disclosed,
) -> None:
    """Judge the proof of one entry, which need not be a record of ours."""
    data = canonical(extra["header"]) if "header" in extra else entry
    if data is None:
        report.find(NOT_CHECKABLE, "no entry: give its bytes with --header")
        return
    leaf, size = leaf_hash(data), signed.size
    if not proof.index < size or root_by_path(leaf, proof.index, size, proof.path) != signed.root:
        report.find(TAMPERED, "is not in the signed tree", proof.index)
    try:
        head = read_header(data)
    except Bad:
        if "header" in extra:
            raise
        if "payload" in extra:
            report.find(NOT_CHECKABLE, "--payload does not apply to an entry that is no record")
        report.say("the entry is not a record of this ledger: only its bytes were verified")
        return
    if "payload" in extra:
        read_record(data, canonical(extra["payload"]))
    judge_place(report, head, leaf, proof.path, signed)
    disclosed.see(report, head)
    say_unread(report, unread_of([head]))
    say_record(report, head)


def say_record(report: Report, head: Mapping[str, Any]) -> None:
    """Report which record this is."""
    at = stamp(head["recorded_at_us"] // 1_000_000)
    text = f"record {head['seq']} of {head['log']}: {head['kind']} by {head['actor']} at {at}"
    report.say(f"{text}, number {head['stream_seq']} of {head['stream']}")


def _judge_list(
    report: Report, proof: Proof, extra: Mapping[str, Any], signed: Head, disclosed: Disclosed
) -> None:
    """Judge a receipt or a range: a chain of headers that ends where a proven map says.

    One entry and the map are proven by their paths, the other entries by the chain.
    """
    headers = [canonical(header) for header in extra["headers"]]
    heads = [read_header(header) for header in headers]
    if not heads:
        report.find(INCOMPLETE, "there is no record in the list")
        return
    stream, first = heads[0]["stream"], extra.get("first", 0)
    streams = Streams()
    streams.heads = {stream: (first - 1, unhex(heads[0]["prev"]), -1)} if first else {}
    last_seq = -1
    for head, header in zip(heads, headers, strict=True):
        if head["stream"] != stream or head["log"] != signed.origin:
            report.find(TAMPERED, "is of another stream or log", head["seq"])
        if not last_seq < head["seq"] < signed.size:
            report.find(TAMPERED, "cannot have this number in the signed tree", head["seq"])
        last_seq = head["seq"]
        streams.follow(report, head, leaf_hash(header))
        disclosed.see(report, head)
    shown = extra["map"] if isinstance(extra["map"], list) else [extra["map"]]
    parts = _parts(report, shown, signed)
    if parts is not None:
        judge_map(report, parts, signed.size, heads)
        _judge_end_of(report, stream, streams, parts)
    proven = [n for n, head in enumerate(heads) if head["seq"] == proof.index]
    for n in proven:
        judge_place(report, heads[n], leaf_hash(headers[n]), proof.path, signed)
    if not proven:
        report.find(INCOMPLETE, "the record that is proven is missing in the list", proof.index)
    elif "last" not in extra:
        judge_seal(report, stream, [heads[n] for n in proven])
        _judge_payloads(report, extra["payloads"], [heads[n] for n in proven])
    else:
        last = extra["last"]
        if not first <= last <= heads[-1]["stream_seq"]:
            report.find(INCOMPLETE, f"{stream} is not listed up to {last}")
        _judge_payloads(report, extra["payloads"], heads[: max(0, last - first + 1)])
    say_unread(report, unread_of(heads))
    report.say(f"{stream}: {len(heads)} records from number {first} on, no other between them")


def _judge_payloads(
    report: Report, payloads: Sequence[Any], heads: Sequence[Mapping[str, Any]]
) -> None:
    """Compare payloads with the headers that name them, in the same order."""
    for head in heads:
        say_record(report, head)
    if len(payloads) != len(heads):
        report.find(INCOMPLETE, f"{len(payloads)} payloads for {len(heads)} records")
    for payload, head in zip(payloads, heads, strict=False):
        try:
            read_record(canonical(head), canonical(payload))
        except Bad as error:
            report.find(TAMPERED, str(error), head["seq"])


def _parts(
    report: Report, shown: Sequence[Any], signed: Head
) -> list[tuple[Header, Header]] | None:
    """Return each part of a map after checking its place; None if its version is unknown."""
    parts: list[tuple[Header, Header]] = []
    for item in shown:
        shape = ["header", "path", "payload"]
        if not (isinstance(item, dict) and list(item) == shape and isinstance(item["path"], list)):
            raise Bad("the stream-head map has another shape")
        header = canonical(item["header"])
        head, body = read_record(header, canonical(item["payload"]))
        path = list(map(unhex, item["path"]))
        judge_place(report, head, leaf_hash(header), path, signed)
        if head["kind"] != "stream_heads":
            raise Bad("the stream-head map is none")
        if not known(head):
            text = "a stream-head map of an unknown version: where the stream ends cannot be seen"
            report.find(NOT_CHECKABLE, text)
            return None
        parts.append((head, body))
    return parts


def _judge_end_of(
    report: Report, stream: str, streams: Streams, parts: Sequence[tuple[Header, Header]]
) -> None:
    """Compare a list's end with a map that is later than all records listed."""
    number, leaf, last = streams.heads[stream]
    later = [(head, body) for head, body in parts if head["seq"] - body["part"] > last]
    rows = [(row, head) for head, body in later for row in body["heads"] if row[0] == stream]
    for row, head in rows:
        judge_end(report, row, number, leaf)
        at = stamp(head["recorded_at_us"] // 1_000_000)
        report.say(f"{stream} ended at {row[1]} when record {head['seq']} was made, {at}")
    if not rows:
        report.find(INCOMPLETE, f"the stream-head map does not name {stream}")


def verify_link(data: bytes, outside: Outside) -> Report:
    """Return the report on a consistency proof: its checkpoint must extend a kept one."""
    with judging() as report:
        trust = Trust(outside.vkeys, outside.policy)
        link = read_link(data)
        if not any(trust.open(note).head.size == link.old_size for note in outside.notes):
            text = f"give the kept checkpoint of {link.old_size} with --checkpoint"
            report.find(NOT_CHECKABLE, text)
        links = (*outside.links, data) if outside.notes else outside.links
        head = judge_head(report, trust, link.note, replace(outside, links=links))
        report.say(f"checkpoint of {head.origin} at {head.size}")
    return report


def verify_note(data: bytes, outside: Outside) -> Report:
    """Return the report on a checkpoint alone: signers, cosigners, kept checkpoints."""
    with judging() as report:
        head = judge_head(report, Trust(outside.vkeys, outside.policy), data, outside)
        report.say(f"checkpoint of {head.origin} at {head.size}")
    return report


# ---------------------------------------------------------------- tiles
# A folder of C2SP tlog-tiles: a log's hashes and headers.

TILE_WIDTH = 256


def read_within(path: Path) -> bytes | None:
    """Return a file's bytes, cut off beyond the longest valid tile; None if there is no file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(TILE_WIDTH * (ENTRY_MAX + 2) + 1)


class Tiles:
    """A folder of tiles, compared level by level with the tree that its entries make."""

    def __init__(self, report: Report, folder: Path, head: Head) -> None:
        self._report = report
        self._folder = folder
        self._head = head
        self._tree = Tree()
        self._above: list[list[bytes]] = []
        self._counts: list[int] = []
        self._streams = Streams()
        self._unread: Counter[tuple[str, int]] = Counter()
        self._foreign = 0

    def run(self, over: Callable[[range], Iterable[int]] = iter) -> None:
        """Judge every tile and entry; `over` may report progress."""
        size, report = self._head.size, self._report
        for n in over(range(-(-size // TILE_WIDTH))):
            width = min(TILE_WIDTH, size - n * TILE_WIDTH)
            hashes = self._hashes(0, n, width)
            entries = self._entries(n, width)
            if hashes is None and entries is None:
                return
            leaves = hashes or [leaf_hash(entry) for entry in entries or ()]
            for at, leaf in enumerate(leaves):
                self._tree.append(leaf)
                if entries is not None:
                    self._entry(n * TILE_WIDTH + at, entries[at], leaf)
            self._raise(0, leaves)
        for level, hashes in enumerate(self._above, 1):
            if hashes:
                self._hold(level, hashes)
        if self._tree.root() != self._head.root:
            report.find(TAMPERED, f"the tiles' tree of {size} is not the one signed")
        unread = f", {self._foreign} entries are not records: bytes only" if self._foreign else ""
        say_unread(report, self._unread)
        report.say(f"{size} entries, {len(self._streams.heads)} streams{unread}")

    def _raise(self, level: int, hashes: Sequence[bytes]) -> None:
        if len(hashes) < TILE_WIDTH:
            return
        if len(self._above) == level:
            self._above.append([])
            self._counts.append(0)
        row = list(hashes)
        while len(row) > 1:
            row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
        self._above[level].append(row[0])
        if len(self._above[level]) == TILE_WIDTH:
            full, self._above[level] = self._above[level], []
            self._hold(level + 1, full)
            self._counts[level] += 1
            self._raise(level + 1, full)

    def _hold(self, level: int, hashes: Sequence[bytes]) -> None:
        """Compare a stored tile above level 0 with the tiles below it."""
        n = self._counts[level - 1]
        stored = self._hashes(level, n, len(hashes))
        if stored is not None and stored != list(hashes):
            self._report.find(TAMPERED, f"tile {level}/{n} is not what the tiles below it make")

    def _hashes(self, level: int, n: int, width: int) -> list[bytes] | None:
        data = self._file(str(level), n, width)
        if data is None:
            return None
        if len(data) % 32 or len(data) // 32 not in {width, TILE_WIDTH}:
            raise Bad(f"tile {level}/{n} has {len(data)} bytes, not those of {width} hashes")
        return [data[i : i + 32] for i in range(0, 32 * width, 32)]

    def _entries(self, n: int, width: int) -> list[bytes] | None:
        data, at = self._file("entries", n, width), 0
        entries: list[bytes] = []
        if data is None:
            return None
        while at < len(data) and len(entries) <= TILE_WIDTH:
            start = at + 2
            at = start + int.from_bytes(data[at:start], "big")
            entries.append(data[start:at])
            if at > len(data):
                raise Bad(f"the entry bundle {n} is cut off")
        if len(entries) not in {width, TILE_WIDTH}:
            raise Bad(f"the entry bundle {n} has {len(entries)} entries, not {width}")
        return entries

    def _file(self, level: str, n: int, width: int) -> bytes | None:
        """Return a tile's bytes: the partial tile, or else the full one."""
        digits = str(n).zfill(-(-len(str(n)) // 3) * 3)
        parts = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        path = "/".join(["tile", level, *(f"x{part}" for part in parts[:-1]), parts[-1]])
        names = [path] if width == TILE_WIDTH else [f"{path}.p/{width}", path]
        for name in names:
            if (data := read_within(self._folder / name)) is not None:
                return data
        self._report.find(INCOMPLETE, f"{names[0]} is missing")
        return None

    def _entry(self, seq: int, entry: bytes, leaf: bytes) -> None:
        """Judge an entry's header; tiles have no payloads."""
        report = self._report
        if leaf_hash(entry) != leaf:
            report.find(TAMPERED, "the entry is not the one in its tile", seq)
        try:
            head = read_header(entry)
        except Bad:
            self._foreign += 1
            return
        if head["seq"] != seq or head["log"] != self._head.origin:
            report.find(TAMPERED, f"calls itself record {head['seq']} of {head['log']}", seq)
        self._streams.follow(report, head, leaf)
        if not known(head):
            self._unread[head["kind"], head["version"]] += 1


def verify_tiles(
    folder: Path, outside: Outside, over: Callable[[range], Iterable[int]] = iter
) -> Report:
    """Return the report on a folder of tiles: every hash, entry and stream."""
    with judging() as report:
        note = read_within(folder / "checkpoint")
        if note is None:
            raise Unknown(f"{folder} holds no checkpoint: not a folder of tiles")
        head = judge_head(report, Trust(outside.vkeys, outside.policy), note, outside)
        Tiles(report, folder, head).run(over)
    return report


# ---------------------------------------------------------------- command

_BROKER = ("broker_fills", "broker_from", "broker_to", "broker_account", "officer")
_RECORD = ("disclosure", "header", "payload", *_BROKER)


HELP = """\
examples:
  verify.py DECISION.zip --key log.pub                 one decision, everything it rests on
  verify.py DECISION.receipt.tlog-proof --key log.pub --policy witnesses.policy
  verify.py 17.tlog-proof --key log.pub                one record
  verify.py 1200-3400.consistency --key log.pub --checkpoint kept.txt
  verify.py ledger.dump --key log.pub --checkpoint kept.txt
  verify.py tiles/ --policy witnesses.policy           a mirrored log
  verify.py ledger.dump --key log.pub --broker-fills fills.csv

what to bring, from places that you trust and not from beside FILE:
  a key        proves who signed; the owner of the log can still have rewritten it
  a policy     proves that witnesses saw the same log, so that no rewriting stays unseen
  a checkpoint that you kept earlier proves the same against your own memory
  the broker's fills prove the same against the broker: a ClOrdID is the hash of its approval,
               so a history that was written again does not match the fills of the true one
  both officers' keys  prove who signed the adjustments of a book, such as a trade by phone, and
               the disavowals; without them a fill that rests on one is not checkable

the broker's file is CSV with a header, or a FIX log (| or SOH) whose 35=8 messages count:
  cl_ord_id exec_id instrument side quantity price          needed; FIX names are taken too
  account time exec_type exec_ref_id orig_cl_ord_id fee     compared where they are given

exit codes:
  0  all as signed
  1  tampered: bytes, signatures or order are not what was signed
  2  incomplete: records, blobs, tiles or cosignatures are missing
  3  not checkable: no trusted key, unknown version, nothing to compare with, wrong arguments
the last line is the code's word and the first reason for it
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify a file from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Verify a Countersign bundle, receipt, proof, checkpoint, dump or tiles.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    many: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("file", type=Path, help="what to judge; a folder for tiles")
    parser.add_argument("--key", **many, help="trusted log key (vkey), or a file with some")
    parser.add_argument("--policy", type=Path, help="C2SP tlog-policy: logs, witnesses, quorum")
    parser.add_argument("--checkpoint", **many, type=Path, help="a checkpoint that was kept")
    parser.add_argument("--consistency", **many, type=Path, help="proof between checkpoints")
    parser.add_argument("--rotation", **many, type=Path, help="signed change of the log's keys")
    parser.add_argument("--disclosure", **many, type=Path, help="a disclosed personal value")
    parser.add_argument("--broker-fills", **many, type=Path, help="the broker's own file of fills")
    parser.add_argument("--broker-from", default="", help="first day of that file, YYYYMMDD")
    parser.add_argument("--broker-to", default="", help="last day of that file, YYYYMMDD")
    parser.add_argument("--broker-account", **many, help="only this account must be in that file")
    parser.add_argument("--officer", **many, type=Path, help="an officer's .pub file; give both")
    parser.add_argument("--header", type=Path, help="the entry of a proof, if it is not in it")
    parser.add_argument("--payload", type=Path, help="the payload of the record that it proves")
    report = Report()
    try:
        report = _judge(parser.parse_args(arguments))
    except SystemExit as stop:  # argparse has said why; its own code 2 means incomplete here
        if not stop.code:
            raise
        report.find(NOT_CHECKABLE, "the arguments cannot be read; --help says more")
    except (OSError, Bad) as error:
        report.find(NOT_CHECKABLE, str(error))
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        report.caught(error)
    report.conclude()
    try:
        print(*report.lines, sep="\n", flush=True)
    except OSError as error:  # nobody heard the verdict
        sys.stdout = io.StringIO()  # or what is left fails once more at the end
        print(f"NOT CHECKABLE: the report cannot be written: {error}", file=sys.stderr)
        return NOT_CHECKABLE
    return report.exit_code


def _judge(asked: argparse.Namespace) -> Report:
    """Return the report on a file, whose type is told by its first bytes."""
    outside = Outside(
        vkeys=[key for given in asked.key for key in read_keys(given)],
        policy=None if asked.policy is None else asked.policy.read_bytes(),
        notes=[path.read_bytes() for path in asked.checkpoint],
        links=[path.read_bytes() for path in asked.consistency],
        rotations=[read_text(path) for path in asked.rotation],
        disclosures=[path.read_bytes() for path in asked.disclosure],
        fills=read_fills(
            asked.broker_fills, asked.broker_from, asked.broker_to, asked.broker_account
        ),
        officers=read_officers((path.name, read_text(path)) for path in asked.officer),
    )
    outside.check()
    if asked.file.is_dir():
        return _refuse(verify_tiles(asked.file, outside), asked, "tiles", *_RECORD)
    if asked.file.exists() and not asked.file.is_file():
        raise Bad(f"{asked.file} is a pipe or a device: save what comes from it to a file first")
    with asked.file.open("rb") as file:
        start = file.read(4096)
    whole = asked.file.read_bytes
    if start.startswith(b"PK"):
        return _refuse(verify_bundle(whole(), outside=outside), asked, "a bundle", *_RECORD[1:3])
    if start.startswith(b"c2sp.org/tlog-proof"):
        header, payload = (path and path.read_bytes() for path in (asked.header, asked.payload))
        return _refuse(verify_proof(whole(), outside, header, payload), asked, "a proof", *_BROKER)
    if start.startswith(b"old "):
        return _refuse(verify_link(whole(), outside), asked, "a consistency proof", *_RECORD)
    if b"\n\n" + DASH.encode() in start.replace(b"\r", b""):
        return _refuse(verify_note(whole(), outside), asked, "a checkpoint", *_RECORD)
    if start and not start.startswith(b"{"):
        raise Bad(f"{asked.file} is none of the files that --help names")
    with asked.file.open("rb") as lines:
        report = verify_dump(watched(lines, asked.file.stat().st_size), (), (), outside)
    return _refuse(report, asked, "a dump", "consistency", "header", "payload")


def _refuse(report: Report, asked: argparse.Namespace, sort: str, *names: str) -> Report:
    """Report options that do not apply to such a file: silence would read as a check."""
    for name in names:
        if getattr(asked, name):
            report.find(NOT_CHECKABLE, f"--{name.replace('_', '-')} does not apply to {sort}")
    return report


def read_fills(
    paths: Sequence[Path], first_day: str, last_day: str, accounts: Sequence[str]
) -> BrokerFile | None:
    """Return what the broker's files tell, None without one; Bad names an unreadable line."""
    if paths:
        files = [(path.name, path.read_bytes()) for path in paths]
        return read_broker_files(files, first_day, last_day, accounts)
    if first_day or last_day or accounts:
        raise Bad("--broker-from, --broker-to and --broker-account need --broker-fills")
    return None


def read_text(path: Path) -> str:
    """Return a file's text with its own line ends; raise Bad if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except ValueError as error:
        raise Bad(f"{path} is not UTF-8") from error


def watched(lines: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield lines; print progress to stderr every two seconds."""
    done, said = 0, time.monotonic()
    for line in lines:
        yield line
        done += len(line)
        if time.monotonic() - said > 2:  # noqa: PLR2004 - seconds
            said = time.monotonic()
            print(f"{100 * done // max(size, 1)} % read", file=sys.stderr)


def read_keys(given: str) -> tuple[str, ...]:
    """Return trusted keys from text or a file with one a line; raise Bad if one is malformed."""
    with contextlib.suppress(Bad):
        read_vkey(given)
        return (given.strip(BLANK),)
    try:
        text = read_text(Path(given))
    except OSError:
        if "+" in given:
            read_vkey(given)  # raises the reason
        raise
    keys = tuple(line.strip(BLANK) for line in text.split("\n") if line.strip(BLANK))
    for key in keys:
        read_vkey(key)
    if not keys:
        raise Bad(f"{given} holds no key")
    return keys


if __name__ == "__main__":
    sys.exit(main())
