"""Recorded decisions judged again under a draft of a policy: whose verdict would differ.

Each decision is first replayed under its own policy, byte for byte; then the same intent, book,
quote, forecast and clocks meet the draft. The draft counts as signed and valid.

Not here: what a draft's sizing would have asked for, and the book that its orders would have left:
each intent and book is the recorded one. What a trial says is `risk.policy.trial`.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import PairMissingError, ReplayDiffersError, RequestError
from gateway.evidence.decisions import PREFIX, newest_decisions
from gateway.evidence.replay.intent import case_of_verdict
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.past import Past
from gateway.evidence.replay.replay import replayed
from gateway.installation.keys.log_id import log_id
from gateway.installation.place import Place
from gateway.installation.policies.policy_files import DIFFERS, read_policy
from gateway.walk.journal.control.oversight.justifications import FairnessSources
from gateway.walk.journal.control.oversight.trials import PolicyTried
from gateway.walk.journal.run import PolicyActivated
from gateway.walk.journal.verdict import VerdictBasis
from gateway.walk.projections.forecasts import decision_records
from gateway.walk.projections.gathering import headlines
from inference.codec.text.codec import TextCodec
from inference.speculation.rounds import QTable
from inference.weights.registry import load_table
from risk.evaluate import evaluate
from risk.forms.canonical import JSON
from risk.numbers.standing import PolicyStanding, PolicyStatus
from risk.policy.policy import Policy, policy_digest, policy_from_document
from risk.policy.trial import Retried, trial_digest, trial_document, trial_said
from risk.state.state import RiskState
from risk.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A draft on recorded cases; `untried` says of each decision why it did not replay."""

    draft: Policy
    found: tuple[Retried, ...]
    untried: dict[str, str]
    document: dict[str, JSON]

    @property
    def digest(self) -> str:
        """The digest that both officers sign."""
        return trial_digest(self.document)


def retried(
    reader: LedgerReader,
    table: QTable,
    decision_id: str,
    draft: Policy,
    text: TextCodec | None = None,
) -> Iterator[Retried]:
    """Judge every verdict of a decision again under a draft.

    Raises:
        ReplayDiffersError: when the decision does not replay under its own policy.
    """
    for past, record, _ in replayed(reader, table, decision_id, text):
        if record.kind is not Kind.VERDICT_GIVEN:
            continue
        state, intent = case_of_verdict(past, record)
        status = PolicyStatus(
            policy_digest=policy_digest(draft),
            standing=PolicyStanding.ACTIVE,
            checked_at_us=state.policy_status.checked_at_us,
        )
        yield Retried(
            decision_id=decision_id,
            seq=record.seq,
            recorded=evaluate(past.policy, state, intent),
            drafted=evaluate(
                draft, replace(_met(draft, past, record, state), policy_status=status), intent
            ),
        )


def _met(draft: Policy, past: Past, record: Record, state: RiskState) -> RiskState:
    """Return what the gateway would have gathered under a draft: its own lexicon finds its words.

    Nothing else that is gathered depends on the policy.
    """
    lexicon = None if draft.families is None else draft.families.fairness
    if lexicon is None or state.inputs is None or past.case is None:
        return state
    basis = VerdictBasis.of(record)
    look = FairnessSources(past.reader).look(
        lexicon, past.decision_id, headlines(past.case), (basis.basis_seq, basis.market_now_us)
    )
    return replace(state, inputs=replace(state.inputs, fairness=look))


def trial_of(
    reader: LedgerReader, pairs: Pairs, origin: str, draft: Policy, verdicts: Iterable[Record]
) -> Trial:
    """Judge these verdicts again under a draft that follows the policy in force."""
    wanted: dict[str, set[int]] = {}
    for one in verdicts:
        wanted.setdefault(one.stream.removeprefix(PREFIX), set()).add(one.seq)
    found: list[Retried] = []
    untried: dict[str, str] = {}
    for decision_id, seqs in wanted.items():
        try:
            pair = pairs.of(decision_records(reader, decision_id))
            text = text_codec_of(pair)
            again = [*retried(reader, load_table(pair), decision_id, draft, text)]
        except (ReplayDiffersError, PairMissingError) as difference:
            untried[decision_id] = str(difference)
        else:
            found += [one for one in again if one.seq in seqs]
    document = trial_document(
        log_id(reader, origin), draft, in_force_digest(reader), found, untried
    )
    return Trial(draft=draft, found=tuple(found), untried=untried, document=document)


