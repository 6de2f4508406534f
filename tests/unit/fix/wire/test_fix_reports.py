"""Inbound messages become values, or are refused; nothing in between."""

import pytest

from fix.errors import FixError, ReportError
from fix.orders.state import (
    Anomaly,
    AnomalyReason,
    OrderEvent,
    OrderState,
    advance,
    event_of,
    restated,
)
from fix.wire.messages import wire_text
from fix.wire.reports import (
    BusinessReject,
    CancelReject,
    ExecutionReport,
    MassCancelReport,
    OtherMessage,
    SessionReject,
    order_told_by,
    parse_inbound,
    scaled,
)

REPORT = {
    35: "8",
    34: "7",
    52: "20180626-08:00:00",
    37: "E1",
    11: "ORDER",
    17: "X1",
    150: "F",
    39: "1",
    55: "SPXN",
    54: "1",
    38: "10",
    32: "4",
    31: "269.58",
    151: "6",
    14: "4",
    6: "269.58",
    12: "0.11",
    13: "3",
}


def raw(**changes: str | None) -> str:
    fields = dict(REPORT)
    for name, value in changes.items():
        tag = int(name.removeprefix("t"))
        if value is None:
            del fields[tag]
        else:
            fields[tag] = value
    return wire_text(tuple(fields.items()))


def report(**changes: str | None) -> ExecutionReport:
    found = parse_inbound(raw(**changes))
    assert isinstance(found, ExecutionReport)
    return found


def test_an_execution_report_keeps_every_number_as_text() -> None:
    found = report()
    assert (found.cl_ord_id, found.exec_id, found.last_qty) == ("ORDER", "X1", "4")
    assert (found.last_price, found.leaves_qty, found.commission) == ("269.58", "6", "0.11")
    assert found.is_trade
    assert not found.is_status
    assert found.envelope.msg_seq_num == 7


@pytest.mark.parametrize(
    "changes",
    [
        {"t17": None},
        {"t17": ""},
        {"t150": None},
        {"t32": None},
        {"t31": None},
        {"t31": "1e5"},
        {"t32": "NaN"},
        {"t150": "4", "t39": None},
        {"t150": "4", "t39": "4", "t14": "--1"},
        {"t35": "ZZ"},
    ],
)
def test_a_report_that_lacks_or_garbles_what_booking_needs_is_refused(
    changes: dict[str, str | None],
) -> None:
    with pytest.raises(ReportError):
        parse_inbound(raw(**changes))


@pytest.mark.parametrize("value", [None, "", "x", "\xe9"])
@pytest.mark.parametrize("tag", [34, 37, 38, 39, 52, 6, 12, 14, 151])
def test_a_trade_is_read_as_far_as_its_order_quantity_and_price_go(
    tag: int, value: str | None
) -> None:
    found = report(**{f"t{tag}": value})
    assert (found.cl_ord_id, found.exec_id) == ("ORDER", "X1")
    assert (found.last_qty, found.last_price) == ("4", "269.58")
    garbled = value not in {None, ""} and tag == 39
    assert found.unread == ((tag,) if tag in {14, 39, 151} and not garbled else ())


def test_what_is_left_follows_from_the_order_where_it_is_not_stated() -> None:
    assert report(t151="").leaves_qty == "6"
    assert report(t151="", t39="4").leaves_qty == "0"
    assert report(t151="", t38="").leaves_qty == ""


def test_a_field_with_two_values_is_named() -> None:
    twice = wire_text((*REPORT.items(), (31, "1.00"), (32, "4"), (58, "a"), (58, "b")))
    found = parse_inbound(twice)
    assert isinstance(found, ExecutionReport)
    assert found.doubled == (31,)


def test_a_status_report_is_never_a_trade() -> None:
    status = report(t150="I", t17="0")
    assert status.is_status
    assert not status.is_trade


