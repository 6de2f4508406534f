"""What a broker of another make sends: kept byte for byte, and never refused for its form."""

from pathlib import Path

import pytest

from fix.dialects.profile import simulator_profile
from fix.errors import ReportError
from fix.wire.messages import parse
from fix.wire.reports import ExecutionReport, parse_inbound
from tests.doubles.fix_world import Desk, desk_at, order_fields, until
from tests.doubles.gapped_broker import GappedBroker
from tests.doubles.raw_broker import RawBroker

pytestmark = pytest.mark.broker

# Not in tag order, no AvgPx, groups of its own, a private tag, text beyond ASCII.
ODD = (
    (150, "F"),
    (17, "X1"),
    (39, "2"),
    (58, "exécuté"),
    (37, "E1"),
    (31, "269.69"),
    (32, "700"),
    (14, "700"),
    (151, "0"),
    (9001, "private"),
    (382, "2"),
    (375, "B1"),
    (337, "T1"),
    (375, "B2"),
    (337, "T2"),
    (136, "1"),
    (137, "0.35"),
    (139, "4"),
)


def test_reports_are_kept_as_they_came_in_the_brokers_own_order(tmp_path: Path) -> None:
    with RawBroker() as broker, desk_at(tmp_path, simulator_profile(broker.port)) as desk:
        desk.open()
        fields = order_fields()
        assert desk.hand(fields).outcome == "sent"
        name = broker.await_type("D")[11]
        sent = [
            broker.say("8", (11, name), *ODD),
            broker.say("8", *ODD[9::-1], *ODD[10:], (11, name)),
        ]
        assert until(lambda: len(desk.child.inbox_since(0)) == 2)
        assert [entry.raw for entry in desk.child.inbox_since(0)] == sent
        report = parse_inbound(sent[0])
        assert isinstance(report, ExecutionReport)
        assert (report.last_price, report.average_price) == ("269.69", "")
        assert until(lambda: desk.child.live_orders() == ())


def test_a_garbled_report_reaches_the_inbox_instead_of_being_refused_by_the_engine(
    tmp_path: Path,
) -> None:
    garbled = [(31, "price"), (32, "many"), (151, "-"), (14, "1e3"), (60, "yesterday")]
    with RawBroker() as broker, desk_at(tmp_path, simulator_profile(broker.port)) as desk:
        desk.open()
        assert desk.hand(order_fields()).outcome == "sent"
        name = broker.await_type("D")[11]
        for tag, value in garbled:
            sound = (pair for pair in ODD if pair[0] != tag)
            broker.say("8", (11, name), *sound, (tag, value))
        assert until(lambda: len(desk.child.inbox_since(0)) == len(garbled)), desk.log()
        kept = [entry.raw for entry in desk.child.inbox_since(0)]
        assert kept == broker.sent[-len(garbled) :]
        for raw in kept[:2]:
            with pytest.raises(ReportError):
                parse_inbound(raw)


def test_a_session_reject_of_an_order_closes_it(tmp_path: Path) -> None:
    with RawBroker() as broker, desk_at(tmp_path, simulator_profile(broker.port)) as desk:
        desk.open()
        order = order_fields()
        sent = desk.hand(order)
        broker.say("3", (45, str(sent.msg_seq_num)), (372, "D"), (373, "5"), (58, "bad value"))
        assert until(lambda: [r[35] for r in inbox(desk)] == ["3"])
        assert until(lambda: desk.child.live_orders() == ())


def inbox(desk: Desk) -> list[dict[int, str]]:
    return [dict(parse(entry.raw)) for entry in desk.child.inbox_since(0)]


def test_no_order_leaves_into_a_gap_that_the_broker_has_yet_to_see(tmp_path: Path) -> None:
    with GappedBroker() as broker, desk_at(tmp_path, simulator_profile(broker.port)) as desk:
        desk.open()
        assert broker.expects > 0, "the session was open before the broker had our numbers"
        assert desk.hand(order_fields()).outcome == "sent"
        assert int(broker.await_type("D")[34]) >= broker.expects
        assert broker.lost == []


UNTAKEN = {
    "a field twice": ((58, "a"), (58, "a")),
    "a group of wrong count": ((136, "2"), (137, "0.35"), (139, "4")),
    "a delimiter in data, then a field": ((354, "7"), (355, "ab\x0131=9")),
    "a delimiter in data": ((354, "5"), (355, "ab\x01cd")),
    "data longer than the message": ((95, "9999999"), (96, "ab")),
    "data without a length": ((96, "ab"),),
    "a part that is no field": ((58, "cut\x01off"),),
    "an empty field": ((58, ""),),
    "bytes beyond ASCII": ((20_012, "\xff\xfe"),),
}


def test_what_the_engine_cannot_take_reaches_the_inbox_and_the_session_goes_on(
    tmp_path: Path,
) -> None:
    """The engine rejects some as a session, cannot parse others, and hands on neither."""
    with RawBroker() as broker:
        profile = simulator_profile(broker.port).model_copy(update={"heartbeat_s": 1})
        with desk_at(tmp_path, profile) as desk:
            desk.open()
            assert desk.hand(order_fields()).outcome == "sent"
            name = broker.await_type("D")[11]
            body = tuple(pair for pair in ODD[:9] if pair[0] != 58)
            sent = []
            for extra in UNTAKEN.values():
                sent.append(broker.say("8", (11, name), *body, *extra))
                assert until(lambda: len(desk.child.inbox_since(0)) == len(sent)), desk.log()
            kept = [entry.raw for entry in desk.child.inbox_since(0)]
            assert kept == sent, desk.log()
            for raw in kept:
                found = parse_inbound(raw)
                assert isinstance(found, ExecutionReport)
                assert (found.last_qty, found.last_price) == ("700", "269.69")
            assert desk.hand(order_fields("second")).outcome == "sent", "the session goes on"
