"""A few kills at a silent line, and the judge that all of them go before."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest

from fix.wire.messages import timestamp
from tests.crash.kill_judge import (
    Life,
    Seen,
    lives,
    logon_after,
    new_orders_after,
    outlived,
    seen,
    sent_us,
)
from tests.crash.kill_throw import drawn, throw
from tests.crash.kill_throws import MUTANTS, biting, campaign, kept

S = 1_000_000
SEED = 41


def said(second: float, direction: str, *fields: tuple[int, str]) -> Seen:
    raw = "".join(f"{tag}={value}\x01" for tag, value in ((8, "FIX.4.4"), *fields))
    return seen(int(second * S), direction, raw)


def report(second: float, name: str, leaves: str, *more: tuple[int, str]) -> Seen:
    return said(second, "out", (35, "8"), (11, name), (151, leaves), *more)


STORY = [
    report(1, "A", "5"),
    report(2, "B", "5"),
    report(3, "B", "0"),
    report(4, "B", "5", (150, "H")),
    report(9, "B", "5", (43, "Y")),
    report(10, "CANCEL", "0", (41, "A")),
]


def test_the_judge_reads_lives_from_the_brokers_own_reports() -> None:
    assert lives(STORY) == [
        Life(cl_ord_id="B", begin_us=2 * S, end_us=3 * S),
        Life(cl_ord_id="A", begin_us=1 * S, end_us=10 * S),
        Life(cl_ord_id="B", begin_us=4 * S, end_us=0),
    ]


def test_the_judge_gives_two_seconds_from_the_logon_and_from_each_revival() -> None:
    assert outlived(STORY, logon_us=8 * S, until_us=20 * S) == ["B"]
    assert outlived(STORY, logon_us=7 * S, until_us=20 * S) == ["A", "B"]
    assert outlived(STORY[:-1], logon_us=3 * S, until_us=int(4.5 * S)) == []
    late_bust = [*STORY[:3], report(30, "B", "5"), report(31.9, "B", "0"), report(10, "A", "0")]
    assert outlived(late_bust, logon_us=9 * S, until_us=40 * S) == []


def test_the_judge_counts_new_orders_by_the_time_that_they_carry() -> None:
    def order(name: str, sent: float, *more: tuple[int, str]) -> Seen:
        stamp = timestamp(int(sent * S))
        return said(50, "in", (35, "D"), (11, name), (52, stamp), *more)

    capture = [order("EARLY", 9.9), order("LATE", 10.1), order("AGAIN", 1, (43, "Y"))]
    assert sent_us(capture[1]) == int(10.1 * S)
    assert new_orders_after(capture, acknowledged_us=10 * S) == ["LATE", "AGAIN"]


def test_the_judge_waits_for_the_logon_after_the_return() -> None:
    capture = [said(1, "out", (35, "A")), said(5, "in", (35, "A")), said(6, "out", (35, "A"))]
    assert logon_after(capture, 2 * S) == 6 * S
    assert logon_after(capture, 7 * S) == 0


def test_what_a_faulty_throw_left_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    folder = tmp_path / "sound-47"
    (folder / "ems").mkdir(parents=True)
    (folder / "ems" / "capture.jsonl").write_text("{}\n")
    place = kept(folder, SEED)
    shutil.rmtree(folder)
    assert place.name == "sound-47"
    assert (place / "ems" / "capture.jsonl").read_text() == "{}\n"


@pytest.mark.broker
@pytest.mark.timeout(240)
def test_kills_at_a_silent_line_leave_nothing_new_and_nothing_live() -> None:
    dice = random.Random(SEED)  # noqa: S311 - the same throws each time
    plans = [drawn(number, dice, 6.0) for number in range(5)]
    faults = [result.faults for result in campaign(plans, SEED, 5)]
    assert faults == [()] * len(plans)


@pytest.mark.broker
@pytest.mark.timeout(240)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_child_that_is_wrong_is_caught(tmp_path: Path, mutant: str) -> None:
    assert throw(biting(mutant, 0), tmp_path / "throw", SEED).faults != ()
