"""The broker begins its numbers anew: by 141=Y, in silence, or every night.

The real child and its quickfix against a broker that writes its own bytes, over TCP.
"""

import time
from pathlib import Path

import pytest

from fix.dialects.profile import Profile, Resets, simulator_profile
from fix.durable.continuity import stored_numbers
from fix.durable.resets import ResetCause, resets_of
from fix.session.link import SessionState
from tests.doubles.fix_world import Desk, desk_at, order_fields, until
from tests.doubles.resetting_broker import ResettingBroker

pytestmark = [pytest.mark.broker, pytest.mark.timeout(120)]


def profile_of(broker: ResettingBroker, resets: Resets = Resets.NONE) -> Profile:
    return simulator_profile(broker.port).model_copy(update={"resets": resets})


def use_numbers(broker: ResettingBroker, count: int = 3) -> None:
    """Let both sides count a few messages."""
    before = len(broker.of_type("0"))
    for number in range(count):
        broker.say("1", (112, f"n{number}"))
    broker.await_type("0", before + count)


def begins_anew(broker: ResettingBroker, desk: Desk, how: str) -> tuple[int, int]:
    """End the line; at the next logon the broker begins anew.

    Returns the numbers that came next before that: ours, and the broker's.
    """
    counted = (broker.expects, broker.out)
    broker.next_logon = how
    broker.hang_up()
    assert until(lambda: desk.child.state is not SessionState.READY)
    return counted


@pytest.mark.parametrize("how", ["flag", "forget"])
def test_a_beginning_that_the_profile_does_not_allow_ends_the_session(
    tmp_path: Path, how: str
) -> None:
    with ResettingBroker() as broker, desk_at(tmp_path, profile_of(broker)) as desk:
        desk.open()
        use_numbers(broker)
        sender, target = begins_anew(broker, desk, how)
        assert desk.child.wait_for(SessionState.REFUSED, 30.0)
        (found,) = resets_of(tmp_path / "fix")
        assert not found.allowed
        tries = 1 + (how == "forget")  # our logons at which the broker had begun anew
        assert (found.old_sender, found.old_target) == (sender + tries, target)
        assert desk.child.refused == str(found)
        tried = len(broker.of_type("A"))
        assert not until(lambda: len(broker.of_type("A")) > tried, 3.0), "it tries again"
        assert desk.hand(order_fields("late")).reason == "NOT_LOGGED_ON"
        stored = stored_numbers(tmp_path / "fix")
        assert (stored[0] >= found.old_sender, stored[1]) == (True, target)
    assert broker.of_type("D") == []


def test_an_allowed_beginning_by_141_opens_an_epoch_and_trading_goes_on(tmp_path: Path) -> None:
    with (
        ResettingBroker() as broker,
        desk_at(tmp_path, profile_of(broker, Resets.BY_BROKER)) as desk,
    ):
        desk.open()
        use_numbers(broker)
        first = desk.hand(order_fields("first"))
        assert (first.outcome, first.epoch) == ("sent", 0)
        assert first.msg_seq_num == int(broker.await_type("D")[34])
        sender, _ = begins_anew(broker, desk, "flag")
        desk.ready()
        (found,) = resets_of(tmp_path / "fix")
        assert (found.cause, found.allowed, found.old_sender) == (
            ResetCause.BY_BROKER,
            True,
            sender + 1,
        )
        second = desk.hand(order_fields("second"))
        assert (second.outcome, second.epoch) == ("sent", 1)
        assert second.msg_seq_num == int(broker.await_type("D", 2)[34])
        assert second.msg_seq_num < found.old_sender, "the numbers did not begin anew"
        assert [one[11] for one in broker.of_type("D")] == [
            dict(order_fields(name))[11] for name in ("first", "second")
        ]
        assert desk.hand(order_fields("first")).reason == "ALREADY_USED"
        assert [one.get(43) for one in broker.of_type("D")] == [None, None], "an order came twice"


def test_a_broker_that_begins_again_at_1_is_followed_from_its_first_message(
    tmp_path: Path,
) -> None:
    with (
        ResettingBroker() as broker,
        desk_at(tmp_path, profile_of(broker, Resets.BY_BROKER)) as desk,
    ):
        desk.open()
        use_numbers(broker)
        begins_anew(broker, desk, "forget")
        desk.ready()
        (found,) = resets_of(tmp_path / "fix")
        assert (found.cause, found.new_target) == (ResetCause.BEGUN_AGAIN, 1)
        asked = broker.await_type("2")
        assert asked[7] == "1", "messages that it sent under new numbers would be lost"
        sent = desk.hand(order_fields("after"))
        assert (sent.outcome, sent.epoch) == ("sent", 1)
        assert sent.msg_seq_num > found.old_sender, "ours go on"
        broker.await_type("D")


