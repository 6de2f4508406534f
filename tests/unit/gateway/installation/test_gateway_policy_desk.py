"""Which policy is in force: the shipped one as it is now, signed by both, or a bundle as given."""

import json
from pathlib import Path

import pytest

from gateway.errors import SettingsError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.policies import policy as policy_desk
from gateway.installation.policies.policy import BUNDLE, SHIPPED, development_policy, given_policy
from risk.numbers.standing import PolicyStanding
from risk.policy.policy import parse_policy, policy_digest
from risk.policy.signing import SignedPolicy, verify_signatures

SHIPPED_DIGEST = policy_digest(parse_policy(SHIPPED.read_bytes()))


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "keys")


def standing(ring: Keyring, bundle: SignedPolicy) -> PolicyStanding:
    now_us = bundle.policy.not_before_us
    return verify_signatures(bundle, ring.public_keys(), now_us).standing


def changed(folder: Path) -> Path:
    """Write the shipped policy with one figure less."""
    document = json.loads(SHIPPED.read_bytes())
    document["expires_us"] -= 1
    path = folder / "changed.json"
    path.write_text(json.dumps(document))
    return path


def test_the_shipped_policy_is_signed_once_by_both_roles(ring: Keyring) -> None:
    first = development_policy(ring)
    assert policy_digest(first.policy) == SHIPPED_DIGEST
    assert sorted(one.role for one in first.signatures) == sorted(SIGNING_ROLES)
    assert standing(ring, first) is PolicyStanding.ACTIVE
    written = (ring.folder / BUNDLE).read_bytes()
    assert development_policy(ring) == first == given_policy(ring)
    assert (ring.folder / BUNDLE).read_bytes() == written


def test_limits_that_changed_are_in_force_at_the_next_start(
    ring: Keyring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle of before would go on with the old limits, which somebody meant to lower."""
    development_policy(ring)
    monkeypatch.setattr(policy_desk, "SHIPPED", changed(tmp_path))
    second = development_policy(ring)
    assert policy_digest(second.policy) != SHIPPED_DIGEST
    assert standing(ring, second) is PolicyStanding.ACTIVE
    assert given_policy(ring) == second, "it is what stands in the folder now"


def test_a_policy_under_another_ones_signatures_is_not_in_force(
    ring: Keyring, tmp_path: Path
) -> None:
    development_policy(ring)
    path = ring.folder / BUNDLE
    document = json.loads(path.read_bytes())
    document["policy"] = json.loads(changed(tmp_path).read_bytes())
    path.write_text(json.dumps(document))
    assert standing(ring, given_policy(ring)) is PolicyStanding.UNSIGNED


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"policy": {}, "signatures": []}'])
def test_without_a_bundle_nothing_is_made_up(ring: Keyring, text: str | None) -> None:
    if text is not None:
        (ring.folder / BUNDLE).write_text(text)
    with pytest.raises(SettingsError, match="no signed policy"):
        given_policy(ring)
