"""Exceptional overrides: signed by two officers, used by one decision, for the limit they name.

A verdict that used one holds its terms under `state.override`. What can be lifted is listed here
again, so that an outsider does not take the gateway's word for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import canonical, text_of
from audit.verifier.parts.report import NOT_CHECKABLE, TAMPERED, Report
from audit.verifier.parts.trust.officers import both_signed

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
