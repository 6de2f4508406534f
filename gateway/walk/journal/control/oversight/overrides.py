"""Records of exceptional overrides, and which of them may still act.

An override is granted on record, used by the first verdict that it lifts a limit for, and over at
its end, by withdrawal or by use. A verdict says in its state which override it used; a renewal of
the same decision may use it again, no other decision ever.

Not here: who may grant (`gateway.desk.officers.governing`), what it lifts
(`risk.rules.control.overriding`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import GATEWAY
from gateway.walk.journal.verdict import VerdictGiven
from risk.evaluate import evaluate
from risk.forms.documents import value_of
from risk.intent import Intent, Side
from risk.policy.policy import Policy
from risk.state.inputs.override import Override
from risk.state.state import RiskState
from risk.verdict import Action, RuleId, Verdict

OVERRIDE_KINDS: Final = (Kind.OVERRIDE_GRANTED, Kind.OVERRIDE_ENDED)
WITHDRAWN: Final = "override_withdrawn"
EXPIRED: Final = "override_expired"
"""Why an approved order that needed an override does not leave."""


class OverrideEnd(StrEnum):
    """How an override ended; one that was used ends when its time is over too."""

    USED = "used"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class OverrideGranted(RecordKind, frozen=True, kw_only=True):
    """What both officers signed, who brought it, and why; an override acts from this record on.

    An id is granted once.
    """

    filing = Filing("control", "override:{override_id}", "person:{granted_by}", section=True)

    account: str
    override_id: str
    instrument: str
    side: Side
    rule_id: RuleId
    check: str
    qty_max_lots: int
    notional_max_minor: int
    policy_digest: str
    not_before_us: int
    expires_us: int
    reason: str
    log_id: str
    signatures: Mapping[str, str]
    granted_by: str

    @property
    def terms(self) -> Override:
        """The override, as a verdict reads it."""
        return Override(
            override_id=self.override_id,
            account=self.account,
            instrument=self.instrument,
            side=self.side,
            rule_id=self.rule_id,
            check=self.check,
            qty_max_lots=self.qty_max_lots,
            notional_max_minor=self.notional_max_minor,
            policy_digest=self.policy_digest,
            not_before_us=self.not_before_us,
            expires_us=self.expires_us,
        )


class OverrideEnded(RecordKind, frozen=True, kw_only=True):
    """An override acts no more; it ends once. `used_by` is the decision that used it, or empty."""

    filing = Filing("control", "override_ended:{override_id}", section=True, early="used_by")

    account: str
    override_id: str
    outcome: OverrideEnd
    ended_by: str
    reason: str
    used_by: str


def override_key(override_id: str) -> str:
    """Return the idempotency key of an override's grant, in the control stream."""
    return f"override:{override_id}"


def override_ended(ended: OverrideEnded) -> Draft:
    """The end, by a person or by the gateway itself."""
    by = ended.ended_by
    return ended.draft(actor=by if by == GATEWAY else f"person:{by}")


def override_in(record: Record) -> Override | None:
    """Return the override that a verdict used, or None."""
    state = record.body.get("state")
    document: Any = state.get("override") if isinstance(state, Mapping) else None
    return None if document is None else value_of(Override, document)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideLook:
    """One override as the records tell; `used_by` is the decision whose verdict used it first."""

    seq: int
    granted_us: int
    granted: OverrideGranted
    used_by: str = ""
    used_seq: int | None = None
    ended: OverrideEnd | None = None


class Overrides:
    """Overrides by id, folded from records in their order; no record is given twice."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._known: dict[str, OverrideLook] = {}

    @property
    def open(self) -> tuple[OverrideLook, ...]:
        """The overrides that have not ended, oldest first."""
        return tuple(one for one in self.known if one.ended is None)

    @property
    def known(self) -> tuple[OverrideLook, ...]:
        """Every override on record, oldest first."""
        return tuple(self._known.values())

    @property
    def unplaced(self) -> tuple[OverrideLook, ...]:
        """Those whose end names a decision of which no verdict was read: a start reads it first."""
        return tuple(one for one in self.known if one.used_by and one.used_seq is None)

    def take(self, record: Record) -> None:
        """Fold one record; of verdicts only those matter that come while an override is open."""
        if record.kind is Kind.OVERRIDE_GRANTED:
            granted = OverrideGranted.of(record)
            self._known[granted.override_id] = OverrideLook(
                seq=record.seq, granted_us=record.recorded_at_us, granted=granted
            )
        elif record.kind is Kind.OVERRIDE_ENDED:
            ended = OverrideEnded.of(record)
            if (found := self._known.get(ended.override_id)) is not None:
                used_by = found.used_by or ended.used_by
                self._known[ended.override_id] = replace(
                    found, ended=ended.outcome, used_by=used_by
                )
        elif record.kind is Kind.VERDICT_GIVEN and (self.open or self.unplaced):
            self._used(record)

    def _used(self, record: Record) -> None:
        used = override_in(record)
        found = None if used is None else self._known.get(used.override_id)
        if found is None or found.used_seq is not None:
            return
        decision_id = VerdictGiven.of(record).decision_id
        if found.used_by in {"", decision_id}:
            self._known[found.granted.override_id] = replace(
                found, used_by=decision_id, used_seq=record.seq
            )

    def may_act(self, override: Override, decision_id: str) -> bool:
        """Return whether an override is on record in these words, and free for a decision."""
        found = self._known.get(override.override_id)
        return (
            found is not None
            and found.granted.terms == override
            and found.ended is None
            and found.used_by in {"", decision_id}
        )

    def over(self, used: Override, now_us: int) -> str:
        """Return why an order that passed under an override may leave no more, or the empty text.

        `now_us` is by the clock of the policy's status.
        """
        found = self._known.get(used.override_id)
        if found is None or found.ended is OverrideEnd.WITHDRAWN:
            return WITHDRAWN
        return EXPIRED if found.ended is not None or now_us >= used.expires_us else ""

    def judge(self, policy: Policy, state: RiskState, intent: Intent) -> tuple[RiskState, Verdict]:
        """Return the verdict, and the state with the override that it uses, if it uses one.

        The oldest override is taken that makes the verdict milder and lets the order pass, or wait
        for a person. One that would not is not spent.
        """
        verdict = evaluate(policy, state, intent)
        if verdict.action > Action.WARN:
            for one in self.open:
                terms = one.granted.terms
                if _is_for(terms, intent) and self.may_act(terms, intent.decision_id):
                    under = replace(state, override=terms)
                    found = evaluate(policy, under, intent)
                    if found.action < verdict.action and found.action <= Action.HOLD:
                        return under, found
        return state, verdict


def _is_for(terms: Override, intent: Intent) -> bool:
    """Return whether it is worth asking the rules; they decide on all of its terms."""
    return (terms.account, terms.instrument, terms.side) == (
        intent.account,
        intent.instrument,
        intent.side,
    )
