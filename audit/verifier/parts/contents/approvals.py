"""Orders and the records that they rest on: an approving verdict, then an announcement.

The records alone show it; no broker's file is needed. An order that nothing approved, or that was
never announced, contradicts them. So does an approval that its verdict's results do not permit.

Not here: what the broker filled (`fills`), how the verdict follows from its state (a replay).
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.report import NOT_CHECKABLE, TAMPERED, Report

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