def test_the_other_messages_keep_what_they_refer_to() -> None:
    head = ((34, "9"), (52, "t"))
    reject = parse_inbound(
        wire_text(((35, "9"), *head, (37, "E"), (11, "C"), (41, "O"), (39, "2"), (434, "1")))
    )
    assert isinstance(reject, CancelReject)
    assert (reject.cl_ord_id, reject.orig_cl_ord_id, reject.ord_status) == ("C", "O", "2")
    mass = parse_inbound(
        wire_text(((35, "r"), *head, (37, "E"), (11, "M"), (530, "7"), (531, "7"), (533, "3")))
    )
    assert isinstance(mass, MassCancelReport)
    assert mass.affected == 3
    business = parse_inbound(wire_text(((35, "j"), *head, (45, "5"), (372, "D"), (380, "3"))))
    assert isinstance(business, BusinessReject)
    assert (business.ref_seq_num, business.ref_msg_type) == (5, "D")
    session = parse_inbound(wire_text(((35, "3"), *head, (45, "6"), (372, "D"), (373, "5"))))
    assert isinstance(session, SessionReject)
    assert session.ref_seq_num == 6
    assert isinstance(parse_inbound(wire_text(((35, "h"), *head))), OtherMessage)


@pytest.mark.parametrize(
    ("text", "digits", "units"),
    [
        ("269.58", 2, 26958),
        ("269.580", 2, 26958),
        ("-0.05", 2, -5),
        ("7", 2, 700),
        ("7", 0, 7),
        ("90071992547409.91", 2, 2**53 - 1),
    ],
)
def test_decimal_text_becomes_units_exactly(text: str, digits: int, units: int) -> None:
    assert scaled(text, digits) == units


@pytest.mark.parametrize(
    "text",
    ["269.585", "", "1e2", ".5", "5.", "1,0", "\u0661", "NaN", "90071992547409.92", "9" * 18],
)
def test_decimal_text_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(ReportError):
        scaled(text, 2)


def test_the_way_of_an_order_that_is_filled_in_parts() -> None:
    state: OrderState | Anomaly = OrderState.INTENT
    for event, expected in [
        (OrderEvent.SENDING_COMMITTED, OrderState.SENDING),
        (OrderEvent.LEFT, OrderState.SENT),
        (OrderEvent.ACKNOWLEDGED, OrderState.NEW),
        (OrderEvent.TRADED_PART, OrderState.PARTIAL),
        (OrderEvent.ACKNOWLEDGED, OrderState.PARTIAL),
        (OrderEvent.TRADED_PART, OrderState.PARTIAL),
        (OrderEvent.TRADED_ALL, OrderState.FILLED),
        (OrderEvent.ACKNOWLEDGED, OrderState.FILLED),
    ]:
        assert isinstance(state, OrderState)
        state = advance(state, event)
        assert state is expected


@pytest.mark.parametrize(
    "state",
    [
        OrderState.CANCELED,
        OrderState.REJECTED,
        OrderState.EXPIRED,
        OrderState.NOT_RECEIVED,
        OrderState.WITHDRAWN,
        OrderState.REFUSED,
    ],
)
def test_a_late_trade_on_a_closed_order_is_booked_and_alarmed(state: OrderState) -> None:
    found = advance(state, OrderEvent.TRADED_PART)
    assert isinstance(found, Anomaly)
    assert (found.book, found.reason) == (True, AnomalyReason.LATE_TRADE)


def test_only_an_order_in_doubt_can_turn_out_not_received() -> None:
    for state in OrderState:
        found = advance(state, OrderEvent.NOT_KNOWN_THERE)
        in_doubt = state in {OrderState.SENDING, OrderState.SENT, OrderState.UNKNOWN}
        was = state is OrderState.NOT_RECEIVED
        assert (found is OrderState.NOT_RECEIVED) is (in_doubt or was)


def test_no_event_moves_a_terminal_order() -> None:
    for state in (one for one in OrderState if one.is_terminal):
        for event in OrderEvent:
            found = advance(state, event)
            if found is not state:
                assert isinstance(found, Anomaly)


