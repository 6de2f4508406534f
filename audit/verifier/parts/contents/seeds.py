"""The seeds of forecasts: which root of the log they must come from."""

import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple

from audit.verifier.parts.canonical import unhex
from audit.verifier.parts.records import known
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Bad, Report

SEED_RULE, SEEDS_BOUND, LEDGER_WIDE = 2, 3, "control"
"""Rule 2: a seed's root is that of the largest checkpoint before the decision's opening record,
for a renewal before its approval record. Runs with `record_rules` of 3 or more promise this rule.

Every checkpoint ends with a stream-head map, a record of the dense and chained stream `control`. So
the log itself shows that no checkpoint stood between the named one and the opening record.
"""
_SALT, _TRAJECTORY = b"countersign/decision-seed/v1", b"countersign/trajectory/v1"
UNBOUND = "its seed follows an earlier rule: which root it had to be is not checkable"


def seeds_of(root: bytes, stream: str, attempt: int, n: int) -> list[str]:
    """Return the seeds of a decision's attempt in the form that records have."""
    key = hmac.digest(_SALT, root, "sha256")
    info = stream.removeprefix("decision/").encode() + b"\0" + attempt.to_bytes(4, "big")
    seed = hmac.digest(key, info + b"\1", "sha256")
    drawn = (hmac.digest(seed, _TRAJECTORY + i.to_bytes(4, "big"), "sha256") for i in range(n))
    return [str(int.from_bytes(one[:8], "big") >> 1) for one in drawn]


def judge_rule(
    report: Report, head: Mapping[str, Any], body: Mapping[str, Any], promised: int
) -> bool:
    """Return whether a request's seed follows rule 2; a missing promised rule is a finding."""
    rule = body.get("seed_rule")
    if type(rule) is int and rule == SEED_RULE:
        return True
    if rule is None and promised >= SEEDS_BOUND:
        report.find(TAMPERED, "its seed follows no rule, and its run promised one", head["seq"])
    return False


def judge_seed(
    report: Report, head: Mapping[str, Any], body: Mapping[str, Any], opened: int, number: int
) -> bool:
    """Return whether the seeds follow from the named root and it is not a later one."""
    seq, root, seeds = head["seq"], unhex(body.get("seed_root")), body.get("seeds")
    size = body.get("seed_size")
    if type(size) is not int or not isinstance(seeds, list):
        raise Bad("a request for a forecast says nothing of its seeds")
    if not 0 < size <= opened:
        report.find(TAMPERED, "its seed comes from a later root", seq)
    elif seeds != seeds_of(root, head["stream"], number, len(seeds)):
        report.find(TAMPERED, "its seeds do not follow from its root", seq)
    else:
        return True
    return False


class Seeds:
    """The seeds of a whole log, judged record by record."""

    def __init__(self) -> None:
        self.earlier = 0
        self._promised = 1
        self._opened: dict[str, tuple[int, int, int]] = {}

    def see(
        self,
        report: Report,
        head: Mapping[str, Any],
        body: Mapping[str, Any],
        mapped: int,
        roots: Mapping[int, bytes],
    ) -> None:
        """Judge a record; `mapped` is the size of the tree that ends with the last whole map."""
        stream, seq = head["stream"], head["seq"]
        if head["kind"] == "run_started":
            self._promised = max(self._promised, rules_of(body))
        if not stream.startswith("decision/"):
            return
        if head["stream_seq"] == 0:
            self._opened[stream] = (seq, mapped, 0)
        opened, before, number = self._opened.get(stream, (-1, -1, 0))
        if head["kind"] == "approval_given":
            self._opened[stream] = (seq, mapped, number)
        elif head["kind"] == "decision_sealed":
            self._opened.pop(stream, None)
        elif head["kind"] == "forecast_requested" and opened >= 0:
            self._opened[stream] = (opened, before, number + 1)
            if not judge_rule(report, head, body, self._promised):
                self.earlier += 1
            elif judge_seed(report, head, body, opened, number):
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


def rules_of(run: Mapping[str, Any]) -> int:
    """Return the version of the rules that a run promises; 1 if it states none."""
    rules = run.get("record_rules")
    return rules if type(rules) is int else 1


class ShownRecord(NamedTuple):
    """A record of a bundle with the root of the tree that ends with it."""

    head: Mapping[str, Any]
    body: Mapping[str, Any]
    leaf: bytes
    root: bytes


def judge_requests(report: Report, stream: str, shown: Mapping[int, ShownRecord]) -> None:
    """Judge each request for a forecast by its run's rule, as far as records are shown."""
    runs = (s.body for s in shown.values() if known(s.head) and s.head["kind"] == "run_started")
    promised = max(map(rules_of, runs), default=1)
    own = [shown[seq] for seq in sorted(shown) if shown[seq].head["stream"] == stream]
    opened, number = own[0].head["seq"] if own else -1, 0
    for one in own:
        kind, seq = one.head["kind"] if known(one.head) else "", one.head["seq"]
        if kind == "approval_given":
            opened = seq
        elif kind == "forecast_requested":
            number += 1
            if not judge_rule(report, one.head, one.body, promised):
                report.say(f"record {seq}: {UNBOUND}")
            elif judge_seed(report, one.head, one.body, opened, number - 1):
                _judge_last(report, one, opened, shown)


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
