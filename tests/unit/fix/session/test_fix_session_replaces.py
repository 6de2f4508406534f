"""How the child's desk replaces an order: noted before it leaves, and swept under both names."""

from pathlib import Path

from fix.durable.journal import Journal, read_live
from fix.session.guard import Refusal
from fix.wire.messages import Fields, cancel_replace
from tests.doubles.child_desk import ChildDesk, child_desk, order, report
from tests.doubles.fix_world import PROFILE

NEW, NEWER = "R" * 20, "S" * 20


def limit_order(name: str = "A") -> Fields:
    return (*order(name), (40, "2"))


def begin(world: ChildDesk, name: str = "A") -> None:
    """Hand out an order that the broker acknowledges."""
    world.hand(name, fields=[list(pair) for pair in limit_order(name)])
    world.hears(*report(name, "0", "0", t151="5"))


def replace(world: ChildDesk, name: str = "A", new: str = NEW) -> dict[str, object]:
    fields = cancel_replace(
        limit_order(name), replace_id=new, quantity="9", price="101.00", transact_time_us=1
    )
    return dict(world.hand(new, fields=[list(pair) for pair in fields]))


def known(world: ChildDesk) -> list[tuple[str, str, str]]:
    found = read_live(world.folder / "journal")
    return [(one.cl_ord_id, one.wire_name, one.asked_name) for one in found]


def cancels(world: ChildDesk) -> list[str]:
    return sorted(one[41] for one in world.session.sent if one[35] == "F")


def reject(world: ChildDesk, name: str, orig: str, status: str, reason: str, to: str) -> None:
    head = ((35, "9"), (34, "11"), (37, "E1"), (11, name), (41, orig))
    world.hears(*head, (39, status), (434, to), (102, reason))


def test_a_replace_is_on_disk_before_it_leaves(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        begin(world)
        there: list[list[tuple[str, str, str]]] = []
        world.session.before_send = lambda _fields: there.append(known(world))
        assert replace(world)["result"] == "sent"
        assert there == [[("A", "A", NEW)]]
        left = world.session.sent[-1]
        assert (left[35], left[41], left[11], left[38], left[44]) == ("G", "A", NEW, "9", "101.00")
        assert replace(world)["result"] == "refused", "once ever"
        assert replace(world, new=NEWER)["reason"] == Refusal.NOT_ALLOWED, "one at a time"


def test_a_confirmed_replace_gives_the_order_its_new_name(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        begin(world)
        replace(world)
        world.hears(*report(NEW, "5", "0", t41="A", t151="9", t38="9"))
        assert known(world) == [("A", NEW, "")]
        world.hears(*report(NEW, "F", "2", t14="9", t32="9", t31="10", t34="12"))
        assert world.live() == []


def test_a_refused_replace_leaves_the_order_as_it_was(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        begin(world)
        replace(world)
        reject(world, NEW, "A", "0", "3", "2")
        assert known(world) == [("A", "A", "")]
        assert replace(world, new=NEWER)["result"] == "sent"


def test_a_sweep_cancels_both_names_and_unknown_ends_neither(tmp_path: Path) -> None:
    profile = PROFILE.model_copy(
        update={"capabilities": PROFILE.capabilities.model_copy(update={"mass_cancel": False})}
    )
    with child_desk(tmp_path, profile) as world:
        begin(world)
        replace(world)
        world.word.press()
        world.desk.wake()
        world.settle()
        assert cancels(world) == ["A", NEW]
        sent = {one[41]: one[11] for one in world.session.sent if one[35] == "F"}
        reject(world, sent[NEW], NEW, "8", "1", "1")
        assert known(world) == [("A", "A", NEW)], "unknown may mean: not arrived yet"
        world.hears(*report(sent["A"], "4", "4", t41="A", t34="13"))
        assert world.live() == []


def test_a_sweep_names_a_replaced_order_by_its_newest_name(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        begin(world)
        replace(world)
        world.hears(*report(NEW, "5", "0", t41="A", t151="9", t38="9"))
        world.ask("sweep")
        world.now_us += 1_000_000
        world.settle()
        world.now_us += 1_000_000
        world.settle()
        assert set(cancels(world)) == {NEW}


def test_a_kill_or_a_profile_without_it_lets_no_replace_leave(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        begin(world)
        world.word.press()
        assert replace(world)["reason"] == Refusal.KILLED
        assert known(world)[0][2] == "", "it never leaves"
    can = PROFILE.capabilities.model_copy(update={"replace": False})
    without = PROFILE.model_copy(update={"capabilities": can})
    with child_desk(tmp_path / "other", without) as world:
        begin(world)
        assert replace(world)["reason"] == Refusal.NOT_ALLOWED


def test_a_next_child_reads_the_names_again(tmp_path: Path) -> None:
    with child_desk(tmp_path / "desk") as world:
        begin(world)
        replace(world)
        (tmp_path / "copy").write_bytes((world.folder / "journal").read_bytes())
    again = Journal(tmp_path / "copy")
    found = again.order(NEW)
    assert found is not None
    assert (again.first_name(NEW), found.cl_ord_id, found.asked_name) == ("A", "A", NEW)
    again.close()
