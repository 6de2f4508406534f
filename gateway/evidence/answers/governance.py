"""Answers about the rules of the house: limits, changes, keys, drills, what is gone.

They are folded from records alone; whoever has the log finds the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.clock import range_us
from gateway.evidence.answers.answer import Fact, RecordedAnswer, when
from gateway.installation.keys.roles import MAY, Role
from gateway.walk.journal.control.kill import KillDrilled
from gateway.walk.journal.control.oversight.overrides import (
    OVERRIDE_KINDS,
    OverrideEnded,
    OverrideGranted,
    override_in,
)
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.decision import digest_of
from gateway.walk.journal.run import ModelLoaded, PolicyActivated
from gateway.walk.projections.kill_times import drill_line

VERIFY: Final = "countersign verify --key KEY; one record: countersign prove SEQ"
CHANGE_KINDS: Final = (
    Kind.POLICY_ACTIVATED,
    Kind.POLICY_ANNOUNCED,
    Kind.MODEL_LOADED,
    Kind.DIGESTS_REGISTERED,
    Kind.PROMOTION_TESTED,
    Kind.MODEL_PROMOTED,
    Kind.MODE_ENTERED,
    Kind.AGENT_SCOPED,
    Kind.OFFICER_KEY_CHANGED,
    Kind.KEY_ROTATED,
    Kind.KEY_REVOKED,
    Kind.FAIRNESS_AGREED,
    Kind.JUSTIFICATION_ENTERED,
)
GONE: Final = {
    Kind.SUBJECT_ERASED: "personal values of a person were erased",
    Kind.RETENTION_EXPIRED: "personal values were erased when their retention ended",
    Kind.RECORD_DISAVOWED: "a row that the gateway did not write was disavowed",
    Kind.LEDGER_RESTORED: "the ledger was restored from a backup",
    Kind.KEY_DESTROYED: "a key was destroyed",
}
SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """A number of a policy, as its document has it."""

    path: str
    value: int
    unit: str
    owner: str
    rationale: str


def limit_answer(reader: LedgerReader, name: str) -> RecordedAnswer:
    """Answer who set the limits whose name contains this text, when they changed, and why."""
    facts: list[Fact] = []
    before: dict[str, _Limit] = {}
    for record in reader.records(stream="control", kinds=(Kind.POLICY_ACTIVATED,)):
        policy = PolicyActivated.of(record)
        now = {path: one for path, one in _limits(policy.policy) if name in path}
        for path, limit in now.items():
            if before.get(path) == limit:
                continue
            was = f", before {before[path].value}" if path in before else ""
            text = (
                f"{path} is {limit.value} {limit.unit}{was}; owner: {limit.owner};"
                f" why: {limit.rationale}; signed by {', '.join(policy.signed_by) or 'nobody'}"
            )
            facts.append(Fact(text=text, record=record))
        text = "the policy in force has no such number any more"
        facts += [Fact(text=f"{path}: {text}", record=record) for path in before.keys() - now]
        before = now
    return RecordedAnswer(
        question=f"Who set the limit {name}, and why?",
        facts=tuple(facts),
        nothing=f"no policy on record has a number whose name contains {name}",
        check=VERIFY,
    )


def changes_answer(reader: LedgerReader, since: str) -> RecordedAnswer:
    """Answer what changed in policy, model, keys, scopes and criteria from a UTC day on."""
    begins, _ = range_us(since, since)
    facts: list[Fact] = []
    last: dict[str, Any] = {}
    for record in reader.records(stream="control", kinds=CHANGE_KINDS):
        for subject, value in _state_of(record):
            if last.get(subject, {}) != value and record.recorded_at_us >= begins:
                facts.append(Fact(text=_changed(subject, last.get(subject), value), record=record))
            last[subject] = value
    return RecordedAnswer(
        question=f"What changed since {since}?",
        facts=tuple(facts),
        nothing="nothing: policy, model, mode, keys, scopes, criteria and reasons are as they were",
        check=VERIFY,
    )


def drill_answer(reader: LedgerReader) -> RecordedAnswer:
    """Answer when the kill was last tested, and how fast it was; presses count as tests."""
    kinds = (Kind.KILL_DRILLED, Kind.KILL_PRESSED)
    found = reader.records(stream="control", kinds=kinds, newest_first=True, limit=1)
    facts = tuple(Fact(text=_kill_text(record), record=record) for record in found)
    return RecordedAnswer(
        question="When was the kill last tested, and how fast was it?",
        facts=facts,
        nothing="never: countersign kill --drill --reason '...' tests it",
        check=f"{VERIFY}; more of a press: countersign kill-report",
    )


def overrides_answer(reader: LedgerReader) -> RecordedAnswer:
    """Answer which limits were lifted once, by whom and why, and for which order."""
    facts: list[Fact] = []
    granted: dict[str, str] = {}
    for record in reader.records(stream="control", kinds=OVERRIDE_KINDS):
        if record.kind is Kind.OVERRIDE_GRANTED:
            one = OverrideGranted.of(record)
            granted[one.override_id] = f"{one.rule_id} {one.check}"
            text = (
                f"{one.rule_id} {one.check} may be lifted once: {one.side} at most"
                f" {one.qty_max_lots} lots of {one.instrument} in {one.account}, from"
                f" {when(one.not_before_us)} until {when(one.expires_us)}; why: {one.reason};"
                f" signed by {' and '.join(sorted(one.signatures))}, put on record by"
                f" {one.granted_by}"
            )
            facts.append(Fact(text=text, record=record))
        else:
            ended = OverrideEnded.of(record)
            text = f"override {ended.override_id} ended: {ended.outcome}, by {ended.ended_by}"
            facts.append(Fact(text=text, record=record))
    facts += _uses(reader, granted, facts)
    return RecordedAnswer(
        question="Which limits were lifted once, by whom, and for which order?",
        facts=tuple(sorted(facts, key=lambda one: -1 if one.record is None else one.record.seq)),
        nothing="none: no exceptional override is on record",
        check=f"{VERIFY} --officer risk.pub --officer compliance.pub checks signatures and use",
    )


def deletions_answer(reader: LedgerReader) -> RecordedAnswer:
    """Answer whether anything was deleted: what was erased on record, and whether a row lacks."""
    size, held = reader.log_size(), sum(reader.kind_counts().values())
    whole = f"all {size} records are there: numbers 0 to {size - 1}, none is missing"
    if held != size:
        whole = f"{size - held} of {size} records are missing: run countersign fsck"
    facts = [Fact(text=whole)]
    erased = reader.records(stream="control", kinds=tuple(GONE))
    facts.extend(Fact(text=GONE[record.kind], record=record) for record in erased)
    return RecordedAnswer(
        question="Was anything deleted?",
        facts=tuple(facts),
        nothing="",
        check="countersign verify --key KEY --checkpoint KEPT: it names the first missing record;"
        " an older state of the whole ledger shows against a checkpoint that somebody else kept",
    )


def access_answer(reader: LedgerReader) -> RecordedAnswer:
    """Answer who may do what: each role, and each agent's newest scope on record."""
    facts = [Fact(text=f"role {role.value} may {_may(role)}") for role in Role]
    facts.append(
        Fact(text="both officers (risk and compliance) together: policy, release, adjustments")
    )
    newest: dict[str, Record] = {}
    for record in reader.records(stream="control", kinds=(Kind.AGENT_SCOPED,)):
        newest[AgentScoped.of(record).key] = record
    for key, record in sorted(newest.items()):
        scoped = AgentScoped.of(record)
        told = "; ".join(f"{name} {value}" for name, value in scoped.scope.items() if value)
        facts.append(Fact(text=f"key {key}, account {scoped.account}: {told}", record=record))
    return RecordedAnswer(
        question="Who may do what?",
        facts=tuple(facts),
        nothing="",
        check="docs/access.md, route by route, held by a test; holders: countersign key list",
    )


