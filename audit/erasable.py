"""Whether a person's values may be erased yet: statutes and holds, and what goes on record of them.

Not here: erasing (`erasure`), how long a class is kept (`retention`), what a hold covers (`holds`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from audit.disclosures import Kept
from audit.errors import ErasureRefusedError
from audit.holds import Hold
from audit.kinds import Kind
from audit.personal import fields_of
from audit.record import Draft, parse_payload
from audit.retention import RULES, Retention, Years, day_of, kept_until_us, years_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A person's values that no statute and no hold keeps, when that was judged.

    Attributes:
        years: retention by class of value, as the installation applied it.
        expired: the record that a statute does not keep them any more, where one did.
    """

    subject: str
    kept: tuple[Kept, ...]
    years: Mapping[str, int]
    expired: Draft | None


def judge(
    kept: Mapping[str, tuple[Kept, ...]],
    *,
    holds: Iterable[Hold],
    messages_of: Callable[[str], set[tuple[str, str]]],
    years: Years,
    now_us: int,
) -> tuple[Due, ...]:
    """Return what may be erased of persons; of all of them, or it is refused.

    Args:
        kept: the values, by pseudonym.
        holds: those in force.
        messages_of: (stream, key) of the broker's messages that a decision's reports say.
        years: retention by class.
        now_us: microseconds UTC.

    Raises:
        ErasureRefusedError: a statute or a hold keeps a value; of several persons it says whose.
    """
    in_force = tuple(holds)
    judged: list[Due] = []
    refusals: list[str] = []
    for subject, values in kept.items():
        try:
            _refuse_held(subject, values, in_force, messages_of)
            judged.append(_due(subject, values, years, now_us))
        except ErasureRefusedError as error:
            refusals.append(f"{subject}: {error}" if len(kept) > 1 else str(error))
    if len(kept) > 1 and refusals:
        refusals.append("nobody of them is erased")
    if refusals:
        raise ErasureRefusedError("; ".join(refusals))
    return tuple(judged)


def _due(subject: str, kept: tuple[Kept, ...], years: Years, now_us: int) -> Due:
    classes = {one: retention_of(one) for one in kept}
    expired: list[tuple[Kept, str, int]] = []
    for one, name in classes.items():
        ends_us = kept_until_us(one.recorded_at_us, name, years)
        if ends_us > now_us:
            raise ErasureRefusedError(_why(one, name, ends_us))
        if ends_us > one.recorded_at_us:
            expired.append((one, name, ends_us))
    applied = {name: years_of(name, years) for name in sorted(set(classes.values()))}
    return Due(
        subject=subject, kept=kept, years=applied, expired=_expired(subject, expired, applied)
    )


def retention_of(kept: Kept) -> str:
    """Return the class of a value as its record names it."""
    fields = {one.index: one.retention for one in fields_of(parse_payload(kept.payload))}
    return fields.get(kept.row.position, "unknown")


def _expired(
    subject: str, found: list[tuple[Kept, str, int]], years: Mapping[str, int]
) -> Draft | None:
    if not found:
        return None
    classes = sorted({name for _, name, _ in found})
    return Draft(
        stream="control",
        kind=Kind.RETENTION_EXPIRED,
        payload={
            "subject": subject,
            "classes": [*classes],
            "records": len({one.seq for one, _, _ in found}),
            "newest_us": max(one.recorded_at_us for one, _, _ in found),
            "kept_until_us": max(ends_us for _, _, ends_us in found),
            "retention_years": {name: years[name] for name in classes},
        },
        actor="gateway",
        idem_key=f"retention_expired:{subject}",
    )


def _refuse_held(
    subject: str,
    kept: Iterable[Kept],
    holds: Iterable[Hold],
    messages_of: Callable[[str], set[tuple[str, str]]],
) -> None:
    messages = {(one.stream, one.idem_key) for one in kept}
    streams = frozenset(stream for stream, _ in messages)
    for hold in holds:
        stream = hold.decision_stream
        linked = stream is not None and bool(messages & messages_of(stream))
        if linked or hold.covers(subject, streams):
            raise ErasureRefusedError(
                f"{hold.hold_id} (record {hold.seq}) on {hold.scope} keeps it;"
                " somebody else than who placed it must lift it first"
            )


def _why(kept: Kept, name: str, ends_us: int) -> str:
    known = name in set(Retention)
    source = RULES[Retention(name)].source if known else "no class: kept as the longest one"
    return (
        f"record {kept.seq} ({name}) must be kept until {day_of(ends_us)}: {source};"
        " years are a setting (COUNTERSIGN_RETENTION__...)"
    )
