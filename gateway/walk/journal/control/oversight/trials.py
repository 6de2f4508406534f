"""Records of trials: recorded cases judged again under a draft of a policy.

Not here: how a case is judged again (`gateway.evidence`), what a trial says (`risk.policy.trial`).
"""

from collections.abc import Mapping
from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from risk.forms.canonical import JSON
from risk.policy.policy import Policy, policy_digest, policy_document
from risk.policy.trial import trial_digest, trial_said


class PolicyTried(Contents, frozen=True, kw_only=True):
    """The contents of `policy_tried`.

    Attributes:
        trial_blob: SHA-256 of the trial, which both officers' signatures name.
        verdicts: how many verdicts were judged again, and `flips` how many of them differ.
        untried: how many decisions of the range did not replay.
    """

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
    said, digest = trial_said(trial), trial_digest(trial)
    return Draft(
        stream="control",
        kind=Kind.POLICY_TRIED,
        payload={
            "policy_digest": policy_digest(draft),
            "policy": policy_document(draft),
            "follows_digest": said.follows,
            "trial_blob": digest,
            "first_seq": said.first_seq,
            "last_seq": said.last_seq,
            "verdicts": len(said.verdicts),
            "flips": said.flips,
            "untried": len(said.untried),
            "actor_name": by,
        },
        actor=f"person:{by}",
        idem_key=f"policy_tried:{digest}:{policy_digest(draft)}",
    )
