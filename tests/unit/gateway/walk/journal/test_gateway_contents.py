"""Records are read back by field, strictly where a reader needs the field."""

import importlib
import pkgutil
import re

import pytest
from msgspec import structs

from audit.records.kinds import KINDS, Kind
from gateway.walk import journal
from gateway.walk.journal.contents import Contents, Ending, Fill
from gateway.walk.journal.control.kill import KillPressed
from gateway.walk.journal.order import OrderReported
from risk.intent import Side
from tests.doubles.whole_records import whole

FILL = {
    "instrument": "SPXN",
    "side": "SELL",
    "qty_lots": 7,
    "price_ticks": 101,
    "fee_minor": 3,
    "unit_minor": 2,
}


def kind_of(one: type[Contents]) -> Kind | None:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", one.__name__).lower()
    return Kind(name) if name in set(Kind) else None


def readers() -> list[type[Contents]]:
    for module in pkgutil.iter_modules(journal.__path__, f"{journal.__name__}."):
        importlib.import_module(module.name)
    found, todo = list[type[Contents]](), [Contents]
    while todo:
        below = todo.pop().__subclasses__()
        found += below
        todo += below
    return found


READERS = [one for one in readers() if kind_of(one) is not None]


def test_most_kinds_that_the_gateway_writes_have_a_reader() -> None:
    assert len(READERS) > 25


@pytest.mark.parametrize("reader", READERS, ids=lambda one: one.__name__)
def test_a_reader_asks_only_for_fields_that_its_kind_has(reader: type[Contents]) -> None:
    kind = kind_of(reader)
    assert kind is not None
    asked = {field.encode_name for field in structs.fields(reader)}
    assert asked <= KINDS[kind].fields | KINDS[kind].optional


def test_a_field_that_is_missing_or_of_another_type_is_an_error() -> None:
    report = whole(Kind.ORDER_REPORTED, {})
    assert OrderReported.read(report).reopens is False, "older records do not have it"
    for name in ("fill", "terminal", "exec_id", "market_time_us"):
        with pytest.raises(ValueError, match=name):
            OrderReported.read({key: value for key, value in report.items() if key != name})
    with pytest.raises(ValueError, match="last_lots"):
        OrderReported.read(report | {"last_lots": "7"})


def test_fields_that_nobody_reads_are_passed_over() -> None:
    assert Ending.read({"market_time_us": 8, "later": "field"}).market_time_us == 8
    assert KillPressed.read({"kill_epoch": 1, "elapsed_us": 7}).press_id == ""


def test_a_fill_survives_its_record() -> None:
    fill = Fill.read(FILL)
    assert fill.side is Side.SELL
    assert fill.document() == FILL
