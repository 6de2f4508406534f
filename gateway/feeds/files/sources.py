"""The TOML file that describes which files and folders are followed, and their columns.

A `[[source]]` section for each. A field that the section does not name is in the column of its own
name. `= WORD` instead of a column's name is the same word for every line. Not here: reading the
files themselves.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Final

from gateway.errors import SourcesError
from gateway.feeds.instruments.fields import shown
from gateway.feeds.instruments.places import TablePlace, TableRow, UnreadableTableError, toml_rows
from gateway.feeds.live.items import BARS, QUOTES
from gateway.feeds.news.posted import EVENTS

SECTION: Final = "source"
EXAMPLE: Final = Path(__file__).with_name("example.toml")
BYTES_MAX: Final = 1024 * 1024
FOLLOWED_MAX: Final = 32
TIME_NAMES: Final = {BARS: "close_time_us", QUOTES: "event_time_us", EVENTS: "published_us"}
"""What the API calls the time of an item."""
COLUMNS: Final = {
    BARS: ("instrument", "sequence", "time", "open", "high", "low", "close"),
    QUOTES: (
        *("instrument", "sequence", "time", "bid", "ask", "last"),
        *("currency", "bid_size", "ask_size", "firm"),
    ),
    EVENTS: (
        *("id", "sequence", "time", "event_type", "direction", "strength", "source_tier"),
        *("headline", "origin", "scheduled", "instruments"),
    ),
}
OPTIONAL: Final = frozenset(
    (
        *("sequence", "last", "currency", "bid_size", "ask_size", "firm"),
        *("direction", "strength", "source_tier", "scheduled", "instruments"),
    )
)
"""Fields that a line may leave empty, and whose column may be missing."""
PRICES: Final = frozenset(
    ("open", "high", "low", "close", "bid", "ask", "last", "bid_size", "ask_size")
)
WHOLE: Final = frozenset(("sequence", "source_tier"))
FLAGS: Final = frozenset(("scheduled", "firm"))
LISTS: Final = frozenset(("instruments",))
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,32}")
_CLOSE: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


class TimeForm(StrEnum):
    """How a file writes times."""

    US = "us"
    MS = "ms"
    S = "s"
    NS = "ns"
    ISO = "iso"
    DATE = "date"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedSource:
    """One followed file or folder.

    Attributes:
        name: the source in every item and record; empty where it does not matter.
        feed: bars, quotes or events.
        path: a file, or a folder whose files follow one another by name.
        columns: the column of each field; `=WORD` is a constant.
        time_form: how times are written.
        close_at_us: of a date, when the bar closed on that day, UTC.
        separator: between the cells of CSV.
        complete: events are complete up to the file's last change.
    """

    name: str
    feed: str
    path: Path
    columns: dict[str, str]
    time_form: TimeForm = TimeForm.US
    close_at_us: int = 0
    separator: str = ","
    complete: bool = False


def read_sources(path: Path) -> tuple[FollowedSource, ...]:
    """Read the description; relative paths in it start at its folder.

    Raises:
        SourcesError: it cannot be read, or has faults; all of them are named.
    """
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        why = f"cannot be read ({error.strerror}); name a file that exists and is readable"
        raise SourcesError(file=str(path), faults=(why,)) from None
    return parse_sources(data, name=str(path), folder=path.absolute().parent)


def parse_sources(data: bytes, *, name: str, folder: Path) -> tuple[FollowedSource, ...]:
    """Parse the bytes of a description.

    Raises:
        SourcesError: it has faults; all of them are named with line and column.
    """
    try:
        rows = _rows(data)
    except UnreadableTableError as error:
        at = error.place
        fault = f"line {at.line}, column {at.column}: {error}"
        raise SourcesError(file=name, faults=(fault,)) from None
    faults: list[tuple[TablePlace, str]] = []
    found = [(row, _source(row, folder, faults)) for row in rows]
    seen: set[tuple[str, str]] = set()
    for row, one in found:
        if one is not None and (key := (one.name, one.feed)) in seen:
            problem = f"name: {one.name} delivers {one.feed} already; give this source another name"
            faults.append((row.values["name"][1], problem))
        elif one is not None:
            seen.add(key)
    if faults:
        lines = (f"line {at.line}, column {at.column}: {said}" for at, said in sorted(faults))
        raise SourcesError(file=name, faults=tuple(lines))
    return tuple(one for _, one in found if one is not None)


def _rows(data: bytes) -> list[TableRow]:
    if len(data) > BYTES_MAX:
        raise UnreadableTableError(1, 1, f"more than {BYTES_MAX} bytes; describe fewer sources")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableTableError(line, 1, "not UTF-8; save the file as UTF-8") from None
    rows = toml_rows(text, SECTION)
    if not 0 < len(rows) <= FOLLOWED_MAX:
        said = f"{len(rows)} sources; write 1 to {FOLLOWED_MAX} [[source]] sections"
        raise UnreadableTableError(1, 1, said)
    return rows


def plain_source(name: str, feed: str, path: Path) -> FollowedSource:
    """Return a source whose columns have the fields' own names and whose times are `us`."""
    return FollowedSource(
        name=name, feed=feed, path=path, columns={one: one for one in COLUMNS[feed]}
    )


