"""A broker that lets an order work after its last word, over TCP and through the real child."""

from pathlib import Path

import pytest

from fix.dialects.profile import simulator_profile
from tests.doubles.fix_world import Desk, desk_at, order_fields, until
from tests.doubles.raw_broker import RawBroker

pytestmark = pytest.mark.broker
SIDE = ((55, "SPXN"), (54, "1"), (38, "700"))


def told(
    name: str, exec_id: str, exec_type: str, status: str, left: str
) -> tuple[tuple[int, str], ...]:
    about = ((37, "E1"), (11, name), (17, exec_id), (150, exec_type), (39, status))
    return (*about, *SIDE, (151, left), (14, "0"), (6, "0"))


def cancelled_anew(broker: RawBroker, desk: Desk, name: str) -> str:
    """Wait for a single cancel of the order; return its own name."""
    sent = broker.await_type("F")
    assert sent[41] == name, desk.log()
    return sent[11]


def test_what_works_after_the_last_word_of_a_kill_is_cancelled_and_the_word_taken_back(
    tmp_path: Path,
) -> None:
    with RawBroker() as broker, desk_at(tmp_path, simulator_profile(broker.port)) as desk:
        desk.open()
        assert desk.hand(order_fields()).outcome == "sent"
        name = broker.await_type("D")[11]
        epoch = desk.word.press()
        assert desk.child.kill(epoch, 20.0)
        cancel = cancelled_anew(broker, desk, name)
        unknown = ((11, cancel), (37, "NONE"), (41, name), (39, "8"), (434, "1"), (102, "1"))
        broker.say("9", *unknown)
        assert until(lambda: len(desk.sweeps()) == 1), desk.log()
        assert desk.sweeps()[0]["confirmed"] == [name]
        for place, (exec_type, status, left) in enumerate((("0", "0", "131"), ("D", "0", "229"))):
            broker.say("8", *told(name, f"AGAIN{place}", exec_type, status, left))
            assert until(lambda n=place: len(desk.sweeps("revived")) == n + 1), desk.log()  # type: ignore[misc]
            assert desk.sweeps("revived")[-1]["unknown"] == [name]
            assert [one.cl_ord_id for one in desk.child.live_orders()] == [name]
            cancelled_anew(broker, desk, name)
            broker.say("8", *told(name, f"END{place}", "4", "4", "0"))
            assert until(lambda n=place: len(desk.sweeps()) == n + 2), desk.log()  # type: ignore[misc]
            assert desk.child.live_orders() == ()
        count = len(desk.child.inbox_since(0))
        broker.say("8", *told(name, "AGAIN0", "0", "0", "131"))  # the same word under a new number
        broker.say("8", *told(name, "END1", "4", "4", "0"))
        assert until(lambda: len(desk.child.inbox_since(0)) == count + 2)
        assert len(desk.sweeps("revived")) == 2
        assert desk.child.live_orders() == ()
        assert {one.kill_epoch for one in desk.child.noted_cancels()} == {epoch}
