"""Statements about what was judged: intents, verdicts, and what a person agreed to.

Not here: how a verdict follows from its state (a replay computes that).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.approvals import worst_of
from audit.verifier.parts.contents.statements.checks import CHECKS
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    VerifiedRecord,
    differing,
    held_by,
    is_given,
    list_of,
    mapping_of,
    same,
    tagged_digest,
    whole_numbers,
    whole_of,
)

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
