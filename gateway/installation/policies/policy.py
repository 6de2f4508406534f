"""The signed policy in force.

`run` signs a shipped policy with its two development keys; `serve` reads a signed bundle
and makes none.
"""

import json
from pathlib import Path

from audit.records.canonical import canonical
from gateway.errors import SettingsError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from risk.errors import RiskError
from risk.policy.policy import parse_policy, policy_digest
from risk.policy.signing import (
    SignedPolicy,
    sign_policy,
    signed_policy_document,
    signed_policy_from_document,
)

_FOLDER = Path(__file__).parents[3] / "risk" / "policy" / "policies"
SHIPPED = _FOLDER / "desk.json"
"""Every rule, and budgets on sampled paths."""
FIRST = _FOLDER / "playback.json"
"""Of format 1: the first rules, and no paths on record."""
POLICIES = {"desk": SHIPPED, "first": FIRST}
"""By the setting `policy`."""
BUNDLE = "policy.bundle.json"


def development_policy(keyring: Keyring, source: Path | None = None) -> SignedPolicy:
    """Return a policy with development signatures; sign it again if the file changed.

    Without `source` it is the shipped one.
    """
    policy = parse_policy((source or SHIPPED).read_bytes())
    path = keyring.folder / BUNDLE
    if path.exists():
        bundle = signed_policy_from_document(json.loads(path.read_bytes()))
        if policy_digest(bundle.policy) == policy_digest(policy):
            return bundle
    bundle = SignedPolicy(
        policy=policy,
        signatures=tuple(
            sign_policy(policy, role, f"dev-{role}", keyring.signing_key(role))
            for role in SIGNING_ROLES
        ),
    )
    path.write_bytes(canonical(signed_policy_document(bundle)))
    return bundle


def given_policy(keyring: Keyring) -> SignedPolicy:
    """Return the signed bundle in the key folder.

    Raises:
        SettingsError: it is missing or malformed.
    """
    path = keyring.folder / BUNDLE
    try:
        return signed_policy_from_document(json.loads(path.read_bytes()))
    except (OSError, ValueError, RiskError) as error:
        problem = f"no signed policy in {path}: {type(error).__name__}"
        raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem) from None
