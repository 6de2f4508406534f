"""The last guard: what must not leave does not, now or later, whatever the engine wants."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fix.errors import ChildError
from fix.session.link import HandResult, SessionState
from fix.wire import messages
from fix.wire.messages import Fields
from tests.doubles.fix_world import Broker, Desk, broker_at, desk_at, order_fields, until

pytestmark = pytest.mark.broker


def test_an_order_handed_twice_leaves_once(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        fields = order_fields()
        assert desk.hand(fields).outcome == "sent"
        assert desk.hand(fields) == HandResult(outcome="refused", reason="ALREADY_USED")
        assert desk.hand(order_fields("other")).outcome == "sent"
        assert until(lambda: len(broker.order_ids()) == 2)
        assert len(set(broker.order_ids())) == 2


def test_an_order_handed_again_after_the_child_restarted_is_refused(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        fields = order_fields()
        assert desk.hand(fields).outcome == "sent"
        restart(desk)
        assert desk.hand(fields) == HandResult(outcome="refused", reason="ALREADY_USED")
        assert broker.order_ids() == [dict(fields)[11]]


def test_an_order_handed_while_logged_off_never_leaves_later(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "ems")
    with desk_at(tmp_path, broker.profile) as desk:
        desk.child.start()
        desk.child.logon(min_next_sender=1)
        fields = order_fields()
        assert desk.hand(fields) == HandResult(outcome="refused", reason="NOT_LOGGED_ON")
        broker.start()
        try:
            desk.ready()
            assert desk.hand(order_fields("later")).outcome == "sent"
            assert until(lambda: len(broker.order_ids()) == 1)
            time.sleep(0.5)
            assert dict(fields)[11] not in broker.order_ids()
        finally:
            broker.stop()


@pytest.fixture(scope="module")
def trading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Desk]]:
    """One session that is ready; its tests send no order."""
    folder = tmp_path_factory.mktemp("trading")
    with broker_at(folder) as broker, desk_at(folder, broker.profile) as desk:
        desk.child.start()
        desk.child.logon(min_next_sender=1)
        assert desk.child.wait_for(SessionState.RECONCILING, 60.0)
        assert desk.hand(order_fields("too early")).reason == "NOT_RECONCILED"
        desk.ready()
        yield broker, desk


def now(desk: Desk) -> int:
    return desk.word.read().kill_epoch


def under_an_old_epoch(desk: Desk, fields: Fields) -> HandResult:
    desk.word.release(desk.word.press())
    return desk.hand(fields, kill_epoch=now(desk) - 1)


def under_an_epoch_to_come(desk: Desk, fields: Fields) -> HandResult:
    return desk.hand(fields, kill_epoch=now(desk) + 1)


def while_killed(desk: Desk, fields: Fields) -> HandResult:
    epoch = desk.word.press()
    found = desk.hand(fields, kill_epoch=epoch)
    desk.word.release(epoch)
    return found


def too_late(desk: Desk, fields: Fields) -> HandResult:
    return desk.hand(fields, kill_epoch=now(desk), late_us=-1)


def as_a_cancel(desk: Desk, fields: Fields) -> HandResult:
    return desk.child.cancel(fields)


def under_another_name(desk: Desk, fields: Fields) -> HandResult:
    return desk.child.hand("A" * 20, fields, now(desk), 1 << 60, 1 << 60)


def as_a_replace(desk: Desk, fields: Fields) -> HandResult:
    return desk.child.cancel(((35, "G"), *fields[1:]))


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        (under_an_old_epoch, "KILL_EPOCH_OLD"),
        (under_an_epoch_to_come, "KILL_EPOCH_OLD"),
        (while_killed, "KILLED"),
        (too_late, "SEND_BEFORE_PASSED"),
        (as_a_cancel, "NOT_ALLOWED"),
        (under_another_name, "MALFORMED"),
        (as_a_replace, "NOT_ALLOWED"),
    ],
)
def test_an_order_is_refused_and_questions_still_pass(
    trading: tuple[Broker, Desk], attempt: Callable[[Desk, Fields], HandResult], reason: str
) -> None:
    broker, desk = trading
    fields = order_fields(attempt.__name__)
    before = desk.child.status_request(messages.status_request(fields))
    assert attempt(desk, fields) == HandResult(outcome="refused", reason=reason)
    after = desk.child.status_request(messages.status_request(fields))
    asked = str(after.msg_seq_num)
    assert until(lambda: any(dict(one)[34] == asked for one in broker.fields("H")))
    between = set(range(before.msg_seq_num + 1, after.msg_seq_num))
    others = ("0", "1", "q")  # what keeps a session alive, and a kill's own mass cancel
    used = {int(dict(one)[34]) for kind in others for one in broker.fields(kind)}
    assert between <= used, "a refusal uses no number"
    assert broker.order_ids() == []


def asked_to_resend(tmp_path: Path, mutation: str) -> Broker:
    """Return a broker that lost our last messages and asked for them after a restart."""
    with (
        broker_at(tmp_path, script=("fill",) * 5) as broker,
        desk_at(tmp_path, broker.profile, mutation) as desk,
    ):
        desk.open()
        for number in range(5):
            assert desk.hand(order_fields(f"order {number}")).outcome == "sent"
        assert until(lambda: len(broker.order_ids()) == 5)
        broker.stop()
        broker.forget_received(4)
        broker.start()
        assert desk.child.wait_for(SessionState.RECONCILING, 60.0), desk.log()
        assert until(lambda: broker.captured("2", "out")), "the broker asked for nothing"
        assert until(lambda: broker.captured("4") or len(broker.order_ids()) > 5)
        time.sleep(0.3)
        return broker


@pytest.mark.parametrize("mutation", ["", "resends_kept"])
def test_a_resend_request_gets_a_gap_fill_and_no_order(tmp_path: Path, mutation: str) -> None:
    broker = asked_to_resend(tmp_path, mutation)
    assert broker.fields("4")[-1][123] == "Y"
    assert len(broker.order_ids()) == 5


def test_without_the_guard_the_same_resend_request_makes_orders_leave_again(
    tmp_path: Path,
) -> None:
    broker = asked_to_resend(tmp_path, "resends_kept_and_no_guard")
    assert len(broker.order_ids()) > 5, "the test above has no teeth"


def test_a_store_behind_the_ledger_does_not_connect_unless_told_to_adopt(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.child.start()
        with pytest.raises(ChildError, match="store_behind_ledger: store 1, ledger 40"):
            desk.child.logon(min_next_sender=40)
        time.sleep(0.5)
        assert broker.captured() == []
        desk.child.logon(min_next_sender=40, adopt=True)
        desk.ready()
        assert desk.hand(order_fields()).msg_seq_num > 40


def test_two_children_never_work_on_one_store(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker:
        profile = broker.profile.model_copy(
            update={"pace": broker.profile.pace.model_copy(update={"sweep_timeout_s": 1})}
        )
        with desk_at(tmp_path, profile) as desk, desk_at(tmp_path, profile) as second:
            desk.open()
            with pytest.raises(ChildError, match="no hello"):
                second.child.start(timeout_s=0.1)
            assert until(lambda: second.said("died"))
            assert "in use by another process" in str(second.said("fault")[0]["detail"])
            assert (len(desk.said("hello")), second.said("hello")) == (1, [])
            assert desk.hand(order_fields()).outcome == "sent"


def restart(desk: Desk) -> None:
    """Kill the child, and wait until its successor is ready."""
    os.kill(desk.child.pid, signal.SIGKILL)
    assert until(lambda: len(desk.said("died")) == 1)
    desk.ready()
