"""An order and its reports in each version, by the plain profiles."""

import pytest

from fix.dialects.profile import ExtraTag, Profile
from fix.dialects.profile_text import parse_profile_text
from fix.errors import MessageError, ReportError
from fix.orders.state import OrderEvent, event_of
from fix.session.dictionaries import SHIPPED
from fix.wire.messages import new_order, parse, timestamp, wire_text, with_time_digits
from fix.wire.reports import ExecutionReport, parse_inbound
from tests.doubles.fix_world import approved

AT_US = 1_795_000_000_123_456
STANDARD = {11, 1, 21, 55, 54, 60, 38, 40, 44, 15, 59, 35}
"""The fields of a limit order that FIX 4.2, 4.4 and 5.0 SP2 all have."""


def plain(name: str) -> Profile:
    return parse_profile_text((SHIPPED / f"{name}.toml").read_text())


def order(profile: Profile) -> tuple[tuple[int, str], ...]:
    return new_order(approved(), profile=profile, tick_minor=1, lot=1, transact_time_us=AT_US)


@pytest.mark.parametrize("name", ["plain-4.2", "plain-4.4", "plain-5.0sp2"])
def test_a_plain_order_has_the_standards_fields_and_no_other(name: str) -> None:
    fields = order(plain(name))
    assert {tag for tag, _ in fields} == STANDARD
    assert dict(fields)[60] == timestamp(AT_US)[:-3]


def test_a_field_that_the_profile_adds_stands_at_the_end() -> None:
    profile = plain("plain-4.4")
    extra = (ExtraTag(tag=100, value="XNAS"), ExtraTag(tag=5700, value="A B"))
    tags = profile.tags.model_copy(update={"extra": extra})
    fields = order(profile.model_copy(update={"tags": tags}))
    assert fields == (*order(profile), (100, "XNAS"), (5700, "A B"))


@pytest.mark.parametrize(
    ("digits", "text"),
    [(0, "20261118-11:06:40"), (3, "20261118-11:06:40.123"), (6, "20261118-11:06:40.123456")],
)
def test_a_time_has_as_many_decimals_as_the_broker_takes(digits: int, text: str) -> None:
    assert timestamp(AT_US, digits) == text
    fields = ((35, "F"), (60, timestamp(AT_US)), (58, timestamp(AT_US)))
    assert with_time_digits(fields, digits) == ((35, "F"), (60, text), (58, timestamp(AT_US)))
    assert with_time_digits(((60, text),), 6) == ((60, text),)


def test_a_message_begins_with_its_version() -> None:
    raw = wire_text(((35, "0"), (34, "1")), begin_string="FIXT.1.1")
    assert parse(raw)[0] == (8, "FIXT.1.1")


def report(begin: str = "FIX.4.2", **changes: str) -> ExecutionReport:
    fields = {35: "8", 34: "2", 49: "B", 56: "C", 37: "X", 11: "A", 17: "E2", 19: "E1", 20: "0"}
    fields |= {150: "2", 39: "2", 55: "S", 54: "1", 38: "5", 32: "5", 31: "1.5", 151: "0", 14: "5"}
    fields |= {int(tag[1:]): text for tag, text in changes.items()}
    kept = tuple((tag, text) for tag, text in fields.items() if text)
    found = parse_inbound(wire_text(kept, begin_string=begin))
    assert isinstance(found, ExecutionReport)
    return found


@pytest.mark.parametrize(
    ("trans_type", "exec_type", "event"),
    [
        ("0", "2", OrderEvent.TRADED_ALL),
        ("1", "H", OrderEvent.BUSTED),
        ("2", "G", OrderEvent.CORRECTED),
        ("3", "I", OrderEvent.TRADED_ALL),
    ],
)
def test_in_fix_42_the_transaction_says_what_a_report_does(
    trans_type: str, exec_type: str, event: OrderEvent
) -> None:
    """Otherwise a bust of FIX 4.2 would be booked as one more trade: its 150 is still 2."""
    found = report(t20=trans_type)
    assert found.exec_type == exec_type
    assert found.is_trade is (trans_type == "0")
    assert event_of(found) is event


def test_fix_42_without_its_transaction_is_quarantined() -> None:
    with pytest.raises(ReportError, match="no tag 20"):
        report(t20="")
    with pytest.raises(ReportError, match="none of 0, 1, 2, 3"):
        report(t20="4")


@pytest.mark.parametrize("begin", ["FIX.4.4", "FIXT.1.1"])
def test_later_versions_know_no_transaction(begin: str) -> None:
    found = report(begin, t20="1", t150="F")
    assert (found.exec_type, found.is_trade) == ("F", True)


def test_a_text_that_could_break_out_of_its_field_is_refused() -> None:
    profile = plain("plain-4.4")
    evil = ExtraTag.model_construct(tag=100, value="X\x0144=1")
    tags = profile.tags.model_copy(update={"extra": (evil,)})
    with pytest.raises(MessageError, match="tag 100"):
        order(profile.model_copy(update={"tags": tags}))
