"""Signatures over a policy, by distinct people in distinct roles, never by its author.

Not here: keys and clock, which are arguments. Only this file of risk uses `cryptography`.

Rules:
- A signature covers the policy's digest, the role and the signer, under a domain tag; and, if it
  names one, the digest of the trial that the officer saw.
- A policy needs `signatures_min` valid signatures, from all of `SIGNING_ROLES`, by distinct people
  with distinct keys. One invalid signature invalidates the bundle.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from risk.forms.canonical import JSON, Reader, canonical_bytes
from risk.forms.documents import document_of, value_of
from risk.numbers.standing import PolicyStanding, PolicyStatus
from risk.policy.policy import Policy, policy_digest, policy_document, policy_from_document

SIGNING_ROLES: Final = ("risk", "compliance")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySignature:
    """One person's Ed25519 signature in a role (hex, 64 bytes).

    Attributes:
        trial: Digest of the trial that the signature covers; empty: none.
    """

    role: str
    signer: str
    signature: str
    trial: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedPolicy:
    """A policy with its signatures."""

    policy: Policy
    signatures: tuple[PolicySignature, ...]


def policy_statement(digest: str, role: str, signer: str, trial: str = "") -> bytes:
    """Return the bytes to sign; with a trial its digest is among them."""
    said: dict[str, JSON] = {"policy": digest, "role": role, "signer": signer}
    if not trial:
        return b"countersign policy signature v1\n" + canonical_bytes(said)
    return b"countersign policy signature v2\n" + canonical_bytes({**said, "trial": trial})


def sign_policy(
    policy: Policy, role: str, signer: str, key: Ed25519PrivateKey, trial: str = ""
) -> PolicySignature:
    """Sign a policy in a role, and the trial that was seen."""
    statement = policy_statement(policy_digest(policy), role, signer, trial)
    signature = key.sign(statement).hex()
    return PolicySignature(role=role, signer=signer, signature=signature, trial=trial)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPolicy:
    """A policy whose signatures were verified; `signed_by` is empty if they do not suffice."""

    policy: Policy
    digest: str
    signed_by: tuple[str, ...]


def check_signatures(bundle: SignedPolicy, keys: Mapping[str, bytes]) -> CheckedPolicy:
    """Verify the signatures of a policy, which no clock changes.

    `keys` has trusted raw Ed25519 public keys by role, or by role:signer for several in a role.
    """
    digest = policy_digest(bundle.policy)
    signed_by = _signers(bundle, keys, digest)
    if not _sufficient(bundle, keys, signed_by):
        signed_by = ()
    return CheckedPolicy(policy=bundle.policy, digest=digest, signed_by=signed_by)


def verify_signatures(bundle: SignedPolicy, keys: Mapping[str, bytes], now_us: int) -> PolicyStatus:
    """Return the status of a signed policy at a wall-clock time; `keys` as `check_signatures`."""
    return status_at(check_signatures(bundle, keys), now_us)


def status_at(checked: CheckedPolicy, now_us: int) -> PolicyStatus:
    """Return the status of a policy with verified signatures at a wall-clock time."""
    policy = checked.policy
    if not checked.signed_by:
        standing = PolicyStanding.UNSIGNED
    elif now_us < policy.not_before_us:
        standing = PolicyStanding.NOT_YET_VALID
    elif now_us >= policy.expires_us:
        standing = PolicyStanding.EXPIRED
    else:
        standing = PolicyStanding.ACTIVE
    return PolicyStatus(
        policy_digest=checked.digest,
        standing=standing,
        checked_at_us=now_us,
        signed_by=checked.signed_by,
    )


def signed_policy_document(bundle: SignedPolicy) -> dict[str, JSON]:
    """Return a bundle as a document."""
    return {
        "policy": policy_document(bundle.policy),
        "signatures": [_signature_document(one) for one in bundle.signatures],
    }


def signed_policy_from_document(document: object) -> SignedPolicy:
    """Parse a bundle without checking its signatures.

    Raises:
        DocumentError: The document is not a bundle.
        PolicyError: The policy in it does not parse.
    """
    read = Reader(document)
    policy = policy_from_document(read.inner("policy"))
    signatures = tuple(_signature_of(item) for item in read.items("signatures"))
    read.done()
    return SignedPolicy(policy=policy, signatures=signatures)


def _signature_document(one: PolicySignature) -> dict[str, JSON]:
    """Return a signature; one without a trial has the bytes that it always had."""
    document = document_of(one)
    if not one.trial:
        del document["trial"]
    return document


def _signature_of(item: object) -> PolicySignature:
    return value_of(PolicySignature, {"trial": ""} | item if type(item) is dict else item)


def _signers(bundle: SignedPolicy, keys: Mapping[str, bytes], digest: str) -> tuple[str, ...]:
    """Return role:signer of every signature; none at all if any is invalid."""
    found: list[str] = []
    for one in bundle.signatures:
        key = _key(keys, one)
        statement = policy_statement(digest, one.role, one.signer, one.trial)
        try:
            if key is None or one.signer == bundle.policy.author:
                return ()
            Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(one.signature), statement)
        except (InvalidSignature, ValueError):
            return ()
        found.append(f"{one.role}:{one.signer}")
    return tuple(sorted(found))


def _sufficient(
    bundle: SignedPolicy, keys: Mapping[str, bytes], signed_by: tuple[str, ...]
) -> bool:
    roles = {name.partition(":")[0] for name in signed_by}
    people = {name.partition(":")[2] for name in signed_by}
    used = {_key(keys, one) for one in bundle.signatures}
    return (
        len(signed_by) >= max(len(SIGNING_ROLES), bundle.policy.signatures_min)
        and roles.issuperset(SIGNING_ROLES)
        and len(people) == len(signed_by)
        and len(used) == len(signed_by)
    )


def _key(keys: Mapping[str, bytes], one: PolicySignature) -> bytes | None:
    return keys.get(f"{one.role}:{one.signer}", keys.get(one.role))
