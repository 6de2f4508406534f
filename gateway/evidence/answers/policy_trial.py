"""The newest decisions judged again under a draft of a policy: whose verdict would differ.

Each decision is first replayed under its own policy, byte for byte; then the same intent, book,
quote, forecast and clocks meet the draft. The draft counts as signed and valid.

Not here: what a draft's sizing would have asked for, and the book that its orders would have left:
each intent and book is the recorded one.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import PairMissingError, ReplayDiffersError
from gateway.evidence.decisions import newest_decisions
from gateway.evidence.replay.intent import case_of_verdict
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.replay import replayed
from gateway.installation.place import Place
from gateway.installation.policies.policy_files import DIFFERS, read_policy
from inference.codec.text.codec import TextCodec
from inference.speculation.rounds import QTable
from inference.weights.registry import load_table
from risk.evaluate import evaluate
from risk.policy.policy import Policy, policy_digest
from risk.policy.signing import PolicyStanding, PolicyStatus
from risk.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """One verdict on record, and what a draft says of the same case; `seq` is its record."""

    decision_id: str
    seq: int
    recorded: Verdict
    drafted: Verdict

    @property
    def differs(self) -> bool:
        """Whether another action follows."""
        return self.recorded.action is not self.drafted.action


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
            drafted=evaluate(draft, replace(state, policy_status=status), intent),
        )


def result_digest(draft: Policy, found: Sequence[Retried]) -> str:
    """Return the SHA-256 (hex) of a trial: the draft, and each record's pair of actions."""
    pairs: list[JSON] = [
        [one.seq, one.recorded.action.name, one.drafted.action.name] for one in found
    ]
    return hashlib.sha256(canonical({"draft": policy_digest(draft), "verdicts": pairs})).hexdigest()


def try_policy(place: Place, path: Path, last: int) -> int:
    """Print each verdict of the newest decisions that a draft would change; return 1 if any.

    Raises:
        RequestError: the file holds no policy.
    """
    draft, pairs = read_policy(path).policy, Pairs(place.settings.engine.model)
    found: list[Retried] = []
    untried = 0
    for decision_id in islice(newest_decisions(place.reader), last):
        try:
            pair = pairs.of(place.reader.records(stream=f"decision/{decision_id}"))
            table, text = load_table(pair), text_codec_of(pair)
            found += retried(place.reader, table, decision_id, draft, text)
        except (ReplayDiffersError, PairMissingError) as difference:
            untried += 1
            sys.stdout.write(f"NOT TRIED {decision_id}: {difference}\n")
    changed = [one for one in found if one.differs]
    for one in changed:
        before, after = _said(one.recorded), _said(one.drafted)
        sys.stdout.write(f"{one.decision_id} record {one.seq}: {before} -> {after}\n")
    sys.stdout.write(
        f"{len(changed)} of {len(found)} verdicts differ under version {draft.version}"
        f" ({policy_digest(draft)})\nresult {result_digest(draft, found)}\n"
    )
    return DIFFERS if changed or untried else 0


def _said(verdict: Verdict) -> str:
    rules = dict.fromkeys(one.rule_id.value for one in verdict.worst)
    return f"{verdict.action.name} ({', '.join(rules)})" if rules else verdict.action.name
