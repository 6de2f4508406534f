"""Trading hours from `exchange_calendars`: the only module that imports it.

It brings pandas, a second at the import, so it is loaded when the first calendar is asked for. Its
data are computed for a year ahead, for some exchanges only to the end of a year; they are loaded
again while a gateway runs.

Not here: what a closed market refuses (`board`).
"""

import threading
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Final, NamedTuple

from gateway.errors import IntakeError

DAY_US: Final = 86_400_000_000
PAST_DAYS: Final = 30
SOON_US: Final = 60 * DAY_US
"""Data that end within this time are named, at the start and by `countersign doctor`."""
AGAIN_US: Final = DAY_US


class Session(NamedTuple):
    """One trading session, breaks included: its open and close, and the exchange's date of it."""

    open_us: int
    close_us: int
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingHours:
    """When an exchange trades, from a month ago on; microseconds UTC.

    Attributes:
        opens: when each span opens, ascending; a lunch break ends a span.
        closes: when each closes.
        loaded_us: for which time they were loaded.
        sessions: the sessions of these spans, ascending.
    """

    name: str
    opens: tuple[int, ...]
    closes: tuple[int, ...]
    loaded_us: int
    sessions: tuple[Session, ...] = ()

    @property
    def ends_us(self) -> int:
        """The end of the data."""
        return self.closes[-1]

    def opened_us(self, at_us: int) -> int | None:
        """Return when the market opened that is open at a time; None while it is closed."""
        at = bisect_right(self.opens, at_us) - 1
        if at < 0 or at_us >= self.closes[at]:
            return None
        while at > 0 and self.closes[at - 1] == self.opens[at]:
            at -= 1
        return self.opens[at]

    def closing_us(self, at_us: int) -> int:
        """Return when the market closes that is open at a time."""
        at = bisect_right(self.opens, at_us) - 1
        while at + 1 < len(self.opens) and self.closes[at] == self.opens[at + 1]:
            at += 1
        return self.closes[at]

    def due_us(self, bar_us: int) -> int | None:
        """Return when the session after a bar's opened or will: from then on the bar ages.

        A bar belongs to the last session that opened before its close, whatever minute its source
        stamps. None where the data do not reach.
        """
        at = bisect_left(self.sessions, bar_us, key=_opening)
        if not 0 < at < len(self.sessions):
            return None
        return self.sessions[at].open_us

    def missed(self, bar_us: int, now_us: int) -> int:
        """Return how many sessions opened after a bar's own and have closed since."""
        first = bisect_left(self.sessions, bar_us, key=_opening)
        return max(0, bisect_right(self.sessions, now_us, key=_closing) - first)

    def date(self, at_us: int) -> str:
        """Return the date of the session that last opened; empty where the data do not reach."""
        at = bisect_right(self.sessions, at_us, key=_opening) - 1
        return self.sessions[at].date if at >= 0 else ""

    def said_closed(self, at_us: int) -> str:
        """Return that it is closed and when it opens; empty while it is open."""
        if self.opened_us(at_us) is not None:
            return ""
        at = bisect_right(self.opens, at_us)
        if at == len(self.opens):
            return f"market hours of {self.name} are known until {when(self.ends_us)} only"
        return f"market closed, opens at {when(self.opens[at])} ({self.name})"


def when(at_us: int) -> str:
    """Return a time as ISO 8601 in UTC, to the minute."""
    return f"{datetime.fromtimestamp(at_us / 1_000_000, tz=UTC):%Y-%m-%dT%H:%MZ}"


def _opening(session: Session) -> int:
    return session.open_us


def _closing(session: Session) -> int:
    return session.close_us


def strange_calendar(name: str, now_us: int) -> str:
    """Return what is wrong with a calendar, with names near it; empty if its hours load."""
    try:
        load_hours(name, now_us)
    except IntakeError as error:
        return error.problem
    return ""


def _unknown(name: str) -> str:
    """Return that there is no calendar of this name, with names near it."""
    import exchange_calendars  # noqa: PLC0415 - see above

    known = exchange_calendars.get_calendar_names(include_aliases=True)
    near = ", ".join(get_close_matches(name.upper(), known, 3)) or "XNYS, XLON, XTKS, 24/7"
    return f"exchange_calendars has no {name}; write a market's code such as {near}"


def load_hours(name: str, now_us: int) -> TradingHours:
    """Return an exchange's hours from a month ago to a year ahead.

    Raises:
        IntakeError: there is no such calendar, or its hours cannot be computed.
    """
    import exchange_calendars  # noqa: PLC0415 - see above

    now = datetime.fromtimestamp(now_us / 1_000_000, tz=UTC)
    start = (now - timedelta(days=PAST_DAYS)).date().isoformat()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its calls of the pinned pandas
            calendar = exchange_calendars.get_calendar(name, start=start)
            rows = tuple(calendar.schedule.itertuples())
    except exchange_calendars.errors.InvalidCalendarName:
        raise IntakeError(where="calendar", problem=_unknown(name)) from None
    except Exception as error:  # a door: some calendars are listed there and not whole
        why = f"exchange_calendars lists {name} and cannot compute its hours"
        what = f"{why} ({type(error).__name__}); name another calendar"
        raise IntakeError(where="calendar", problem=what) from error
    if not rows:
        what = f"{name} has no session from {start} on; name another calendar"
        raise IntakeError(where="calendar", problem=what)
    spans: list[tuple[int, int]] = []
    for row in rows:
        breaks = row.break_start, row.break_end
        if any(one != one for one in breaks):  # noqa: PLR0124 - NaT differs from itself
            spans.append((_us(row.open), _us(row.close)))
        else:
            spans += [(_us(row.open), _us(breaks[0])), (_us(breaks[1]), _us(row.close))]
    opens, closes = zip(*spans, strict=True)
    sessions = tuple(
        Session(_us(row.open), _us(row.close), row.Index.date().isoformat()) for row in rows
    )
    return TradingHours(name=name, opens=opens, closes=closes, loaded_us=now_us, sessions=sessions)


class Calendars:
    """The trading hours of instruments. Thread-safe."""

    def __init__(
        self,
        names: Mapping[str, str],
        load: Callable[[str, int], TradingHours] = load_hours,
    ) -> None:
        """Take the calendar's name of each symbol; nothing is loaded yet."""
        self._names = dict(names)
        self._load = load
        self._hours: dict[str, TradingHours] = {}
        self._turn = threading.Lock()

    def hours(self, symbol: str, now_us: int) -> TradingHours | None:
        """Return an instrument's hours; None if it has no calendar.

        Raises:
            IntakeError: there is no such calendar.
        """
        name = self._names.get(symbol)
        if name is None:
            return None
        with self._turn:
            found = self._hours.get(name)
            if found is None or abs(now_us - found.loaded_us) > AGAIN_US:
                found = self._hours[name] = self._load(name, now_us)
            return found

    def ending(self, now_us: int) -> Iterator[str]:
        """Yield the calendars whose data end soon, with what to do.

        Raises:
            IntakeError: there is no such calendar.
        """
        for symbol in sorted({name: symbol for symbol, name in self._names.items()}.values()):
            found = self.hours(symbol, now_us)
            if found is not None and found.ends_us - now_us < SOON_US:
                yield (
                    f"market hours of {found.name} are known until {when(found.ends_us)}: update"
                    " exchange_calendars before then"
                )


def _us(stamp: object) -> int:
    """Return a pandas timestamp in microseconds; it counts nanoseconds."""
    return int(getattr(stamp, "value")) // 1_000  # noqa: B009 - pandas is untyped here
