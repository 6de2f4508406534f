"""A whole gateway whose bars are files: followed, over restarts and SIGKILL, and back-filled."""

import hashlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

from audit.records.kinds import Kind
from audit.store.tables import migrate
from gateway import clock
from gateway.errors import RequestError
from gateway.feeds.files.sources import parse_sources
from gateway.feeds.live.kept import KeptTables
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.commands.backfill import fill_from
from gateway.launch.plan import Plan
from tests.doubles.feeds import bars
from tests.doubles.live_desk import plan_for

pytestmark = [pytest.mark.postgres, pytest.mark.broker]
HEAD = "instrument,time,open,high,low,close\n"


def described(folder: Path) -> bytes:
    return f'[[source]]\nname = "vendor"\nfeed = "bars"\npath = "{folder}"\n'.encode()


def rows(count: int) -> list[str]:
    names = ("instrument", "close_time_us", "open", "high", "low", "close")
    posted = bars(count, clock.wall_us())
    return [",".join(str(one[name]) for name in names) + "\n" for one in posted]


def following(state: Path, folder: Path) -> Plan:
    """Return the plan of a gateway that is fed as `serve` is, and follows a folder."""
    sources = parse_sources(described(folder), name="feeds.toml", folder=state)
    return replace(plan_for(state), fed=True, playback={}, sources=sources)


def held(app: App) -> int:
    series = app.desk.own.market.series("bars", "SPXN")  # type: ignore[attr-defined]  # a fed one
    return 0 if series is None else len(series.last_run())


def test_a_gateway_follows_a_folder_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    folder, lines = tmp_path / "inbox", rows(60)
    folder.mkdir()
    file = folder / "2026.csv"
    file.write_text(HEAD + "".join(lines[:40]) + lines[40][:9])
    with running(following(tmp_path / "state", folder), lambda _: None) as app:
        wait_for(lambda: held(app) == 40, 20.0, part="the first lines")
        wait_for(lambda: told(app) == ["ok"], 20.0, part="the state of the file")
    with file.open("a") as there:
        there.write(lines[40][9:] + "".join(lines[41:]))
    with running(following(tmp_path / "state", folder), lambda _: None) as app:
        wait_for(lambda: held(app) == 60, 20.0, part="the other lines")
        (state,) = app.desk.own.market.files  # type: ignore[attr-defined]  # a fed market
        wait_for(lambda: state.condition == "ok", 20.0, part="the state of the file")
        wait_for(lambda: state.items > 0, 40.0, part="the count of what was read")
        assert (state.items, state.line) == (20, 61), "what was read before is not read again"
        file.write_text(HEAD + lines[3])
        wait_for(lambda: "refused" in told(app), 20.0, part="the first line is another one")
        assert told(app) == ["ok", "ok", "truncated", "refused"], "each start says it once"
        assert held(app) == 60


def read_and_held(app: App) -> tuple[int, int]:
    """Return how many items were read up to the file's end, and bars held."""
    (state,) = app.desk.own.market.files  # type: ignore[attr-defined]  # a fed market
    wait_for(lambda: state.condition == "ok", 20.0, part="the end of the file")
    return state.items, held(app)