def _source(
    row: TableRow, folder: Path, faults: list[tuple[TablePlace, str]]
) -> FollowedSource | None:
    before = len(faults)
    feed = row.values.get("feed", ("", row.place))[0]
    columns = COLUMNS.get(str(feed), COLUMNS[BARS])
    for name, (value, place) in row.values.items():
        if name not in _READERS and name not in columns:
            near = get_close_matches(name, [*_READERS, *columns], 1)
            advice = f"write {near[0]}" if near else f"columns of {feed}: {', '.join(columns)}"
            faults.append((place, f"{shown(name)} is not a field of a source; {advice}"))
            continue
        try:
            (_READERS.get(name) or _column)(value)
        except ValueError as error:
            faults.append((place, f"{name}: {error}"))
    faults.extend(_missing(row))
    if len(faults) > before:
        return None
    given = {name: value for name, (value, _) in row.values.items()}
    hour, minute = map(int, str(given.get("close_at", "0:0")).split(":"))
    return FollowedSource(
        name=str(given["name"]),
        feed=str(given["feed"]),
        path=folder / str(given["path"]),
        columns={one: str(given.get(one, one)) for one in columns},
        time_form=TimeForm(str(given.get("time_form", "us"))),
        close_at_us=(hour * 60 + minute) * 60_000_000,
        separator=str(given.get("separator", ",")),
        complete=given.get("complete") is True,
    )


def _missing(row: TableRow) -> Iterator[tuple[TablePlace, str]]:
    for name in ("name", "feed", "path"):
        if name not in row.values:
            yield row.place, f"{name} is missing; write {name} = .."
    values = {name: value for name, (value, _) in row.values.items()}
    dated, feed = values.get("time_form") == TimeForm.DATE, values.get("feed")
    if dated and feed == BARS and "close_at" not in values:
        said = 'close_at is missing; a date does not say when the bar closed: "21:00" (UTC)'
        yield row.values["time_form"][1], said
    if dated and feed == QUOTES:
        yield row.values["time_form"][1], "time_form: a quote needs a time, not a date"
    if "complete" in values and feed != EVENTS:
        yield row.values["complete"][1], "complete: only events have it"


def _one_of(*words: str) -> Callable[[object], None]:
    def read(value: object) -> None:
        if value not in words:
            raise ValueError(f"{shown(value)} is none of {', '.join(words)}")

    return read


def _matching(form: re.Pattern[str], holds: str) -> Callable[[object], None]:
    def read(value: object) -> None:
        if type(value) is not str or not form.fullmatch(value):
            raise ValueError(f"{shown(value)} is not {holds}")

    return read


def _flag(value: object) -> None:
    if type(value) is not bool:
        raise ValueError(f"{shown(value)} is neither true nor false")


_READERS: Final[dict[str, Callable[[object], None]]] = {
    "name": _matching(_NAME, "1 to 32 letters, digits and ._-"),
    "feed": _one_of(BARS, QUOTES, EVENTS),
    "path": _matching(re.compile(r"[^\0]{1,1000}"), "a path"),
    "time_form": _one_of(*TimeForm),
    "close_at": _matching(_CLOSE, "a time of day such as 21:00"),
    "separator": _one_of(",", ";", "\t", "|"),
    "complete": _flag,
}
_column: Final = _matching(re.compile(r"[^\0\r\n]{1,100}"), "the name of a column, or =WORD")
