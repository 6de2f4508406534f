"""A followed file: what it says goes through the feeds' door once, in order, or is named."""

import json
import os
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.errors import NotReadyError
from gateway.feeds.files.following import Followed
from gateway.feeds.files.sources import FollowedSource, parse_sources
from gateway.feeds.files.state import FileState
from gateway.feeds.live.items import BARS, QUOTES
from gateway.feeds.live.overview import faults, overview
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk, quote
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

HEAD = "instrument,time,open,high,low,close\n"
QUOTE_HEAD = "instrument,time,bid,ask\n"


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    made = fed_desk(memory_desk(tmp_path / "desk", live=False))
    made.feeding.table = KeptInMemory()
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vendor.csv"


def described(file: Path, feed: str = BARS, more: str = "") -> FollowedSource:
    text = f'[[source]]\nname = "vendor"\nfeed = "{feed}"\npath = "{file}"\n{more}'
    (found,) = parse_sources(text.encode(), name="feeds.toml", folder=file.parent)
    return found


def followed(fed: FedDesk, source: FollowedSource) -> Followed:
    state = FileState(source=source.name, feed=source.feed)
    fed.market.files = (state,)
    return Followed(
        source=source,
        door=fed.feeding,
        instruments=INSTRUMENTS,
        monotonic_us=fed.clock.monotonic_us,
        state=state,
    )


def read(one: Followed) -> FileState:
    while one.round():
        pass
    return one.state


def rows(fed: FedDesk, count: int = 60) -> list[str]:
    names = ("instrument", "close_time_us", "open", "high", "low", "close")
    posted = bars(count, fed.clock.wall_us())
    return [",".join(str(one[name]) for name in names) + "\n" for one in posted]


def quote_row(fed: FedDesk, **changes: object) -> str:
    one = quote(1, fed.clock.wall_us(), **changes)
    return f"{one['instrument']},{one['event_time_us']},{one['bid']},{one['ask']}\n"


def add(file: Path, text: str | bytes) -> None:
    with file.open("ab") as there:
        there.write(text if isinstance(text, bytes) else text.encode())


def held(fed: FedDesk) -> int:
    series = fed.market.series(BARS, "SPXN")
    return 0 if series is None else len(series.last_run())


def told(fed: FedDesk, feed: str = "bars file") -> list[str]:
    found = fed.desk.log.of_kind(Kind.FEED_CONDITION)
    return [str(r.body["condition"]) for r in found if r.body["feed"] == feed]


def test_a_growing_file_delivers_each_complete_line_once(fed: FedDesk, file: Path) -> None:
    lines = rows(fed)
    one = followed(fed, described(file))
    assert read(one).condition == "missing"
    file.write_text(HEAD + "".join(lines[:50]) + lines[50][:20])
    assert read(one).said == "vendor.csv, line 51; the next has no end yet"
    assert (one.state.condition, one.state.items, held(fed)) == ("ok", 50, 50)
    add(file, lines[50][20:] + "".join(lines[51:]))
    assert (read(one).items, held(fed), one.state.line, one.state.unread) == (60, 60, 61, 0)
    assert told(fed) == ["missing", "ok"]
    lines_shown = [one for one in overview(fed.market, ["SPXN"]) or () if one.feed == "bars file"]
    assert [(one.sequence, one.held, one.good) for one in lines_shown] == [(61, 60, True)]


def test_a_restart_goes_on_where_it_stood(fed: FedDesk, file: Path) -> None:
    lines = rows(fed)
    file.write_text(HEAD + "".join(lines[:50]))
    read(followed(fed, described(file)))
    add(file, "".join(lines[50:]))
    again = followed(fed, described(file))
    assert (read(again).items, held(fed)) == (10, 60)


@pytest.mark.parametrize("lost", [True, False])
def test_lines_that_are_read_again_are_repeats(fed: FedDesk, file: Path, *, lost: bool) -> None:
    file.write_text(HEAD + "".join(rows(fed)))
    read(followed(fed, described(file)))
    assert isinstance(fed.feeding.table, KeptInMemory)
    fed.feeding.table.positions = {} if lost else {"bars vendor": {"offset": "garbage"}}
    assert read(followed(fed, described(file))).condition == "ok"
    assert (held(fed), len(fed.feeding.table.rows)) == (60, 60)


