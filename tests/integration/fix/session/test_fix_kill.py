"""Kill: after the acknowledgement nothing new leaves, in any process, also after a restart."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import cast

import pytest

from fix.session.link import HandResult
from fix.simulator.control import Control, write_control
from tests.doubles.fix_world import (
    ROOT,
    Desk,
    broker_at,
    desk_at,
    hang,
    order_fields,
    quick,
    quotes_above,
    until,
)

pytestmark = pytest.mark.broker

CALM_S = 5.0  # a busy test machine may take longer than the 0.1 s of the product
PRESS = """
import sys
from pathlib import Path
from typing import cast
from fix.durable.kill_word import KillWord
print(KillWord(Path(sys.argv[1])).press())
"""


def confirmed(desk: Desk) -> set[str]:
    """Return the orders that any sweep's last word calls gone."""
    return {name for one in desk.sweeps() for name in cast("list[str]", one["confirmed"])}


def test_a_word_pressed_by_another_process_stops_orders_and_cancels_live_ones(
    tmp_path: Path,
) -> None:
    with (
        broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",) * 9) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        live = [order_fields(f"live {number}") for number in range(3)]
        for fields in live:
            assert desk.hand(fields).outcome == "sent"
        ids = {dict(fields)[11] for fields in live}
        assert until(lambda: all(desk.statuses(one) == ["0"] for one in ids))
        pressed = subprocess.run(
            [sys.executable, "-c", PRESS, str(tmp_path / "kill.word")],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        assert pressed.stdout == "1\n"
        for epoch in (0, 1):
            late = order_fields(f"late {epoch}")
            assert desk.hand(late, kill_epoch=epoch).reason == "KILLED"
        assert desk.child.kill(1, CALM_S)
        # a press shuts the gate before its epoch is durable; a sweep may begin in between, and the
        # epoch's own finds nothing then
        assert until(lambda: confirmed(desk) == ids)
        assert all((one["unknown"], one["open"]) == ([], []) for one in desk.sweeps())
        assert all(desk.statuses(one)[-1] == "4" for one in ids)
        assert set(broker.order_ids()) == ids
        assert len(broker.captured("q")) == 1


def test_a_kill_survives_a_restart_and_a_release_spares_no_old_approval(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker:
        with desk_at(tmp_path, broker.profile) as desk:
            desk.open()
            epoch = desk.word.press()
            assert desk.child.kill(epoch, CALM_S)
        with desk_at(tmp_path, broker.profile) as again:
            again.open()
            assert again.word.read() == (1, True)
            assert again.hand(order_fields("a"), kill_epoch=1).reason == "KILLED"
            again.word.release(1)
            assert again.hand(order_fields("b"), kill_epoch=0).reason == "KILL_EPOCH_OLD"
            assert again.hand(order_fields("c"), kill_epoch=1).outcome == "sent"
            assert until(lambda: broker.order_ids() == [dict(order_fields("c"))[11]])


def test_with_a_silent_broker_cancels_leave_and_the_outcome_says_unknown(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",) * 2) as broker,
        desk_at(tmp_path, quick(broker.profile, sweep_timeout_s=2)) as desk,
    ):
        desk.open()
        live = order_fields("live")
        desk.hand(live)
        assert until(lambda: desk.said("inbox")), "the child has taken the report in, too"
        write_control(broker.config.control, Control(silent=True))
        assert desk.child.kill(desk.word.press(), CALM_S)
        assert until(lambda: desk.sweeps("waiting"))
        (outcome,) = desk.sweeps("waiting")
        assert desk.sweeps() == [], "a kill does not end while anything may be live"
        assert outcome["unknown"] == [dict(live)[11]]
        assert outcome["confirmed"] == []
        assert len(broker.captured("q")) == 1
        cancels = [fields[11] for fields in broker.fields("F")]
        assert len(cancels) >= 2, "asked again"
        assert len(set(cancels)) == len(cancels), "each cancel has its own id"
        assert desk.hand(order_fields("late"), kill_epoch=1).reason == "KILLED"
        assert broker.order_ids() == [dict(live)[11]]


def test_a_child_that_hangs_is_killed_within_the_limit_and_its_successor_sweeps(
    tmp_path: Path,
) -> None:
    with (
        broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",) * 2) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        live = order_fields("live")
        desk.hand(live)
        assert until(lambda: desk.statuses(dict(live)[11]) == ["0"])
        hung = desk.child.pid
        hang(hung)
        epoch = desk.word.press()
        started = time.monotonic()
        assert desk.child.kill(epoch) is False
        assert time.monotonic() - started < 1.0
        assert until(lambda: desk.child.pid not in {0, hung})
        assert until(desk.sweeps, 60.0), "the successor logs on by itself and sweeps"
        assert until(lambda: desk.statuses(dict(live)[11])[-1:] == ["4"])
        assert broker.order_ids() == [dict(live)[11]]


def test_a_child_that_stands_still_with_its_pipe_full_does_not_hold_up_a_kill(
    tmp_path: Path,
) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        hang(desk.child.pid)
        stuffed = (*order_fields("stuffed"), (58, "x" * (8 << 20)))
        writers = [
            threading.Thread(target=desk.child.status_request, args=(stuffed,), daemon=True)
            for _ in range(5)
        ]
        for writer in writers:
            writer.start()
        time.sleep(0.3)
        assert all(writer.is_alive() for writer in writers), "the pipe took it all"
        epoch = desk.word.press()
        started = time.monotonic()
        assert desk.child.kill(epoch) is False
        assert time.monotonic() - started < 1.0
        for writer in writers:
            writer.join(5.0)
        assert not any(writer.is_alive() for writer in writers)
        assert broker.order_ids() == []


def test_a_child_that_reads_nothing_is_replaced(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path) as broker,
        desk_at(tmp_path, broker.profile, answer_timeout_s=3.0) as desk,
    ):
        desk.open()
        stuck = desk.child.pid
        hang(stuck)
        stuffed = (*order_fields("stuffed"), (58, "x" * (8 << 20)))
        assert desk.child.status_request(stuffed).outcome == "unknown"
        assert until(lambda: desk.child.pid not in {0, stuck})


def test_with_the_child_dead_the_word_alone_keeps_orders_back(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        os.kill(desk.child.pid, signal.SIGKILL)
        epoch = desk.word.press()
        desk.child.kill(epoch)
        assert until(lambda: len(desk.said("hello")) == 2, 60.0)
        desk.ready()
        assert desk.hand(order_fields(), kill_epoch=epoch).outcome == "refused"
        assert broker.order_ids() == []


def test_a_removed_kill_word_reads_as_killed(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        (tmp_path / "kill.word").unlink()
        assert desk.hand(order_fields()) == HandResult(outcome="refused", reason="KILLED")


def test_a_child_that_ignores_the_word_is_caught_by_the_brokers_capture(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path) as broker,
        desk_at(tmp_path, broker.profile, "kill_word_ignored") as desk,
    ):
        desk.open()
        epoch = desk.word.press()
        desk.hand(order_fields(), kill_epoch=epoch)
        assert until(lambda: broker.order_ids() != [], 20.0), "the tests above have no teeth"


@pytest.mark.parametrize("word", ["bust", "correct"])
def test_an_order_that_a_bust_lets_live_again_is_swept_by_a_kill(tmp_path: Path, word: str) -> None:
    with (
        broker_at(tmp_path, script=(word,), partial_delay_ms=1) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        fields = order_fields("undone")
        name = dict(fields)[11]
        assert desk.hand(fields).outcome == "sent"
        assert until(lambda: len(desk.statuses(name)) == 3)
        assert until(lambda: [one.cl_ord_id for one in desk.child.live_orders()] == [name])
        assert desk.child.kill(desk.word.press(), CALM_S)
        assert until(lambda: desk.statuses(name)[-1:] == ["4"])
        assert until(lambda: desk.child.live_orders() == ())
