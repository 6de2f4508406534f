"""Whether both officers signed a trial that this ledger has, before a policy follows another.

Outside paper mode a policy follows only with signatures that name one trial, and this ledger has
that trial on record: of this policy, against the one in force. What the officers saw is then what
the ledger says, and anybody makes it again (`countersign policy try --check`).

Not here: how a trial is made (`gateway.evidence.answers.policy_trial`).
"""

from typing import Final

from msgspec import Struct, convert

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from risk.policy.policy import policy_digest
from risk.policy.signing import SignedPolicy
from risk.policy.trial import signed_trial

PAPER: Final = "paper"


class TrialOnRecord(Struct, frozen=True, kw_only=True):
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
    if any(convert(one.body, TrialOnRecord) == wanted for one in found):
        return ""
    return (
        f"the officers signed trial {trial}, and this ledger has no such trial of version"
        f" {signed.policy.version} against the policy in force: make one with `countersign policy"
        " try FILE --record`, and let both sign its digest"
    )
