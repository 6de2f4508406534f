"""The verdict on one intent: the results of every rule, and their join.

Not here: how a verdict is made (`risk/evaluate.py`), what it permits (`risk/approved.py`), and the
closed lists of its words (`risk/forms/words.py`).

Rules:
- Actions are ordered by severity; a verdict's action is the most severe of its results.
- Every reason comes from one closed list, beside the measured value and the limit.
- A margin is never negative on a pass and always negative on a breach.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, json

from risk.errors import DocumentError
from risk.forms.canonical import JSON
from risk.forms.documents import document_of, value_of
from risk.forms.words import Action, Bound, Outcome, Reason, RuleId, Scope, Unit

__all__ = [
    "DIGEST_VERSION",
    "Action",
    "Bound",
    "Outcome",
    "Reason",
    "RuleId",
    "RuleResult",
    "Scope",
    "Trace",
    "Unit",
    "Verdict",
    "is_intact",
    "join",
    "make_verdict",
    "margin_of",
    "names_digest",
    "numbers_digest",
    "verdict_document",
    "verdict_from_document",
]
DIGEST_VERSION: Final = 3
"""Of a verdict's digest, which covers the numbers (`numbers_digest`)."""


def join(actions: Iterable[Action]) -> Action:
    """Return the most severe action; REJECT for none, because no rule has run."""
    return max(actions, default=Action.REJECT)


class RuleResult(Struct, frozen=True, kw_only=True, gc=False):
    """One check of one rule; a verdict makes a hundred of them, so it is cheap to make.

    Attributes:
        check: Which of the rule's checks ("age", "spread", ...).
        version: Version of the rule's code.
        observed: Measured value, None if it could not be measured.
        limit: The policy's limit, None if there is none.
        margin: How far inside (>= 0) or outside (< 0) the limit; None if either is missing.
        action: This check's part of the join.
        note: The policy's reason for disarming the rule, or empty.
    """

    rule_id: RuleId
    check: str
    version: int
    scope: Scope
    observed: int | None
    limit: int | None
    margin: int | None
    unit: Unit
    bound: Bound
    outcome: Outcome
    action: Action
    reason: Reason
    note: str = ""


class Trace(Protocol):
    """What rules measured, from which results are made once somebody reads them."""

    def results(self) -> tuple[RuleResult, ...]:
        """Return every check of every rule, in fixed order."""
        ...

    def documents(self) -> list[JSON]:
        """Return the documents of the results."""
        ...


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The rules' results, bound to their inputs.

    Attributes:
        action: The join of all results.
        results: Every check of every rule, in fixed order.
        policy_digest: 64 zeros, as in the next two, if the input could not be encoded.
        verdict_digest: Digest of all other fields.
        digest_version: See `DIGEST_VERSION`.
    """

    action: Action
    results: tuple[RuleResult, ...]
    policy_digest: str
    intent_digest: str
    state_digest: str
    verdict_digest: str
    digest_version: int = DIGEST_VERSION

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Make the results of a verdict from `of_trace` when they are read first."""
            trace = self.__dict__.get("_trace") if name == "results" else None
            if trace is None:
                raise AttributeError(name)
            return self.__dict__.setdefault("results", trace.results())

    @classmethod
    def of_trace(cls, trace: Trace, action: Action, heads: Sequence[str], sealed: str) -> "Verdict":
        """Return the verdict of a trace; `heads` are those of policy, intent and state."""
        verdict = object.__new__(cls)
        verdict.__dict__.update(
            action=action,
            policy_digest=heads[0],
            intent_digest=heads[1],
            state_digest=heads[2],
            verdict_digest=sealed,
            digest_version=DIGEST_VERSION,
            _trace=trace,
        )
        return verdict

    @property
    def worst(self) -> tuple[RuleResult, ...]:
        """The results that decided the action, in rule order; empty on ALLOW."""
        if self.action is Action.ALLOW:
            return ()
        return tuple(result for result in self.results if result.action is self.action)


