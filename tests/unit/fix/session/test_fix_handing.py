"""An order that is prepared before its announcement is durable: it leaves by its go, or never."""

from pathlib import Path

import pytest

from fix.durable.journal import Journal, read_live
from fix.session.link import PREPARED_MAX
from tests.doubles.child_desk import ChildDesk, child_desk, order, read_fields


def test_an_order_that_is_prepared_and_never_handed_out_leaves_no_trace(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.prepare("A")
        world.settle()
        assert world.session.ready == ["A"]
        assert (world.session.sent, world.live(), world.journal.knows("A")) == ([], [], False)
    assert read_live(tmp_path / "journal") == ()


def test_an_order_that_is_prepared_has_no_ticket(tmp_path: Path) -> None:
    """Even if the engine sent it, the gate would hold it back."""
    with child_desk(tmp_path) as world:
        world.prepare("A")
        world.settle()
        assert str(world.gate.judge(dict(order("A")), logged_on=True)) == "NOT_HANDED"


def test_a_prepared_order_leaves_by_its_go_once(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.prepare("A")
        answer = world.go("A")
        assert (answer["result"], read_fields(answer)[11]) == ("sent", "A")
        assert world.go("A")["reason"] == "NOT_HANDED"
        assert world.hand("A")["reason"] == "ALREADY_USED"
        assert [one[11] for one in world.session.sent] == ["A"]
        assert [(one.cl_ord_id, one.fields) for one in world.journal.live()] == [("A", order("A"))]


def test_a_prepared_order_is_in_the_journal_before_it_leaves(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        there: list[tuple[str, ...]] = []
        world.session.before_send = lambda _: there.append(
            tuple(one.cl_ord_id for one in read_live(tmp_path / "journal"))
        )
        world.prepare("A")
        world.go("A")
        assert there == [("A",)]


def test_a_go_without_an_order_leaves_nothing(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        assert world.go("A")["reason"] == "NOT_HANDED"
        assert (world.session.sent, world.live()) == ([], [])


@pytest.mark.parametrize("when", ["before it is prepared", "before its go"])
def test_a_kill_stops_a_prepared_order(tmp_path: Path, when: str) -> None:
    with child_desk(tmp_path) as world:
        epoch = world.word.read().kill_epoch
        for moment in ("before it is prepared", "before its go"):
            if moment == when:
                world.word.press()
            if moment == "before it is prepared":
                world.prepare("A")
        assert world.go("A", kill_epoch=epoch)["reason"] == "KILLED"
        assert [one for one in world.session.types() if one == "D"] == []


def test_the_oldest_prepared_order_is_forgotten(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        for number in range(PREPARED_MAX + 1):
            world.prepare(f"N{number}")
        assert world.go("N0")["reason"] == "NOT_HANDED"
        assert world.go(f"N{PREPARED_MAX}")["result"] == "sent"


def test_a_disk_that_refuses_after_an_order_left_lets_no_other_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: Journal) -> None:
        raise OSError(5, "the disk refuses")

    with child_desk(tmp_path) as world:
        with monkeypatch.context() as broken:
            broken.setattr(Journal, "sync", refuse)
            assert world.hand("A")["result"] == "sent"
            world.settle()
        assert world.live() == ["A"], "a kill must find it"
        assert [one["where"] for one in world.said("fault")] == ["desk"]
        assert world.hand("B")["reason"] == "EGRESS_CLOSED"


def test_a_logon_names_the_orders_that_a_power_cut_took_from_the_journal(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.hand("A")
        told = _logon(world, "A", "B")
        assert told["result"] == "ok"
        assert [(one.cl_ord_id, one.fields) for one in world.journal.live()] == [
            ("A", order("A")),
            ("B", order("B")),
        ]
        assert world.hand("B")["reason"] == "ALREADY_USED"
        assert [one[11] for one in world.session.sent] == ["A"]
    assert [one.cl_ord_id for one in read_live(tmp_path / "journal")] == ["A", "B"]


def test_a_disk_that_refuses_what_a_logon_names_refuses_the_logon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: Journal, _orders: object) -> None:
        raise OSError(28, "no space")

    with child_desk(tmp_path) as world, monkeypatch.context() as full:
        full.setattr(Journal, "told", refuse)
        answer = _logon(world, "B")
        assert (answer["result"], "no space" in str(answer["reason"])) == ("refused", True)
        assert "start" not in world.session.done


def _logon(world: ChildDesk, *names: str) -> dict[str, object]:
    announced = [[list(pair) for pair in order(name)] for name in names]
    return dict(world.ask("logon", min_next_sender=1, epoch=0, announced=announced))