def test_a_rewritten_file_repeats_what_stood_and_adds_what_is_new(fed: FedDesk, file: Path) -> None:
    lines = rows(fed)
    file.write_text(HEAD + "".join(lines[:50]))
    one = followed(fed, described(file))
    read(one)
    file.write_text(HEAD.replace("open", " open") + "".join(lines))
    assert (read(one).condition, held(fed)) == ("ok", 60)
    assert told(fed) == ["ok", "replaced"]


def test_a_truncated_file_is_a_recorded_condition(fed: FedDesk, file: Path) -> None:
    lines = rows(fed)
    file.write_text(HEAD + "".join(lines))
    one = followed(fed, described(file))
    read(one)
    file.write_text(HEAD + lines[0])
    assert read(one).condition == "ok"
    assert told(fed) == ["ok", "truncated"]
    assert held(fed) == 60


def test_a_file_that_changes_what_stands_is_refused_at_its_line(fed: FedDesk, file: Path) -> None:
    lines = rows(fed)
    file.write_text(HEAD + "".join(lines[:50]))
    one = followed(fed, described(file))
    read(one)
    lines[7] = lines[8]
    file.write_text(HEAD + "".join(lines))
    state = read(one)
    assert state.condition == "refused"
    assert state.said.startswith("vendor.csv line 9: SPXN sequence 8 of vendor: another item came")
    assert held(fed) == 50, "nothing behind the line was taken"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"\xff\xfe\x00garbage\n", "byte 1: not UTF-8"),
        (b"SPXN,1\n", "column 2: 2 cells, but the first line names 6"),
        (b"SPXN,1,nan,1,1,1\n", "column 3 (open): String should match pattern"),
        (b"SPXN,1,inf,1,1,1\n", "column 3 (open): String should match pattern"),
        (b"SPXN,1,1e3,1,1,1\n", "column 3 (open): String should match pattern"),
        (b"SPXN,1,1.005,1,1,1\n", "column 3 (open): (..) is not a multiple of SPXN's tick 0.01"),
        (b"SPXN,2026-11-20,1,1,1,1\n", "column 2 (time): no time in us"),
        (b"NONE,1,1,1,1,1\n", "column 1 (instrument): unknown instrument (..); known: SPXN"),
        (b'SPXN,"1,1,1,1,1\n', "column 1: not CSV"),
        (b"x" * 70_000 + b"\n", "column 1: longer than 64 KiB"),
        (b"x" * 900_000 + b"\n", "column 1: longer than 64 KiB"),
        (b"a\0b\n", "column 1: a NUL or a carriage return inside the line"),
    ],
)
def test_bars_wait_at_a_line_that_cannot_be_read_until_it_is_corrected(
    fed: FedDesk, file: Path, bad: bytes, said: str
) -> None:
    lines = rows(fed)
    start = (HEAD + "".join(lines[:50])).encode()
    file.write_bytes(start + bad + "".join(lines[50:]).encode())
    one = followed(fed, described(file))
    state = read(one)
    assert (state.condition, held(fed)) == ("malformed", 50)
    assert state.said.startswith(f"vendor.csv line 52, {said}")
    assert "SPXN bars file" not in faults(overview(fed.market, ["SPXN"]) or ())
    assert "* bars file" in faults(overview(fed.market, ["SPXN"]) or ())
    assert not one.round()
    file.write_bytes(start + "".join(lines[50:]).encode())
    assert (read(one).condition, held(fed)) == ("ok", 60)


def test_quotes_go_on_behind_a_garbled_line_as_behind_a_gap(fed: FedDesk, file: Path) -> None:
    file.write_text(QUOTE_HEAD + quote_row(fed))
    one = followed(fed, described(file, QUOTES))
    assert read(one).condition == "ok"
    add(file, b"\x80\x81\n" + quote_row(fed).encode())
    read(one)
    assert told(fed, "quotes file") == ["ok", "malformed"]
    assert told(fed, QUOTES) == ["ok", "gap"]
    add(file, b"y" * 300_000 + b"\n" + quote_row(fed).encode() + quote_row(fed).encode())
    assert read(one).condition == "ok"
    assert fed.market.finding(QUOTES, "SPXN", "vendor").condition == "ok"


