"""A trial: recorded cases judged again under a draft, as what both officers sign; pure.

Not here: how a case is made again from its records, and who put a trial on record.

Rules:
- A trial names the log, the draft, the policy that the draft would follow, every verdict between
  its first and its last record, and those decisions of the range that do not replay.
- Where the action differs it says by which rules, with both margins of each; for every check it
  keeps the smallest margin under each policy, if they differ.
- Its digest is the SHA-256 of its canonical bytes, so a stored trial is found under that name.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from risk.errors import PolicyError, RiskError
from risk.forms.canonical import JSON, Reader, canonical_bytes, number
from risk.policy.policy import Policy, policy_digest
from risk.policy.signing import SignedPolicy
from risk.verdict import Action, Verdict

FORMAT: Final = "countersign.policy.trial/1"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSaid:
    """What a trial's document says of itself, without its margins.

    Attributes:
        log: The log's id: its origin and the leaf of its first record.
        verdicts: For each verdict its record, the action on record and that under the draft.
        untried: Decisions of the range that did not replay.
    """

    log: str
    draft: str
    follows: str
    verdicts: tuple[tuple[int, str, str], ...]
    untried: tuple[str, ...]

    @property
    def first_seq(self) -> int:
        """The first verdict's record; -1 if nothing was judged yet."""
        return self.verdicts[0][0] if self.verdicts else -1

    @property
    def last_seq(self) -> int:
        """The last verdict's record; -1 if nothing was judged yet."""
        return self.verdicts[-1][0] if self.verdicts else -1

    @property
    def flips(self) -> int:
        """How many verdicts differ."""
        return sum(before != after for _, before, after in self.verdicts)


def trial_document(
    log: str, draft: Policy, follows: str, found: Sequence[Retried], untried: Iterable[str]
) -> dict[str, JSON]:
    """Return a trial as a document; the order in which cases were tried does not matter."""
    cases = sorted(found, key=lambda one: one.seq)
    return {
        "format": FORMAT,
        "log": log,
        "draft": policy_digest(draft),
        "follows": follows,
        "verdicts": [[one.seq, one.recorded.action.name, one.drafted.action.name] for one in cases],
        "untried": [*sorted(untried)],
        "flips": [_flip(one) for one in cases if one.differs],
        "margins": _smallest(cases),
    }


def trial_bytes(document: Mapping[str, JSON]) -> bytes:
    """Return the bytes of a trial, as they are stored."""
    return canonical_bytes(dict(document))


def trial_digest(document: Mapping[str, JSON]) -> str:
    """Return the digest that both officers sign (hex SHA-256)."""
    return hashlib.sha256(trial_bytes(document)).hexdigest()


def trial_said(document: object) -> TrialSaid:
    """Read what a trial says of itself.

    Raises:
        PolicyError: It is no trial, or its verdicts are not in the order of their records.
    """
    try:
        read = Reader(document)
        if read.text("format") != FORMAT:
            raise PolicyError("not a trial of this format")
        said = TrialSaid(
            log=read.text("log"),
            draft=read.text("draft"),
            follows=read.text("follows"),
            verdicts=tuple(_verdict(row) for row in read.items("verdicts")),
            untried=tuple(_text(one) for one in read.items("untried")),
        )
        read.items("flips")
        read.items("margins")
        read.done()
    except RiskError as error:
        raise PolicyError(f"not a trial: {error}") from None
    seqs = [seq for seq, _, _ in said.verdicts]
    if sorted(set(seqs)) != seqs:
        raise PolicyError("not a trial: its verdicts are not in the order of their records")
    return said


def signed_trial(bundle: SignedPolicy) -> str:
    """Return the trial that every signature of a policy names; "" if they name none, or differ."""
    named = {one.trial for one in bundle.signatures}
    return named.pop() if len(named) == 1 else ""


def _flip(one: Retried) -> JSON:
    """Return one verdict that differs: by which checks, with the margins before and after."""
    before = {(r.rule_id.value, r.check): r for r in one.recorded.results}
    after = {(r.rule_id.value, r.check): r for r in one.drafted.results}
    named = dict.fromkeys(
        (r.rule_id.value, r.check) for r in (*one.recorded.worst, *one.drafted.worst)
    )
    checks: list[JSON] = [
        [rule, check, _margin(before.get((rule, check))), _margin(after.get((rule, check)))]
        for rule, check in named
    ]
    return {"seq": one.seq, "decision_id": one.decision_id, "checks": checks}


def _smallest(cases: Iterable[Retried]) -> list[JSON]:
    """Return the smallest margin of each check under both policies, where they differ."""
    before: dict[tuple[str, str], int] = {}
    after: dict[tuple[str, str], int] = {}
    for one in cases:
        for smallest, verdict in ((before, one.recorded), (after, one.drafted)):
            for result in verdict.results:
                if result.margin is not None:
                    key = (result.rule_id.value, result.check)
                    smallest[key] = min(result.margin, smallest.get(key, result.margin))
    return [
        [*key, _number(before.get(key)), _number(after.get(key))]
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _margin(result: object) -> JSON:
    return _number(getattr(result, "margin", None))


def _number(value: int | None) -> JSON:
    return None if value is None else number(value)


def _verdict(row: object) -> tuple[int, str, str]:
    match row:
        case [int(seq), str(before), str(after)] if (
            type(seq) is int and seq >= 0 and {before, after} <= set(Action.__members__)
        ):
            return seq, before, after
        case _:
            raise PolicyError("a verdict is [record, action, action under the draft]")


def _text(value: object) -> str:
    if type(value) is not str:
        raise PolicyError("a decision's id is text")
    return value
