"""Statements of officers: policies, modes, releases, stops, promotions, criteria, resolutions.

Not here: adjustments, overrides and officers' keys (`signed`), which have classes of their own.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from audit.verifier.parts.canonical import canonical, text_of
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    VerifiedRecord,
    differing,
    is_given,
    list_of,
    mapping_of,
    same,
    tagged_digest,
    whole_numbers,
)
from audit.verifier.parts.contents.statements.signed_kinds import SIGNED_KINDS
from audit.verifier.parts.contents.statements.verdicts import Findings
from audit.verifier.parts.trust.officers import OFFICERS

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
