"""Exceptional overrides: signed by both officers, on record before they can act, over on record.

Rules:

- An override names one limit, one account, instrument and side, the largest order, the policy in
  force and at most a day. Both officers sign all of it, with the reason, for this ledger.
- It is granted once: its 128 random bits are in the statement. The same request again changes
  nothing.
- Anybody who may stop the desk may withdraw it.

Not here: what it lifts (`risk.rules.control.overriding`), its use
(`gateway.walk.journal.control.oversight.overrides`).
"""

from typing import Any, Final

from audit.sequencer.ledger import Lane
from gateway.desk.bodies.governing import OverrideRequest, OverrideTerms
from gateway.desk.controls.statements import all_signed, statement
from gateway.desk.parts import DeskParts
from gateway.errors import OverrideRefusedError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.oversight.overrides import (
    OverrideEnd,
    OverrideEnded,
    OverrideGranted,
    OverrideLook,
    override_ended,
    override_key,
)
from gateway.walk.journal.decision import GATEWAY
from risk.intent import Side
from risk.rules.catalogue import RULES
from risk.rules.control.overriding import liftable
from risk.verdict import RuleId

PURPOSE: Final = "exceptional override"
LIFE_MAX_US: Final = 24 * 3_600_000_000
"""The house's own number: an override is for one order of this day."""
LIMITS: Final = tuple(
    (rule.rule_id, check.name)
    for rule in RULES
    for check in rule.checks
    if liftable(rule.rule_id, check.name)
)
"""The limits that an override can lift, in the order of the rules."""
_EXACT_MAX: Final = 2**53 - 1


def override_statement(log: str, terms: OverrideTerms) -> bytes:
    """Return the bytes that both officers sign.

    Raises:
        OverrideRefusedError: the reason has more than one line.
    """
    if terms.reason.splitlines() != [terms.reason]:
        raise _refused("write the reason on one line")
    return statement(
        PURPOSE,
        log,
        f"override {terms.override_id}",
        f"account {terms.account}",
        f"instrument {terms.instrument}",
        f"side {terms.side}",
        f"limit {terms.rule} {terms.check}",
        f"at most {terms.qty_max_lots} lots",
        f"at most {terms.notional_max_minor} minor units",
        f"policy {terms.policy_digest}",
        f"from {terms.not_before_us}",
        f"until {terms.expires_us}",
        f"reason {terms.reason}",
    )


def overrides_state(own: DeskParts) -> dict[str, Any]:
    """Return every override on record, newest first, and what a new one must name."""
    listed = [_document(one) for one in reversed(_known(own))]
    return {
        "log_id": log_id(own.reader, own.origin),
        "policy_digest": own.section.status().policy_digest,
        "accounts": sorted(own.section.accounts),
        "instruments": sorted(own.instruments),
        "limits": [f"{rule_id} {check}" for rule_id, check in LIMITS],
        "overrides": listed,
        "open": [one["override_id"] for one in listed if one["state"] == "open"],
    }


def grant_override(own: DeskParts, actor: str, request: OverrideRequest) -> dict[str, Any]:
    """Put an override on record; from that record on it can act.

    Raises:
        OverrideRefusedError: it is not for this desk as it stands, or a signature is missing.
        AuditError: the ledger does not take it: the override does not act.
    """
    granted = _granted(own, actor, request)
    if (earlier := own.reader.by_key("control", override_key(request.override_id))) is not None:
        if OverrideGranted.of(earlier).terms != granted.terms:
            raise _refused(f"override {request.override_id} is record {earlier.seq}: draft another")
        return {"override_id": request.override_id, "seq": earlier.seq, "again": True}
    _refuse_unfit(own, request)
    signed = override_statement(granted.log_id, request)
    if not all_signed(signed, granted.signatures, own.keyring.public_keys()):
        raise _refused(
            "both officers, risk and compliance, must sign this statement in this ledger:"
            " countersign override sign FILE --key KEY"
        )
    (record,) = own.tools.ledger.append(granted.draft())
    # a crash here leaves an override on record: the next start folds it
    return {"override_id": request.override_id, "seq": record.seq, "again": False}


