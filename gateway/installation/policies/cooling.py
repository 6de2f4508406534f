"""The cooling time of a looser policy: announced on record first, in force only after it.

The policy in force sets the time (`loosening_wait_us`); one without it waits as its mode says. It
counts from the record that announces the successor, so a restart or another file does not shorten
it. A policy that only tightens does not wait. The term and prose count for nothing here.

Not here: signatures (`risk.policy.signing`), the record itself (`gateway.walk.journal`).
"""

from datetime import UTC, datetime
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.typed import TypedFields
from audit.store.reader import LedgerReader
from risk.policy.changes import loosened
from risk.policy.policy import Policy, policy_digest

WAIT_US: Final = 900_000_000
"""Fifteen minutes: a second look, and a call to whoever signed."""
NAMED_MAX: Final = 3


class Announced(TypedFields, frozen=True, kw_only=True):
    """What is read of `policy_announced`: the successor, and the policy that it follows."""

    policy_digest: str
    follows_digest: str


def wait_us(before: Policy, after: Policy, mode: str) -> int:
    """Return the cooling time of a successor in microseconds: 0 if nothing in it may permit more.

    In paper mode no order leaves for a market, so a policy that sets no time asks for none.
    """
    if not loosened(before, after):
        return 0
    given = before.loosening_wait_us
    if given is not None:
        return given
    return 0 if mode == "paper" else WAIT_US


def announcement(before: Policy, after: Policy, reader: LedgerReader) -> Record | None:
    """Return the record that announced this policy as the successor of that one."""
    pair = (policy_digest(before), policy_digest(after))
    found = reader.records(stream="control", kinds=(Kind.POLICY_ANNOUNCED,), newest_first=True)
    for one in found:
        said = Announced.read(one.body)
        if (said.follows_digest, said.policy_digest) == pair:
            return one
    return None


def early_said(before: Policy, after: Policy, mode: str, reader: LedgerReader, now_us: int) -> str:
    """Return why a looser policy may not be in force yet and from when it may, "" if it may."""
    waits = wait_us(before, after, mode)
    if not waits:
        return ""
    changes = loosened(before, after)
    named = ", ".join(one.field for one in changes[:NAMED_MAX])
    more = f" and {len(changes) - NAMED_MAX} more" if len(changes) > NAMED_MAX else ""
    said = f"version {after.version} loosens or changes {named}{more}"
    announced = announcement(before, after, reader)
    if announced is None:
        return (
            f"{said}, and no record announces it: run `countersign policy activate` while the"
            f" gateway serves the old one; it may be activated {waits // 1_000_000} s later"
        )
    from_us = announced.recorded_at_us + waits
    if now_us >= from_us:
        return ""
    # Rounded up: at the second that is named it may be activated.
    at = datetime.fromtimestamp(-(-from_us // 1_000_000), tz=UTC)
    return (
        f"{said}: it may be activated from {at:%Y-%m-%d %H:%M:%S} UTC on,"
        f" {waits // 1_000_000} s after record {announced.seq} announced it"
    )
