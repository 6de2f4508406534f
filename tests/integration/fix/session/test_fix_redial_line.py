"""The real engine is tried at the profile's pace, and every second while a kill is in force."""

import re
import time
from pathlib import Path

import pytest

from fix.session.link import SessionState
from tests.doubles.fix_world import Broker, Desk, desk_at, order_fields, until

pytestmark = pytest.mark.broker
PAUSE_S = 4


def tries(desk: Desk) -> int:
    """How often the engine tried to connect so far, by its own log."""
    logs = (desk.folder / "fix" / "log").glob("*.event*.log")
    return sum(len(re.findall("Connecting to", path.read_text())) for path in logs)


def test_a_broker_that_is_away_is_tried_at_the_pace_that_holds(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "ems")
    profile = broker.profile.model_copy(update={"reconnect_s": PAUSE_S})
    broker.start()
    try:
        with desk_at(tmp_path, profile) as desk:
            desk.open()
            assert desk.hand(order_fields("first")).outcome == "sent"
            broker.stop()
            assert until(lambda: desk.child.state is SessionState.CONNECTING, 20.0)
            time.sleep(1.0)
            before = tries(desk)
            time.sleep(2.5 * PAUSE_S)
            quiet = tries(desk) - before
            assert 1 <= quiet <= 5, "the profile's pause holds without a kill"
            desk.word.press()
            before = tries(desk)
            assert until(lambda: tries(desk) - before >= 6, 12.0), "every second while killed"
            broker.start()
            assert until(lambda: desk.child.state is SessionState.RECONCILING, 20.0)
            logon_no = desk.child.logon_no
            time.sleep(2.0 * PAUSE_S)
            assert desk.child.logon_no == logon_no, "a session that is up is left alone"
    finally:
        broker.stop()