def withdraw_override(own: DeskParts, actor: str, override_id: str, reason: str) -> dict[str, Any]:
    """End an override before its time.

    Raises:
        OverrideRefusedError: no such override can still act.
    """
    found = next((one for one in _known(own) if one.granted.override_id == override_id), None)
    if found is None or found.ended is not None:
        raise _refused("no override with this id can still act: countersign override list")
    seq = _end(own, found, OverrideEnd.WITHDRAWN, actor, reason)
    return {"override_id": override_id, "seq": seq}


def end_overrides(own: DeskParts) -> int:
    """Put the end of overrides whose time is over on record; return how many."""
    now_us = own.dispatching.wall_us()
    if all(one.granted.expires_us > now_us for one in own.section.stops.overrides.open):
        return 0
    late = [one for one in _known(own) if one.ended is None and one.granted.expires_us <= now_us]
    for one in late:
        outcome = OverrideEnd.USED if one.used_by else OverrideEnd.EXPIRED
        _end(own, one, outcome, GATEWAY, "its time is over")
    return len(late)


def _end(own: DeskParts, found: OverrideLook, outcome: OverrideEnd, actor: str, reason: str) -> int:
    ended = OverrideEnded(
        account=found.granted.account,
        override_id=found.granted.override_id,
        outcome=outcome,
        ended_by=actor,
        reason=reason,
        used_by=found.used_by,
    )
    stops = own.section.stops
    with stops.ending(ended.override_id):  # the order that used it leaves no more, whoever is first
        (record,) = own.tools.ledger.append(override_ended(ended), lane=Lane.URGENT)
        stops.read(record.seq + 1)
    return record.seq


def _known(own: DeskParts) -> tuple[OverrideLook, ...]:
    own.section.stops.read(own.reader.log_size())
    return own.section.stops.overrides.known


def _granted(own: DeskParts, actor: str, request: OverrideRequest) -> OverrideGranted:
    return OverrideGranted(
        account=request.account,
        override_id=request.override_id,
        instrument=request.instrument,
        side=Side(request.side),
        rule_id=_rule_of(request),
        check=request.check,
        qty_max_lots=request.qty_max_lots,
        notional_max_minor=request.notional_max_minor,
        policy_digest=request.policy_digest,
        not_before_us=request.not_before_us,
        expires_us=request.expires_us,
        reason=request.reason,
        log_id=log_id(own.reader, own.origin),
        signatures={str(role): text for role, text in request.signatures.items()},
        granted_by=actor,
    )


def _rule_of(terms: OverrideTerms) -> RuleId:
    found = next(
        (rule_id for rule_id, check in LIMITS if (rule_id, check) == (terms.rule, terms.check)),
        None,
    )
    if found is None:
        raise _refused(
            f"{terms.rule} {terms.check} is no limit that an override can lift: GET /v1/overrides"
            " lists them. Kill, stops, restricted list, conduct, the AI breaker and the ledger's"
            " health are never among them"
        )
    return found


def _refuse_unfit(own: DeskParts, terms: OverrideTerms) -> None:
    """Refuse what could never act, or for too long."""
    if terms.account not in own.section.accounts:
        names = ", ".join(sorted(own.section.accounts))
        raise _refused(f"account {terms.account} is not open here: {names} are")
    if terms.instrument not in own.instruments:
        raise _refused(f"instrument {terms.instrument} is not in this gateway's table")
    if terms.policy_digest != own.section.status().policy_digest:
        raise _refused("it is for another policy than the one in force: draft and sign it anew")
    if not terms.not_before_us < terms.expires_us <= terms.not_before_us + LIFE_MAX_US:
        raise _refused("its end must come after its beginning, at most a day later")
    if terms.expires_us <= own.dispatching.wall_us():
        raise _refused("its time is over already")


def _document(one: OverrideLook) -> dict[str, Any]:
    granted = one.granted.document()
    del granted["signatures"]
    state = one.ended.value if one.ended is not None else "used" if one.used_by else "open"
    return {
        "seq": one.seq,
        "state": state,
        **granted,
        "used_by": one.used_by or None,
        "used_seq": one.used_seq,
    }


def _refused(problem: str) -> OverrideRefusedError:
    return OverrideRefusedError(problem=problem)
