"""Bars at the door: early, corrected and filled ones; sessions, trading days and splits."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.desk.intake.filling import FillRequest, fill
from gateway.errors import AdjustmentRefusedError, FeedRefusedError, RequestError
from gateway.feeds.live.calendars import Calendars, load_hours
from gateway.feeds.live.conditions import Condition
from gateway.feeds.live.items import (
    BARS,
    QUOTES,
    BarItem,
    PostedBar,
    PostedQuote,
    bar_item,
    quote_item,
)
from gateway.feeds.live.splits import BarSplit, in_new_units, outdated, restated
from gateway.walk.journal.run import MarkTaken
from tests.doubles.adjusting import adjusted
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk, quote
from tests.doubles.memory_desk import AGENT_ACCOUNT, memory_desk
from tests.doubles.set_clock import SetClock
from tests.doubles.small_desk import INSTRUMENTS

S = 1_000_000
DAY_US = 86_400 * S
SPXN = INSTRUMENTS["SPXN"]
FILE = {"feed": "bars", "file": "missed.csv", "digest": "0" * 64, "items": [{}]}


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    desk = fed_desk(memory_desk(tmp_path, live=False))
    desk.feeding.table = KeptInMemory()
    return desk


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * S


def history(now_us: int, count: int = 60) -> list[BarItem]:
    return [bar_item(PostedBar(**one), SPXN) for one in bars(count, now_us)]


def put(fed: FedDesk, number: int, **changes: object) -> None:
    posted = PostedQuote.model_validate(quote(number, fed.clock.wall_us(), **changes))
    fed.feeding.take(QUOTES, [quote_item(posted, SPXN)])


def filled(fed: FedDesk, items: Sequence[BarItem]) -> dict[str, object]:
    return fill(fed.feeding, "otto", FillRequest.model_validate(FILE), items)


def records(fed: FedDesk, condition: str) -> list[str]:
    found = [one.body for one in fed.desk.log.of_kind(Kind.FEED_CONDITION)]
    return [str(one["detail"]) for one in found if one["condition"] == condition]


def standing(fed: FedDesk) -> list[int]:
    return [bar.sequence for bar in fed.market.unbroken("SPXN")]


@pytest.mark.parametrize("again", [True, False])
def test_an_early_bar_is_taken_when_its_time_is_there(fed: FedDesk, again: bool) -> None:  # noqa: FBT001
    """Repro r05: it was a repeat for ever, and a back-fill filled nothing."""
    *before, last = history(fed.clock.wall_us())
    fed.feeding.take(BARS, before)
    early = replace(last, event_us=fed.clock.wall_us() + 90 * S)
    (told,) = fed.feeding.take(BARS, [early])["conditions"]
    assert told["condition"] == "ahead"
    assert len(standing(fed)) == 59
    put(fed, 1)
    assert fed.desk.ask().result == "approved", "what stands can be used meanwhile"
    fed.clock.passes(90 * S)
    if again:
        assert fed.feeding.take(BARS, [early])["repeats"] == 1, "it was taken just before"
    else:
        fed.feeding.watch()
    assert len(standing(fed)) == 60
    assert isinstance(fed.feeding.table, KeptInMemory)
    assert fed.feeding.table.rows[-1] == early


def test_filled_is_recorded_of_what_was_filled_and_of_nothing_else(fed: FedDesk) -> None:
    posted = history(fed.clock.wall_us())
    missed = posted[29:32]
    fed.feeding.take(BARS, [one for one in posted if one not in missed])
    assert filled(fed, missed)["new"] == 3
    assert filled(fed, missed)["new"] == 0
    assert [one.split(", by otto: ")[1] for one in records(fed, "filled")] == ["30-32"]
    assert len(standing(fed)) == 60


def test_what_would_not_stand_is_refused_by_its_number_and_nothing_is_recorded(
    fed: FedDesk,
) -> None:
    posted = history(fed.clock.wall_us())
    fed.feeding.take(BARS, posted[:40])
    absurd = replace(posted[41], sequence=9_000)
    with pytest.raises(FeedRefusedError, match="item 2: SPXN sequence 9000 of alpha: jump"):
        filled(fed, [posted[40], absurd])
    assert not records(fed, "filled")
    assert len(standing(fed)) == 40


def test_a_bar_that_stands_in_memory_alone_is_no_part_of_a_fill(fed: FedDesk) -> None:
    posted = history(fed.clock.wall_us())
    fed.feeding.take(BARS, posted[:-1])
    assert isinstance(fed.feeding.table, KeptInMemory)
    fed.feeding.table.rows.clear()
    assert filled(fed, posted[-2:])["new"] == 1
    assert [one.split(", by otto: ")[1] for one in records(fed, "filled")] == ["60"]


def test_a_corrected_bar_can_be_filled_from_a_file(fed: FedDesk) -> None:
    """Repro r24: in conflict with a bar that never stood, and filled on record."""
    *before, last = history(fed.clock.wall_us())
    fed.feeding.take(BARS, before)
    wrong = replace(last, close_ticks=last.high_ticks + 5)
    assert fed.feeding.take(BARS, [wrong])["conditions"][0]["condition"] == "crossed"
    assert not records(fed, "filled")
    filled(fed, [last])
    assert len(standing(fed)) == 60
    assert len(records(fed, "filled")) == 1


def venue(tmp_path: Path, calendar: str, time: str) -> FedDesk:
    """Return a desk whose instrument has a calendar, at a time."""
    clock = SetClock.still()
    clock.passes(at(time) - clock.wall_us())
    calendars = Calendars({"SPXN": calendar})
    return fed_desk(memory_desk(tmp_path, live=False), calendars, clock)


def closes_of(calendar: str, until_us: int) -> list[int]:
    sessions = load_hours(calendar, until_us).sessions
    known = [one.close_us for one in sessions if one.close_us <= until_us]
    first = known[0] - (60 - len(known)) * DAY_US
    return [*range(first, known[0], DAY_US), *known][-60:]


HOLIDAYS = [
    ("XETR", "2025-12-23T16:31", "2025-12-29T09:00"),
    ("XHKG", "2026-02-16T04:30", "2026-02-20T03:00"),
    ("XTKS", "2026-04-28T07:00", "2026-04-30T01:00"),
    ("XSHG", "2026-09-30T07:30", "2026-10-08T02:00"),
    ("XNYS", "2026-07-02T20:00", "2026-07-06T14:00"),
]


@pytest.mark.parametrize(("calendar", "closed", "opens"), HOLIDAYS)
def test_after_a_long_holiday_no_bar_is_missing(
    tmp_path: Path, calendar: str, closed: str, opens: str
) -> None:
    """Repro r14: the last bar was 136 h old on the day when Xetra opened again."""
    fed = venue(tmp_path, calendar, closed)
    times = closes_of(calendar, fed.clock.wall_us())
    items = [
        replace(one, event_us=close_us)
        for one, close_us in zip(history(fed.clock.wall_us()), times, strict=True)
    ]
    fed.feeding.take(BARS, items)
    fed.clock.passes(at(opens) - fed.clock.wall_us())
    put(fed, 1)
    assert fed.market.snapshot("SPXN").bars[-1].close_time_us == times[-1]
    hours = load_hours(calendar, fed.clock.wall_us())
    later = [one for one in hours.sessions if one.open_us > times[-1]]
    for missed, session in enumerate(later[1:4], start=1):
        fed.clock.passes(session.open_us + S - fed.clock.wall_us())
        put(fed, missed + 1)
        if missed == 1:
            assert fed.market.snapshot("SPXN").bars
        else:
            with pytest.raises(RequestError, match=f"bars are stale: {missed} sessions have"):
                fed.market.snapshot("SPXN")


def test_a_day_begins_with_the_session_and_once(tmp_path: Path) -> None:
    """A Sydney desk's limits began anew at 10 or 11 in the morning, in the middle of a session."""
    fed = venue(tmp_path, "XASX", "2026-11-23T22:59")
    found = []
    for number, passes_s in enumerate((0, 90, 1_830, 1_800, 3_600, 9_000), start=1):
        fed.clock.passes(passes_s * S)
        put(fed, number)
        fed.feeding.watch()
        marks = [MarkTaken.of(one) for one in fed.desk.log.of_kind(Kind.MARK_TAKEN)]
        found = [(one.kind, one.session_date) for one in marks if one.account == AGENT_ACCOUNT]
    assert found == [("open", "2026-11-24"), *[("feed", "2026-11-24")] * 4]
    day = fed.desk.small.desk.own.section.book(AGENT_ACCOUNT).day
    assert day.day == "2026-11-24"


