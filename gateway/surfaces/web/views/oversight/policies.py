"""The policy in force as page values: where each number comes from, and the trials on record.

Not here: the merge with packs (`risk.policy.merging`); the page shows what is on record.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Final

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.officers.governing.trials import recorded_trials
from gateway.installation.policies.origins import said_text
from gateway.installation.policies.packs import packs_used
from gateway.walk.journal.control.oversight.trials import PolicyTried
from gateway.walk.journal.run import PolicyActivated
from risk.errors import PolicyError
from risk.policy.merging import Origin, origins
from risk.policy.policy import FORMAT_1, Policy, policy_from_document

TRIALS_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRow:
    """One number of the policy; `others` is what those wanted who did not give it."""

    origin: Origin
    others: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """The policy in force; `policy` is None before the first, `problem` says what is not shown."""

    seq: int
    policy: Policy | None
    digest: str
    signed_by: tuple[str, ...]
    trial: str
    numbers: tuple[NumberRow, ...]
    problem: str
    trials: tuple[tuple[int, PolicyTried], ...]


def policy_view(reader: LedgerReader) -> PolicyView:
    """Return the newest policy on record with its origins, and the newest trials."""
    kinds = (Kind.POLICY_ACTIVATED,)
    found = next(reader.records(stream="control", kinds=kinds, newest_first=True, limit=1), None)
    policy: Policy | None = None
    numbers: tuple[NumberRow, ...] = ()
    problem = ""
    said = None if found is None else PolicyActivated.of(found)
    if said is not None:
        policy = policy_from_document(said.policy)
        numbers, problem = _origins(policy)
    signatures = () if said is None else said.signatures
    named = {str(one.get("trial", "")) for one in signatures}
    return PolicyView(
        seq=0 if found is None else found.seq,
        policy=policy,
        digest="" if said is None else said.policy_digest,
        signed_by=() if said is None else said.signed_by,
        trial=named.pop() if len(named) == 1 else "",
        numbers=numbers,
        problem=problem,
        trials=tuple(islice(recorded_trials(reader), TRIALS_SHOWN)),
    )


def _origins(policy: Policy) -> tuple[tuple[NumberRow, ...], str]:
    if policy.format == FORMAT_1:
        return (), "A policy of format 1 names no pack: every number is its own."
    try:
        found = origins(policy, packs_used(policy.packs or ()))
    except PolicyError as error:
        return (), str(error)
    return tuple(NumberRow(origin=one, others=_others(one)) for one in found), ""


def _others(one: Origin) -> str:
    return "; ".join(said_text(said) for said in one.said if said.by != one.by)
