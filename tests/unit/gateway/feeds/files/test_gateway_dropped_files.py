"""What lies in a drop folder is not trusted: no links, no quotes of content, no bombs, no queue."""

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from typing_extensions import override

from audit.records.kinds import Kind
from gateway import clock
from gateway.errors import IntakeError
from gateway.feeds.files import parquet as door
from gateway.feeds.files.dropped import open_dropped, unread
from gateway.feeds.files.following import Followed
from gateway.feeds.files.reading import all_lines
from gateway.feeds.files.sources import FollowedSource, parse_sources
from gateway.feeds.files.state import FileState
from gateway.launch.commands.market import wrong_with
from gateway.launch.threads.files import FileThreads
from tests.doubles.feeds import FedDesk, KeptInMemory, bars, fed_desk
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SECRET = "cs_secret-of-another-0123456789abcdef"
HEAD = "instrument,time,open,high,low,close\n"
NAMES = frozenset({"instrument", "time", "open", "high", "low", "close"})


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    made = fed_desk(memory_desk(tmp_path / "desk", live=False))
    made.feeding.table = KeptInMemory()
    return made


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    made = tmp_path / "drop"
    made.mkdir()
    return made


def followed(fed: FedDesk, path: Path, feed: str = "bars") -> Followed:
    text = f'[[source]]\nname = "vendor"\nfeed = "{feed}"\npath = "{path}"\n'
    (source,) = parse_sources(text.encode(), name="feeds.toml", folder=path.parent)
    state = FileState(source=source.name, feed=source.feed)
    fed.market.files = (state,)
    return Followed(
        source=source,
        door=fed.feeding,
        instruments=INSTRUMENTS,
        monotonic_us=fed.clock.monotonic_us,
        state=state,
    )


def looked(one: Followed, rounds: int = 5) -> FileState:
    for _ in range(rounds):
        one.round()
    return one.state


def said(fed: FedDesk) -> str:
    """Return everything that the ledger has."""
    return " ".join(json.dumps(one.body) for one in fed.desk.log.records())


def linked(target: Path, place: Path) -> None:
    place.symlink_to(target)


def hard_linked(target: Path, place: Path) -> None:
    place.hardlink_to(target)


def through_a_folder(target: Path, place: Path) -> None:
    """Put a link to the target's folder in the place of the drop folder itself."""
    copy = target.with_name(place.name)
    copy.write_bytes(target.read_bytes())
    place.parent.rmdir()
    place.parent.symlink_to(target.parent)


@pytest.mark.parametrize("named", ["the folder", "the file"])
@pytest.mark.parametrize("link", [linked, hard_linked, through_a_folder], ids=lambda f: f.__name__)
@pytest.mark.parametrize("suffix", [".csv", ".ndjson", ".parquet"])
def test_no_link_in_a_drop_folder_is_followed(
    fed: FedDesk,
    drop: Path,
    tmp_path: Path,
    suffix: str,
    link: Callable[[Path, Path], None],
    named: str,
) -> None:
    """Repro sec_symlink: the first line of any readable file was recorded as a column's name."""
    kept = tmp_path / "keys"
    kept.mkdir()
    victim = kept / "risk.key"
    victim.write_text(f"{SECRET}\n{SECRET}\n")
    place = drop / f"prices{suffix}"
    link(victim, place)
    if named == "the file" and link is through_a_folder:
        return  # the folder of a file that is named is the operator's own
    state = looked(followed(fed, drop if named == "the folder" else place))
    assert state.condition in {"skipped", "missing"}, state.said
    assert SECRET not in said(fed) + state.said
    assert len(fed.desk.log.of_kind(Kind.FEED_CONDITION)) == 1


