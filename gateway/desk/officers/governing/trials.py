"""Trials of a draft, put on record by a person and listed.

The person's own process judges the cases again, so that a long trial takes no time from the
gateway. The gateway checks that the trial is of this ledger, leaves no verdict of its range out,
and names each verdict as it is on record; what the draft says of each, anybody makes again
(`countersign policy try --check`).
"""

from collections.abc import Iterator
from typing import Any, Final

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.governing import TrialBody
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.oversight.trials import PolicyTried, policy_tried
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.outbox import DECISION_PREFIX
from risk.errors import RiskError
from risk.policy.policy import Policy, policy_digest, policy_from_document
from risk.policy.trial import TrialSaid, trial_bytes, trial_said

LISTED_MAX: Final = 50


def record_trial(own: DeskParts, actor: str, body: TrialBody) -> dict[str, Any]:
    """Put a trial on record under the person's name; return its record and digest.

    Raises:
        RequestError: it is not of this ledger, of this draft or against the policy in force, or it
            leaves out or misnames a verdict of its range.
        AuditError: the ledger does not take it.
    """
    try:
        draft, said = policy_from_document(body.policy), trial_said(body.trial)
    except RiskError as error:
        raise RequestError(problem=f"this is no trial: {error}") from None
    if wrong := misfits(own.reader, log_id(own.reader, own.origin), draft, said):
        raise RequestError(problem=wrong)
    if said.follows != policy_digest(own.section.policy):
        raise RequestError(
            problem="the trial is against another policy than the one in force: make it again"
        )
    digest = own.tools.ledger.put_blob(trial_bytes(body.trial))
    (record,) = own.tools.ledger.append(policy_tried(draft, body.trial, actor))
    return {"seq": record.seq, "trial": digest}


def misfits(reader: LedgerReader, log: str, draft: Policy, said: TrialSaid) -> str:
    """Return what of a trial is not as the ledger has it; "" if all is."""
    if said.log != log:
        return "the trial is of another ledger"
    if said.draft != policy_digest(draft):
        return "the trial is of another draft"
    untried = {DECISION_PREFIX + one for one in said.untried}
    there = reader.records(
        kinds=(Kind.VERDICT_GIVEN,), after_seq=said.first_seq - 1, before_seq=said.last_seq + 1
    )
    expected = {
        one.seq: str(VerdictGiven.of(one).verdict_document["action"])
        for one in there
        if said.verdicts and one.stream not in untried
    }
    named = {seq: before for seq, before, _ in said.verdicts}
    if other := sorted(seq for seq in expected | named if expected.get(seq) != named.get(seq)):
        return f"record {other[0]} is another verdict than the trial says, or left out"
    return ""


def recorded_trials(reader: LedgerReader) -> Iterator[tuple[int, PolicyTried]]:
    """Yield the trials on record with their record numbers, newest first."""
    found = reader.records(stream="control", kinds=(Kind.POLICY_TRIED,), newest_first=True)
    return ((one.seq, PolicyTried.of(one)) for one in found)


def trials_document(reader: LedgerReader) -> dict[str, Any]:
    """Return the newest trials on record for the API, without the drafts."""
    found = []
    for seq, one in recorded_trials(reader):
        said = {name: value for name, value in one.document().items() if name != "policy"}
        found.append({"seq": seq, **said})
        if len(found) == LISTED_MAX:
            break
    return {"trials": found}
