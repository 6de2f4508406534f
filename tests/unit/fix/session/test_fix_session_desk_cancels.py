"""How the child's desk cancels one order: noted before it leaves, and never after a refusal."""

from pathlib import Path

import pytest

from fix.durable.journal import CancelNote, Journal, read_cancels
from fix.session.guard import Refusal
from tests.doubles.child_desk import ChildDesk, child_desk, order

CANCEL_ID = "C" * 20


def cancel(world: ChildDesk, name: str = "A", cancel_id: str = CANCEL_ID) -> dict[str, object]:
    fields = [list(pair) for pair in order(name)]
    return dict(world.ask("cancel", fields=fields, cancel_id=cancel_id))


def noted(world: ChildDesk) -> list[tuple[str, str, bool]]:
    notes = read_cancels(world.folder / "journal")
    return [(one.cancel_id, one.cl_ord_id, one.asked) for one in notes]


def test_a_cancel_is_on_disk_before_it_leaves(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.hand("A")
        there: list[list[tuple[str, str, bool]]] = []
        world.session.before_send = lambda _fields: there.append(noted(world))
        answer = cancel(world)
        assert (answer["result"], answer["msg_seq_num"]) == ("sent", 8)
        assert there == [[(CANCEL_ID, "A", True)]]
        left = world.session.sent[-1]
        assert (left[35], left[11], left[41], left[38]) == ("F", CANCEL_ID, "A", "5")
        assert world.live() == ["A"], "until the broker says that it is gone"


def test_the_gateway_is_told_to_record_the_note(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        cancel(world)
        assert [one["phase"] for one in world.said("sweep")] == ["cancelling"]


def test_a_cancel_passes_while_a_kill_is_in_force(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.word.press()
        assert cancel(world)["result"] == "sent"


def test_a_cancel_passes_before_the_logon_is_reconciled(tmp_path: Path) -> None:
    with child_desk(tmp_path, reconciled=False) as world:
        assert cancel(world)["result"] == "sent"


def test_a_cancel_while_logged_off_never_leaves_and_is_not_noted(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.session.is_logged_on = False
        answer = cancel(world)
        assert (answer["result"], answer["reason"]) == ("refused", Refusal.NOT_LOGGED_ON)
        world.session.is_logged_on = True
        world.settle()
        assert (world.session.sent, noted(world)) == ([], [])


def test_a_full_disk_does_not_hold_a_cancel_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child_desk(tmp_path) as world:

        def refuse(_self: Journal, _notes: object, _offset: int) -> None:
            raise OSError(28, "no space")

        with monkeypatch.context() as full:
            full.setattr(Journal, "cancelling", refuse)
            assert cancel(world)["result"] == "sent"
        assert [one["where"] for one in world.said("fault")] == ["journal"]


def test_fields_that_are_no_order_are_refused(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        answer = world.ask("cancel", fields=[[35, "D"], [11, "A"]], cancel_id=CANCEL_ID)
        assert answer["result"] == "refused"
        assert "no tag 55" in str(answer["reason"])
        assert world.session.sent == []


def test_an_old_journal_without_the_mark_is_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.cancelling([CancelNote(cancel_id="X", cl_ord_id="A", kill_epoch=2)], 0)
    journal.cancelling([CancelNote(cancel_id="Y", cl_ord_id="A", kill_epoch=0, asked=True)], 0)
    journal.close()
    assert b'"asked"' not in (tmp_path / "journal").read_bytes().splitlines()[0]
    assert [one.asked for one in read_cancels(tmp_path / "journal")] == [False, True]
