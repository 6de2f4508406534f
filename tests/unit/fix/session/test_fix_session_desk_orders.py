"""How the child's desk hands out an order: once ever, on disk first, and never after a refusal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fix.durable.journal import Journal
from fix.durable.resets import Reset, ResetCause
from fix.orders.live import LiveOrder
from fix.session.guard import Refusal
from tests.doubles.child_desk import (
    EPOCH,
    NOW_US,
    ChildDesk,
    child_desk,
    order,
    read_fields,
)
from tests.doubles.fix_world import PROFILE


def test_an_order_leaves_with_its_number_epoch_and_text(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        first, second = world.hand("A"), world.hand("B")
        assert (first["ev"], first["result"]) == ("answer", "sent")
        assert (first["msg_seq_num"], second["msg_seq_num"], first["epoch"]) == (7, 8, EPOCH)
        assert read_fields(first)[11] == "A"
        assert [one[11] for one in world.session.sent] == ["A", "B"]
        assert world.live() == ["A", "B"]


def test_an_order_is_in_the_journal_with_its_fields_before_it_leaves(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        there: list[tuple[str, ...]] = []
        world.inbox.append("8=FIX")
        world.session.before_send = lambda _f: there.append(tuple(world.live()))
        world.hand("A")
        assert there == [("A",)]
        (kept,) = world.journal.live()
        assert kept == LiveOrder(cl_ord_id="A", fields=order("A"), inbox_offset=0)


def test_a_report_that_waits_behind_an_order_is_read_again_after_a_crash(tmp_path: Path) -> None:
    """The journal says up to where reports are accounted for, not up to where they arrived."""
    with child_desk(tmp_path) as world:
        waiting = world.inbox.append("8=FIX")
        world.hand("A")
        assert world.journal.inbox_offset == waiting.offset
        world.desk.catch_up([waiting])
        world.hand("B")
        assert [one.inbox_offset for one in world.journal.live()] == [0, waiting.next_offset]


def test_an_order_that_the_journal_refuses_does_not_leave_then_or_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child_desk(tmp_path) as world:

        def refuse(_self: Journal, _order: LiveOrder, _words: str) -> None:
            raise OSError(28, "no space")

        with monkeypatch.context() as full:
            full.setattr(Journal, "opened", refuse)
            answer = world.hand("A")
        assert answer["result"] == "refused"
        assert str(answer["reason"]).startswith("JOURNAL: ")
        assert "no space" in str(answer["reason"])
        assert world.session.sent == []
        assert world.hand("A")["reason"] == "ALREADY_USED"
        assert world.session.sent == []


def test_an_order_that_the_session_refused_unasked_never_leaves_later(tmp_path: Path) -> None:
    """The line went down between the desk's look and the engine's: the gate was never asked."""
    with child_desk(tmp_path) as world:
        world.session.refuses = Refusal.NOT_LOGGED_ON
        assert world.hand("A")["reason"] == "NOT_LOGGED_ON"
        assert world.live() == []
        world.session.refuses = None
        assert world.session.send(order("A")) is Refusal.ALREADY_USED
        assert world.session.sent == []


def logged_off(world: ChildDesk) -> None:
    world.session.is_logged_on = False


def known_from_an_earlier_life(world: ChildDesk) -> None:
    world.journal.opened(LiveOrder(cl_ord_id="A", fields=order("A"), inbox_offset=0))
    world.journal.closed("A", 0, "8")


def closed_egress(world: ChildDesk) -> None:
    world.gate.close("a fault")


def next_logon(world: ChildDesk) -> None:
    world.gate.begin_logon()


def at_the_wall_clocks_limit(world: ChildDesk) -> None:
    world.wall_us += 1


@pytest.mark.parametrize(
    ("change", "reason", "noted"),
    [
        (logged_off, "NOT_LOGGED_ON", False),
        (known_from_an_earlier_life, "ALREADY_USED", False),
        (closed_egress, "EGRESS_CLOSED", True),
        (next_logon, "NOT_RECONCILED", True),
    ],
)
def test_a_refused_order_is_not_live_and_never_leaves_later(
    tmp_path: Path, change: Callable[[ChildDesk], None], reason: str, *, noted: bool
) -> None:
    with child_desk(tmp_path) as world:
        change(world)
        answer = world.hand("A")
        assert (answer["result"], answer["reason"]) == ("refused", reason)
        assert world.live() == []
        assert world.session.sent == []
        if noted:
            assert f'"why":"{reason}"' in (tmp_path / "journal").read_text()
        world.session.is_logged_on = True
        assert world.gate.reconciled(world.gate.logon_no)
        assert world.hand("A")["reason"] == "ALREADY_USED"
        assert world.gate.judge(dict(order("A")), logged_on=True) in {
            Refusal.ALREADY_USED,
            Refusal.EGRESS_CLOSED,
        }
        assert world.session.sent == []


@pytest.mark.parametrize(
    "changes",
    [
        {"kill_epoch": 1},
        {"kill_epoch": -1},
        {"send_before_us": 2 * NOW_US},
        {"send_until_us": NOW_US},
    ],
)
def test_each_limit_of_a_hand_is_the_gates(tmp_path: Path, changes: dict[str, int]) -> None:
    with child_desk(tmp_path) as world:
        wanted = "KILL_EPOCH_OLD" if "kill_epoch" in changes else "SEND_BEFORE_PASSED"
        assert world.hand("A", **changes)["reason"] == wanted
        assert world.session.sent == []
        assert world.live() == []


@pytest.mark.parametrize(
    "fields",
    [
        [[35, "F"], [11, "A"]],
        [[35, "G"], [11, "A"]],
        [[35, "D"], [11, "B"]],
        [[35, "D"]],
        [[11, "A"]],
    ],
)
def test_only_a_new_order_under_its_own_name_is_handed(tmp_path: Path, fields: object) -> None:
    with child_desk(tmp_path) as world:
        assert world.hand("A", fields=fields)["reason"] == "MALFORMED"
        assert world.live() == []
        assert world.session.sent == []
        assert world.hand("A")["reason"] == "ALREADY_USED", "its name is spent"


def test_cancels_and_questions_pass_and_a_new_order_does_not(tmp_path: Path) -> None:
    with child_desk(tmp_path, reconciled=False) as world:
        cancel = [[35, "F"], [41, "A"], [11, "C"]]
        answer = world.ask("pass", fields=cancel)
        assert (answer["result"], answer["msg_seq_num"]) == ("sent", 7)
        new = [list(pair) for pair in order("A")]
        assert world.ask("pass", fields=new)["reason"] == "NOT_ALLOWED"
        assert world.session.types() == ["F"]
        world.session.refuses = Refusal.NOT_LOGGED_ON
        answer = world.ask("pass", fields=cancel)
        assert (answer["result"], answer["reason"]) == ("refused", "NOT_LOGGED_ON")


def test_a_session_is_ready_once_this_logon_is_reconciled(tmp_path: Path) -> None:
    with child_desk(tmp_path, reconciled=False) as world:
        assert world.hand("A")["reason"] == "NOT_RECONCILED"
        old = world.gate.begin_logon()
        new = world.gate.begin_logon()
        world.desk.logged_on(new)
        answer = world.ask("reconciled", logon_no=old)
        assert (answer["result"], answer["reason"]) == ("refused", "that logon is over")
        assert world.said("session") == []
        assert world.hand("B")["reason"] == "NOT_RECONCILED"
        assert world.ask("reconciled", logon_no=new)["result"] == "ok"
        assert world.said("session") == [
            {
                "ev": "session",
                "state": "READY",
                "logon_no": new,
                "next_sender": 7,
                "next_target": 4,
                "detail": "",
            }
        ]
        assert world.hand("C")["result"] == "sent"


def test_a_fault_at_the_desk_stops_new_orders_and_nothing_else(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.desk.command({"op": "hand", "n": 99})
        world.settle()
        (fault,) = world.said("fault")
        assert fault["where"] == "desk"
        assert "cl_ord_id" in str(fault["detail"])
        assert world.hand("A")["reason"] == "EGRESS_CLOSED"
        assert world.ask("pass", fields=[[35, "q"], [11, "C"]])["result"] == "sent"


# -- the kill's confirmation, on the reader's thread


def test_a_kill_is_confirmed_once_no_send_is_under_way(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        epoch = world.word.press()
        world.desk.confirm_kill({"n": 5, "kill_epoch": epoch})
        assert world.said("answer") == [{"ev": "answer", "n": 5, "result": "ok"}]
        assert world.gate.closed == "", "a release opens this gate again"
        world.session.free = False
        world.desk.confirm_kill({"n": 6, "kill_epoch": epoch})
        assert world.told[-1]["result"] == "refused"
        assert "not returned" in str(world.told[-1]["reason"])


@pytest.mark.parametrize(
    ("pressed", "named", "closes"), [(0, 0, True), (1, 2, True), (2, 1, False)]
)
def test_a_kill_that_the_word_does_not_show_closes_the_gate_for_good(
    tmp_path: Path, pressed: int, named: int, *, closes: bool
) -> None:
    with child_desk(tmp_path) as world:
        for _ in range(pressed):
            world.word.press()
        world.desk.confirm_kill({"n": 5, "kill_epoch": named})
        assert bool(world.gate.closed) is closes


# -- before anything connects


REFUSED = Reset(
    reset_no=1,
    cause=ResetCause.BY_BROKER,
    allowed=False,
    old_sender=7,
    old_target=4,
    new_sender=7,
    new_target=4,
    at_us=1,
)
GOES_ON = Reset(
    reset_no=2,
    cause=ResetCause.AFTER_REFUSAL,
    allowed=True,
    old_sender=7,
    old_target=4,
    new_sender=7,
    new_target=1,
    at_us=1,
)


@pytest.mark.parametrize(
    ("wanted", "epoch", "adopt", "done"),
    [
        (7, EPOCH, False, ["start"]),
        (8, EPOCH, False, []),
        (8, EPOCH, True, ["raise 8", "start"]),
        (8, EPOCH - 1, False, ["start"]),
        (8, EPOCH + 1, False, []),
    ],
)
def test_a_store_behind_the_ledger_connects_only_if_adopted_or_begun_anew(
    tmp_path: Path, wanted: int, epoch: int, done: list[str], *, adopt: bool
) -> None:
    with child_desk(tmp_path) as world:
        answer = world.ask("logon", min_next_sender=wanted, epoch=epoch, adopt=adopt, accept=False)
        assert answer["result"] == ("ok" if done else "refused")
        world.settle()
        assert world.session.done == done
        states = [one["state"] for one in world.said("session")]
        assert states == (["CONNECTING"] if done else [])
        if not done:
            assert answer["reason"] == "store_behind_ledger: store 7, ledger 8"


def test_in_reset_mode_the_numbers_of_the_store_do_not_matter(tmp_path: Path) -> None:
    profile = PROFILE.model_validate(PROFILE.model_dump() | {"mode": "reset"})
    with child_desk(tmp_path, profile) as world:
        assert world.ask("logon", min_next_sender=99, epoch=EPOCH)["result"] == "ok"
        world.settle()
        assert world.session.done == ["start"]


@pytest.mark.parametrize("accept", [True, False])
def test_a_persons_word_is_passed_on_and_counts_once_given(tmp_path: Path, *, accept: bool) -> None:
    with child_desk(tmp_path) as world:
        world.ask("logon", min_next_sender=1, epoch=EPOCH, accept=accept)
        assert world.session.sequence.accept_once is accept


def test_after_a_refused_beginning_nothing_connects(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.session.sequence.last_refused = REFUSED
        assert world.ask("logon", min_next_sender=7, epoch=EPOCH)["result"] == "ok"
        world.desk.logged_off("gone")
        world.settle()
        assert world.session.done == []
        assert [(one["state"], one["detail"]) for one in world.said("session")] == [
            ("REFUSED", str(REFUSED)),
            ("REFUSED", str(REFUSED)),
        ]


def test_a_session_that_goes_on_asks_for_all_and_says_so(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.session.sequence.last_refused = REFUSED
        world.session.sequence.on = GOES_ON
        assert world.ask("logon", min_next_sender=7, epoch=EPOCH)["result"] == "ok"
        world.settle()
        assert world.session.done == ["expect from first", "start"]
        assert world.said("reset") == [
            {"ev": "reset", "reset_no": 2, "allowed": True, "new_sender": 7}
        ]
        assert [one["state"] for one in world.said("session")] == ["CONNECTING"]


def test_a_refused_beginning_is_told_and_stays_the_reason(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.desk.logged_off("line down")
        world.desk.reset(REFUSED)
        world.desk.logged_off("logged out")
        world.settle()
        assert world.said("reset") == [
            {"ev": "reset", "reset_no": 1, "allowed": False, "new_sender": 7}
        ]
        assert [(one["state"], one["detail"]) for one in world.said("session")] == [
            ("CONNECTING", "line down"),
            ("REFUSED", str(REFUSED)),
        ]
        assert [one["logon_no"] for one in world.said("session")] == [0, 0], "none so far"


# -- a logon is asked for a sign of life


def test_a_logon_is_told_once_it_is_proven(tmp_path: Path) -> None:
    with child_desk(tmp_path, reconciled=False) as world:
        number = world.gate.begin_logon()
        world.desk.logged_on(number)
        world.settle()
        assert world.session.probes == [f"logon-{number}-1"]
        assert world.said("session") == []
        world.desk.heartbeat("somebody else's")
        world.settle()
        assert world.said("session") == []
        world.desk.heartbeat(world.session.probes[0])
        world.settle()
        (told,) = world.said("session")
        assert (told["state"], told["logon_no"]) == ("RECONCILING", number)


def test_a_logon_that_is_over_is_not_asked_again(tmp_path: Path) -> None:
    with child_desk(tmp_path, reconciled=False) as world:
        world.desk.logged_on(world.gate.begin_logon())
        world.settle()
        world.desk.logged_off("")
        world.now_us += 60_000_000
        world.settle()
        assert len(world.session.probes) == 1
