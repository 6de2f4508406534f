"""Both verifiers cut a message into fields as the gateway does, a data field by its length."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.verifier.parts.contents.statements.messages import RAW_MAX
from audit.verifier.parts.trust.wire import DATA_FIELDS, wire_fields
from fix.dialects.data_tags import LENGTH_TAGS
from fix.wire.fields import SOH, fields_in
from tests.doubles.answering_broker import framed
from tests.doubles.both_verifiers import both_about
from tests.doubles.broker_files import Broker
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.second_verifier import SECOND

TAGS = st.sampled_from([*LENGTH_TAGS, *LENGTH_TAGS.values(), 8, 20, 32, 58, 150])
VALUES = st.one_of(
    st.integers(0, 12).map(str), st.text(st.sampled_from(f"a1=|{SOH}"), min_size=1, max_size=12)
)


def test_the_data_fields_are_the_gateways_in_both() -> None:
    ours = {str(count): str(data) for count, data in LENGTH_TAGS.items()}
    assert ours == DATA_FIELDS
    (table,) = re.findall(r"const DATA_FIELDS = .*?\)\);", SECOND.read_text(), re.DOTALL)
    assert dict(re.findall(r"(\d+):(\d+)", table)) == ours


@given(st.lists(st.tuples(TAGS, VALUES), max_size=12))
def test_any_message_has_the_fields_that_the_gateway_reads(pairs: list[tuple[int, str]]) -> None:
    text = "".join(f"{tag}={value}{SOH}" for tag, value in pairs)
    read = {str(tag): value for tag, value in reversed(fields_in(text))}
    told = wire_fields(text)
    assert {tag: told[tag] for tag in read if told[tag]} == {
        tag: value for tag, value in read.items() if told[tag]
    }


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path / "desk")


@pytest.mark.parametrize(
    "more",
    [
        {"t354": "5", "t355": f"{SOH}14=9"},
        {"t95": "7", "t96": f"{SOH}32=500"},
    ],
    ids=["data with a total", "data with a quantity"],
)
def test_data_with_a_delimiter_is_no_field_of_an_honest_report(
    desk: MemoryDesk, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, str]
) -> None:
    broker, order = Broker(desk), desk.rest(50)
    broker.says(desk.report(order, **more))
    assert desk.lots() == 1
    code, text = both_about(broker.ledger(), tmp_path, capsys)
    assert code == 0, text


def test_a_report_longer_than_a_record_holds_is_judged_by_what_is_there(
    desk: MemoryDesk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, order = Broker(desk), desk.rest(50)
    said = [one for one in fields_in(desk.report(order)) if one[0] not in {8, 9, 35, 10}]
    broker.says(framed("8", ((58, "x" * RAW_MAX), *said)))
    assert desk.lots() == 1
    code, text = both_about(broker.ledger(), tmp_path, capsys)
    assert code == 0, text
