"""Daylight saving, both sides of each change: opening, trading day, age of bars, four venues."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway.errors import IntakeError
from gateway.feeds.live.calendars import TradingHours, load_hours, strange_calendar

DAY_US = 86_400_000_000
MINUTE_US = 60_000_000
VENUES = {
    "XNYS": ("America/New_York", "09:30", "16:00"),
    "XLON": ("Europe/London", "08:00", "16:30"),
    "XETR": ("Europe/Berlin", "09:00", "17:30"),
    "XASX": ("Australia/Sydney", "10:00", "16:00"),
}
CHANGES = {  # the Sundays on which clocks change
    "XNYS": ("2026-03-08", "2026-11-01"),
    "XLON": ("2026-03-29", "2026-10-25"),
    "XETR": ("2026-03-29", "2026-10-25"),
    "XASX": ("2026-04-05", "2026-10-04"),
}
SIDES = [
    (venue, change, side)
    for venue, changes in CHANGES.items()
    for change in changes
    for side in ("before", "after")
]


def us(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000


def session_beside(venue: str, change: str, side: str) -> tuple[TradingHours, str, int, int]:
    """Return the hours, and date, open and close of the last session before a change, or after."""
    zone, opens, closes = VENUES[venue]
    hours = load_hours(venue, us(datetime.fromisoformat(change).replace(tzinfo=UTC)))
    step = -1 if side == "before" else 1
    day = datetime.fromisoformat(change) + timedelta(days=step)
    dates = {one.date for one in hours.sessions}
    while day.date().isoformat() not in dates:
        day += timedelta(days=step)

    def local(time: str) -> int:
        clock = datetime.strptime(time, "%H:%M").time()  # noqa: DTZ007 - the zone comes with the day
        return us(datetime.combine(day, clock, tzinfo=ZoneInfo(zone)))

    return hours, day.date().isoformat(), local(opens), local(closes)


@pytest.mark.parametrize(("venue", "change", "side"), SIDES)
def test_a_session_opens_and_closes_at_the_same_local_time(
    venue: str, change: str, side: str
) -> None:
    hours, _, open_us, close_us = session_beside(venue, change, side)
    assert hours.said_closed(open_us - MINUTE_US)
    assert hours.said_closed(open_us) == ""
    assert hours.opened_us(open_us + MINUTE_US) == open_us
    assert hours.said_closed(close_us - MINUTE_US) == ""
    assert hours.closing_us(close_us - MINUTE_US) >= close_us
    assert hours.said_closed(close_us + 20 * MINUTE_US), "an auction may follow the close"


@pytest.mark.parametrize(("venue", "change", "side"), SIDES)
def test_a_trading_day_begins_with_its_session(venue: str, change: str, side: str) -> None:
    hours, date, open_us, close_us = session_beside(venue, change, side)
    assert hours.date(open_us - MINUTE_US) < date
    assert {hours.date(at) for at in (open_us, close_us, close_us + 60 * MINUTE_US)} == {date}


@pytest.mark.parametrize(("venue", "change", "side"), SIDES)
def test_a_bar_ages_by_sessions_and_not_by_hours(venue: str, change: str, side: str) -> None:
    hours, date, open_us, close_us = session_beside(venue, change, side)
    at = [one.date for one in hours.sessions].index(date)
    _, second, third = hours.sessions[at : at + 3]
    for stamped in (close_us, open_us + MINUTE_US, close_us + 90 * MINUTE_US):
        assert hours.due_us(stamped) == second.open_us
        assert hours.missed(stamped, second.close_us - 1) == 0
        assert hours.missed(stamped, second.close_us) == 1
        assert hours.missed(stamped, third.close_us - 1) == 1
        assert hours.missed(stamped, third.close_us) == 2


def test_a_trading_day_of_sydney_begins_on_the_day_before_in_utc() -> None:
    hours, date, open_us, _ = session_beside("XASX", "2026-10-04", "after")
    assert date == "2026-10-05"
    assert open_us == us(datetime(2026, 10, 4, 23, tzinfo=UTC))
    assert hours.date(open_us) == date


def test_a_market_that_never_closes_has_a_session_a_day() -> None:
    noon = us(datetime(2026, 11, 20, 12, tzinfo=UTC))
    hours = load_hours("24/7", noon)
    midnight = us(datetime(2026, 11, 20, tzinfo=UTC))
    assert hours.date(noon) == "2026-11-20"
    assert hours.missed(midnight, noon) == 0, "closed as this session opened"
    assert hours.missed(midnight - DAY_US, noon) == 1
    assert hours.due_us(midnight) == midnight


@pytest.mark.parametrize("name", ["ASEX", "XBEL", "XBSE", "XCYS", "BVB"])
def test_a_calendar_whose_hours_do_not_load_is_named_and_refused(name: str) -> None:
    """Repro r08: `instruments check` took them, and no later command worked."""
    now_us = us(datetime(2026, 11, 27, 9, tzinfo=UTC))
    said = strange_calendar(name, now_us)
    assert said.startswith(f"exchange_calendars lists {name} and cannot compute its hours")
    with pytest.raises(IntakeError, match="name another calendar"):
        load_hours(name, now_us)


def test_every_calendar_that_the_check_takes_has_hours() -> None:
    import exchange_calendars  # noqa: PLC0415 - as in the door

    now_us = us(datetime(2026, 11, 27, 9, tzinfo=UTC))
    sample = exchange_calendars.get_calendar_names(include_aliases=False)[::6]
    for name in sample:
        if not strange_calendar(name, now_us):
            hours = load_hours(name, now_us)
            assert hours.sessions[-1].close_us > now_us
            assert len(hours.sessions) > 100
