"""Parsers for data from outside: daily index levels (gzip CSV) and dated events (JSON).

Not here: which session is played when (`gateway.feeds.sessions`), tokens for a model
(`inference.codec.codec`).

Rules:

- An input is refused as a whole, and the place is named, for an unknown column or field, text in
  place of a number, a NaN or infinity, a price that is not positive, or rows out of order.
- Decimal text becomes integer ticks, rounded half-even; no float is involved.
- Text is bounded; control and invisible characters are refused.
"""

import bisect
import csv
import gzip
import hashlib
import io
import re
import zlib
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from gateway.errors import IntakeError
from gateway.feeds.text import refuse_hidden_text

SERIES_COLUMNS = ("Date", "Open", "High", "Low", "Close", "Adj Close", "Volume")
MAX_SERIES_BYTES = 16 * 1024 * 1024
MAX_EVENTS_BYTES = 1024 * 1024
MAX_LEVEL = 10**9
_DAY = re.compile(r"(\d\d?)/(\d\d?| [1-9])/(\d{4})")

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRow:
    """One trading day of an index, in ticks."""

    day: date
    open_ticks: int
    high_ticks: int
    low_ticks: int
    close_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySeries:
    """A parsed daily series, ascending by day; `digest` is the SHA-256 of the unpacked bytes."""

    rows: tuple[DayRow, ...]
    digest: str

    def place(self, day: date) -> int:
        """Return the position of `day` in `rows`.

        Raises:
            IntakeError: the series has no such day.
        """
        at = bisect.bisect_left(self.rows, day, key=lambda row: row.day)
        if at == len(self.rows) or self.rows[at].day != day:
            raise IntakeError(where="series", problem=f"no row for {day}")
        return at


class _EventModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class EventSource(_EventModel):
    """Where an event can be checked."""

    institution: ShortText
    document: ShortText
    url: Annotated[str, StringConstraints(pattern=r"^https://[a-z0-9.-]+/[\x21-\x7e]*$")]


class DatedEvent(_EventModel):
    """One published event; its tags follow the rule that the file states."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{2,63}$")]
    date: Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    local_time: Annotated[str, StringConstraints(pattern=r"^[0-9]{2}:[0-9]{2}$")]
    published_us: Annotated[int, Field(gt=0)]
    scheduled: bool
    event_type: ShortText
    direction: Literal["negative", "neutral", "positive"]
    strength: Literal["weak", "strong"]
    source_tier: Annotated[int, Field(ge=1, le=3)]
    headline: ShortText
    facts: ShortText
    source: EventSource


class EventFile(_EventModel):
    """The file of events."""

    version: Literal[1]
    time_zone: Literal["America/New_York"]
    rule: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    events: Annotated[list[DatedEvent], Field(min_length=1, max_length=10_000)]


@lru_cache(maxsize=4)  # a run and its plan ask for the same two series of ten thousand days
def parse_daily_series(packed: bytes, *, name: str, ticks_per_unit: Decimal) -> DailySeries:
    """Parse gzip-compressed CSV of daily index levels into ticks.

    Raises:
        IntakeError: the bytes break a rule of this module.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            raw = stream.read(MAX_SERIES_BYTES + 1)
        if len(raw) > MAX_SERIES_BYTES:
            raise IntakeError(where=name, problem=f"larger than {MAX_SERIES_BYTES} bytes")
        lines = list(csv.reader(io.StringIO(raw.decode("ascii")), strict=True))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise IntakeError(where=name, problem=f"not a gzip CSV: {error}") from None
    if not lines or tuple(lines[0]) != SERIES_COLUMNS:
        raise IntakeError(where=name, problem=f"columns are not {', '.join(SERIES_COLUMNS)}")
    rows: list[DayRow] = []
    for number, fields in enumerate(lines[1:], start=2):
        row = _day_row(fields, where=f"{name} line {number}", ticks_per_unit=ticks_per_unit)
        if rows and row.day <= rows[-1].day:
            raise IntakeError(where=f"{name} line {number}", problem="days do not ascend")
        rows.append(row)
    return DailySeries(rows=tuple(rows), digest=hashlib.sha256(raw).hexdigest())


def parse_events(raw: bytes, *, name: str) -> EventFile:
    """Parse a file of events.

    Raises:
        IntakeError: the file is malformed, an id appears twice, times do not ascend, or a text has
            invisible characters.
    """
    if len(raw) > MAX_EVENTS_BYTES:
        raise IntakeError(where=name, problem=f"larger than {MAX_EVENTS_BYTES} bytes")
    try:
        parsed = EventFile.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "document"
        raise IntakeError(where=f"{name}: {place}", problem=str(first["msg"])) from None
    seen: set[str] = set()
    last_us = 0
    for event in parsed.events:
        if event.id in seen:
            raise IntakeError(where=f"{name}: {event.id}", problem="this id appears twice")
        if event.published_us < last_us:
            raise IntakeError(where=f"{name}: {event.id}", problem="times do not ascend")
        for text in (event.headline, event.facts, event.source.institution, event.source.document):
            refuse_hidden_text(text, where=f"{name}: {event.id}")
        seen.add(event.id)
        last_us = event.published_us
    return parsed


def _day_row(fields: list[str], *, where: str, ticks_per_unit: Decimal) -> DayRow:
    if len(fields) != len(SERIES_COLUMNS):
        raise IntakeError(where=where, problem=f"{len(fields)} fields, not {len(SERIES_COLUMNS)}")
    try:
        day = _day(fields[0])
    except ValueError:
        raise IntakeError(where=where, problem=f"no such day: {fields[0][:20]!r}") from None
    prices = [_ticks(text, where=where, ticks_per_unit=ticks_per_unit) for text in fields[1:5]]
    open_ticks, high_ticks, low_ticks, close_ticks = prices
    if not low_ticks <= min(open_ticks, close_ticks) <= max(open_ticks, close_ticks) <= high_ticks:
        raise IntakeError(where=where, problem="open or close lies outside low to high")
    return DayRow(
        day=day,
        open_ticks=open_ticks,
        high_ticks=high_ticks,
        low_ticks=low_ticks,
        close_ticks=close_ticks,
    )


def _day(text: str) -> date:
    """Return the day as `strptime` reads `%m/%d/%Y`, which takes fifty times as long.

    Raises:
        ValueError: there is no such day.
    """
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    month, day, year = map(int, found.groups())
    return date(year, month, day)


def _ticks(text: str, *, where: str, ticks_per_unit: Decimal) -> int:
    try:
        level = Decimal(text)
    except InvalidOperation:
        raise IntakeError(where=where, problem=f"not a number: {text[:20]!r}") from None
    # the upper bound comes before any arithmetic: 1e999999999 is a valid Decimal
    if not level.is_finite() or not 0 < level <= MAX_LEVEL:
        raise IntakeError(where=where, problem=f"not a price in (0, {MAX_LEVEL}]: {text[:20]!r}")
    ticks = int((level * ticks_per_unit).to_integral_value(rounding=ROUND_HALF_EVEN))
    if ticks < 1:
        raise IntakeError(where=where, problem=f"less than half a tick: {text[:20]!r}")
    return ticks
