"""An order that is not ours is recorded and shown; it blocks nothing and changes no book."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from audit.records.kinds import Kind
from fix.dialects.profile import ForeignTreatment
from gateway import clock
from gateway.desk.intake.foreign import foreign_lines
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.launch.threads.alarms import HEARD_LATELY_US, foreign_orders
from gateway.telemetry.alarms.catalogue import Alarm
from gateway.walk.projections.foreign import ForeignOrders
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, MemoryDesk
from tests.unit.gateway.walk.reconciliation.test_gateway_book_check import check_of

AUDITOR = Caller(name="audit-1", role=Role.AUDITOR)


def strange(**changes: str) -> str:
    """Return a report about a trader's order, with other fields (`t39`)."""
    fields = {49: "EMSSIM", 56: "COUNTERSIGN", 34: "9", 52: "20180102-15:00:00", 37: "B7"}
    fields |= {11: "TRADER-1", 17: "S1", 150: "0", 39: "0", 1: "FIRM-2", 55: "SPXN", 54: "2"}
    fields |= {38: "9", 44: "11.00", 151: "9", 14: "0", 6: "0", 60: "20180102-15:00:00"}
    fields |= {int(name[1:]): text for name, text in changes.items()}
    return framed("8", tuple(fields.items()))


TRADED = {"t150": "F", "t39": "1", "t17": "S2", "t32": "4", "t31": "11.00", "t151": "5", "t14": "4"}
DONE = {"t150": "F", "t39": "2", "t17": "S3", "t32": "5", "t31": "11.00", "t151": "0", "t14": "9"}


def kinds(desk: MemoryDesk, raw: str) -> list[Kind]:
    return [one.kind for one in desk.settled(raw)]


def foreign_of(desk: MemoryDesk) -> ForeignOrders:
    found = desk.small.desk.own.foreign
    assert found is not None
    return found


def test_a_strangers_trades_are_recorded_and_no_book_no_intent_feels_them(desk: MemoryDesk) -> None:
    assert kinds(desk, strange()) == [Kind.FIX_INBOUND, Kind.FOREIGN_REPORTED]
    (_, told) = desk.settled(strange(**TRADED))
    assert told.stream == "session/EMSSIM"
    assert {name: told.body[name] for name in ("order_id", "cl_ord_id", "filled", "works")} == {
        "order_id": "B7",
        "cl_ord_id": "TRADER-1",
        "filled": "4",
        "works": True,
    }
    assert desk.lots() == 0
    assert check_of(desk).run("reconciliation") == 0
    assert desk.small.desk.own.section.differences.state == "ready"
    assert desk.ask().result == "approved"


def test_a_refused_cancel_of_a_stranger_is_the_strangers(desk: MemoryDesk) -> None:
    desk.settled(strange())
    said = ((49, "E"), (56, "C"), (34, "9"), (37, "B7"), (11, "T-2"), (41, "TRADER-1"), (39, "0"))
    assert kinds(desk, framed("9", (*said, (434, "1"), (102, "3")))) == [
        Kind.FIX_INBOUND,
        Kind.FOREIGN_REPORTED,
    ]
    (one,) = foreign_of(desk).listed()
    assert (one.works, one.reports, one.state) == (True, 2, "NEW")


def test_what_it_is_now_is_what_the_broker_said_last(desk: MemoryDesk) -> None:
    desk.settled(strange())
    desk.settled(strange(**TRADED))
    (one,) = foreign_of(desk).listed()
    assert (one.name, one.side, one.quantity, one.price) == ("B7", "SELL", "9", "11.00")
    assert (one.state, one.filled, one.leaves, one.works) == ("PARTIAL", "4", "5", True)
    desk.settled(strange(**DONE))
    assert foreign_of(desk).listed(working=True) == ()
    assert foreign_of(desk).working() == ()
    own = desk.small.desk.own
    again = ForeignOrders(own.reader, "EMSSIM")
    again.read(desk.log.size)
    assert again.listed() == foreign_of(desk).listed(), "a restart folds the same"


