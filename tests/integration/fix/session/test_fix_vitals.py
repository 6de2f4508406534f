"""The FIX child tells every second what went over its session; the figures are the broker's."""

from pathlib import Path

import pytest

from fix.session.link import SessionState
from gateway.clock import monotonic_us
from gateway.telemetry.session import SessionStatus, session_status
from tests.doubles.fix_world import Broker, Desk, broker_at, desk_at, order_fields, until

pytestmark = pytest.mark.timeout(120)


def status(desk: Desk) -> SessionStatus:
    return session_status(
        desk.profile,
        desk.child.vitals,
        state=desk.child.state,
        detail=desk.child.detail,
        logon_no=desk.child.logon_no,
        reconciled=(0, 0),
        now_us=monotonic_us(),
    )


def left(broker: Broker) -> int:
    """Highest number that the broker has from us."""
    return max(int(dict(one)[34]) for one in map(dict, broker.fields("")))


def test_the_child_tells_its_numbers_and_its_last_messages(tmp_path: Path) -> None:
    with broker_at(tmp_path, script=("fill",)) as broker, desk_at(tmp_path, broker.profile) as desk:
        assert status(desk).told_ms is None, "before the first"
        desk.open()
        fields = order_fields("one", broker.profile)
        assert desk.hand(fields).outcome == "sent"
        name = dict(fields)[11]
        assert until(lambda: f"{name} F 2" in str(status(desk).recent)), desk.log()
        told = status(desk)
        assert told.next_sender == left(broker) + 1
        assert told.next_target == 1 + max(int(f[34]) for f in broker.fields("", "out"))
        assert told.missing is None
        assert told.state == SessionState.READY
        assert {one.what: one.most for one in told.rates}["NewOrderSingle"] == 1
        assert {"Logon", "NewOrderSingle", "ExecutionReport"} <= {one.what for one in told.recent}
        assert told.received_ms is not None
        desk.child.drop()
        assert until(lambda: status(desk).state != SessionState.READY)
        assert status(desk).told_ms is None, "figures of a child that is gone"
