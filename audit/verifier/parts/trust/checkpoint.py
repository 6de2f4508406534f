"""The judgement of one checkpoint: signers, quorum, and checkpoints kept outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from audit.verifier.parts.canonical import decimal, unhash
from audit.verifier.parts.report import (
    INCOMPLETE,
    NOT_CHECKABLE,
    TAMPERED,
    Bad,
    Report,
    Unknown,
    stamp,
)
from audit.verifier.parts.tree import extends
from audit.verifier.parts.trust.brokerfile import BrokerFile
from audit.verifier.parts.trust.keys import CHANGED, NO_TIME, SeenCheckpoint, Trust
from audit.verifier.parts.trust.note import Head, read_head, read_note


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
