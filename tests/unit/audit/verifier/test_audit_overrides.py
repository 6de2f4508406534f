"""An outsider sees whether an override was signed, used once, in time, and may be lifted at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.kinds import KINDS, Kind
from audit.records.record import Draft
from audit.verifier.verify import LIFTABLE, OF_THE_INSTRUMENT, override_lines
from gateway.desk.bodies.governing import OverrideTerms
from gateway.desk.officers.governing.overrides import LIMITS, override_statement
from risk.rules.catalogue import CONDUCT
from risk.rules.control import overriding
from risk.verdict import RuleId
from tests.doubles.audit_log import dump_of, empty_position
from tests.doubles.both_verifiers import both
from tests.doubles.broker_files import LOG, SIGNER, SignedLog

RISK, COMPLIANCE = (Ed25519PrivateKey.from_private_bytes(bytes([n] * 32)) for n in (1, 2))
TERMS: dict[str, Any] = {
    "account": "run-1",
    "override_id": "ab" * 16,
    "instrument": "SPXN",
    "side": "BUY",
    "rule_id": "R06",
    "check": "position",
    "qty_max_lots": 10,
    "notional_max_minor": 1_000,
    "policy_digest": "0" * 64,
    "not_before_us": 100,
    "expires_us": 200,
}

INTENT: dict[str, Any] = {
    "account": "run-1",
    "instrument": "SPXN",
    "side": "BUY",
    "qty_lots": 10,
    "limit_ticks": 50,
}
"""At the most that was signed: 10 lots, at 50 ticks of 2 minor units."""
RESERVED = {**{one: INTENT[one] for one in INTENT if one != "account"}, "unit_minor": 2}


HELD = {"result": "held"}


def ordered(**changes: object) -> dict[str, Any]:
    """Return what a verdict has of another order, which it reserves."""
    changed = {name: value for name, value in changes.items() if name != "account"}
    return {"intent": {**INTENT, **changes}, "reservation": {**RESERVED, **changed}}


@pytest.fixture
def log() -> SignedLog:
    """A log with a key of its own and one record."""
    made = SignedLog(position=replace(empty_position(), log=LOG))
    made.append(draft(Kind.OPERATOR_NOTE, {"text": "x"}, "note:1"))
    return made


def draft(kind: Kind, payload: dict[str, Any], key: str, stream: str = "control") -> Draft:
    return Draft(stream=stream, kind=kind, payload=payload, actor="cli", idem_key=key)


def grant(log: SignedLog, second: Ed25519PrivateKey = COMPLIANCE, **changes: Any) -> None:  # noqa: ANN401 - any field
    """Append an override; both officers signed the terms without the changes."""
    log_id = f"{LOG}#{bytes(log.rows[0]['leaf']).hex()}"
    body = {**TERMS, "reason": "why", "log_id": log_id, "granted_by": "operator"}
    statement = override_lines(log_id, body)
    signatures = {"risk": RISK.sign(statement).hex(), "compliance": second.sign(statement).hex()}
    payload = {**body, **changes, "signatures": signatures}
    log.append(draft(Kind.OVERRIDE_GRANTED, payload, f"override:{payload['override_id']}"))


def use(
    log: SignedLog,
    decision: str = "d-1",
    at_us: int = 150,
    limit: tuple[str, str] = ("R06", "position"),
    order: dict[str, Any] | None = None,
    **changes: Any,  # noqa: ANN401 - any term
) -> None:
    """Append a verdict that lifted a limit under the override; `order` changes its payload."""
    payload: dict[str, Any] = dict.fromkeys(KINDS[Kind.VERDICT_GIVEN].fields, 0)
    payload |= {
        "account": "run-1",
        "decision_id": decision,
        "policy_digest": "0" * 64,
        "run_id": None,
        "result": "approved",
        "intent": INTENT,
        "reservation": RESERVED,
        "state": {"override": {**TERMS, **changes}},
        "policy_status": {"checked_at_us": at_us},
        "verdict": {
            "action": "ALLOW",
            "results": [
                {
                    "rule_id": limit[0],
                    "check": limit[1],
                    "reason": "OVERRIDDEN",
                    "action": "ALLOW",
                }
            ],
        },
    }
    payload |= order or {}
    seq = len(log.rows)
    log.append(draft(Kind.VERDICT_GIVEN, payload, f"verdict:{seq}", f"decision/{decision}"))


def said_of(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, officers: bool = True
) -> tuple[int, str]:
    log.checkpoint()
    dump = tmp_path / "dump"
    dump.write_bytes(b"".join(dump_of(log)))
    asked = [str(dump), "--key", str(SIGNER.vkey)]
    for role, key in (("risk", RISK), ("compliance", COMPLIANCE)) if officers else ():
        public = key.public_key().public_bytes_raw().hex()
        (tmp_path / role).write_text(f"countersign-officer-public {role} one {public}\n")
        asked += ["--officer", str(tmp_path / role)]
    return both(capsys, *asked)


def test_the_officers_sign_what_the_verifier_reads() -> None:
    terms = {**TERMS, "rule": TERMS["rule_id"], "reason": "why"}
    del terms["rule_id"]
    statement = override_statement("log#00", OverrideTerms.model_validate(terms))
    assert override_lines("log#00", {**TERMS, "reason": "why"}) == statement


def test_what_can_be_lifted_is_the_gateways_own_list() -> None:
    assert {one.value for one in overriding.LIFTABLE} == LIFTABLE
    for rule_id in RuleId:
        for check in ("minimum", "step", "maximum", "position"):
            pair = (rule_id.value, check)
            own = rule_id.value in LIFTABLE and pair not in OF_THE_INSTRUMENT
            assert overriding.liftable(rule_id, check) is own, pair
    assert {one.value for one in CONDUCT}.isdisjoint(LIFTABLE)
    assert {rule_id.value for rule_id, _ in LIMITS} <= LIFTABLE


def test_a_sound_use_is_said(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grant(log)
    use(log)
    use(log)
    _, said = said_of(log, tmp_path, capsys)
    assert "lifts R06 position once: both officers signed" in said
    assert "override" not in said, said
    _, said = said_of(log, tmp_path, capsys, officers=False)
    assert "give --officer to check both signatures" in said
    assert "override" not in said, said


@pytest.mark.parametrize(
    ("signed", "used", "why"),
    [
        ({"second": RISK}, {}, "its two officers did not sign"),
        ({"qty_max_lots": 11}, {"qty_max_lots": 11}, "its two officers did not sign"),
        ({"reason": "other"}, {}, "its two officers did not sign"),
        ({}, {"qty_max_lots": 11}, "in other words than were signed"),
        ({}, {"at_us": 200}, "outside of its time"),
        ({}, {"at_us": 99}, "outside of its time"),
        ({}, {"override_id": "cd" * 16}, "not on record before it"),
        ({}, {"limit": ("R05", "collar")}, "its override names another limit"),
        ({"rule_id": "R18"}, {"rule_id": "R18", "limit": ("R18", "position")}, "nothing may lift"),
        ({"rule_id": "R26"}, {"rule_id": "R26", "limit": ("R26", "position")}, "nothing may lift"),
        ({"rule_id": "R99"}, {"rule_id": "R99", "limit": ("R99", "position")}, "nothing may lift"),
        (
            {"rule_id": "R03", "check": "step"},
            {"rule_id": "R03", "check": "step", "limit": ("R03", "step")},
            "nothing may lift",
        ),
        ({}, {"order": ordered(account="run-9")}, "for another account than was signed"),
        ({}, {"order": ordered(instrument="NDXN")}, "for another instrument than was signed"),
        ({}, {"order": ordered(side="SELL")}, "for another side than was signed"),
        ({}, {"order": ordered(qty_lots=11)}, "for more lots than were signed"),
        ({}, {"order": ordered(qty_lots=0)}, "for more lots than were signed"),
        ({}, {"order": ordered(qty_lots="9")}, "for more lots than were signed"),
        ({}, {"order": ordered(limit_ticks=51)}, "for a larger worth than was signed"),
        ({}, {"order": ordered(limit_ticks=2**52)}, "for a larger worth than was signed"),
        ({}, {"order": ordered(unit_minor=3)}, "for a larger worth than was signed"),
        ({}, {"order": HELD | ordered(limit_ticks=51)}, "for a larger worth than was signed"),
        ({}, {"order": HELD | {"reservation": None}}, "for another order than it reserves"),
        ({}, {"order": {"reservation": None}}, "for another order than it reserves"),
        ({}, {"order": {"reservation": {**RESERVED, "qty_lots": 1}}}, "than it reserves"),
        ({}, {"order": {"intent": 0}}, "for another account than was signed"),
        ({}, {"order": {"policy_digest": "1" * 64}}, "for another policy than was signed"),
        ({}, {"order": {"policy_digest": None}}, "for another policy than was signed"),
        ({}, {"order": {"decision_id": ["d-1"]}}, "its decision_id is not a text"),
        ({}, {"override_id": ["ab" * 16]}, "whose override_id is not a text"),
        ({}, {"override_id": {"x": 1}}, "whose override_id is not a text"),
        ({}, {"override_id": None}, "whose override_id is not a text"),
        ({"override_id": ["ab" * 16]}, {}, "its override_id is not a text"),
        ({"override_id": None}, {"override_id": None}, "its override_id is not a text"),
    ],
)
def test_what_is_wrong_with_an_override_is_found(
    log: SignedLog,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    signed: dict[str, Any],
    used: dict[str, Any],
    why: str,
) -> None:
    grant(log, **signed)
    use(log, **used)
    code, said = said_of(log, tmp_path, capsys)
    assert (code, why in said) == (1, True), said


def test_a_second_decision_and_a_use_after_the_end_are_found(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grant(log)
    use(log)
    use(log, "d-2")
    ended = {**{n: TERMS[n] for n in ("account", "override_id")}, "outcome": "withdrawn"}
    ended |= {"ended_by": "x", "reason": "y"}
    log.append(draft(Kind.OVERRIDE_ENDED, ended, "override_ended:1"))
    use(log)
    code, said = said_of(log, tmp_path, capsys)
    assert code == 1
    assert "which decision d-1 had used" in said
    assert "after its end on record" in said