def test_a_link_in_the_place_of_a_file_between_two_looks_is_not_followed(
    fed: FedDesk, drop: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "risk.key"
    victim.write_text(f"{SECRET}\n")
    rows = drop / "prices.csv"
    rows.write_text(HEAD)
    one = followed(fed, rows)
    looked(one)
    rows.unlink()
    rows.symlink_to(victim)
    state = looked(one)
    assert (state.condition, "a link" in state.said) == ("missing", True)
    assert SECRET not in said(fed)


def test_a_link_that_comes_between_the_look_and_the_open_is_not_followed(
    drop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "risk.key").write_text(f"{SECRET}\n")
    (drop / "prices.csv").symlink_to(tmp_path / "risk.key")
    monkeypatch.setattr(os, "lstat", os.stat)  # as if the file was there a moment ago
    with pytest.raises(OSError, match="symbolic link"):
        open_dropped(drop / "prices.csv")


def test_a_link_beside_good_files_is_named_and_stops_none(fed: FedDesk, drop: Path) -> None:
    names = ("instrument", "close_time_us", "open", "high", "low", "close")
    lines = [",".join(str(one[n]) for n in names) for one in bars(3, fed.clock.wall_us())]
    (drop / "2.csv").write_text(HEAD + "\n".join(lines) + "\n")
    (drop / "1.csv").symlink_to("/etc/hostname")
    state = looked(followed(fed, drop))
    assert (state.condition, state.items) == ("skipped", 3)
    assert "1.csv is no regular file" in state.said


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_is_no_regular_file_is_not_opened(drop: Path, make: Callable[[Path], None]) -> None:
    make(drop / "prices.csv")
    with pytest.raises(OSError, match="no regular file"):
        open_dropped(drop / "prices.csv")


def looks(mode: int = stat.S_IFREG | 0o640, uid: int = 7, nlink: int = 1) -> os.stat_result:
    return cast("os.stat_result", SimpleNamespace(st_mode=mode, st_uid=uid, st_nlink=nlink))


@pytest.mark.parametrize(
    ("file", "folder", "why"),
    [
        (looks(), looks(), ""),
        (looks(uid=1), looks(), ""),
        (looks(mode=stat.S_IFREG | 0o660), looks(mode=stat.S_IFDIR | 0o770), ""),
        (looks(), looks(mode=stat.S_IFDIR | stat.S_ISVTX | 0o777), ""),
        (looks(uid=8), looks(), "belongs to user 8"),
        (looks(nlink=2), looks(), "a hard link"),
        (looks(mode=stat.S_IFREG | 0o642), looks(), "everybody may write to it"),
        (looks(), looks(mode=stat.S_IFDIR | 0o777), "everybody may write to its folder"),
        (looks(mode=stat.S_IFCHR | 0o640), looks(), "no regular file"),
    ],
)
def test_owner_and_mode_decide_what_is_read(
    file: os.stat_result, folder: os.stat_result, why: str
) -> None:
    found = unread(file, folder, user=1)
    assert (why in found, bool(found)) == (True, bool(why))


def test_a_file_that_everybody_may_write_to_is_refused(fed: FedDesk, drop: Path) -> None:
    rows = drop / "prices.csv"
    rows.write_text(f"{SECRET}\n")
    rows.chmod(0o666)
    state = looked(followed(fed, drop))
    assert (state.condition, "everybody may write to it" in state.said) == ("missing", True)
    source = followed(fed, drop).source
    assert "everybody may write to it" in next(wrong_with(source))


# what a writer may put where: a header, a cell, a key, a value, half a structure
_WORDS = st.sampled_from([SECRET, f'"{SECRET}', f"{SECRET},", f"1{SECRET}", SECRET.upper()])
_CELLS = st.one_of(_WORDS, st.sampled_from(["SPXN", "1", "268.5", "", "2026-11-20", "-", "nan"]))
_KEYS = st.sampled_from([*NAMES, "sequence", "close_time_us", "source", "bid", SECRET])
_VALUES = st.one_of(_CELLS, st.integers(), st.lists(_WORDS, max_size=2), st.none())
_CSV = st.lists(st.lists(_CELLS, min_size=1, max_size=7).map(",".join), max_size=4).map("\n".join)
_JSON = st.lists(st.dictionaries(_KEYS, _VALUES, max_size=7).map(json.dumps), max_size=4)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    feed=st.sampled_from(["bars", "quotes", "events"]),
    form=st.sampled_from([".csv", ".ndjson"]),
    csv=st.one_of(_CSV, _CSV.map(lambda rows: HEAD + rows)),
    lines=st.one_of(_JSON.map("\n".join), _WORDS),
)
def test_no_complaint_quotes_what_a_file_holds(
    tmp_path_factory: pytest.TempPathFactory, feed: str, form: str, csv: str, lines: str
) -> None:
    folder = tmp_path_factory.mktemp("quotes")
    made = fed_desk(memory_desk(folder / "desk", live=False))
    made.feeding.table = KeptInMemory()
    file = folder / f"vendor{form}"
    file.write_text((csv if form == ".csv" else lines) + "\n")
    state = looked(followed(made, file, feed), rounds=3)
    for text in (state.said, *(str(r.body) for r in made.desk.log.of_kind(Kind.FEED_CONDITION))):
        assert SECRET.lower()[:12] not in text.lower(), (feed, form, text)