@pytest.mark.parametrize(
    ("changes", "event"),
    [
        ({"t39": "0", "t150": "0"}, OrderEvent.ACKNOWLEDGED),
        ({}, OrderEvent.TRADED_PART),
        ({"t39": "2", "t151": "0", "t14": "10"}, OrderEvent.TRADED_ALL),
        ({"t151": "0", "t14": "10"}, OrderEvent.TRADED_ALL),
        ({"t151": "0.0", "t14": "10.0", "t38": "10"}, OrderEvent.TRADED_ALL),
        ({"t39": "4", "t150": "4"}, OrderEvent.CANCELED),
        ({"t39": "8", "t150": "8"}, OrderEvent.REJECTED),
        ({"t39": "8", "t150": "I", "t103": "5"}, OrderEvent.NOT_KNOWN_THERE),
        ({"t39": "8", "t150": "I", "t103": "0"}, OrderEvent.REJECTED),
        ({"t39": "C", "t150": "C"}, OrderEvent.EXPIRED),
        ({"t39": "2", "t150": "H"}, OrderEvent.BUSTED),
        ({"t39": "2", "t150": "G"}, OrderEvent.CORRECTED),
        ({"t39": "Z"}, None),
    ],
)
def test_a_report_tells_one_event(changes: dict[str, str | None], event: OrderEvent | None) -> None:
    assert event_of(report(**changes)) is event


def test_every_refusal_is_an_error_of_this_package() -> None:
    with pytest.raises(FixError):
        parse_inbound(b"\x00\xff")


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"t151": "10", "t14": "0", "t39": "0"}, OrderState.NEW),
        ({"t151": "4", "t14": "6", "t39": "1"}, OrderState.PARTIAL),
        # what is left works, whatever stands beside it
        ({"t151": "4", "t14": "6", "t39": "4"}, OrderState.PARTIAL),
        ({"t151": "0", "t14": "6", "t39": "4"}, OrderState.CANCELED),
        ({"t151": "0", "t14": "10", "t39": "2"}, OrderState.FILLED),
        ({"t151": "0.00", "t14": "6", "t39": "1"}, OrderState.EXPIRED),
    ],
)
def test_after_a_bust_what_is_left_decides_where_an_ended_order_stands(
    changes: dict[str, str | None], state: OrderState
) -> None:
    bust = report(**{"t150": "H", **changes})
    assert restated(OrderState.EXPIRED, bust) is state


@pytest.mark.parametrize(
    ("changes", "quantity"), [({}, "10"), ({"t38": None}, "6"), ({"t38": None, "t151": "0"}, "0")]
)
def test_a_cancel_repeats_what_a_report_says(changes: dict[str, str | None], quantity: str) -> None:
    told = order_told_by(report(**changes), "NAME")
    assert told == ((35, "D"), (11, "NAME"), (55, "SPXN"), (54, "1"), (38, quantity))


@pytest.mark.parametrize(
    ("text", "digits", "units"),
    [("9007199254740991", 0, 2**53 - 1), ("-9007199254740991", 0, 1 - 2**53), ("-0.05", 2, -5)],
)
def test_units_up_to_what_a_record_holds(text: str, digits: int, units: int) -> None:
    assert scaled(text, digits) == units
    with pytest.raises(ReportError, match=r"beyond 2\^53 - 1"):
        scaled("9007199254740992", 0)


def test_of_a_field_that_stands_twice_the_first_counts() -> None:
    """Behind the body a group may repeat the tag for somebody else."""
    twice = wire_text((*((tag, value) for tag, value in REPORT.items()), (11, "OTHER"), (32, "9")))
    found = parse_inbound(twice)
    assert isinstance(found, ExecutionReport)
    assert (found.cl_ord_id, found.last_qty) == ("ORDER", "4")


def test_a_trade_names_its_quantity_and_its_price() -> None:
    for missing in ("t31", "t32"):
        with pytest.raises(ReportError, match="without LastQty"):
            parse_inbound(raw(**{missing: None}))


def test_a_possible_duplicate_says_so() -> None:
    for word, said in (("Y", True), ("N", False), (None, False)):
        changes = {} if word is None else {"t43": word}
        assert parse_inbound(raw(**changes)).envelope.poss_dup is said


