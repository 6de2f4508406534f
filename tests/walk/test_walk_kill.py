"""Five ways to be in trouble when the kill is pressed.

In each, after the acknowledgement no new order passes and what lives at the broker gets its cancel.
The broker's own capture is the witness.
"""

import os
import signal
import subprocess
import sys
import threading
from functools import partialmethod
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from fix.durable.kill_word import KillWord
from fix.session.link import SessionState
from fix.wire.messages import parse
from gateway.clock import monotonic_us, pause, wall_us
from gateway.installation.children.fix import FixChild
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from gateway.walk.decision import Result
from gateway.walk.projections.kill_times import newest_kill
from tests.doubles import live_desk

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
ROOT = Path(__file__).resolve().parents[2]
ORDER, CANCEL, MASS_CANCEL = "D", "F", "q"
ACK_WITHIN_US = 2_000_000


@pytest.fixture
def state(walk_state: Path) -> Path:
    """A fresh state folder."""
    return walk_state


def cancelled(app: App, after_us: int) -> bool:
    """Whether the broker received a cancel after a wall time."""
    return bool(
        live_desk.received(live_desk.capture_of(app), CANCEL, MASS_CANCEL, after_us=after_us)
    )


def assert_nothing_new(app: App, acknowledged_us: int) -> None:
    """Try to send after the acknowledgement, then look at the broker's capture."""
    fields = ((35, ORDER), (11, "A" * 20), (55, "SPXN"), (54, "1"), (38, "1"), (40, "2"), (44, "1"))
    epoch, _ = app.desk.kill_switch.state
    result = app.fix.hand(
        "A" * 20, fields, epoch, wall_us() + 5_000_000, monotonic_us() + 5_000_000
    )
    assert result.outcome == "refused", result
    capture = live_desk.capture_of(app)
    assert live_desk.received(capture, ORDER, after_us=acknowledged_us) == []


@pytest.mark.parametrize("confirms", [True, False])
def test_a_kill_holds_while_the_database_hangs(
    state: Path, monkeypatch: pytest.MonkeyPatch, *, confirms: bool
) -> None:
    """The child confirms, or stands still and is killed: the next one cancels, without a database.

    On a processor shared with other tests it may need more than the 0.1 s that a desk gives it. One
    that stands still cannot confirm, however long the desk is kept from looking.
    """
    given_s = 1.0 if confirms else 0.1
    monkeypatch.setattr(FixChild, "kill", partialmethod(FixChild.kill, timeout_s=given_s))
    with live_desk.desk(state) as app:
        live_desk.rest_one(app)
        postmaster = int((state / "pg" / "data" / "postmaster.pid").read_text().split()[0])
        backends = _children(postmaster)
        for pid in (*backends, postmaster):
            os.kill(pid, signal.SIGSTOP)
        if not confirms:
            os.kill(app.fix.pid, signal.SIGSTOP)
        try:
            began_us = wall_us()
            receipt = app.desk.kill_switch.press(actor="operator", reason="database hangs")
            acknowledged_us = wall_us()
            assert receipt.child_confirmed is confirms
            assert not receipt.recorded
            assert acknowledged_us - began_us < ACK_WITHIN_US
            wait_for(lambda: cancelled(app, began_us), 10.0, part="cancel")
            assert_nothing_new(app, acknowledged_us)
        finally:
            for pid in (postmaster, *backends):
                os.kill(pid, signal.SIGCONT)
    with live_desk.desk(state) as app:
        pressed = list(app.reader.records(stream="control", kinds=(Kind.KILL_PRESSED,)))
        assert [r.body["kill_epoch"] for r in pressed] == [receipt.kill_epoch]
        assert app.desk.kill_switch.state == (receipt.kill_epoch, True)


def test_a_kill_holds_when_the_gateway_is_dead(state: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.doubles.live_desk", str(state)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("resting ")
        died_us = wall_us()
        child.kill()
    word = KillWord(state / "kill.word")
    word.press()
    word.close()
    acknowledged_us = wall_us()
    capture = state / "ems" / "capture.jsonl"
    wait_for(
        lambda: bool(live_desk.received(capture, CANCEL, MASS_CANCEL, after_us=died_us)),
        15.0,
        part="cancel",
    )
    pause(0.5)
    assert live_desk.received(capture, ORDER, after_us=acknowledged_us) == []
    with live_desk.desk(state) as app:
        on_record = {r.body["cl_ord_id"] for r in app.reader.records(kinds=(Kind.CANCEL_SENT,))}
        told = live_desk.received(capture, CANCEL, MASS_CANCEL)
        assert {dict(parse(one))[11] for one in told} <= on_record, "what the child did alone"
        decision = live_desk.decide(app, live_desk.sessions(1)[0])
        assert decision.result is Result.REJECTED
        assert live_desk.received(capture, ORDER, after_us=acknowledged_us) == []


def test_a_kill_holds_when_the_fix_child_is_dead(state: Path) -> None:
    with live_desk.desk(state) as app:
        live_desk.rest_one(app)
        os.kill(app.fix.pid, signal.SIGKILL)
        began_us = wall_us()
        app.desk.kill_switch.press(actor="operator", reason="FIX child died")
        acknowledged_us = wall_us()
        assert acknowledged_us - began_us < ACK_WITHIN_US
        wait_for(lambda: cancelled(app, began_us), 20.0, part="cancel")
        assert app.fix.wait_for(SessionState.READY, 10.0)
        assert_nothing_new(app, acknowledged_us)
        wait_for(lambda: "answered_us" in _times(app), 15.0, part="the last word")
        found = _times(app)
        assert found["last_order_us"] < 0 < found["first_cancel_us"] <= found["last_cancel_us"]
        assert found["last_cancel_us"] <= found["answered_us"]


def test_a_kill_holds_when_the_broker_is_silent(state: Path) -> None:
    with live_desk.desk(state, sweep_timeout_s=1) as app:
        name = live_desk.rest_one(app)
        live_desk.silence(app)
        began_us = wall_us()
        receipt = app.desk.kill_switch.press(actor="operator", reason="broker is silent")
        acknowledged_us = wall_us()
        assert receipt.recorded
        wait_for(lambda: cancelled(app, began_us), 10.0, part="cancel")
        assert_nothing_new(app, acknowledged_us)
        wait_for(lambda: _outcome(app, name), 15.0, part="kill outcome")


def test_a_kill_holds_while_the_engine_hangs(state: Path) -> None:
    with live_desk.desk(state) as app:
        live_desk.rest_one(app)
    with live_desk.desk(state, "hang") as app:
        session = live_desk.sessions(1)[0]
        in_flight = threading.Thread(target=live_desk.decide, args=(app, session))
        in_flight.start()
        pause(0.3)
        began_us = wall_us()
        app.desk.kill_switch.press(actor="operator", reason="engine hangs")
        acknowledged_us = wall_us()
        assert acknowledged_us - began_us < ACK_WITHIN_US
        in_flight.join(20.0)
        assert not in_flight.is_alive()
        assert_nothing_new(app, acknowledged_us)


def _times(app: App) -> dict[str, int]:
    """Return the times of the newest kill on record."""
    found = newest_kill(app.reader)
    return {} if found is None else dict(found["times_us"])


def _outcome(app: App, name: str) -> bool:
    """Whether a kill outcome on record lists the order as not confirmed."""
    found = app.reader.records(stream="control", kinds=(Kind.KILL_OUTCOME,))
    return any(
        r.body["unknown"] + r.body["open"] >= 1 and name in str(r.body["detail"]) for r in found
    )


def _children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]
