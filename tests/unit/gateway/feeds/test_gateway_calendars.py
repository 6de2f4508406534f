"""Trading hours: real exchanges, a lunch break, daylight saving, holidays, and where data end."""

from datetime import UTC, datetime

import pytest

from gateway.errors import IntakeError
from gateway.feeds.live.calendars import Calendars, TradingHours, load_hours

DAY_US = 86_400_000_000


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


NOVEMBER = at("2026-11-20T12:00")


@pytest.mark.parametrize(
    ("name", "time", "said"),
    [
        ("XNYS", "2026-11-20T14:30", ""),
        ("XNYS", "2026-11-20T14:29", "market closed, opens at 2026-11-20T14:30Z (XNYS)"),
        ("XNYS", "2026-11-20T21:00", "market closed, opens at 2026-11-23T14:30Z (XNYS)"),
        ("XNYS", "2026-11-26T15:00", "market closed, opens at 2026-11-27T14:30Z (XNYS)"),
        ("XNYS", "2026-11-27T17:59", ""),  # the day after Thanksgiving closes at 13:00
        ("XNYS", "2026-11-27T18:00", "market closed, opens at 2026-11-30T14:30Z (XNYS)"),
        ("XNYS", "2026-10-30T13:30", ""),  # daylight saving ends on 1 November
        ("XHKG", "2026-11-20T04:30", "market closed, opens at 2026-11-20T05:00Z (XHKG)"),
        ("24/7", "2026-11-22T03:00", ""),
    ],
)
def test_an_exchange_is_open_when_it_trades(name: str, time: str, said: str) -> None:
    assert load_hours(name, NOVEMBER).said_closed(at(time)) == said


def test_an_opening_is_the_start_of_trading_without_a_break() -> None:
    hours = load_hours("XHKG", NOVEMBER)
    assert hours.opened_us(at("2026-11-20T06:00")) == at("2026-11-20T05:00")
    assert hours.opened_us(at("2026-11-20T03:00")) == at("2026-11-20T01:30")
    round_the_clock = load_hours("24/7", NOVEMBER)
    assert round_the_clock.opened_us(NOVEMBER) == round_the_clock.opens[0]


def test_a_name_without_a_calendar_is_refused() -> None:
    with pytest.raises(IntakeError, match="has no XNOP; write a market's code such as XNYS"):
        load_hours("XNOP", NOVEMBER)


def test_data_that_end_soon_are_named_and_refuse_when_they_have_ended() -> None:
    def load(name: str, now_us: int) -> TradingHours:
        return TradingHours(
            name=name, opens=(NOVEMBER,), closes=(NOVEMBER + DAY_US,), loaded_us=now_us
        )

    calendars = Calendars({"A": "XAAA", "B": "XAAA"}, load)
    (said,) = calendars.ending(NOVEMBER)
    assert said.startswith("market hours of XAAA are known until 2026-11-21T12:00Z: update")
    hours = calendars.hours("A", NOVEMBER)
    assert hours is not None
    assert "known until 2026-11-21T12:00Z only" in hours.said_closed(NOVEMBER + DAY_US)
    assert calendars.hours("C", NOVEMBER) is None


def test_hours_are_loaded_again_each_day() -> None:
    asked: list[int] = []

    def load(name: str, now_us: int) -> TradingHours:
        asked.append(now_us)
        return TradingHours(name=name, opens=(0,), closes=(1,), loaded_us=now_us)

    calendars = Calendars({"A": "XAAA"}, load)
    for passed_us in (0, DAY_US, DAY_US + 1):
        calendars.hours("A", NOVEMBER + passed_us)
    assert asked == [NOVEMBER, NOVEMBER + DAY_US + 1]
