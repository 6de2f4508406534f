"""Whether statutes and holds allow a person's values to be erased yet.

Sound records decide, for every value that they name; columns and stored values do not, because both
can be changed or removed.

Not here: erasing (`erasure`), retention periods (`retention`), the scope of a hold (`holds`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from audit.errors import ErasureRefusedError
from audit.privacy.holds import Hold, active
from audit.privacy.retention import (
    RULES,
    Retention,
    Years,
    day_of,
    kept_until_us,
    years_of,
    years_on_record,
)
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.records.record_kind import Filing, RecordKind
from audit.records.sound import checked, commitments_of, named_by

_HOLDS = frozenset({Kind.HOLD_PLACED, Kind.HOLD_LIFTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalValue:
    """One personal value, as its record names it.

    Attributes:
        retention: its class; `unknown` if a value is stored that the record does not name.
        years: the retention period that its run recorded, or 0.
    """

    seq: int
    position: int
    retention: str
    stream: str
    idem_key: str
    recorded_at_us: int
    years: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What sound records say of persons and holds.

    Attributes:
        by_subject: the values of each person, by pseudonym.
        held: the records that place and lift holds.
        years: retention by class, as the last run recorded it.
    """

    by_subject: Mapping[str, tuple[PersonalValue, ...]]
    held: tuple[Record, ...] = ()
    years: Years = field(default_factory=dict)

    @property
    def holds(self) -> dict[str, Hold]:
        """The holds in force, by id."""
        return active(self.held)


class Values(Protocol):
    """The stored values and the records, as `Disclosures` reads them."""

    def places_of(self, subjects: Collection[str]) -> Collection[tuple[str, int, int]]:
        """Return (subject, seq, position) of every stored value of persons."""

    def size(self) -> int:
        """Return the log's size."""

    def records(self, subjects: Collection[str], among: range) -> Iterable[Record]:
        """Yield the records among these numbers that an erasure is judged by, in order."""


class Inquiry:
    """One erasure's reading of the log: all of it the first time, then only what was added.

    The log only grows, so a record counts as it was first read, even if it is changed meanwhile. A
    value stored meanwhile for a record already read, which did not name it, refuses the erasure.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        self._read = 0
        self._known = Findings(by_subject={})

    def findings(self, subjects: Collection[str]) -> Findings:
        """Return what the log says by now of pseudonyms; the first call must name them all.

        Raises:
            ErasureRefusedError: a record does not match its leaf, or a value has no record.
            LedgerError: the database does not answer.
        """
        stored = self._values.places_of(subjects)
        size = self._values.size()  # after the values: each has its record below it
        among = range(self._read, max(size, self._read))
        records = self._values.records(subjects, among)
        self._known = _findings_of(records, stored, subjects, self._known)
        self._read = among.stop
        return self._known


def _findings_of(
    records: Iterable[Record],
    stored: Collection[tuple[str, int, int]],
    subjects: Collection[str],
    known: Findings,
) -> Findings:
    """Return `known`, of the records before these, with what these records say."""
    if any(None in place for place in stored):  # possible once a constraint was dropped
        raise ErasureRefusedError(
            "a value is stored without the number of its record or its place there: the ledger was"
            " altered; run `countersign fsck`"
        )
    found = {subject: [*known.by_subject.get(subject, ())] for subject in subjects}
    read = {(name, one.seq, one.position) for name, values in found.items() for one in values}
    by_seq: dict[int, dict[int, str]] = {}
    for subject, seq, position in frozenset(stored) - read:
        by_seq.setdefault(seq, {})[position] = subject
    looked_for = [subject.encode() for subject in subjects]
    held, years = [*known.held], known.years
    for record in checked(records):
        if record.kind in _HOLDS:
            held.append(record)
        elif record.kind is Kind.RUN_STARTED:
            years = years_on_record(record.body)
        kept = by_seq.pop(record.seq, {})
        if not kept and not any(one in record.payload for one in looked_for):
            continue
        fields = named_by(record.payload, commitments_of(record))
        named = dict.fromkeys(kept.items(), "unknown")
        named |= {(n, one.subject): one.retention for n, one in fields.items()}
        for (n, subject), retention in sorted(named.items()):
            if subject in found:
                found[subject].append(_value(record, n, retention, years))
    if by_seq:
        raise ErasureRefusedError(
            f"a value is stored for record {min(by_seq)}, which is not there: the ledger was"
            " altered; run `countersign fsck`"
        )
    by_subject = {subject: tuple(values) for subject, values in found.items()}
    return Findings(by_subject=by_subject, held=tuple(held), years=years)


def _value(record: Record, position: int, retention: str, years: Years) -> PersonalValue:
    return PersonalValue(
        seq=record.seq,
        position=position,
        retention=retention,
        stream=record.stream,
        idem_key=record.idem_key,
        recorded_at_us=record.recorded_at_us,
        years=years_of(retention, years),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A person's values that no statute and no hold keeps.

    Attributes:
        years: retention by class of value, as applied.
        expired: the draft of the record that a statute's period is over, if one applied.
    """

    subject: str
    values: tuple[PersonalValue, ...]
    years: Mapping[str, int]
    expired: Draft | None


