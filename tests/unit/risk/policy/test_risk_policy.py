"""A policy is read strictly, signed by two roles that are not its author, and ends."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel

from risk.errors import PolicyError
from risk.evaluate import evaluate
from risk.forms.canonical import canonical_bytes
from risk.numbers.standing import PolicyStanding
from risk.numbers.stated import Stated
from risk.policy.policy import (
    Policy,
    check_succession,
    parse_policy,
    policy_digest,
    policy_document,
    policy_from_document,
)
from risk.policy.signing import (
    SignedPolicy,
    sign_policy,
    signed_policy_document,
    signed_policy_from_document,
    verify_signatures,
)
from risk.verdict import Action
from tests.doubles.risk_cases import INTENT, PLAYBACK, PLAYBACK_BYTES, policy_with, state_with

RISK, COMPLIANCE, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2, 3))
KEYS = {
    "risk": RISK.public_key().public_bytes_raw(),
    "compliance": COMPLIANCE.public_key().public_bytes_raw(),
}
INSIDE = PLAYBACK.not_before_us


def bundle(policy: Policy = PLAYBACK) -> SignedPolicy:
    return SignedPolicy(
        policy=policy,
        signatures=(
            sign_policy(policy, "risk", "rolf", RISK),
            sign_policy(policy, "compliance", "carla", COMPLIANCE),
        ),
    )


def numbers(value: object) -> list[Stated]:
    if isinstance(value, Stated):
        return [value]
    if isinstance(value, tuple):
        return [number for item in value for number in numbers(item)]
    if isinstance(value, BaseModel):
        return [n for name in type(value).model_fields for n in numbers(getattr(value, name))]
    return []


def test_every_number_of_the_playback_policy_has_owner_reason_and_review_date() -> None:
    stated = numbers(PLAYBACK)
    assert len(stated) == PLAYBACK_BYTES.count(b'"unit":') > 30
    assert all(len(number.rationale.split()) >= 4 for number in stated)
    assert all(number.review_by > "2026-11-21" for number in stated)
    assert {number.owner for number in stated} == {"head of risk", "compliance officer"}


def test_the_playback_limits_stand_in_their_order() -> None:
    account, sizing, approval = PLAYBACK.account, PLAYBACK.sizing, PLAYBACK.approval
    step, human = sizing.order_notional_max.value, approval.human_notional.value
    assert step < human < account.order_notional_max.value
    invested = sizing.exposure_max.value * len(PLAYBACK.instruments)
    assert invested <= account.net_max.value < account.gross_max.value
    assert account.gross_max.value < 100 * account.leverage_max.value
    assert account.day_loss_max.value < account.drawdown_max.value


def test_a_policy_survives_its_bytes() -> None:
    assert parse_policy(canonical_bytes(policy_document(PLAYBACK))) == PLAYBACK
    assert policy_from_document(policy_document(PLAYBACK)) == PLAYBACK
    assert policy_digest(parse_policy(canonical_bytes(policy_document(PLAYBACK)))) == policy_digest(
        PLAYBACK
    )


def spoil(change: Callable[[Any], object]) -> bytes:
    document = json.loads(PLAYBACK_BYTES)
    change(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("account"),
        lambda d: d.update(extra=1),
        lambda d: d["account"].pop("gross_max"),
        lambda d: d["account"]["gross_max"].pop("rationale"),
        lambda d: d["account"]["gross_max"].update(rationale=""),
        lambda d: d["account"]["gross_max"].update(unit="pct"),
        lambda d: d["account"]["gross_max"].update(value="12500"),
        lambda d: d["account"]["gross_max"].update(value=12_500.0),
        lambda d: d["account"]["gross_max"].update(value=True),
        lambda d: d["account"]["gross_max"].update(value=None),
        lambda d: d["account"]["gross_max"].update(value=-1),
        lambda d: d["account"]["gross_max"].update(value=2**53),
        lambda d: d["account"]["gross_max"].update(review_by="soon"),
        lambda d: d["account"]["drawdown_max"].update(value=10_001),
        lambda d: d["account"]["message_rate"].update(value=0),
        lambda d: d["account"]["message_burst"].update(value=601),
        lambda d: d["classes"][0]["directional_p_up_min"].update(value=4_999),
        lambda d: d["classes"][0]["arming"].pop(),
        lambda d: d["classes"][0]["arming"].append(d["classes"][0]["arming"][0]),
        lambda d: d["classes"][0]["arming"][1].update(armed=False, reason="trust me"),
        lambda d: d["classes"][0]["arming"][2].update(armed=False),
        lambda d: d["classes"][0]["arming"][2].update(reason="armed with a reason"),
        lambda d: d["classes"][0]["arming"][2].update(rule="R99"),
        lambda d: d["classes"].append(d["classes"][0]),
        lambda d: d.update(classes=[]),
        lambda d: d["instruments"].append(d["instruments"][0]),
        lambda d: d["instruments"][0].update(asset_class="fx"),
        lambda d: d.update(expires_us=d["not_before_us"]),
        lambda d: d.update(signatures_min=1),
        lambda d: d.update(version=0),
        lambda d: d.update(parent="abc"),
        lambda d: d.update(currency="usd"),
        lambda d: d.update(format="countersign.policy/2"),
        lambda d: d.update(author=""),
    ],
)
def test_anything_but_a_coherent_policy_is_refused(change: Callable[[Any], object]) -> None:
    with pytest.raises(PolicyError):
        parse_policy(spoil(change))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"{}",
        b'{"format": NaN}',
        b"[" * 50_000,
        b" " * 65_536,
        PLAYBACK_BYTES.replace(b'"name"', b'"name": "x", "name"', 1),
        PLAYBACK_BYTES.replace(b"quant-desk", b"\\ud800", 1),
    ],
)
def test_any_bytes_raise_only_the_parsers_own_error(data: bytes) -> None:
    with pytest.raises(PolicyError):
        parse_policy(data)


def test_two_roles_make_a_policy_active() -> None:
    status = verify_signatures(bundle(), KEYS, INSIDE)
    assert status.standing is PolicyStanding.ACTIVE
    assert status.signed_by == ("compliance:carla", "risk:rolf")
    assert status.policy_digest == policy_digest(PLAYBACK)


@pytest.mark.parametrize(
    ("now_us", "standing"),
    [
        (PLAYBACK.not_before_us - 1, PolicyStanding.NOT_YET_VALID),
        (PLAYBACK.not_before_us, PolicyStanding.ACTIVE),
        (PLAYBACK.expires_us - 1, PolicyStanding.ACTIVE),
        (PLAYBACK.expires_us, PolicyStanding.EXPIRED),
    ],
)
def test_a_policy_begins_and_ends(now_us: int, standing: PolicyStanding) -> None:
    status = verify_signatures(bundle(), KEYS, now_us)
    assert status.standing is standing
    verdict = evaluate(PLAYBACK, state_with(policy_status=status), INTENT)
    assert (verdict.action is Action.ALLOW) == (standing is PolicyStanding.ACTIVE)


def forged(name: str) -> SignedPolicy:
    good = bundle()
    risk, compliance = good.signatures
    spoiled = bytes([bytes.fromhex(risk.signature)[0] ^ 1]) + bytes.fromhex(risk.signature)[1:]
    return {
        "none": replace(good, signatures=()),
        "one": replace(good, signatures=(risk,)),
        "one twice": replace(good, signatures=(risk, risk)),
        "one role twice": replace(
            good, signatures=(risk, sign_policy(PLAYBACK, "risk", "rita", RISK))
        ),
        "one person in two roles": replace(
            good, signatures=(risk, sign_policy(PLAYBACK, "compliance", "rolf", COMPLIANCE))
        ),
        "unknown key": replace(
            good, signatures=(risk, sign_policy(PLAYBACK, "compliance", "carla", OTHER))
        ),
        "unknown role": replace(
            good, signatures=(risk, compliance, sign_policy(PLAYBACK, "sales", "sam", OTHER))
        ),
        "author signs": replace(
            good, signatures=(risk, sign_policy(PLAYBACK, "compliance", "quant-desk", COMPLIANCE))
        ),
        "role renamed": replace(good, signatures=(risk, replace(risk, role="compliance"))),
        "signer renamed": replace(good, signatures=(replace(risk, signer="ruth"), compliance)),
        "bit flipped": replace(
            good, signatures=(replace(risk, signature=spoiled.hex()), compliance)
        ),
        "not hex": replace(good, signatures=(replace(risk, signature="zz"), compliance)),
        "other policy": replace(good, policy=policy_with(account__gross_max=20_000)),
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "none",
        "one",
        "one twice",
        "one role twice",
        "one person in two roles",
        "unknown key",
        "unknown role",
        "author signs",
        "role renamed",
        "signer renamed",
        "bit flipped",
        "not hex",
        "other policy",
    ],
)
def test_anything_less_than_two_good_signatures_is_unsigned(name: str) -> None:
    status = verify_signatures(forged(name), KEYS, INSIDE)
    assert status.standing is PolicyStanding.UNSIGNED
    assert status.signed_by == ()
    verdict = evaluate(PLAYBACK, state_with(policy_status=status), INTENT)
    assert verdict.action is Action.REJECT


def test_two_people_of_one_role_do_not_make_a_policy_active() -> None:
    for role in ("risk", "compliance"):
        keys = {f"{role}:rolf": KEYS["risk"], f"{role}:rita": KEYS["compliance"]}
        two = replace(
            bundle(),
            signatures=(
                sign_policy(PLAYBACK, role, "rolf", RISK),
                sign_policy(PLAYBACK, role, "rita", COMPLIANCE),
            ),
        )
        status = verify_signatures(two, keys, INSIDE)
        assert (status.standing, status.signed_by) == (PolicyStanding.UNSIGNED, ())


def test_two_roles_with_one_key_are_not_two_people() -> None:
    one_key = {"risk": KEYS["risk"], "compliance": KEYS["risk"]}
    signed = replace(
        bundle(),
        signatures=(
            sign_policy(PLAYBACK, "risk", "rolf", RISK),
            sign_policy(PLAYBACK, "compliance", "carla", RISK),
        ),
    )
    assert verify_signatures(signed, one_key, INSIDE).standing is PolicyStanding.UNSIGNED


def test_a_bundle_survives_its_document() -> None:
    document = json.loads(json.dumps(signed_policy_document(bundle())))
    assert signed_policy_from_document(document) == bundle()


def test_a_policy_follows_its_parent_with_a_higher_version() -> None:
    first = PLAYBACK
    document: Any = policy_document(first)
    child = policy_from_document({**document, "version": 2, "parent": policy_digest(first)})
    check_succession(None, first)
    check_succession(first, child)
    for active, candidate in ((None, child), (first, first), (child, first)):
        with pytest.raises(PolicyError):
            check_succession(active, candidate)
    same_version = policy_from_document({**document, "parent": policy_digest(first)})
    with pytest.raises(PolicyError):
        check_succession(first, same_version)