def test_a_line_whose_bar_has_not_closed_is_not_lost_over_a_restart(tmp_path: Path) -> None:
    """The file was read beyond it, so the bar was missing for ever and the next had a gap."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    early = bars(1, clock.wall_us() + 12 * 3_600_000_000)[0]
    names = ("instrument", "close_time_us", "open", "high", "low", "close")
    last = ",".join(str(early[name]) for name in names) + "\n"
    (folder / "2026.csv").write_text(HEAD + "".join([*rows(60), last]))
    for items in (61, 0):
        with running(following(tmp_path / "state", folder), lambda _: None) as app:
            assert read_and_held(app) == (items, 60)
            waiting = app.desk.own.market.waiting()  # type: ignore[attr-defined]  # a fed market
            assert [one.event_us for one in waiting] == [early["close_time_us"]]


def told(app: App) -> list[str]:
    found = app.reader.records(stream="market/*", kinds=(Kind.FEED_CONDITION,))
    return [str(r.body["condition"]) for r in found if r.body["feed"] == "bars file"]


@pytest.mark.timeout(400)  # six gateways' readers are started again beside other tests
@pytest.mark.parametrize("kills", [6])
def test_lines_are_in_the_table_once_however_often_the_reader_is_killed(
    postgres_dsn: str, tmp_path: Path, kills: int
) -> None:
    migrate(postgres_dsn)
    file, lines = tmp_path / "2026.csv", rows(250)
    file.write_text(HEAD)
    done = 0
    for number in range(kills + 1):
        with file.open("a") as there:
            there.write("".join(lines[done : done + 40]))
        done += 40
        last = number == kills
        with subprocess.Popen(
            [sys.executable, "-m", "tests.doubles.file_reader", postgres_dsn, str(file)],
            stdout=subprocess.PIPE,
        ) as reader:
            assert reader.stdout is not None
            for _ in range(number % 4 + 1):  # die before, between and behind its effects
                reader.stdout.readline()
            if last:
                while b"ok" not in reader.stdout.readline():
                    pass
            os.kill(reader.pid, signal.SIGKILL)
    table = KeptTables(postgres_dsn)
    found = table.newest(["SPXN"], 1000)
    table.close()
    assert [one.sequence for one in found] == list(range(1, 251))
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM market.position").fetchone() == (1,)


def test_a_marked_gap_is_filled_by_the_command_and_a_contradiction_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inbox, state = tmp_path / "inbox", tmp_path / "state"
    inbox.mkdir()
    head = HEAD.replace("instrument,", "instrument,sequence,")
    lines = [
        line.replace("SPXN,", f"SPXN,{number},") for number, line in enumerate(rows(300), start=1)
    ]
    (inbox / "2026.csv").write_text(head + "".join([*lines[:250], *lines[260:]]))
    whole, wrong = tmp_path / "whole.csv", tmp_path / "wrong.csv"
    whole.write_text(head + "".join(lines))
    with running(following(state, inbox), lambda _: None) as app:
        wait_for(lambda: held(app) == 40, 20.0, part="the bars behind the gap")
        settings = app.plan.settings
        wrong.write_text(head + "".join([*lines[:260], lines[260].replace(",261,", ",251,", 1)]))
        with pytest.raises(RequestError, match=r"wrong.csv line 253: SPXN does not close after"):
            fill_from(settings, wrong, "vendor", "bars", check=False)
        cells = lines[199].split(",")
        cells[-1] = cells[4] + "\n"
        wrong.write_text(head + "".join([*lines[:199], ",".join(cells), *lines[200:]]))
        with pytest.raises(RequestError, match=r"wrong.csv line 201: SPXN sequence 200 of vendor"):
            fill_from(settings, wrong, "vendor", "bars", check=False)
        assert held(app) == 40
        capsys.readouterr()
        assert fill_from(settings, whole, "vendor", "bars", check=False) == 0
        assert "10 bars filled, 290 stood already" in capsys.readouterr().out
        assert held(app) == 300
        (record,) = [
            r.body
            for r in app.reader.records(stream="market/SPXN", kinds=(Kind.FEED_CONDITION,))
            if r.body["condition"] == "filled"
        ]
        digest = hashlib.sha256(whole.read_bytes()).hexdigest()
        assert record["detail"] == (f"10 from whole.csv (sha256 {digest}), by operator: 251-260")
        assert fill_from(settings, whole, "vendor", "bars", check=False) == 0
        assert "0 bars filled, 300 stood already" in capsys.readouterr().out


def as_parquet(file: Path, lines: list[str], first: int) -> Path:
    """Write lines of CSV as Parquet, with a number behind the instrument."""
    cells = [line.strip().split(",") for line in lines]
    columns: dict[str, list[Any]]
    columns = {name: [row[at] for row in cells] for at, name in enumerate(HEAD.strip().split(","))}
    columns["time"] = [int(one) for one in columns["time"]]
    columns["sequence"] = list(range(first, first + len(lines)))
    parquet.write_table(pa.table(columns), file)
    return file


def test_parquet_is_followed_and_fills_a_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inbox, state, lines = tmp_path / "inbox", tmp_path / "state", rows(300)
    inbox.mkdir()
    as_parquet(inbox / "1.parquet", lines[:250], 1)
    as_parquet(inbox / "2.parquet", lines[260:], 261)
    whole = as_parquet(tmp_path / "whole.parquet", lines, 1)
    with running(following(state, inbox), lambda _: None) as app:
        wait_for(lambda: held(app) == 40, 20.0, part="the bars behind the gap")
        settings = app.plan.settings
        half = tmp_path / "half.parquet"
        half.write_bytes(whole.read_bytes()[:-1])
        with pytest.raises(RequestError, match=r"half.parquet, the file: not a whole Parquet"):
            fill_from(settings, half, "vendor", "bars", check=False)
        cells = lines[199].strip().split(",")
        wrong = [*lines[:199], ",".join([*cells[:5], cells[3]]) + "\n", *lines[200:]]
        wrong_file = as_parquet(tmp_path / "wrong.parquet", wrong, 1)
        with pytest.raises(RequestError, match=r"parquet row 200: SPXN sequence 200 of vendor"):
            fill_from(settings, wrong_file, "vendor", "bars", check=False)
        capsys.readouterr()
        assert fill_from(settings, whole, "vendor", "bars", check=False) == 0
        assert "10 bars filled, 290 stood already" in capsys.readouterr().out
        assert held(app) == 300
        half.rename(inbox / "3.parquet")
        wait_for(lambda: "malformed" in told(app), 20.0, part="the record of the broken file")
    with running(following(state, inbox), lambda _: None) as app:
        assert held(app) == 300, "files that were taken are not read again"