def test_a_quote_that_is_refused_does_not_end_the_feed(fed: FedDesk, file: Path) -> None:
    row = quote_row(fed)
    head = "instrument,sequence,time,bid,ask\n"
    numbered = [row.replace("SPXN,", f"SPXN,{number},") for number in (1, 2, 2, 3)]
    numbered[2] = numbered[2].replace(row.split(",")[2], "1.00")
    file.write_text(head + "".join(numbered))
    one = followed(fed, described(file, QUOTES))
    read(one)
    assert "refused" in told(fed, "quotes file")
    assert fed.market.finding(QUOTES, "SPXN", "vendor").condition == "ok"
    assert fed.market.last_sequence(QUOTES, "SPXN", "vendor") == 3


def test_late_crossed_and_missing_quotes_are_the_conditions_of_the_api(
    fed: FedDesk, file: Path
) -> None:
    file.write_text("instrument,sequence,time,bid,ask\n")
    one = followed(fed, described(file, QUOTES))
    for number, changes in (
        (1, {}),
        (5, {}),
        (6, {"bid": "999.00"}),
        (7, {"event_time_us": fed.clock.wall_us() - 120_000_000}),
    ):
        add(file, quote_row(fed, **changes).replace("SPXN,", f"SPXN,{number},"))
        read(one)
    assert told(fed, QUOTES) == ["ok", "gap", "crossed", "backwards"]


def test_a_folder_is_read_file_by_file_in_the_order_of_names(fed: FedDesk, tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    one = followed(fed, described(folder))
    assert read(one).said.endswith("has no .csv, .ndjson or .parquet file yet")
    lines = rows(fed)
    (folder / "2026-01.csv").write_text(HEAD + "".join(lines[:30]).rstrip("\n"))
    read(one)
    assert held(fed) == 29, "the last line has no end yet"
    (folder / "2026-02.csv").write_text(HEAD + "".join(lines[30:]))
    (folder / "notes.txt").write_text("no feed")
    assert (read(one).condition, held(fed)) == ("ok", 60)
    (folder / "2026-01b.csv").write_text(HEAD)
    assert read(one).said == (
        "2026-01b.csv came after 2026-02.csv and is not read: give it a later name"
    )


def test_empty_files_blank_lines_and_other_things_are_no_items(fed: FedDesk, file: Path) -> None:
    file.write_bytes(b"")
    one = followed(fed, described(file))
    assert read(one).said == "vendor.csv has no complete line yet"
    file.write_text(HEAD + "\n\r\n" + "".join(rows(fed, 3)))
    assert (read(one).condition, one.state.items) == ("ok", 3)
    file.unlink()
    os.mkfifo(file)
    assert "no regular file" in read(one).said


def test_lines_of_json_are_what_the_api_takes(fed: FedDesk, tmp_path: Path) -> None:
    file = tmp_path / "vendor.ndjson"
    posted = [{**one, "source": "vendor"} for one in bars(60, fed.clock.wall_us())]
    file.write_text("".join(json.dumps(one) + "\n" for one in posted))
    one = followed(fed, described(file))
    assert (read(one).condition, held(fed)) == ("ok", 60)
    add(file, '{"source": "other"}\n')
    assert "another source than vendor" in read(one).said


def test_events_of_a_file_reach_snapshots_and_are_complete_to_its_last_change(
    fed: FedDesk, file: Path
) -> None:
    now_us = fed.clock.wall_us()
    file.write_text(
        "when,bank,kind,note\n"
        + "".join(f"{now_us - back},FED,m-{back},text\n" for back in (900, 600, 300))
    )
    os.utime(file, ns=(now_us * 1_000, now_us * 1_000))
    more = (
        'time = "when"\nid = "kind"\nevent_type = "=macro"\norigin = "bank"\nheadline = "note"\n'
        "complete = true\n"
    )
    one = followed(fed, described(file, "events", more))
    state = read(one)
    assert state.condition == "ok", state.said
    assert len(fed.market.narrative.news("SPXN", now_us)) == 3
    assert fed.market.narrative.reach_of("vendor") == now_us


def test_a_ledger_or_table_that_is_away_loses_no_line(fed: FedDesk, file: Path) -> None:
    file.write_text(HEAD + "".join(rows(fed)))
    one = followed(fed, described(file))
    assert isinstance(fed.feeding.table, KeptInMemory)
    fed.feeding.table.away = True
    with pytest.raises(NotReadyError):
        one.round()
    fed.feeding.table.away = False
    assert (read(one).condition, held(fed)) == ("ok", 60)
    assert len(fed.feeding.table.rows) == 60
