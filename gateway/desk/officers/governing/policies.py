"""A signed policy that follows the one in force, without a restart.

The bundle lies in the gateway's key folder, where `countersign policy activate` put it after
checking both signatures; whoever asks for it here only says when. No decision is under way when its
record is written: every verdict before that record is by the old policy, every one after it by the
new one. A crash before the record leaves the bundle for the next start, which puts it on record.

Not here: files (`gateway.installation.policies`), what a policy says (`risk.policy`).
"""

from typing import Any, Final

from gateway.desk.desk import Desk
from gateway.desk.officers.governing.modes import sessions_needed
from gateway.errors import PolicyRefusedError, SettingsError
from gateway.installation.keys.keyring import Caller
from gateway.installation.policies.cooling import announcement, early_said, wait_us
from gateway.installation.policies.packs import packs_said
from gateway.installation.policies.policy import given_policy
from gateway.installation.policies.trials import untried_said
from gateway.walk.failpoints import reach
from gateway.walk.journal.control.modes import Mode
from gateway.walk.journal.run import policy_activated, policy_announced
from gateway.walk.projections.modes import modes_on_record
from risk.errors import RiskError
from risk.numbers.standing import PolicyStanding
from risk.policy.changes import PolicyChange, loosened, policy_changes
from risk.policy.policy import Policy, check_succession, policy_digest
from risk.policy.signing import SignedPolicy, verify_signatures

WITHIN_S: Final = 30.0
"""How long to wait for decisions that are under way; a forecast has at most 20 s."""


def policy_state(desk: Desk) -> dict[str, Any]:
    """Return the policy in force: digest, version, standing, signers."""
    section = desk.own.section
    status, policy = section.status(), section.policy
    return {
        "policy_digest": status.policy_digest,
        "name": policy.name,
        "version": policy.version,
        "standing": status.standing.value,
        "signed_by": list(status.signed_by),
        "expires_us": policy.expires_us,
    }


def follow_policy(desk: Desk, caller: Caller, reason: str) -> dict[str, Any]:
    """Put the bundle in the key folder in force; return it, its record and what changed.

    Raises:
        PolicyRefusedError: it is not signed by both, does not follow the one in force, is not valid
            now, contradicts the instruments, is looser than the packs that it names, names no trial
            that this ledger has (outside paper mode), asks for more sessions than there are (pilot
            and live), or is looser and must still wait (it is then
            announced on record); the old one stays in force.
        NotReadyError: a decision takes too long.
        AuditError: the ledger did not take the record. If it is unknown whether it did, every
            intent is refused until the next start.
    """
    own = desk.own
    with desk.turns.alone(WITHIN_S):
        before = own.section.policy
        signed = _followable(desk)
        if policy_digest(signed.policy) == policy_digest(before):
            return policy_state(desk) | {"seq": None, "changes": []}
        if said := untried_said(policy_digest(before), signed, own.tags.mode, own.reader):
            raise PolicyRefusedError(problem=said)
        _keeps_mode(desk, signed.policy)
        _cooled(desk, signed.policy, caller.name, reason)
        draft = policy_activated(own.tags, signed, by=caller.name, reason=reason)
        reach("policy.checked")  # a crash here leaves the bundle: the next start activates it
        record = own.section.follow(signed, own.keyring.public_keys(), draft)
        reach("policy.recorded")  # a crash here leaves the new policy on record and in the folder
    changed = [change_said(one) for one in policy_changes(before, signed.policy)]
    return policy_state(desk) | {"seq": record.seq, "changes": changed}


def _keeps_mode(desk: Desk, after: Policy) -> None:
    """Refuse a policy under which the present mode could not have begun."""
    own = desk.own
    if Mode(own.tags.mode).risks_money:
        need = sessions_needed(modes_on_record(own.reader), after.deployment)
        if not need.met:
            problem = f"mode {own.tags.mode} needs {need.what}"
            raise PolicyRefusedError(problem=problem)


def _cooled(desk: Desk, after: Policy, by: str, reason: str) -> None:
    """Refuse a looser policy whose cooling time has not passed; announce it at the first time."""
    own = desk.own
    before, mode = own.section.policy, own.tags.mode
    waits = wait_us(before, after, mode)
    if waits and announcement(before, after, own.reader) is None:
        loosens = [change_said(one) for one in loosened(before, after)]
        own.tools.ledger.append(
            policy_announced(before, after, loosens=loosens, wait_us=waits, by=by, reason=reason)
        )
    if said := early_said(before, after, mode, own.reader, own.dispatching.wall_us()):
        raise PolicyRefusedError(problem=said)


def change_said(one: PolicyChange) -> str:
    """Return a change as a line for people."""
    return f"{one.field}: {one.before} -> {one.after} ({one.effect.value})"


def _followable(desk: Desk) -> SignedPolicy:
    own = desk.own
    try:
        signed = given_policy(own.keyring)
        if policy_digest(signed.policy) != policy_digest(own.section.policy):
            check_succession(own.section.policy, signed.policy)
    except (SettingsError, RiskError) as error:
        raise PolicyRefusedError(
            problem=f"the bundle in the key folder cannot follow: {error}. Make it with"
            " `countersign policy new FILE --from` the policy in force"
        ) from None
    status = verify_signatures(signed, own.keyring.public_keys(), own.dispatching.wall_us())
    if status.standing is not PolicyStanding.ACTIVE:
        raise PolicyRefusedError(
            problem=f"the bundle in the key folder is {status.standing.value}: both officers sign"
            " it (countersign policy sign), and it must be valid now"
        )
    if said := packs_said(signed.policy):
        raise PolicyRefusedError(problem=said)
    if found := own.policy_misfits(signed.policy):
        raise PolicyRefusedError(problem="; ".join(found[:3]))
    return signed