def test_a_reject_of_an_old_number_ends_no_order_of_the_new_count(tmp_path: Path) -> None:
    """The same MsgSeqNum named another order before the numbers began anew."""
    with (
        ResettingBroker() as broker,
        desk_at(tmp_path, profile_of(broker, Resets.BY_BROKER)) as desk,
    ):
        desk.open()
        desk.hand(order_fields("old"))
        begins_anew(broker, desk, "flag")
        desk.ready()
        new = desk.hand(order_fields("new"))
        broker.say("3", (45, str(new.msg_seq_num)), (372, "D"), (58, "value"))
        (kept, _) = (dict(order_fields(name))[11] for name in ("old", "new"))
        assert until(lambda: [one.cl_ord_id for one in desk.child.live_orders()] == [kept])


def test_a_nightly_beginning_is_kept_over_the_schedule(tmp_path: Path) -> None:
    now = time.time()  # noqa: TID251 - a broker's schedule is wall time

    def at(seconds: int) -> str:
        return time.strftime("%H:%M:%S", time.gmtime(now + seconds))

    # the first logon has 20 s, also on a loaded machine; then the event is waited for
    times = {"resets": Resets.NIGHTLY, "session_end": at(20), "session_start": at(23)}
    with ResettingBroker() as broker:
        broker.nightly = True
        profile = simulator_profile(broker.port).model_copy(update=times)
        with desk_at(tmp_path, profile) as desk:
            desk.open()
            use_numbers(broker)
            assert desk.child.wait_for(SessionState.CONNECTING, 60.0), "the session does not end"
            assert desk.hand(order_fields("night")).reason == "NOT_LOGGED_ON"
            desk.ready()
            (found,) = resets_of(tmp_path / "fix")
            assert (found.cause, found.allowed, found.new_sender) == (ResetCause.NIGHTLY, True, 1)
            sent = desk.hand(order_fields("day"))
            assert (sent.outcome, sent.epoch) == ("sent", 1)
            assert broker.await_type("D")[11] == dict(order_fields("day"))[11]


def test_a_session_that_slept_over_its_start_begins_anew_and_says_so(tmp_path: Path) -> None:
    """The engine begins the store anew as it opens it; the ledger's old number stops nothing."""
    with ResettingBroker() as broker:
        now = time.time()  # noqa: TID251 - a broker's schedule is wall time
        start, end = (
            time.strftime("%H:%M:%S", time.gmtime(now - hours * 3600)) for hours in (1, 2)
        )
        profile = simulator_profile(broker.port).model_copy(
            update={"resets": Resets.NIGHTLY, "session_start": start, "session_end": end}
        )
        store = tmp_path / "fix" / "store"
        store.mkdir(parents=True)
        name = "FIX.4.4-COUNTERSIGN-EMSSIM"
        (store / f"{name}.seqnums").write_text(f"{41:020d} : {31:020d}")
        slept = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime(now - 3 * 86_400))
        (store / f"{name}.session").write_text(slept)
        for part in ("body", "header"):
            (store / f"{name}.{part}").touch()
        with desk_at(tmp_path, profile) as desk:
            desk.child.start()
            (found,) = resets_of(tmp_path / "fix")
            assert (found.cause, found.old_sender, found.old_target) == (ResetCause.NIGHTLY, 41, 31)
            desk.child.logon(min_next_sender=41)  # the ledger does not know of it yet
            desk.ready()
            assert broker.of_type("A")[0][34] == "1"


def test_a_crash_before_the_numbers_were_put_back_puts_them_back(tmp_path: Path) -> None:
    with ResettingBroker() as broker:
        with desk_at(tmp_path, profile_of(broker)) as desk:
            desk.open()
            use_numbers(broker)
            sender, _ = begins_anew(broker, desk, "flag")
            assert desk.child.wait_for(SessionState.REFUSED, 30.0)
        (path,) = (tmp_path / "fix" / "store").glob("*.seqnums")
        path.write_text(f"{2:020d} : {1:020d}")  # as the engine leaves it before it asks
        with desk_at(tmp_path, profile_of(broker)) as desk:
            assert desk.child.start().next_sender == sender + 1


def test_a_persons_word_lets_the_broker_begin_anew_once(tmp_path: Path) -> None:
    with ResettingBroker() as broker, desk_at(tmp_path, profile_of(broker)) as desk:
        desk.child.start()
        desk.child.logon(min_next_sender=1, accept=True)
        desk.ready()
        use_numbers(broker)
        begins_anew(broker, desk, "flag")
        desk.ready()
        use_numbers(broker)
        begins_anew(broker, desk, "flag")
        assert desk.child.wait_for(SessionState.REFUSED, 30.0)
        assert [one.allowed for one in resets_of(tmp_path / "fix")] == [True, False]
