import gzip
import json
from decimal import Decimal

import pytest

from gateway.errors import IntakeError
from gateway.feeds.intake import (
    MAX_SERIES_BYTES,
    DailySeries,
    parse_daily_series,
    parse_events,
)
from gateway.feeds.news.events import EVENTS_FILE
from gateway.feeds.text import refuse_hidden_text

HEAD = "Date,Open,High,Low,Close,Adj Close,Volume\n"
GOOD = "1/2/2018,2683.729980,2695.889893,2682.360107,2695.810059,2695.810059,1\n"


def series(text: str) -> DailySeries:
    return parse_daily_series(gzip.compress(text.encode()), name="x", ticks_per_unit=Decimal(10))


def test_levels_become_ticks_half_even_without_a_float() -> None:
    row = series(HEAD + "1/2/2018,10.05,10.15,10.0,10.15,0,0\n").rows[0]
    assert (row.open_ticks, row.high_ticks, row.low_ticks, row.close_ticks) == (100, 102, 100, 102)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Date,Open\n" + GOOD,
        HEAD + GOOD + GOOD,
        HEAD + "2018-01-02,1,1,1,1,1,1\n",
        HEAD + "1/2/2018,nan,1,1,1,1,1\n",
        HEAD + "1/2/2018,1,Infinity,1,1,1,1\n",
        HEAD + "1/2/2018,-1,1,1,1,1,1\n",
        HEAD + "1/2/2018,0,0,0,0,0,0\n",
        HEAD + "1/2/2018,0.001,0.001,0.001,0.001,0,0\n",
        HEAD + "1/2/2018,1e999999999,1e999999999,1,1,1,1\n",
        HEAD + "1/2/2018,5,4,3,4,4,4\n",
        HEAD + "1/2/2018,,1,1,1,1,1\n",
        HEAD + "1/2/2018,1,1,1\n",
        HEAD + '1/2/2018,"1,1,1,1,1,1\n',
    ],
)
def test_a_malformed_series_is_refused_whole(text: str) -> None:
    with pytest.raises(IntakeError):
        series(text)


@pytest.mark.parametrize(
    "packed", [b"", b"plain", gzip.compress(b"a" * 99, mtime=0)[:-9], b"\x1f\x8b\x08\x00"]
)
def test_bytes_that_are_no_gzip_raise_only_our_error(packed: bytes) -> None:
    with pytest.raises(IntakeError):
        parse_daily_series(packed, name="x", ticks_per_unit=Decimal(10))


@pytest.mark.parametrize("beyond", [1, 1_000])
def test_a_small_file_that_unpacks_to_too_much_is_refused_for_that(beyond: int) -> None:
    packed = gzip.compress(HEAD.encode().ljust(MAX_SERIES_BYTES + beyond, b"\n"))
    with pytest.raises(IntakeError, match="larger than"):
        parse_daily_series(packed, name="x", ticks_per_unit=Decimal(10))


def events_with(**changes: object) -> bytes:
    document = json.loads(EVENTS_FILE.read_bytes())
    document["events"][3].update(changes)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"\xff",
        events_with(published_us="1515159000000000"),
        events_with(published_us=1.5),
        events_with(published_us=1),
        events_with(unknown=1),
        events_with(id="fomc-minutes-2018-01-03"),
        events_with(direction="up"),
        events_with(headline="payrolls\u202e rise"),
        events_with(facts="quiet\U000e0101 text"),
        events_with(source={"institution": "x", "document": "y", "url": "http://plain.example/"}),
    ],
)
def test_a_malformed_event_file_is_refused_whole(raw: bytes) -> None:
    with pytest.raises(IntakeError):
        parse_events(raw, name="events")


def test_the_unchanged_event_file_is_accepted() -> None:
    assert len(parse_events(events_with(), name="events").events) >= 25


def test_invisible_text_is_named_by_its_code_point() -> None:
    with pytest.raises(IntakeError, match=r"U\+200B at 3"):
        refuse_hidden_text("abc\u200bd", where="headline")
