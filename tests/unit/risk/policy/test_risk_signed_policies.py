"""A policy's signatures, its borders, and the one spelling of every number in a document."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from risk.errors import DocumentError, PolicyError
from risk.forms.canonical import JSON_SAFE, Reader, canonical_bytes, number
from risk.forms.documents import document_of, value_of
from risk.numbers.standing import PolicyStanding, PolicyStatus
from risk.policy.policy import (
    MAX_POLICY_BYTES,
    Policy,
    check_succession,
    parse_policy,
    policy_digest,
    policy_document,
    policy_from_document,
)
from risk.policy.signing import (
    PolicySignature,
    SignedPolicy,
    policy_statement,
    sign_policy,
    signed_policy_document,
    signed_policy_from_document,
    verify_signatures,
)
from risk.policy.trial import signed_trial
from tests.doubles.risk_cases import PLAYBACK, PLAYBACK_BYTES

KEYS = {name: Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n, name in enumerate("abc")}
TRUSTED = {
    "risk:rolf": KEYS["a"].public_key().public_bytes_raw(),
    "compliance": KEYS["b"].public_key().public_bytes_raw(),
    "risk:rita": KEYS["c"].public_key().public_bytes_raw(),
}


def signed(policy: Policy, *names: tuple[str, str, str]) -> SignedPolicy:
    """A policy signed by role, signer and key."""
    return SignedPolicy(
        policy=policy,
        signatures=tuple(sign_policy(policy, role, who, KEYS[key]) for role, who, key in names),
    )


ROLF, CARLA, RITA = ("risk", "rolf", "a"), ("compliance", "carla", "b"), ("risk", "rita", "c")


def test_a_policy_that_asks_for_three_signatures_needs_three_people() -> None:
    document: Any = policy_document(PLAYBACK)
    three = policy_from_document({**document, "signatures_min": 3})
    now = three.not_before_us
    few = verify_signatures(signed(three, ROLF, CARLA), TRUSTED, now)
    assert (few.standing, few.signed_by) == (PolicyStanding.UNSIGNED, ())
    enough = verify_signatures(signed(three, ROLF, CARLA, RITA), TRUSTED, now)
    assert enough == PolicyStatus(
        policy_digest=policy_digest(three),
        standing=PolicyStanding.ACTIVE,
        checked_at_us=now,
        signed_by=("compliance:carla", "risk:rita", "risk:rolf"),
    )
    assert value_of(PolicyStatus, json.loads(json.dumps(document_of(enough)))) == enough
    again = verify_signatures(signed(three, ROLF, CARLA, ROLF), TRUSTED, now)
    assert again.standing is PolicyStanding.UNSIGNED
    late = verify_signatures(signed(three, ROLF, CARLA, RITA), TRUSTED, three.expires_us)
    assert (late.standing, late.signed_by) == (PolicyStanding.EXPIRED, enough.signed_by)


def test_a_person_with_a_key_of_his_own_signs_with_no_other() -> None:
    shared = {**TRUSTED, "risk": TRUSTED["compliance"]}
    wrong = signed(PLAYBACK, ("risk", "rolf", "b"), ("compliance", "carla", "b"))
    now = PLAYBACK.not_before_us
    assert verify_signatures(wrong, shared, now).standing is PolicyStanding.UNSIGNED
    right = signed(PLAYBACK, ROLF, CARLA)
    assert verify_signatures(right, shared, now).standing is PolicyStanding.ACTIVE
    short = SignedPolicy(
        policy=PLAYBACK,
        signatures=(
            right.signatures[0],
            PolicySignature(role="compliance", signer="carla", signature="00"),
        ),
    )
    assert verify_signatures(short, shared, now).standing is PolicyStanding.UNSIGNED
    broken = {**TRUSTED, "compliance": b"short"}
    assert verify_signatures(right, broken, now).standing is PolicyStanding.UNSIGNED


def test_one_bad_signature_spoils_what_two_good_ones_would_allow() -> None:
    now = PLAYBACK.not_before_us
    good = signed(PLAYBACK, ROLF, CARLA)
    assert verify_signatures(good, TRUSTED, now).standing is PolicyStanding.ACTIVE
    for bad in (("risk", "rita", "a"), ("risk", "nobody", "c"), ("risk", PLAYBACK.author, "c")):
        keys = {**TRUSTED, f"risk:{PLAYBACK.author}": TRUSTED["risk:rita"]}
        status = verify_signatures(signed(PLAYBACK, ROLF, CARLA, bad), keys, now)
        assert (status.standing, status.signed_by) == (PolicyStanding.UNSIGNED, ())


def test_a_key_under_two_names_is_one_person_beside_any_other() -> None:
    keys = {**TRUSTED, "risk:rita": TRUSTED["risk:rolf"]}
    twice = signed(PLAYBACK, ROLF, CARLA, ("risk", "rita", "a"))
    now = PLAYBACK.not_before_us
    assert verify_signatures(twice, keys, now).standing is PolicyStanding.UNSIGNED


def test_the_bytes_that_are_signed_are_fixed_for_ever() -> None:
    assert policy_statement("00ff", "risk", "rolf") == (
        b'countersign policy signature v1\n{"policy":"00ff","role":"risk","signer":"rolf"}'
    )


def test_a_policy_may_be_as_long_as_the_limit_and_not_a_byte_longer() -> None:
    padded = PLAYBACK_BYTES.rstrip() + b" " * (MAX_POLICY_BYTES - len(PLAYBACK_BYTES.rstrip()))
    assert MAX_POLICY_BYTES == 65_535
    assert parse_policy(padded) == PLAYBACK
    with pytest.raises(PolicyError, match="too large"):
        parse_policy(padded + b" ")


def test_a_policy_may_last_a_microsecond_and_versions_may_skip() -> None:
    document: Any = policy_document(PLAYBACK)
    short = policy_from_document({**document, "expires_us": PLAYBACK.not_before_us + 1})
    assert short.expires_us == PLAYBACK.not_before_us + 1
    parent = policy_digest(PLAYBACK)
    check_succession(PLAYBACK, policy_from_document({**document, "version": 9, "parent": parent}))
    with pytest.raises(PolicyError, match="rise"):
        check_succession(PLAYBACK, policy_from_document({**document, "parent": parent}))
    with pytest.raises(PolicyError, match="parent"):
        check_succession(PLAYBACK, policy_from_document({**document, "version": 9}))


@pytest.mark.parametrize("value", [JSON_SAFE, -JSON_SAFE])
def test_an_integer_is_written_as_itself_up_to_what_every_reader_sees(value: int) -> None:
    beyond = value + (1 if value > 0 else -1)
    assert (number(value), number(beyond)) == (value, str(beyond))
    assert canonical_bytes({"n": value}) == f'{{"n":{value}}}'.encode()
    with pytest.raises(DocumentError, match="decimal string"):
        canonical_bytes({"n": [{"m": beyond}]})
    assert Reader({"n": str(beyond)}).number("n") == beyond
    for not_whole in (True, 1.0, None):
        with pytest.raises(DocumentError):
            number(not_whole)  # type: ignore[arg-type]


def test_a_reader_gives_every_field_once_and_only_in_its_own_type() -> None:
    read = Reader({"n": None, "m": 7, "f": False, "l": [1, "9007199254740992"], "i": {"x": 1}})
    assert (read.inner("n"), read.number("m")) == (None, 7)
    assert read.flag("f") is False
    with pytest.raises(DocumentError, match="unknown field i, l"):
        read.done()
    assert read.items("l") == [1, "9007199254740992"]
    assert read.inner("i") == {"x": 1}
    read.done()
    for taken in (read.text, read.number, read.flag, read.items, read.inner):
        with pytest.raises(DocumentError, match="missing"):
            taken("n")
    forty, more = "9" * 40, "9" * 41
    assert Reader({"n": forty}).number("n") == int(forty)
    with pytest.raises(DocumentError):
        Reader({"n": more}).number("n")


def test_a_signature_covers_the_trial_that_was_seen() -> None:
    assert policy_statement("00ff", "risk", "rolf", "aa") == (
        b"countersign policy signature v2\n"
        b'{"policy":"00ff","role":"risk","signer":"rolf","trial":"aa"}'
    )
    now, trial = PLAYBACK.not_before_us, "f" * 64
    both = [
        sign_policy(PLAYBACK, role, name, KEYS[key], trial) for role, name, key in (ROLF, CARLA)
    ]
    bundle = SignedPolicy(policy=PLAYBACK, signatures=tuple(both))
    assert verify_signatures(bundle, TRUSTED, now).standing is PolicyStanding.ACTIVE
    assert signed_trial(bundle) == trial
    assert signed_policy_from_document(signed_policy_document(bundle)) == bundle
    for other in ("", "e" * 64):
        moved = replace(bundle, signatures=(both[0], replace(both[1], trial=other)))
        assert verify_signatures(moved, TRUSTED, now).standing is PolicyStanding.UNSIGNED
        assert signed_trial(moved) == ""


def test_a_signature_without_a_trial_has_the_bytes_that_it_always_had() -> None:
    document = signed_policy_document(signed(PLAYBACK, ROLF))
    (one,) = cast("list[dict[str, str]]", document["signatures"])
    assert sorted(one) == ["role", "signature", "signer"]
