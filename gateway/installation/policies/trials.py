"""Whether both officers signed a trial that this ledger has, before a policy follows another.

Outside paper mode a policy follows only with signatures that name one trial, and this ledger has
that trial on record: of this policy, against the one in force. What the officers saw is then what
the ledger says, and anybody makes it again (`countersign policy try --check`).

Before pilot or live begins, the policy in force itself must have been tried, whatever it followed:
in paper mode it may have followed untried.

Not here: how a trial is made (`gateway.evidence.answers.policy_trial`).
"""

import json
from typing import Final

from audit.records.kinds import Kind
from audit.records.typed import TypedFields
from audit.store.reader import LedgerReader
from risk.policy.policy import policy_digest
from risk.policy.signing import SignedPolicy
from risk.policy.trial import signed_trial, trial_said

PAPER: Final = "paper"


class TrialOnRecord(TypedFields, frozen=True, kw_only=True):
    """What is read of `policy_tried`: the trial, its draft, and the policy in force then."""

    policy_digest: str
    follows_digest: str
    trial_blob: str


def unnamed_said(signed: SignedPolicy, mode: str) -> str:
    """Return why signatures do not name one trial, "" if they do or paper mode needs none."""
    if mode == PAPER or signed_trial(signed):
        return ""
    return (
        f"both officers sign a trial of version {signed.policy.version} outside paper mode: put one"
        " on record with `countersign policy try FILE --record`, then both run `countersign policy"
        " sign FILE --key KEY --trial DIGEST`"
    )


def untried_said(before: str, signed: SignedPolicy, mode: str, reader: LedgerReader) -> str:
    """Return why a policy may not follow the one of this digest for want of a trial, "" if it may.

    Paper mode needs none: no order leaves for a market.
    """
    if mode == PAPER:
        return ""
    if said := unnamed_said(signed, mode):
        return said
    trial = signed_trial(signed)
    wanted = TrialOnRecord(
        policy_digest=policy_digest(signed.policy), follows_digest=before, trial_blob=trial
    )
    found = reader.records(stream="control", kinds=(Kind.POLICY_TRIED,), newest_first=True)
    if any(TrialOnRecord.read(one.body) == wanted for one in found):
        return ""
    return (
        f"the officers signed trial {trial}, and this ledger has no such trial of version"
        f" {signed.policy.version} against the policy in force: make one with `countersign policy"
        " try FILE --record`, and let both sign its digest"
    )


def never_tried_said(signed: SignedPolicy, reader: LedgerReader) -> str:
    """Return why a policy counts as untried, "" if both officers signed a trial on record of it.

    A trial without a verdict shows nothing, and does not count.
    """
    trial, digest = signed_trial(signed), policy_digest(signed.policy)
    if not trial:
        return f"the signatures of version {signed.policy.version} name no trial"
    found = reader.records(stream="control", kinds=(Kind.POLICY_TRIED,), newest_first=True)
    tried = (TrialOnRecord.read(one.body) for one in found)
    if not any((one.policy_digest, one.trial_blob) == (digest, trial) for one in tried):
        return f"this ledger has no trial {trial} of version {signed.policy.version}"
    data = reader.blob(trial)
    if data is None or not trial_said(json.loads(data)).verdicts:
        return f"trial {trial} judged no recorded verdict"
    return ""
