"""The verbs policy try and policy trials: put a trial on record, list those that are.

A trial goes on record through the running gateway, or, while none runs, into the ledger itself.
"""

import json
import sys
from pathlib import Path
from typing import Final

from gateway.desk.officers.governing.trials import misfits, recorded_trials
from gateway.errors import RequestError
from gateway.evidence.answers.policy_trial import (
    Trial,
    check_trial,
    in_force_digest,
    try_policy,
)
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.rotation import held_against_key, open_ledger, stopped
from gateway.installation.local.client import post
from gateway.installation.place import Place, attached
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.walk.journal.control.oversight.trials import policy_tried
from risk.policy.policy import policy_document
from risk.policy.trial import trial_bytes, trial_said

WITHIN_S: Final = 10.0
OPERATOR: Final = "operator"


def try_or_check(
    settings: Settings, path: Path | None, last: int, check: int | None, *, record: bool
) -> int:
    """Try a draft, or judge a recorded trial's cases again.

    Raises:
        RequestError: neither or both are asked for; or as `try_draft_now` and `check_trial`.
    """
    if (path is None) == (check is None):
        raise RequestError(problem="name a draft to try, or a record with --check")
    if path is not None:
        return try_draft_now(settings, path, last, record=record)
    with attached(settings) as place:
        return check_trial(place, check or 0)


def try_draft_now(settings: Settings, path: Path, last: int, *, record: bool) -> int:
    """Try a draft on the newest decisions; with `record` put the trial on record.

    Returns 1 if a verdict differs or a decision does not replay.

    Raises:
        RequestError: the file holds no policy, or the gateway does not take the trial.
        NoLedgerError: there is no ledger.
    """
    with attached(settings) as place:
        trial, code = try_policy(place, path, last)
    if record:
        seq = _recorded(settings, trial)
        sys.stdout.write(
            f"on record as {seq}; both officers, after they looked at it:\n"
            f"  countersign policy sign {path} --key KEY --trial {trial.digest}\n"
        )
    return code


def list_trials(place: Place) -> int:
    """Print the trials on record, newest first."""
    for seq, one in recorded_trials(place.reader):
        sys.stdout.write(
            f"{seq}  {one.trial_blob}  policy {one.policy_digest[:16]} after"
            f" {one.follows_digest[:16]}: {one.flips} of {one.verdicts} verdicts differ, records"
            f" {one.first_seq} to {one.last_seq}, {one.untried} decisions untried,"
            f" by {one.actor_name}\n"
        )
    return 0


def _recorded(settings: Settings, trial: Trial) -> int:
    state = StateFolder.of(settings)
    body = {"policy": policy_document(trial.draft), "trial": trial.document}
    try:
        token = Keyring(state.keys).token(OPERATOR)
        told = post(state, "/v1/policy/trials", json.dumps(body), token, WITHIN_S)
        return int(told.granted()["seq"])
    except ConnectionRefusedError:
        return _recorded_stopped(settings, trial)


def _recorded_stopped(settings: Settings, trial: Trial) -> int:
    said = trial_said(trial.document)
    with stopped(settings) as place, open_ledger(place) as ledger:
        with held_against_key(place) as reader:
            log = log_id(reader, place.settings.ledger.origin)
            wrong = misfits(reader, log, trial.draft, said)
            if said.follows != in_force_digest(reader):
                wrong = "another policy came into force: make the trial again"
            if wrong:
                raise RequestError(problem=wrong)
        ledger.put_blob(trial_bytes(trial.document))
        (record,) = ledger.append(policy_tried(trial.draft, trial.document, OPERATOR))
        ledger.checkpoint_now()
    return record.seq