def judge(
    findings: Findings,
    *,
    messages_of: Callable[[str], set[tuple[str, str]]],
    years: Years,
    now_us: int,
) -> tuple[Due, ...]:
    """Return what may be erased, of all these persons or of none.

    `messages_of` gives (stream, key) of the broker messages of a decision's stream; `years` is
    retention by class, and longer ones in the record of a value's run win; `now_us` is UTC.

    Raises:
        ErasureRefusedError: a statute or a hold keeps a value; of several persons it names each.
    """
    in_force = tuple(findings.holds.values())
    judged: list[Due] = []
    refusals: list[str] = []
    several = len(findings.by_subject) > 1
    for subject, values in findings.by_subject.items():
        try:
            _refuse_held(subject, values, in_force, messages_of)
            judged.append(_due(subject, values, years, now_us))
        except ErasureRefusedError as error:
            refusals.append(f"{subject}: {error}" if several else str(error))
    if several and refusals:
        refusals.append("none of them is erased")
    if refusals:
        raise ErasureRefusedError("; ".join(refusals))
    return tuple(judged)


def _due(subject: str, values: tuple[PersonalValue, ...], years: Years, now_us: int) -> Due:
    expired: list[tuple[PersonalValue, int]] = []
    applied: dict[str, int] = {}
    for one in values:
        name = one.retention
        span = max(years_of(name, years), one.years)
        applied[name] = max(span, applied.get(name, 0))
        ends_us = kept_until_us(one.recorded_at_us, name, {name: span})
        if ends_us > now_us:
            raise ErasureRefusedError(_why(one, ends_us))
        if ends_us > one.recorded_at_us:
            expired.append((one, ends_us))
    applied = dict(sorted(applied.items()))
    draft = _expired(subject, expired, applied)
    return Due(subject=subject, values=values, years=applied, expired=draft)


class RetentionExpired(RecordKind, frozen=True, kw_only=True):
    """Values of a person that no longer have to be kept."""

    filing = Filing("control", "retention_expired:{subject}", early="retention_years")

    subject: str
    classes: list[str]
    records: int
    newest_us: int
    kept_until_us: int
    retention_years: dict[str, int]


def _expired(
    subject: str, found: list[tuple[PersonalValue, int]], years: Mapping[str, int]
) -> Draft | None:
    if not found:
        return None
    classes = sorted({one.retention for one, _ in found})
    return RetentionExpired(
        subject=subject,
        classes=classes,
        records=len({one.seq for one, _ in found}),
        newest_us=max(one.recorded_at_us for one, _ in found),
        kept_until_us=max(ends_us for _, ends_us in found),
        retention_years={name: years[name] for name in classes},
    ).draft()


def _refuse_held(
    subject: str,
    values: Iterable[PersonalValue],
    holds: Iterable[Hold],
    messages_of: Callable[[str], set[tuple[str, str]]],
) -> None:
    messages = {(one.stream, one.idem_key) for one in values}
    streams = frozenset(stream for stream, _ in messages)
    for hold in holds:
        stream = hold.decision_stream
        linked = stream is not None and bool(messages & messages_of(stream))
        if linked or hold.covers(subject, streams):
            raise ErasureRefusedError(
                f"{hold.hold_id} (record {hold.seq}) on {hold.scope} keeps it;"
                " somebody else than the person who placed it must lift it first"
            )


def _why(value: PersonalValue, ends_us: int) -> str:
    name = value.retention
    known = name in set(Retention)
    source = RULES[Retention(name)].source if known else "unknown class, kept as the longest one"
    return (
        f"record {value.seq} ({name}) must be kept until {day_of(ends_us)}: {source};"
        " the years are a setting (COUNTERSIGN_RETENTION__...), and fewer years count only for"
        " values recorded after the next start"
    )
