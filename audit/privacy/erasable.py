"""Whether a person's values may be erased yet: statutes and holds, and what goes on record of them.

Judged by what sound records say, of every value that they name: neither columns nor the stored
values decide, for both can be changed or taken away.

Not here: erasing (`erasure`), how long a class is kept (`retention`), what a hold covers (`holds`).
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
from audit.records.sound import checked, commitments_of, named_by

_HOLDS = frozenset({Kind.HOLD_PLACED, Kind.HOLD_LIFTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One personal value, as its record says it.

    Attributes:
        retention: its class; `unknown` where a value is stored that the record does not name.
        years: for which it was to be kept, by what its run has on record; 0 if that is nothing.
    """

    seq: int
    position: int
    retention: str
    stream: str
    idem_key: str
    recorded_at_us: int
    years: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What sound records say of persons, by pseudonym, and of holds.

    Attributes:
        said: the values of each person.
        held: the records that place and lift holds.
        years: retention by class, as the last run has it on record.
    """

    said: Mapping[str, tuple[Said, ...]]
    held: tuple[Record, ...] = ()
    years: Years = field(default_factory=dict)

    @property
    def holds(self) -> dict[str, Hold]:
        """The holds in force, by id."""
        return active(self.held)


class Values(Protocol):
    """The stored values and their records, as far as a judgement needs them."""

    def places_of(self, subjects: Collection[str]) -> Collection[tuple[str, int, int]]:
        """Return (subject, seq, position) of all that is kept of persons."""
        ...

    def size(self) -> int:
        """Return how many records the log has."""
        ...

    def records(self, subjects: Collection[str], among: range) -> Iterable[Record]:
        """Yield the records among these numbers that persons are judged by, in order."""
        ...


class Inquiry:
    """One erasure's reading of the log: whole the first time, then only what was added since.

    A record that was read once cannot become another: the log only grows. One that is changed
    meanwhile counts as it was read, and as sound; a value that appears meanwhile for a record
    that did not name it has no record, and refuses the erasure.
    """

    def __init__(self, values: Values) -> None:
        """Read nothing yet."""
        self._values = values
        self._read = 0
        self._known = Evidence(said={})

    def evidence(self, subjects: Collection[str]) -> Evidence:
        """Return what there is by now to judge an erasure of these persons by.

        Args:
            subjects: their pseudonyms; the first time all that are ever asked about.

        Raises:
            ErasureRefusedError: a record is not what was recorded, or a value has none.
            LedgerError: the database does not answer.
        """
        stored = self._values.places_of(subjects)
        size = self._values.size()  # after the values: each has its record below it
        among = range(self._read, max(size, self._read))
        records = self._values.records(subjects, among)
        self._known = evidence_of(records, stored, subjects, self._known)
        self._read = among.stop
        return self._known


def evidence_of(
    records: Iterable[Record],
    stored: Collection[tuple[str, int, int]],
    subjects: Collection[str],
    known: Evidence,
) -> Evidence:
    """Return what there is to judge an erasure of these persons by.

    Args:
        records: all with commitments, all holds and runs, those of the stored values; in order.
        stored: (subject, seq, position) of their values.
        subjects: their pseudonyms.
        known: what the records before these said.

    Raises:
        ErasureRefusedError: a record is not what was recorded, or a value has none.
    """
    if any(None in place for place in stored):  # a dropped constraint let it in
        raise ErasureRefusedError(
            "a value is stored without the number of its record or its place there: the ledger was"
            " altered; run `countersign fsck`"
        )
    said = {subject: [*known.said.get(subject, ())] for subject in subjects}
    read = {(name, one.seq, one.position) for name, values in said.items() for one in values}
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
        found = dict.fromkeys(kept.items(), "unknown")
        found |= {(n, one.subject): one.retention for n, one in fields.items()}
        for (n, subject), retention in sorted(found.items()):
            if subject in said:
                said[subject].append(_said(record, n, retention, years))
    if by_seq:
        raise ErasureRefusedError(
            f"a value is stored for record {min(by_seq)}, which is not there: the ledger was"
            " altered; run `countersign fsck`"
        )
    return Evidence(
        said={one: tuple(values) for one, values in said.items()}, held=tuple(held), years=years
    )


def _said(record: Record, position: int, retention: str, years: Years) -> Said:
    return Said(
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
    """A person's values that no statute and no hold keeps, when that was judged.

    Attributes:
        years: retention by class of value, as it was applied.
        expired: the record that a statute does not keep them any more, where one did.
    """

    subject: str
    said: tuple[Said, ...]
    years: Mapping[str, int]
    expired: Draft | None


def judge(
    evidence: Evidence,
    *,
    messages_of: Callable[[str], set[tuple[str, str]]],
    years: Years,
    now_us: int,
) -> tuple[Due, ...]:
    """Return what may be erased of persons; of all of them, or it is refused.

    Args:
        evidence: the values, and the holds in force.
        messages_of: (stream, key) of the broker's messages that a decision's reports say.
        years: retention by class; where a value's run had longer ones on record, those count.
        now_us: microseconds UTC.

    Raises:
        ErasureRefusedError: a statute or a hold keeps a value; of several persons it says whose.
    """
    in_force = tuple(evidence.holds.values())
    judged: list[Due] = []
    refusals: list[str] = []
    several = len(evidence.said) > 1
    for subject, values in evidence.said.items():
        try:
            _refuse_held(subject, values, in_force, messages_of)
            judged.append(_due(subject, values, years, now_us))
        except ErasureRefusedError as error:
            refusals.append(f"{subject}: {error}" if several else str(error))
    if several and refusals:
        refusals.append("nobody of them is erased")
    if refusals:
        raise ErasureRefusedError("; ".join(refusals))
    return tuple(judged)


def _due(subject: str, said: tuple[Said, ...], years: Years, now_us: int) -> Due:
    expired: list[tuple[Said, int]] = []
    applied: dict[str, int] = {}
    for one in said:
        name = one.retention
        span = max(years_of(name, years), one.years)
        applied[name] = max(span, applied.get(name, 0))
        ends_us = kept_until_us(one.recorded_at_us, name, {name: span})
        if ends_us > now_us:
            raise ErasureRefusedError(_why(one, ends_us))
        if ends_us > one.recorded_at_us:
            expired.append((one, ends_us))
    applied = dict(sorted(applied.items()))
    return Due(
        subject=subject, said=said, years=applied, expired=_expired(subject, expired, applied)
    )


def _expired(subject: str, found: list[tuple[Said, int]], years: Mapping[str, int]) -> Draft | None:
    if not found:
        return None
    classes = sorted({one.retention for one, _ in found})
    return Draft(
        stream="control",
        kind=Kind.RETENTION_EXPIRED,
        payload={
            "subject": subject,
            "classes": [*classes],
            "records": len({one.seq for one, _ in found}),
            "newest_us": max(one.recorded_at_us for one, _ in found),
            "kept_until_us": max(ends_us for _, ends_us in found),
            "retention_years": {name: years[name] for name in classes},
        },
        actor="gateway",
        idem_key=f"retention_expired:{subject}",
    )


def _refuse_held(
    subject: str,
    said: Iterable[Said],
    holds: Iterable[Hold],
    messages_of: Callable[[str], set[tuple[str, str]]],
) -> None:
    messages = {(one.stream, one.idem_key) for one in said}
    streams = frozenset(stream for stream, _ in messages)
    for hold in holds:
        stream = hold.decision_stream
        linked = stream is not None and bool(messages & messages_of(stream))
        if linked or hold.covers(subject, streams):
            raise ErasureRefusedError(
                f"{hold.hold_id} (record {hold.seq}) on {hold.scope} keeps it;"
                " somebody else than who placed it must lift it first"
            )


def _why(said: Said, ends_us: int) -> str:
    name = said.retention
    known = name in set(Retention)
    source = RULES[Retention(name)].source if known else "no class: kept as the longest one"
    return (
        f"record {said.seq} ({name}) must be kept until {day_of(ends_us)}: {source};"
        " years are a setting (COUNTERSIGN_RETENTION__...), and fewer count only for what is"
        " recorded after a start with them"
    )