def split(bar: BarItem, new: int, old: int) -> BarItem:
    return in_new_units(bar, BarSplit(ref="", before_us=0, new=new, old=old))


RATIOS = [(2, 1), (3, 1), (3, 2), (10, 1), (1, 5)]


@pytest.mark.parametrize(("new", "old"), RATIOS)
def test_a_recorded_split_restates_the_bars_from_before_it(
    fed: FedDesk, new: int, old: int
) -> None:
    """Repro r17: the desk had the fall in its bars for as long as they were used."""
    posted = history(fed.clock.wall_us())
    right = [split(one, new, old) for one in posted]
    fed.feeding.take(BARS, [*posted[:50], *right[50:]])
    day = datetime.fromtimestamp(posted[50].event_us / S, tz=UTC).date().isoformat()
    terms = {"sort": "split", "account": "", "instrument": "SPXN", "ratio": f"{new}:{old}"}
    adjusted(fed.desk, **terms, effective=day)
    fed.feeding.watch()  # takes what was doubted until then
    assert fed.market.unbroken("SPXN") == right
    prices = {"bid": f"{268.31 * old / new:.2f}", "ask": f"{268.41 * old / new:.2f}"}
    put(fed, 1, **prices)
    closes = [bar.close_ticks for bar in fed.market.snapshot("SPXN").bars]
    assert closes == [bar.close_ticks for bar in right]
    again = [replace(one, event_us=one.event_us) for one in right[:50]]
    assert fed.feeding.take(BARS, again)["repeats"] == 50, (
        "the same bars as the vendor restates them"
    )


