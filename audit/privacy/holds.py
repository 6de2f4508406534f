"""Legal holds: their scope, and who may lift them. Pure.

A hold prevents the erasure of personal values, whatever their age: of one person, of one decision
with its broker messages, or of all. Only somebody else than the person who placed it may lift it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from audit.errors import ErasureRefusedError
from audit.records.kinds import Kind
from audit.records.personal import is_subject
from audit.records.record import Draft, Record
from audit.records.record_kind import Filing, RecordKind
from audit.records.sound import checked

ALL = "all"
_DECISION = re.compile(r"decision:[!-~]{1,190}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A hold on `all`, `subject:<pseudonym>` or `decision:<id>`, placed by record `seq`."""

    hold_id: str
    scope: str
    placed_by: str
    seq: int

    @property
    def decision_stream(self) -> str | None:
        """The decision's stream, for a hold on one decision."""
        kind, _, name = self.scope.partition(":")
        return f"decision/{name}" if kind == "decision" else None

    def covers(self, subject: str, streams: frozenset[str]) -> bool:
        """Return whether the hold keeps a subject's values in these streams."""
        stream = self.decision_stream
        return self.scope in {ALL, f"subject:{subject}"} or stream in streams


def check_scope(scope: str) -> str:
    """Return a valid scope; raise ErasureRefusedError if it is none of the three sorts."""
    kind, _, name = scope.partition(":")
    if scope == ALL or (kind == "subject" and is_subject(name)) or _DECISION.fullmatch(scope):
        return scope
    raise ErasureRefusedError("a hold is on `all`, `subject:<person>` or `decision:<id>`")


def active(records: Iterable[Record]) -> dict[str, Hold]:
    """Return the holds that these hold_placed and hold_lifted records leave in force.

    Raises:
        ErasureRefusedError: a record's columns do not match its leaf.
    """
    found: dict[str, Hold] = {}
    for record in checked(records):
        if record.kind is Kind.HOLD_LIFTED:
            found.pop(str(record.body["hold_id"]), None)
        elif record.kind is Kind.HOLD_PLACED:
            hold = hold_on(record)
            found[hold.hold_id] = hold
    return found


class HoldPlaced(RecordKind, frozen=True, kw_only=True):
    """What a scope has recorded is kept until the hold is lifted."""

    filing = Filing("control", "hold:{hold_id}", "person:{placed_by}")

    hold_id: str
    scope: str
    reason: str
    placed_by: str


class HoldLifted(RecordKind, frozen=True, kw_only=True):
    """A hold that is over."""

    filing = Filing("control", "hold_lifted:{hold_id}", "person:{lifted_by}")

    hold_id: str
    reason: str
    lifted_by: str


def hold_on(record: Record) -> Hold:
    """Return the hold that a `hold_placed` record places."""
    body = record.body
    return Hold(
        hold_id=str(body["hold_id"]),
        scope=str(body["scope"]),
        placed_by=str(body["placed_by"]),
        seq=record.seq,
    )


def placed(scope: str, reason: str, actor: str, now_us: int) -> Draft:
    """Draft a hold, its id a digest of its content; raise ErasureRefusedError for a bad scope."""
    named = "\n".join((check_scope(scope), reason, actor, str(now_us)))
    hold_id = f"hold-{sha256(named.encode()).hexdigest()[:12]}"
    return HoldPlaced(hold_id=hold_id, scope=scope, reason=reason, placed_by=actor).draft()


def lifted(hold: Hold, reason: str, actor: str) -> Draft:
    """Draft the record that lifts a hold; raise ErasureRefusedError if the actor placed it."""
    if actor == hold.placed_by:
        raise ErasureRefusedError(
            f"{hold.hold_id} was placed by {actor}: somebody else must lift it"
        )
    return HoldLifted(hold_id=hold.hold_id, reason=reason, lifted_by=actor).draft()
