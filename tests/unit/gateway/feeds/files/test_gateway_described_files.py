"""The description of followed files: each fault with its line and column."""

from pathlib import Path

import pytest

from gateway.errors import SourcesError
from gateway.feeds.files.rows import columns_in, item_in
from gateway.feeds.files.sources import EXAMPLE, FollowedSource, parse_sources, read_sources

GOOD = '[[source]]\nname = "a"\nfeed = "bars"\npath = "x.csv"\n'


def parsed(text: str) -> tuple[FollowedSource, ...]:
    return parse_sources(text.encode(), name="feeds.toml", folder=Path("/data"))


def test_the_shipped_example_is_sound_and_its_columns_are_read() -> None:
    (source,) = read_sources(EXAMPLE)
    names = columns_in(source, b"Date,Open,High,Low,Close,Volume")
    item = item_in(source, names, b"2026-11-20,268.1,269.0000000,268.05,268.5,1234567")
    assert item == {
        "source": "vendor",
        "instrument": "AAPL",
        "close_time_us": 1795208400000000,
        "open": "268.1",
        "high": "269",
        "low": "268.05",
        "close": "268.5",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: 0 sources"),
        (GOOD.replace('"bars"', '"bar"'), "line 3, column 8: feed: 'bar' is none of bars"),
        (GOOD + 'opne = "O"\n', "line 5, column 8: 'opne' is not a field of a source; write open"),
        (GOOD + 'bid = "B"\n', "line 5, column 7: 'bid' is not a field of a source"),
        (GOOD + "close = 4\n", "line 5, column 9: close: '4' is not the name of a column"),
        (GOOD + 'time_form = "date"\n', "line 5, column 13: close_at is missing; a date does not"),
        (GOOD + 'close_at = "25:00"\n', "line 5, column 12: close_at: '25:00' is not a time of"),
        (GOOD + "complete = true\n", "line 5, column 12: complete: only events have it"),
        (GOOD + 'separator = "x"\n', "line 5, column 13: separator: 'x' is none of"),
        (GOOD + GOOD, "line 6, column 8: name: a delivers bars already"),
        ('[[source]]\nfeed = "bars"\n', "line 1, column 1: name is missing"),
        (GOOD + "[other]\n", "line 5, column 1: other does not belong here; write a [[source]]"),
        (GOOD + "x = \n", "line 5, column 5: not TOML"),
    ],
)
def test_a_fault_is_named_with_line_and_column(text: str, said: str) -> None:
    with pytest.raises(SourcesError) as refused:
        parsed(text)
    assert said in str(refused.value)


def test_paths_start_at_the_folder_of_the_description() -> None:
    assert parsed(GOOD)[0].path == Path("/data/x.csv")


@pytest.mark.parametrize(
    ("form", "text", "time_us"),
    [
        ("us", "1795208400000001", 1795208400000001),
        ("ms", "1795208400000", 1795208400000000),
        ("s", "1795208400", 1795208400000000),
        ("ns", "1795208400000001999", 1795208400000001),
        ("iso", "2026-11-20T21:00:00.000001Z", 1795208400000001),
        ("iso", "2026-11-20 16:00:00-05:00", 1795208400000000),
    ],
)
def test_times_are_read_in_the_form_that_is_named(form: str, text: str, time_us: int) -> None:
    (source,) = parsed(GOOD + f'time_form = "{form}"\n')
    names = ("instrument", "time", "open", "high", "low", "close")
    assert item_in(source, names, f"A,{text},1,1,1,1".encode())["close_time_us"] == time_us
