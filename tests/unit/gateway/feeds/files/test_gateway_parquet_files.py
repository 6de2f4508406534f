"""A Parquet file: taken whole and once, or named with the reason."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from audit.records.kinds import Kind
from gateway.errors import IntakeError
from gateway.feeds.files.following import Followed
from gateway.feeds.files.parquet import read_rows
from gateway.feeds.files.sources import FollowedSource, parse_sources
from gateway.feeds.files.state import FileState
from gateway.feeds.live.items import BARS, QUOTES
from gateway.launch.commands.market import wrong_with
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk, quote
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

NAMES = ("instrument", "time", "open", "high", "low", "close")


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    made = fed_desk(memory_desk(tmp_path / "desk", live=False))
    made.feeding.table = KeptInMemory()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "vendor"
    made.mkdir()
    return made


def described(path: Path, feed: str = BARS, more: str = "") -> FollowedSource:
    text = f'[[source]]\nname = "vendor"\nfeed = "{feed}"\npath = "{path}"\n{more}'
    (found,) = parse_sources(text.encode(), name="feeds.toml", folder=path.parent)
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


def posted(fed: FedDesk, count: int = 60) -> dict[str, list[Any]]:
    found = bars(count, fed.clock.wall_us())
    columns = {name: [one[name] for one in found] for name in NAMES if name != "time"}
    return columns | {"time": [one["close_time_us"] for one in found]}


def cut(columns: dict[str, list[Any]], begin: int, end: int | None = None) -> dict[str, list[Any]]:
    return {name: values[begin:end] for name, values in columns.items()}


def write(path: Path, columns: dict[str, list[Any]], **options: object) -> Path:
    parquet.write_table(pa.table(columns), path, **options)
    return path


def held(fed: FedDesk) -> int:
    series = fed.market.series(BARS, "SPXN")
    return 0 if series is None else len(series.last_run())


def told(fed: FedDesk, feed: str = "bars file") -> list[tuple[str, str]]:
    found = fed.desk.log.of_kind(Kind.FEED_CONDITION)
    mine = [one.body for one in found if one.body["feed"] == feed]
    return [(str(one["condition"]), str(one["detail"])) for one in mine]


@pytest.mark.parametrize("group", [1, 7, 1000])
def test_each_new_file_of_a_folder_is_taken_once(fed: FedDesk, folder: Path, group: int) -> None:
    columns = posted(fed)
    one = followed(fed, described(folder))
    write(folder / "1.parquet", cut(columns, 0, 50), row_group_size=group)
    assert (read(one).items, read(one).said, held(fed)) == (50, "1.parquet, row 50", 50)
    write(folder / "2.parquet", cut(columns, 50), row_group_size=group)
    assert (read(one).items, read(one).said, held(fed)) == (60, "2.parquet, row 10", 60)
    again = followed(fed, described(folder))
    assert (read(again).items, again.state.condition, held(fed)) == (0, "ok", 60)


def test_a_restart_within_a_file_goes_on_at_its_row(
    fed: FedDesk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.feeds.files.reading.ROWS", 25)
    path = write(folder / "1.parquet", posted(fed), row_group_size=7)
    first = followed(fed, described(path))
    assert first.round()
    assert (first.state.items, first.state.unread) == (25, 35)
    assert (read(followed(fed, described(path))).items, held(fed)) == (35, 60)


def test_a_half_written_file_is_on_record_with_its_name_and_taken_when_it_is_whole(
    fed: FedDesk, folder: Path
) -> None:
    path = write(folder / "1.parquet", posted(fed))
    whole = path.read_bytes()
    one = followed(fed, described(folder))
    for size in (0, 3, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert (read(one).condition, one.state.items, held(fed)) == ("malformed", 0, 0), size
    ((condition, detail),) = told(fed)
    assert condition == "malformed"
    assert detail.startswith("1.parquet, the file: not a whole Parquet file (")
    path.write_bytes(whole)
    assert (read(one).condition, held(fed)) == ("ok", 60)


def test_a_flipped_bit_gives_the_same_bars_or_a_named_reason(fed: FedDesk, folder: Path) -> None:
    path = write(folder / "1.parquet", posted(fed), write_page_checksum=True)
    whole = path.read_bytes()
    with path.open("rb") as file:
        right = read_rows(file, NAMES, 0, 1000)
    broken = folder / "broken"
    for at in range(0, len(whole), 7):
        broken.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with broken.open("rb") as file:
            try:
                found = read_rows(file, NAMES, 0, 1000)
            except IntakeError:
                continue
        if found.names == right.names:
            assert found == right, f"byte {at}"


def test_bars_of_a_file_with_a_bad_row_are_not_begun(fed: FedDesk, folder: Path) -> None:
    columns = posted(fed)
    columns["close"][40] = "NaN"
    path = write(folder / "1.parquet", columns)
    one = followed(fed, described(folder))
    assert (read(one).condition, one.state.items, held(fed)) == ("malformed", 0, 0)
    assert one.state.said.startswith("1.parquet, row 41, column 5 (close): ")
    write(folder / "2.parquet", cut(posted(fed), 50))
    assert read(one).items == 0
    write(path, cut(posted(fed), 0, 50))
    assert (read(one).condition, held(fed)) == ("ok", 60)


def test_quotes_go_on_behind_a_broken_file(fed: FedDesk, folder: Path) -> None:
    (folder / "1.parquet").write_bytes(b"PAR1 half")
    one = quote(1, fed.clock.wall_us())
    row = {"instrument": [one["instrument"]], "time": [one["event_time_us"]]}
    write(folder / "2.parquet", row | {"bid": [one["bid"]], "ask": [one["ask"]]})
    source = followed(fed, described(folder, QUOTES))
    assert read(source).items == 1
    assert [condition for condition, _ in told(fed, "quotes file")] == ["malformed", "ok"]


def test_a_file_with_another_content_is_read_again_and_may_not_change_what_stands(
    fed: FedDesk, folder: Path
) -> None:
    columns = posted(fed)
    path = write(folder / "1.parquet", cut(columns, 0, 50))
    one = followed(fed, described(path))
    read(one)
    write(path, columns)
    assert (read(one).condition, held(fed)) == ("ok", 60)
    columns["close"][3] = columns["low"][3]
    write(path, columns)
    assert read(one).condition == "refused"
    assert one.state.said.startswith("1.parquet row 4: ")
    assert [condition for condition, _ in told(fed)] == ["ok", "replaced", "refused"]


def texts(path: Path, values: Sequence[object], kind: pa.DataType | None = None) -> list[str]:
    parquet.write_table(pa.table({"it": pa.array(values, kind)}), path)
    with path.open("rb") as file:
        return [row[0] for row in read_rows(file, ["it"], 0, 100).rows]


def test_a_cell_is_the_text_that_csv_would_have(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    at = datetime(2026, 11, 20, 21, 0, 0, 250, tzinfo=UTC)
    nano = pa.timestamp("ns", "UTC")
    assert texts(path, [1, None, -3]) == ["1", "", "-3"]
    assert texts(path, [0.1, 100.0, 1e22]) == ["0.1", "100.0", "10000000000000000000000"]
    assert texts(path, [float("nan"), float("inf")]) == ["nan", "inf"]
    assert texts(path, [Decimal("12.50"), Decimal("0.01")]) == ["12.50", "0.01"]
    assert texts(path, [True, False]) == ["true", "false"]
    assert texts(path, [date(2026, 11, 20)]) == ["2026-11-20"]
    assert texts(path, [at, at + timedelta(days=1)])[0] == "2026-11-20T21:00:00.000250+00:00"
    assert texts(path, [1_000_000_001], nano) == ["1970-01-01T00:00:01+00:00"]
    assert texts(path, [["A", "B"], []]) == ["A B", ""]
    assert texts(path, ["a", "b"], pa.dictionary(pa.int8(), pa.string())) == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ([{"a": 1}], None, "column 1 (it): holds struct"),
        ([b"x"], None, "column 1 (it): holds binary"),
        ([[1]], None, "column 1 (it): holds list"),
        ([2**62], pa.timestamp("us"), "the file: not a whole Parquet file"),
    ],
)
def test_what_no_field_has_is_refused(
    tmp_path: Path, values: list[object], kind: pa.DataType | None, said: str
) -> None:
    with pytest.raises(IntakeError, match=rf"^{re.escape(said)}"):
        texts(tmp_path / "one.parquet", values, kind)


def test_check_names_the_file_and_what_is_wrong(folder: Path, fed: FedDesk) -> None:
    write(folder / "1.parquet", posted(fed) | {"nested": [{"a": 1}] * 60})
    source = described(folder)
    assert list(wrong_with(source)) == []
    write(folder / "2.parquet", {"instrument": ["SPXN"]})
    (folder / "3.parquet").write_bytes(b"half")
    wrong = list(wrong_with(source))
    assert len(wrong) == 2
    assert "2.parquet, column 1: time has no column time" in wrong[0]
    assert "3.parquet, the file: not a whole Parquet file" in wrong[1]