def test_a_source_that_restated_its_bars_itself_is_not_restated_again() -> None:
    posted = [split(one, 2, 1) for one in history(1_800_000_000 * S)]
    one = BarSplit(ref="a", before_us=posted[39].event_us, new=2, old=1)
    assert restated(posted, [one], None) == posted
    raw = [split(bar, 1, 2) for bar in posted[:40]] + posted[40:]
    assert [b.close_ticks for b in restated(raw, [one], None)] == [b.close_ticks for b in posted]
    whole = replace(one, before_us=posted[-1].event_us)
    assert restated(posted, [whole], posted[-1].close_ticks) == posted
    assert restated(posted, [whole], None)[0] == split(posted[0], 2, 1), "delivered as traded"


def test_an_adjusted_history_of_another_source_is_used_without_a_record(fed: FedDesk) -> None:
    """Repro r17: a new source was biased against the old one, and the instrument refused."""
    old = history(fed.clock.wall_us())
    fed.feeding.take(BARS, old)
    put(fed, 1, bid="134.15", ask="134.20")
    new = [replace(split(one, 2, 1), source="vendor") for one in old]
    fed.feeding.take(BARS, new)
    assert [bar.source for bar in fed.market.unbroken("SPXN")] == ["vendor"] * 60
    assert fed.market.snapshot("SPXN").bars[-1].close_ticks == new[-1].close_ticks
    said = fed.market.finding(BARS, "SPXN", "alpha")
    assert said.condition is Condition.BIASED
    assert "vendor has the bars from before a split of 2:1 restated, alpha not" in said.detail


def test_without_a_quote_of_today_nobody_knows_which_history_is_right() -> None:
    old = {day: 20_000 + day for day in range(60)}
    new = {day: price // 2 for day, price in old.items()}
    assert outdated(old, new, None, 50) == ""
    assert outdated(old, new, 10_000, 50) == "2:1"
    assert outdated(new, old, 10_000, 50) == ""
    assert outdated(new, old, 20_100, 50) == "1:2"
    assert outdated(old, {**new, 3: 9_000}, 10_000, 50) == "", "no one ratio"
    assert outdated(old, {59: 10_030}, 10_000, 50) == "", "one day shows no ratio"
    both = {**new, **{day: price for day, price in old.items() if day >= 40}}
    assert outdated(old, both, None, 50) == "", "the old history has no jump on day 40"
    assert outdated(both, old, None, 50) == "1:2"


def test_a_split_of_what_nobody_holds_needs_its_first_day(fed: FedDesk) -> None:
    terms = {"sort": "split", "account": "", "instrument": "SPXN", "ratio": "2:1"}
    with pytest.raises(AdjustmentRefusedError, match="no account holds SPXN to split; name its"):
        adjusted(fed.desk, **terms)
    for day, why in (("2999-01-01", "has not begun"), ("2026-13-01", "is not a day")):
        with pytest.raises(AdjustmentRefusedError, match=why):
            adjusted(fed.desk, **terms, effective=day)
    adjusted(fed.desk, **terms, effective="2026-11-20")
    assert len(fed.desk.log.of_kind(Kind.BOOK_ADJUSTED)) == len(
        fed.desk.small.desk.own.section.accounts
    )
