"""Which reports let an order live, and which end one."""

import pytest

from fix.orders.state import leaves_nothing, lives_again
from fix.wire.messages import Fields, wire_text
from fix.wire.reports import ExecutionReport, parse_inbound
from tests.doubles.child_desk import report

EXTRA = {"t19": "X", "t32": "1", "t31": "10", "t14": "1"}


def read(fields: Fields) -> ExecutionReport:
    found = parse_inbound(wire_text(fields))
    assert isinstance(found, ExecutionReport)
    return found


@pytest.mark.parametrize(
    ("exec_type", "status", "leaves", "again"),
    [
        ("I", "1", "6", True),
        ("H", "1", "6", True),
        ("G", "1", "0.5", True),
        ("F", "1", "6", True),
        ("0", "0", "6", True),
        ("D", "0", "6", True),
        ("6", "6", "6", True),
        ("E", "E", "6", True),  # a status that we give no meaning to
        ("I", "1", "0", False),
        ("H", "1", "0.00", False),
        ("G", "1", "-6", False),
        ("D", "0", "0", False),
        # an ending word may repeat what was left; one that reinstates never ends by it
        ("4", "4", "6", False),
        ("C", "C", "6", False),
        ("I", "4", "6", False),
        ("F", "2", "6", False),
        ("D", "4", "6", True),
        ("H", "4", "6", True),
    ],
)
def test_who_says_that_an_order_lives_again(
    exec_type: str, status: str, leaves: str, *, again: bool
) -> None:
    found = read(report("A", exec_type, status, t151=leaves, **EXTRA))
    assert lives_again(found) is again
    assert found.has_leaves is (leaves in {"6", "0.5"})
    assert not (again and leaves_nothing(found))


@pytest.mark.parametrize(("status", "ends"), [("4", True), ("0", False)])
def test_a_reinstatement_with_nothing_left_ends_by_its_status(status: str, *, ends: bool) -> None:
    assert leaves_nothing(read(report("A", "D", status))) is ends
