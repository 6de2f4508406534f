"""The child neither keeps nor cancels an order that is not ours, unless the profile says so."""

from pathlib import Path

from fix.dialects.profile import ForeignTreatment
from fix.orders.live import LiveOrder
from tests.doubles.child_desk import ChildDesk, child_desk, report
from tests.doubles.fix_world import PROFILE

STRANGE = report("TRADER-1", "0", "0", t37="B7", t151="5")
CANCELLING = PROFILE.model_copy(update={"foreign_orders": ForeignTreatment.CANCEL})


def killed(world: ChildDesk) -> list[str]:
    """Press the kill; return what leaves within two seconds, for which order."""
    world.word.press()
    world.desk.wake()
    world.settle()
    for _ in range(4):
        world.now_us += 500_000
        world.settle()
    return [
        f"{one[35]} {one.get(41, one[11] if one[35] == 'H' else '')}" for one in world.session.sent
    ]


def test_a_kill_cancels_ours_singly_and_a_strangers_never(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.hand("A")
        world.hears(*STRANGE)
        assert world.live() == ["A"]
        assert killed(world) == ["D ", "F A", "H A", "F A"], "no mass cancel: it would take both"


def test_once_the_stranger_is_gone_the_mass_cancel_is_back(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.hand("A")
        world.hears(*STRANGE)
        world.hears(*report("TRADER-1", "4", "4", t37="B7", t17="X9"))
        assert killed(world)[:2] == ["D ", "q "]


def test_a_stranger_of_an_earlier_child_is_spared_as_the_gateway_tells(tmp_path: Path) -> None:
    with child_desk(tmp_path) as world:
        world.ask("logon", epoch=3, min_next_sender=1, foreign=["B7"])
        world.hand("A")
        assert killed(world)[:2] == ["D ", "F A"]


def test_a_profile_may_have_strangers_cancelled_with_ours(tmp_path: Path) -> None:
    with child_desk(tmp_path, CANCELLING) as world:
        world.hears(*STRANGE)
        assert world.live() == ["TRADER-1"]
        sent = killed(world)
        assert sent[0] == "q "
        assert "F TRADER-1" in sent


def test_a_strangers_order_that_an_earlier_version_kept_is_dropped(tmp_path: Path) -> None:
    told = ((35, "D"), (11, "TRADER-1"), (55, "SPXN"), (54, "1"), (38, "5"))
    sent = ((35, "D"), (11, "OUROWN"), (55, "SPXN"), (54, "1"), (38, "5"), (40, "2"))
    with child_desk(tmp_path) as world:
        for fields in (told, sent):
            name = fields[1][1]
            world.journal.reopened(LiveOrder(cl_ord_id=name, fields=fields, inbox_offset=0))
        world.desk.forget_strangers()
        assert world.live() == ["OUROWN"]
