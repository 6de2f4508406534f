"""Housekeeping goes on whatever a chore does, and says what is not done."""

import logging
import threading

import pytest

from audit.errors import LedgerTimeoutError
from gateway.launch.threads import pulse as pulse_module
from gateway.launch.threads.housekeeping import BACK_OFF_MAX_S, READY, STANDS_STILL_S, Housekeeping
from gateway.launch.threads.pulse import SILENT_AFTER_S, Pulse


class Hand:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_us = 1_000_000

    def __call__(self) -> int:
        return self.now_us

    def move(self, seconds: float) -> None:
        self.now_us += int(seconds * 1_000_000)


class Chore:
    """Fails while it is told to."""

    def __init__(self) -> None:
        self.fails = False
        self.done = 0
        self.tried = 0
        self.done_in_background = threading.Event()

    def __call__(self) -> None:
        self.tried += 1
        if self.fails:
            raise LedgerTimeoutError("no answer", written=None)
        self.done += 1
        self.done_in_background.set()


def test_a_chore_that_fails_stops_no_other_and_is_tried_again_with_back_off() -> None:
    hand, first, second = Hand(), Chore(), Chore()
    keeping = Housekeeping({"expiring holds": first, "asking": second}, hand)
    first.fails = True
    for tenth in range(600):
        keeping.round()
        assert second.done == tenth + 1
        hand.move(0.1)
    assert keeping.state == "expiring holds: LedgerTimeoutError for 60 s"
    assert 60 / BACK_OFF_MAX_S <= first.tried < 60 / BACK_OFF_MAX_S + 6
    first.fails = False
    hand.move(BACK_OFF_MAX_S)
    keeping.round()
    assert (first.done, keeping.state) == (1, READY)


def test_a_failure_is_logged_once_with_its_cause_and_once_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hand, chore = Hand(), Chore()
    keeping = Housekeeping({"expiring holds": chore}, hand)
    chore.fails = True
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            keeping.round()
            hand.move(BACK_OFF_MAX_S)
        chore.fails = False
        keeping.round()
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "housekeeping: expiring holds failed; it is tried again",
        "housekeeping: expiring holds is done again",
    ]
    assert caplog.records[0].exc_info is not None


def test_the_background_outlives_a_failing_chore() -> None:
    broken, good = Chore(), Chore()
    broken.fails = True
    keeping = Housekeeping({"broken": broken, "good": good})
    with keeping.in_background():
        for _ in range(2):
            assert good.done_in_background.wait(30)
            good.done_in_background.clear()
        assert keeping.state.startswith("broken: LedgerTimeoutError")
        broken.fails = False
        assert broken.done_in_background.wait(30)
    assert keeping.state == "stopped"


def test_a_round_that_never_ends_is_not_ready() -> None:
    hand, began, go_on = Hand(), threading.Event(), threading.Event()

    def hangs() -> None:
        began.set()
        go_on.wait(30)

    keeping = Housekeeping({"hanging": hangs}, hand)
    with keeping.in_background():
        assert began.wait(30)
        assert keeping.state == READY
        hand.move(STANDS_STILL_S + 1)
        state = keeping.state
        go_on.set()
    assert state == f"a round takes {STANDS_STILL_S + 1:.0f} s already"


class Heart:
    """Answers while it is told to."""

    def __init__(self) -> None:
        self.well = True
        self.trouble: Exception = LedgerTimeoutError("no answer", written=None)
        self.asked = threading.Semaphore(0)

    def beat(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self.asked.release()
        if not self.well:
            raise self.trouble

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("trouble", [LedgerTimeoutError("late", written=None), ValueError("odd")])
def test_a_silent_database_is_not_ready_and_comes_back(trouble: Exception) -> None:
    hand, heart = Hand(), Heart()
    heart.trouble = trouble
    pulse = Pulse(heart, hand)
    pulse.start()
    try:
        assert heart.asked.acquire(timeout=30)
        assert pulse.state == READY
        heart.well = False
        hand.move(SILENT_AFTER_S + 2)
        assert pulse.state == f"no answer for {SILENT_AFTER_S + 2:.0f} s"
        for _ in range(2):  # the second one is asked after the first has failed
            assert heart.asked.acquire(timeout=30)
        assert pulse.state != READY
        heart.well = True
        for _ in range(3):
            assert heart.asked.acquire(timeout=30)
        assert pulse.state == READY
    finally:
        pulse.stop()


def test_a_silence_is_logged_when_it_begins_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse_module, "BEAT_S", 0.001)
    heart = Heart()
    heart.well = False
    pulse = Pulse(heart, Hand())
    with caplog.at_level(logging.WARNING):
        pulse.start()
        for _ in range(4):
            assert heart.asked.acquire(timeout=30)
        heart.well = True
        for _ in range(5):
            assert heart.asked.acquire(timeout=30)
        pulse.stop()
    said = [one.message for one in caplog.records]
    assert said == [
        "the database does not answer: LedgerTimeoutError",
        "the database answers again",
    ]