def _uses(
    reader: LedgerReader, granted: Mapping[str, str], facts: Sequence[Fact]
) -> Iterator[Fact]:
    """Yield the verdicts that used an override; `facts` name the first grant."""
    seqs = [fact.record.seq for fact in facts if fact.record is not None]
    if not seqs:
        return
    for record in reader.records(kinds=(Kind.VERDICT_GIVEN,), after_seq=min(seqs)):
        used = override_in(record)
        if used is not None:
            limit = granted.get(used.override_id, "what is not on record")
            name = record.stream.partition("/")[2]
            text = f"decision {name} used override {used.override_id}, for {limit}"
            yield Fact(text=text, record=record)


def _limits(document: object, path: str = "") -> Iterator[tuple[str, _Limit]]:
    """Yield each number of a policy's document with its path."""
    if not isinstance(document, Mapping):
        return
    if {"value", "unit"} <= document.keys():
        texts = {name: str(document.get(name, "")) for name in ("unit", "owner", "rationale")}
        yield path, _Limit(path=path, value=int(document["value"]), **texts)
        return
    for name, below in document.items():
        yield from _limits(below, f"{path}.{name}" if path else str(name))


def _listed(document: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each named entry of a policy's lists with the digest of what it says."""
    if not isinstance(document, Mapping):
        return
    for name, below in document.items():
        place = f"{path}.{name}" if path else str(name)
        yield from _listed(below, place)
        for one in below if isinstance(below, list | tuple) else ():
            if isinstance(one, Mapping) and "name" in one:
                yield f"{place}.{one['name']}", digest_of(dict(one))[:12]


def _state_of(record: Record) -> Iterator[tuple[str, Any]]:
    """Yield what a record says is so from now on: subject and value."""
    match record.kind:
        case Kind.POLICY_ACTIVATED:
            policy = PolicyActivated.of(record)
            yield "policy", {path: one.value for path, one in _limits(policy.policy)}
            yield "lists of the policy", dict(_listed(policy.policy))
        case Kind.MODEL_LOADED:
            yield "model weights", ModelLoaded.of(record).manifest
        case Kind.AGENT_SCOPED:
            scoped = AgentScoped.of(record)
            yield f"scope of {scoped.key}", scoped.scope_digest
        case kind:
            yield kind.value.replace("_", " "), record.seq


def _changed(subject: str, before: Any, value: Any) -> str:  # noqa: ANN401 - of any subject
    if not isinstance(value, dict):
        if isinstance(value, int):
            return subject
        return f"{subject}: {value}" + (f", before {before}" if before else ", for the first time")
    if not before:
        told = "numbers" if subject == "policy" else "entries"
        return f"{subject}: {len(value)} {told}, for the first time"
    names = sorted(
        name for name in before.keys() | value.keys() if before.get(name) != value.get(name)
    )
    told = ", ".join(
        f"{name} {before.get(name, 'none')} -> {value.get(name, 'none')}"
        for name in names[:SHOWN_MAX]
    )
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return f"{subject}: {told or 'other words, the same numbers'}{more}"


def _kill_text(record: Record) -> str:
    if record.kind is Kind.KILL_DRILLED:
        return f"{drill_line(record)}; reason: {KillDrilled.of(record).reason}"
    return f"pressed at {when(record.recorded_at_us)}: countersign kill-report has its times"


def _may(role: Role) -> str:
    return ", ".join(action for action, roles in MAY.items() if role in roles)
