"""For any bytes and any numbers: own errors only, exact both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fix.dialects.profile import parse_profile
from fix.errors import ChildError, FixError, MessageError, ProfileError, ReportError
from fix.orders.state import Anomaly, OrderEvent, OrderState, advance
from fix.session.link import decode, encode, fields_of
from fix.wire.messages import decimal_text, parse, wire_text
from fix.wire.reports import parse_inbound, scaled

WORDS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), min_size=1, max_size=12)
WHOLE_MAX = 2**53 - 1
TAGS = st.integers(1, 999_999_999).filter(lambda tag: tag not in {8, 9, 10, 35})
TYPES = st.sampled_from(["8", "9", "r", "j", "3", "h", "D"])
USED = st.sampled_from([6, 11, 14, 17, 31, 32, 34, 37, 38, 39, 41, 45, 150, 151, 372, 380, 434])


@given(st.binary(max_size=200))
def test_parsing_any_bytes_raises_only_our_error(raw: bytes) -> None:
    try:
        parse(raw)
    except MessageError:
        return


@given(TYPES, st.lists(st.tuples(USED, WORDS | st.sampled_from(["0", "1", "7", "-1"]))))
def test_reading_any_fields_as_a_report_raises_only_our_errors(
    msg_type: str, fields: list[tuple[int, str]]
) -> None:
    raw = wire_text(((35, msg_type), (34, "1"), *fields))
    try:
        parse_inbound(raw)
    except FixError:
        return


@given(st.lists(st.tuples(TAGS, WORDS)))
def test_fields_read_back_as_they_were_written(fields: list[tuple[int, str]]) -> None:
    assert parse(wire_text(((35, "D"), *fields)))[3:-1] == fields


@given(st.binary(min_size=1, max_size=3), st.integers(0, 10_000))
def test_a_changed_byte_never_reads_as_the_same_message(change: bytes, place: int) -> None:
    raw = wire_text(((35, "D"), (11, "ORDER"), (38, "700"), (44, "269.69"))).encode()
    place %= len(raw)
    changed = raw[:place] + change[:1] + raw[place + 1 :]
    try:
        fields = parse(changed)
    except MessageError:
        return
    assert (fields == parse(raw)) is (changed == raw)
    assert changed == raw


@given(st.integers(-WHOLE_MAX, WHOLE_MAX), st.integers(0, 8))
def test_units_become_text_and_come_back_exactly(units: int, digits: int) -> None:
    assert scaled(decimal_text(units, digits), digits) == units


@given(st.integers(WHOLE_MAX + 1, 10**17), st.sampled_from((1, -1)), st.integers(0, 8))
def test_units_beyond_the_ledgers_integers_are_refused(units: int, sign: int, digits: int) -> None:
    with pytest.raises(ReportError):
        scaled(decimal_text(sign * units, digits), digits)


@given(st.lists(st.sampled_from(list(OrderEvent)), max_size=30))
def test_any_story_leaves_an_order_in_a_state_and_closed_orders_stay_closed(
    story: list[OrderEvent],
) -> None:
    state = OrderState.INTENT
    for event in story:
        found = advance(state, event)
        if isinstance(found, Anomaly):
            assert found.book is (event in {OrderEvent.TRADED_PART, OrderEvent.TRADED_ALL})
            continue
        if state.is_terminal:
            assert found is state
        state = found


@given(st.binary(max_size=100) | st.text(max_size=100))
def test_any_profile_text_is_refused_by_our_error(raw: bytes | str) -> None:
    try:
        parse_profile(raw)
    except ProfileError:
        return


@given(st.binary(max_size=60))
def test_any_line_of_the_pipe_is_a_frame_or_our_error(line: bytes) -> None:
    try:
        frame = decode(line)
        fields_of(frame)
    except ChildError:
        return


@given(st.lists(st.tuples(TAGS, WORDS)))
def test_fields_pass_the_pipe_unchanged(fields: list[tuple[int, str]]) -> None:
    line = encode({"op": "hand", "fields": [list(pair) for pair in fields]})
    assert line.count(b"\n") == 1
    assert fields_of(decode(line)) == tuple(fields)
