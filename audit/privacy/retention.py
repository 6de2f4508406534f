"""Retention periods: how long a personal value must be kept before it may be erased. Pure.

Statutory retention comes before the right to erasure (GDPR art. 17(3)(b)). Each personal field
names a class below. Settings may change the years; each run records them, and a value is kept at
least as long as they said when it was recorded. The figures are defaults for counsel to confirm,
not legal advice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Retention(StrEnum):
    """The classes of personal fields."""

    ORDER = "order"
    COMMUNICATION = "communication"
    SUPERVISION = "supervision"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """A class, the statute that keeps it, and the default years from the record's time."""

    years: int
    what: str
    source: str


RULES: Mapping[Retention, RetentionRule] = {
    Retention.ORDER: RetentionRule(
        years=6,
        what="who is named in orders, intents and executions",
        source="MiFIR art. 25(1): 5 years; SEC rule 17a-4(a): 6 years, taken as the longer",
    ),
    Retention.COMMUNICATION: RetentionRule(
        years=5,
        what="words of a person that relate to a transaction",
        source="MiFID II art. 16(7): 5 years, up to 7 where the authority asks",
    ),
    Retention.SUPERVISION: RetentionRule(
        years=5,
        what="who approved, stopped or released",
        source="MiFID II art. 16(6), Delegated Regulation 2017/565 art. 72: 5 years, up to 7",
    ),
    Retention.NONE: RetentionRule(
        years=0,
        what="what no statute orders to be kept",
        source="GDPR art. 5(1)(e): no longer than is necessary",
    ),
}
"""The table; the gateway's settings may change the years."""

YEARS_FIELD = "retention_years"
"""The field of a run's recorded `settings` with the years by class."""
Years = Mapping[str, int]


def years_of(retention: str, years: Years) -> int:
    """Return a class's years; an undeclared class is kept as long as the longest declared one."""
    return max(0, years.get(retention, max(years.values(), default=0)))


def years_on_record(body: Mapping[str, object]) -> Years:
    """Return the years by class in a run's record, or an empty mapping."""
    settings = body.get("settings")
    said = settings.get(YEARS_FIELD) if isinstance(settings, Mapping) else None
    if not isinstance(said, Mapping):
        return {}
    return {str(name): years for name, years in said.items() if type(years) is int and years >= 0}


def kept_until_us(recorded_at_us: int, retention: str, years: Years) -> int:
    """Return the first moment at which a value of a class may be erased, microseconds UTC."""
    span = years_of(retention, years)
    if not span:
        return recorded_at_us
    moment = _EPOCH + timedelta(microseconds=recorded_at_us)
    try:
        until = moment.replace(year=moment.year + span)
    except ValueError:  # 29 February
        until = moment.replace(year=moment.year + span, month=3, day=1)
    return (until - _EPOCH) // timedelta(microseconds=1)


def day_of(time_us: int) -> str:
    """Return the day of a time, ISO 8601, UTC."""
    return (_EPOCH + timedelta(microseconds=time_us)).date().isoformat()