def make_verdict(
    *, results: tuple[RuleResult, ...], policy_digest: str, intent_digest: str, state_digest: str
) -> Verdict:
    """Return the verdict of these results, with its digest."""
    action = join([result.action for result in results])
    heads = (policy_digest, intent_digest, state_digest)
    return Verdict(
        action=action,
        results=results,
        policy_digest=policy_digest,
        intent_digest=intent_digest,
        state_digest=state_digest,
        verdict_digest=numbers_digest(action, heads, *_numbers(results)),
    )


def numbers_digest(
    action: Action,
    heads: Sequence[str],
    names: str,
    numbers: tuple[Sequence[int | None], Sequence[int | None], Sequence[object]],
) -> str:
    """Return the SHA-256 in hex of a verdict's trace, as JSON in UTF-8 without spaces.

    It is the list of tag, the action's number, the three digests, `names`, and `numbers`: what each
    check observed, each one's limit, and the checks that are not plain passes. One of those is the
    list of its place, outcome, action's number, reason and note; and its margin, if that does not
    follow from observed value and limit.
    """
    return _json_digest(("countersign.verdict/3", action, *heads, names, *numbers))


def names_digest(checks: Sequence[Sequence[object]]) -> str:
    """Return the digest of the checks: rule, check, version, scope, unit and bound of each."""
    return _json_digest(checks)


def _json_digest(trace: object) -> str:
    return sha256(json.encode(trace)).hexdigest()


def margin_of(bound: Bound, observed: int | None, limit: int | None) -> int | None:
    """Return how far inside (>= 0) or outside (< 0) a limit is; None if either is missing."""
    if observed is None or limit is None:
        return None
    return limit - observed if bound is Bound.MAX else observed - limit


def _numbers(
    results: Sequence[RuleResult],
) -> tuple[str, tuple[list[int | None], list[int | None], list[object]]]:
    """Return `names` and `numbers` of `numbers_digest`."""
    others: list[object] = []
    for place, one in enumerate(results):
        said = (place, one.outcome, one.action, one.reason, one.note)
        if one.margin != margin_of(one.bound, one.observed, one.limit):
            others.append((*said, one.margin))
        elif said[1:] != _PLAIN or one.margin is None:
            others.append(said)
    names = [(r.rule_id, r.check, r.version, r.scope, r.unit, r.bound) for r in results]
    numbers = [one.observed for one in results], [one.limit for one in results], others
    return names_digest(names), numbers


_PLAIN: Final = (Outcome.PASS, Action.ALLOW, Reason.WITHIN_LIMIT, "")


def is_intact(verdict: Verdict) -> bool:
    """Return whether action and digest of a verdict follow from its results."""
    again = make_verdict(
        results=verdict.results,
        policy_digest=verdict.policy_digest,
        intent_digest=verdict.intent_digest,
        state_digest=verdict.state_digest,
    )
    return again == verdict


def verdict_document(verdict: Verdict) -> dict[str, JSON]:
    """Return a verdict as a document; one of a trace needs no results for it."""
    trace: Trace | None = verdict.__dict__.get("_trace")
    if trace is None:
        return document_of(verdict)
    return {
        "action": verdict.action.name,
        "results": trace.documents(),
        "policy_digest": verdict.policy_digest,
        "intent_digest": verdict.intent_digest,
        "state_digest": verdict.state_digest,
        "verdict_digest": verdict.verdict_digest,
        "digest_version": verdict.digest_version,
    }


def verdict_from_document(document: object) -> Verdict:
    """Parse a verdict and check that it is intact.

    Raises:
        DocumentError: The document is not a verdict, or its digest or action does not follow.
    """
    verdict = value_of(Verdict, document)
    if not is_intact(verdict):
        raise DocumentError("verdict does not follow from its results")
    return verdict
