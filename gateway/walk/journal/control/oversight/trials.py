"""Records of trials: recorded cases judged again under a draft of a policy.

Not here: how a case is judged again (`gateway.evidence`), what a trial says (`risk.policy.trial`).
"""

from collections.abc import Mapping
from typing import Any

from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from risk.forms.canonical import JSON
from risk.policy.policy import Policy, policy_digest, policy_document
from risk.policy.trial import trial_digest, trial_said


class PolicyTried(RecordKind, frozen=True, kw_only=True):
    """Recorded cases, judged again under a draft of a policy.

    Attributes:
        trial_blob: SHA-256 of the trial, which both officers' signatures name.
        verdicts: how many verdicts were judged again, and `flips` how many of them differ.
        untried: how many decisions of the range did not replay.
    """

    filing = Filing("control", "policy_tried:{trial_blob}:{policy_digest}", "person:{actor_name}")

    policy_digest: str
    policy: dict[str, Any]
    follows_digest: str
    trial_blob: str
    first_seq: int
    last_seq: int
    verdicts: int
    flips: int
    untried: int
    actor_name: str


def policy_tried(draft: Policy, trial: Mapping[str, JSON], by: str) -> Draft:
    """A trial of a draft; the same trial again is this record.

    Raises:
        PolicyError: `trial` is none.
    """
    said = trial_said(trial)
    return PolicyTried(
        policy_digest=policy_digest(draft),
        policy=policy_document(draft),
        follows_digest=said.follows,
        trial_blob=trial_digest(trial),
        first_seq=said.first_seq,
        last_seq=said.last_seq,
        verdicts=len(said.verdicts),
        flips=said.flips,
        untried=len(said.untried),
        actor_name=by,
    ).draft()
