"""What the ledger has of policies and officers, which the files on this machine must follow.

Otherwise whoever may write the key folder could bring back looser limits that both officers signed
once, or put two officers' keys of his own there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from audit.records.kinds import Kind
from audit.records.typed import TypedFields
from audit.store.reader import LedgerReader
from gateway import clock
from gateway.errors import SettingsError
from gateway.installation.keys.succession import OfficerHistory
from gateway.installation.policies.cooling import early_said
from gateway.installation.policies.trials import untried_said
from risk.numbers.standing import PolicyStanding
from risk.policy.policy import Policy, policy_digest, policy_from_document
from risk.policy.signing import SignedPolicy, signed_policy_from_document, verify_signatures


class PolicyOnRecord(TypedFields, frozen=True, kw_only=True):
    """What is read of `policy_activated`; `dev` says that `run` recorded it, with its own keys."""

    policy: dict[str, Any]
    policy_digest: str
    signatures: list[dict[str, Any]]
    dev: bool = False


def refuse_stray_officers(keys: Mapping[str, bytes], origin: str, reader: LedgerReader) -> None:
    """Refuse officers' keys that neither signed the policy on record nor follow on record.

    Raises:
        SettingsError: it is so.
    """
    history = OfficerHistory(reader, keys, origin)
    for seq, active in _policies(reader):
        if active.dev:
            continue
        signed = signed_policy_from_document(
            {"policy": active.policy, "signatures": active.signatures}
        )
        standing = verify_signatures(signed, history.at(seq), clock.wall_us()).standing
        if standing is PolicyStanding.UNSIGNED:
            raise SettingsError(
                name="COUNTERSIGN_KEYS",
                problem="the officers' public keys are not those that signed the policy on record:"
                " put their .pub files back, or let both officers record the change with"
                " `countersign key replace-officer`",
            )
        return


def stray_said(policy: Policy, reader: LedgerReader) -> str:
    """Return why a policy is neither the newest on record nor its successor, "" if it is one."""
    _, active = next(_policies(reader), (0, None))
    if active is None:
        return ""
    version = int(active.policy["version"])
    follows = policy.parent == active.policy_digest and policy.version > version
    if follows or policy_digest(policy) == active.policy_digest:
        return ""
    return (
        "does not follow the one on record: it must have"
        f' parent = "{active.policy_digest}" and a version above {version}; make it with'
        " `countersign policy new --from` the policy in force"
    )


def early_on_record(policy: Policy, mode: str, reader: LedgerReader, now_us: int) -> str:
    """Return why a policy may not follow the newest on record yet, "" if it may or is that one."""
    _, active = next(_policies(reader), (0, None))
    if active is None or active.dev or policy_digest(policy) == active.policy_digest:
        return ""
    return early_said(policy_from_document(active.policy), policy, mode, reader, now_us)


def untried_on_record(signed: SignedPolicy, mode: str, reader: LedgerReader) -> str:
    """Return why a policy may not follow the newest on record untried, "" if it may or is it."""
    _, active = next(_policies(reader), (0, None))
    digest = policy_digest(signed.policy)
    if active is None or active.dev or digest == active.policy_digest:
        return ""
    return untried_said(active.policy_digest, signed, mode, reader)


def _policies(reader: LedgerReader) -> Iterator[tuple[int, PolicyOnRecord]]:
    """Yield the policies on record, newest first."""
    found = reader.records(stream="control", kinds=(Kind.POLICY_ACTIVATED,), newest_first=True)
    return ((one.seq, PolicyOnRecord.read(one.body)) for one in found)