def newest_verdicts(reader: LedgerReader, last: int) -> list[Record]:
    """Return every verdict since the first one of the newest `last` decisions, in order."""
    kinds = (Kind.VERDICT_GIVEN,)
    firsts = [
        record.seq
        for decision_id in islice(newest_decisions(reader), last)
        for record in reader.records(stream=f"{PREFIX}{decision_id}", kinds=kinds, limit=1)
    ]
    return list(reader.records(kinds=kinds, after_seq=min(firsts) - 1)) if firsts else []


def in_force_digest(reader: LedgerReader) -> str:
    """Return the digest of the newest policy on record; "" before the first."""
    kinds = (Kind.POLICY_ACTIVATED,)
    newest = next(reader.records(stream="control", kinds=kinds, newest_first=True, limit=1), None)
    return "" if newest is None else PolicyActivated.of(newest).policy_digest


def try_policy(place: Place, path: Path, last: int) -> tuple[Trial, int]:
    """Print each verdict of the newest decisions that a draft would change; the code is 1 if any.

    Raises:
        RequestError: the file holds no policy.
        NotReadyError: the ledger is empty.
    """
    draft, reader, settings = read_policy(path).policy, place.reader, place.settings
    verdicts = newest_verdicts(reader, last)
    trial = trial_of(reader, Pairs(settings.engine.model), settings.ledger.origin, draft, verdicts)
    sys.stdout.write(trial_text(trial))
    changed = any(one.differs for one in trial.found)
    return trial, DIFFERS if changed or trial.untried else 0


def check_trial(place: Place, seq: int) -> int:
    """Judge a recorded trial's cases again, from the records alone; return 1 if anything differs.

    Raises:
        RequestError: the record is no trial.
    """
    record = place.reader.record(seq)
    if record is None or record.kind is not Kind.POLICY_TRIED:
        raise RequestError(problem=f"record {seq} is no trial: `countersign policy trials`")
    said, settings = PolicyTried.of(record), place.settings
    differs = differing(place.reader, Pairs(settings.engine.model), settings.ledger.origin, said)
    text = f"differs in {', '.join(differs)}" if differs else "follows from the records"
    sys.stdout.write(f"trial {said.trial_blob} of record {seq}: {text}\n")
    return DIFFERS if differs else 0


def differing(
    reader: LedgerReader, pairs: Pairs, origin: str, said: PolicyTried
) -> tuple[str, ...]:
    """Return the parts of a recorded trial that do not follow from the log; none if all do.

    The policy that the draft follows is the one that was in force then. A decision that the trial
    left untried, and that replays, is a difference.

    Raises:
        PolicyError: the record's blob holds no trial, or its policy is none.
    """
    data = reader.blob(said.trial_blob)
    if data is None:
        return ("the trial, which is missing",)
    kept = json.loads(data)
    rows, draft = trial_said(kept), policy_from_document(said.policy)
    records = [reader.record(seq) for seq, _, _ in rows.verdicts]
    for one in rows.untried:
        records += reader.records(stream=f"{PREFIX}{one}", kinds=(Kind.VERDICT_GIVEN,), limit=1)
    again = trial_of(reader, pairs, origin, draft, [one for one in records if one is not None])
    made = trial_document(
        log_id(reader, origin), draft, said.follows_digest, again.found, again.untried
    )
    return tuple(name for name in made if made[name] != kept.get(name))


def trial_text(trial: Trial) -> str:
    """Return a trial for a terminal: each verdict that differs, and the digest to sign."""
    lines = [f"NOT TRIED {name}: {why}" for name, why in trial.untried.items()]
    changed = [one for one in trial.found if one.differs]
    lines += [
        f"{one.decision_id} record {one.seq}: {_said(one.recorded)} -> {_said(one.drafted)}"
        for one in changed
    ]
    said, draft = trial_said(trial.document), trial.draft
    version = f"version {draft.version} ({policy_digest(draft)})"
    lines += [
        f"{len(changed)} of {len(trial.found)} verdicts differ under {version}",
        f"records {said.first_seq} to {said.last_seq}" if trial.found else "nothing to judge yet",
        f"trial {trial.digest}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _said(verdict: Verdict) -> str:
    rules = dict.fromkeys(one.rule_id.value for one in verdict.worst)
    return f"{verdict.action.name} ({', '.join(rules)})" if rules else verdict.action.name
