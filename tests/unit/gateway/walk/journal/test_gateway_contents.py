"""Records are read back by field, strictly where a reader needs the field."""

import pytest

from audit.records.kinds import Kind
from gateway.walk.journal.contents import Ending, Fill
from gateway.walk.journal.control.kill import KillPressed
from gateway.walk.journal.order import OrderReported
from risk.intent import Side
from scripts.kinds import TABLE, table
from tests.doubles.whole_records import whole

FILL = {
    "instrument": "SPXN",
    "side": "SELL",
    "qty_lots": 7,
    "price_ticks": 101,
    "fee_minor": 3,
    "unit_minor": 2,
}


def test_the_table_of_kinds_is_what_their_classes_make() -> None:
    assert TABLE.read_text("utf-8") == table(), "run `make kinds`"


def test_a_field_that_is_missing_or_of_another_type_is_an_error() -> None:
    report = whole(Kind.ORDER_REPORTED, {})
    assert not OrderReported.read(report).reopens, "older records do not have it"
    for name in ("fill", "terminal", "exec_id", "market_time_us"):
        with pytest.raises(ValueError, match=name):
            OrderReported.read({key: value for key, value in report.items() if key != name})
    with pytest.raises(ValueError, match="last_lots"):
        OrderReported.read(report | {"last_lots": "7"})


def test_fields_that_nobody_reads_are_passed_over() -> None:
    assert Ending.read({"market_time_us": 8, "later": "field"}).market_time_us == 8
    pressed = {"kill_epoch": 1, "actor_name": "ada", "reason": "", "confirmed": True}
    assert KillPressed.read({**pressed, "elapsed_us": 7}).press_id == ""


def test_a_fill_survives_its_record() -> None:
    fill = Fill.read(FILL)
    assert fill.side is Side.SELL
    assert fill.document() == FILL
