"""Whether a policy changed all at once: decisions before its record by the old, after by the new.

Read from the ledger's records alone. Not here: the load and the kills (`policy_change`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from audit.records.kinds import Kind
from audit.records.record import Record

PREFIX = "decision/"
CHECK = ("R31", "notional")
"""The check whose limit the next policy loosens."""


@dataclass(slots=True)
class Found:
    """What the records say.

    Attributes:
        by_policy: Decisions with a verdict or a seal that names a policy, by its digest.
        held: Verdicts that the loosened limit made a hold, by digest.
        changes: Records of activations that put another policy in force than before.
        broken: What must not be, one line each.
    """

    by_policy: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    broken: list[str] = field(default_factory=list)


def judged(records: Iterable[Record], limits: Mapping[str, int]) -> Found:
    """Judge a whole ledger, in its order; `limits` has the limit of each policy by digest."""
    found, in_force = Found(), ""
    named: dict[str, set[str]] = {}
    for record in records:
        if record.kind is Kind.POLICY_ACTIVATED:
            digest = str(record.body["policy_digest"])
            found.changes += in_force not in {"", digest}
            in_force = digest
        if not record.stream.startswith(PREFIX):
            continue
        digest = str(record.body.get("policy_digest", ""))
        if not digest:
            continue
        named.setdefault(record.stream, set()).add(digest)
        if digest != in_force:
            found.broken.append(f"record {record.seq} ({record.kind}) names another policy")
        if record.kind is Kind.VERDICT_GIVEN:
            _judge_verdict(record, digest, limits, found)
    for stream, digests in named.items():
        if len(digests) > 1:
            found.broken.append(f"{stream}: judged by {len(digests)} policies")
        for one in digests:
            found.by_policy[one] = found.by_policy.get(one, 0) + 1
    return found


def _judge_verdict(record: Record, digest: str, limits: Mapping[str, int], found: Found) -> None:
    verdict = record.body["verdict"]
    if verdict["policy_digest"] != digest:
        found.broken.append(f"record {record.seq}: a verdict of another policy than it names")
    for one in verdict["results"]:
        if (one["rule_id"], one["check"]) == CHECK:
            if one["limit"] != limits[digest]:
                found.broken.append(f"record {record.seq}: the limit of another policy")
            found.held[digest] = found.held.get(digest, 0) + (one["outcome"] == "BREACH")
