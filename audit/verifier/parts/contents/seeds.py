"""The seeds of forecasts: which root of the log they must come from."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from audit.verifier.parts.canonical import canonical, unhex
from audit.verifier.parts.records import known
from audit.verifier.parts.report import INCOMPLETE, NOT_CHECKABLE, TAMPERED, Bad, Report

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