def test_a_resent_old_report_is_no_news_of_it(desk: MemoryDesk) -> None:
    desk.settled(strange())
    desk.settled(strange(t60="20180102-15:00:09", **DONE))
    assert kinds(desk, strange(t43="Y", t122="20180102-15:00:00")) == [Kind.FIX_INBOUND]
    (one,) = foreign_of(desk).listed()
    assert (one.reports, one.works) == (2, False)


def test_an_order_in_our_form_that_nobody_knows_still_blocks(desk: MemoryDesk) -> None:
    ours = strange(t11="STRANGERSTRANGERSTRA", **TRADED)
    assert Kind.BOOK_DIFFERENCE in kinds(desk, ours)
    assert desk.ask().result == "rejected"


def test_an_order_id_of_ours_is_ours_whatever_the_name(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t37="OURS-1"))
    assert Kind.BOOK_DIFFERENCE in kinds(desk, strange(t37="OURS-1", **TRADED))


def test_a_malformed_report_blocks_only_if_it_may_be_about_ours(desk: MemoryDesk) -> None:
    bad = TRADED | {"t32": "many"}
    assert kinds(desk, strange(**bad)) == [Kind.FIX_INBOUND, Kind.FIX_ANOMALY]
    assert Kind.BOOK_DIFFERENCE in kinds(desk, strange(t11="STRANGERSTRANGERSTRA", **bad))


def test_a_profile_that_blocks_makes_it_a_difference(desk: MemoryDesk) -> None:
    settling = replace(desk.small.settling, foreign=ForeignTreatment.BLOCK)
    desk.small = replace(desk.small, settling=settling)
    assert kinds(desk, strange(**TRADED)) == [
        Kind.FIX_INBOUND,
        Kind.FOREIGN_REPORTED,
        Kind.FIX_ANOMALY,
        Kind.BOOK_DIFFERENCE,
    ]
    assert desk.ask().result == "rejected"


def test_that_a_mass_status_request_found_nothing_is_only_a_message(desk: MemoryDesk) -> None:
    nothing = strange(t37="NONE", t11="NONE", t17="0", t150="I", t39="8", t151="0", t584="M1")
    assert kinds(desk, nothing) == [Kind.FIX_INBOUND]


def test_people_see_it_and_an_agent_does_not(desk: MemoryDesk) -> None:
    desk.settled(strange(**TRADED))
    seen: Callable[[Caller], int] = lambda who: len(  # noqa: E731
        foreign_lines(who, foreign_of(desk), live=True, limit=9)
    )
    assert (seen(AUDITOR), seen(AGENT)) == (1, 0)


def test_the_alarm_stands_while_it_works_and_a_while_after(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert foreign_orders(desk.small.desk) == {}
    desk.settled(strange())
    said = foreign_orders(desk.small.desk)[Alarm.FOREIGN_ORDER]
    assert said == "B7 SELL 9 SPXN: NEW, 0 filled"
    desk.settled(strange(**DONE))
    (one,) = foreign_of(desk).listed()
    monkeypatch.setattr(clock, "wall_us", lambda: one.said_us + HEARD_LATELY_US)
    assert Alarm.FOREIGN_ORDER in foreign_orders(desk.small.desk), "nobody may miss a trade"
    monkeypatch.setattr(clock, "wall_us", lambda: one.said_us + HEARD_LATELY_US + 1)
    assert foreign_orders(desk.small.desk) == {}


def test_only_orders_that_are_over_are_forgotten_and_the_oldest_first(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.walk.projections.foreign.KEPT_MAX", 3)
    for number, done in enumerate([False, True, True, False, False]):
        changes = DONE if done else {}
        desk.settled(strange(**changes | {"t37": f"B{number}", "t11": f"T-{number}"}))
    names = {one.name for one in foreign_of(desk).listed()}
    assert names == {"B0", "B3", "B4"}, "none that works, and of two that ended neither"
    desk.settled(strange(t37="B5", t11="T-5"))
    assert {one.name for one in foreign_of(desk).listed(working=True)} == {"B0", "B3", "B4", "B5"}