def _columns(rows: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    found: dict[str, Any] = {name: ["268.5"] * rows for name in ("open", "high", "low", "close")}
    found |= {"instrument": ["SPXN"] * rows, "time": list(range(1, rows + 1))}
    return found | changes


@pytest.mark.parametrize(
    "columns",
    [
        {SECRET: [1]},
        _columns(1, open=[SECRET]),
        _columns(1, instrument=[SECRET]),
        _columns(1, time=[SECRET]),
        _columns(1, open=[{SECRET: 1}]),
    ],
)
def test_no_complaint_quotes_what_a_parquet_file_holds(
    fed: FedDesk, drop: Path, columns: dict[str, Any]
) -> None:
    parquet.write_table(pa.table(columns), drop / "1.parquet")
    state = looked(followed(fed, drop))
    assert state.condition == "malformed"
    assert SECRET not in state.said + said(fed)


def test_a_broken_parquet_file_is_not_quoted(fed: FedDesk, drop: Path) -> None:
    (drop / "1.parquet").write_text(f"{SECRET}\n")
    assert SECRET not in looked(followed(fed, drop)).said + said(fed)


def _bomb(path: Path, rows: int, group: int, cell: str = "268.5") -> int:
    """Write constant rows, which take a few kilobytes; return the bytes of the file."""
    same = pa.array([0] * 100_000, pa.int32())
    words = pa.DictionaryArray.from_arrays(same, pa.array([cell]))
    names = pa.DictionaryArray.from_arrays(same, pa.array(["SPXN"]))
    times = pa.array([1]).take(same)
    piece = pa.table(
        {"instrument": names, "time": times} | dict.fromkeys(("open", "high", "low"), words)
    ).append_column("close", words)
    table = pa.concat_tables([piece] * -(-rows // 100_000)).slice(0, rows)
    parquet.write_table(table, path, row_group_size=group, use_dictionary=True, compression="zstd")
    return path.stat().st_size


@pytest.mark.parametrize(
    ("rows", "group", "cell", "told"),
    [
        (2_100_000, 2_100_000, "268.5", "2100000 rows"),
        (2_100_000, 1_000_000, "268.5", "2100000 rows"),
        (1_200_000, 1_200_000, "268.5", "row group 1 has 1200000 rows"),
        (100_000, 100_000, "1" * 60_000, "bytes in their cells"),
    ],
    ids=["one group", "many groups", "a large group", "long cells"],
)
def test_a_few_kilobytes_that_stand_for_much_are_refused(
    fed: FedDesk, drop: Path, rows: int, group: int, cell: str, told: str
) -> None:
    """Repro sec_parquet: rows of one constant kept the thread of all files busy."""
    size = _bomb(drop / "1.parquet", rows, group, cell)
    assert size < 1_000_000
    state = looked(followed(fed, drop), rounds=1)
    assert state.condition == "malformed"
    assert told in state.said
    assert state.items == 0


def test_every_row_is_decoded_once(drop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through a file costs in proportion to its rows, not to their square."""
    _bomb(drop / "1.parquet", 60_000, 60_000)
    decoded: list[int] = []
    add = door.Decoded.add

    def counted(self: door.Decoded, rows: int, cell_bytes: int) -> None:
        decoded.append(rows)
        add(self, rows, cell_bytes)

    monkeypatch.setattr(door.Decoded, "add", counted)
    assert sum(1 for _ in all_lines(drop / "1.parquet", NAMES)) == 60_001
    assert sum(decoded) == 60_000


def test_a_look_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(clock, "monotonic_us", lambda: now[0])
    look = door.Decoded()
    look.add(1, 1)
    now[0] = door.LOOK_US_MAX + 1
    with pytest.raises(IntakeError, match="120 seconds"):
        look.add(1, 1)
    with pytest.raises(IntakeError, match="bytes in its cells"):
        door.Decoded(cell_bytes=door.BYTES_MAX).add(1, 1)


def test_one_source_that_hangs_stops_no_other(fed: FedDesk, tmp_path: Path) -> None:
    hangs, goes, hung = threading.Event(), threading.Event(), threading.Event()

    class Hanging(Followed):
        @override
        def round(self) -> bool:
            hung.set()
            hangs.wait(60)
            return False

    class Going(Followed):
        @override
        def round(self) -> bool:
            if hung.wait(60):
                goes.set()
            return False

    plain = followed(fed, tmp_path / "a.csv")
    words = {"door": plain.door, "instruments": INSTRUMENTS, "monotonic_us": plain.monotonic_us}
    source: FollowedSource = plain.source
    threads = FileThreads(
        [
            kind(source=source, state=FileState(source="a", feed="bars"), **words)  # type: ignore[arg-type]
            for kind in (Hanging, Going)
        ]
    )
    threads.start()
    try:
        assert goes.wait(60)
        assert not hangs.is_set()
    finally:
        hangs.set()
        threads.stop()