def test_a_business_reject_names_our_message_by_its_own_field() -> None:
    fields = ((35, "j"), (34, "3"), (45, "2"), (372, "D"), (11, "B"), (379, "A"), (380, "0"))
    found = parse_inbound(wire_text(fields))
    assert isinstance(found, BusinessReject)
    assert (found.ref_id, found.ref_seq_num, found.ref_msg_type) == ("A", 2, "D")


def test_a_report_that_names_no_quantity_does_not_complete_its_order() -> None:
    found = parse_inbound(raw(t38=None, t151="0", t14="0", t39="1"))
    assert isinstance(found, ExecutionReport)
    assert event_of(found) is OrderEvent.TRADED_PART


@pytest.mark.parametrize("exec_type", ["F", "1", "2"])
def test_trades_of_older_brokers_are_trades_too(exec_type: str) -> None:
    """FIX 4.2 says 1 and 2 where 4.4 says F."""
    assert report(t150=exec_type).is_trade


def test_a_reject_that_does_not_say_to_what_number_is_still_heard() -> None:
    fields = ((35, "j"), (34, "7"), (372, "D"), (379, "ORDER"), (380, "0"))
    found = parse_inbound(wire_text(fields))
    assert isinstance(found, BusinessReject)
    assert (found.ref_seq_num, found.ref_id) == (0, "ORDER")


@pytest.mark.parametrize(
    "fields",
    [
        ((35, "9"), (34, "7"), (11, "C"), (39, "0"), (434, "1")),
        ((35, "r"), (34, "7"), (11, "C"), (533, "0")),
    ],
)
def test_an_answer_that_does_not_say_to_what_or_what_is_refused(
    fields: tuple[tuple[int, str], ...],
) -> None:
    """A cancel reject without its order (41), a mass cancel report without its response (531)."""
    with pytest.raises(ReportError, match="has no tag"):
        parse_inbound(wire_text(fields))


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (OrderEvent.ACKNOWLEDGED, OrderState.NEW),
        (OrderEvent.REJECTED, OrderState.REJECTED),
        (OrderEvent.TRADED_ALL, OrderState.FILLED),
    ],
)
def test_any_report_proves_that_an_order_left(event: OrderEvent, state: OrderState) -> None:
    assert advance(OrderState.SENDING, event) is state


def test_an_order_of_unknown_fate_counts_as_live() -> None:
    ended = {"WITHDRAWN", "REFUSED", "NOT_RECEIVED", "FILLED", "CANCELED", "REJECTED", "EXPIRED"}
    assert {state for state in OrderState if not state.is_live} == ended | {"INTENT"}
    assert {state for state in OrderState if state.is_terminal} == ended


def test_an_order_that_is_done_for_the_day_may_expire() -> None:
    assert advance(OrderState.DONE_FOR_DAY, OrderEvent.EXPIRED) is OrderState.EXPIRED


@pytest.mark.parametrize(("ordered", "traded"), [("010", "10"), ("10", "010.0"), ("10.50", "10.5")])
def test_one_quantity_may_be_written_in_several_ways(ordered: str, traded: str) -> None:
    told = report(t39="1", t38=ordered, t14=traded, t151="0")
    assert event_of(told) is OrderEvent.TRADED_ALL


def test_a_status_report_that_rejects_without_a_reason_says_that_nothing_arrived() -> None:
    told = report(t150="I", t39="8", t151="0")
    assert told.reject_reason == ""
    assert event_of(told) is OrderEvent.NOT_KNOWN_THERE


@pytest.mark.parametrize(
    ("kind", "told"), [(None, "0.11"), ("3", "0.11"), ("1", ""), ("2", ""), ("4", "")]
)
def test_only_an_absolute_commission_is_told_as_an_amount(kind: str | None, told: str) -> None:
    """CommType (13) 1 is per unit and 2 a percentage: 0.11 is no amount of money then."""
    found = report(t13=kind)
    assert found.commission == told
    assert [one.amount for one in found.fees] == ["0.11"]
