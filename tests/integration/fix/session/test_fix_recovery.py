"""Death at any point: nothing is sent twice, no report is lost, doubt ends in an answer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fix.orders.reconcile import Fate, OpenOrder, Reconciliation
from fix.session.link import SessionState
from fix.wire.reports import parse_inbound
from tests.doubles.fix_world import (
    ROOT,
    Broker,
    Desk,
    broker_at,
    desk_at,
    is_alive,
    order_fields,
    program,
    quotes_above,
    until,
)

pytestmark = pytest.mark.broker


def reconcile(desk: Desk, fields: tuple[tuple[int, str], ...]) -> Fate:
    """Ask the broker for one order as the gateway does after a logon."""
    assert desk.child.wait_for(SessionState.RECONCILING, 60.0), desk.log()
    cl_ord_id = dict(fields)[11]
    asked = Reconciliation.begin(
        [OpenOrder(cl_ord_id=cl_ord_id, fields=fields)], logon_no=desk.child.logon_no, now_us=0
    )
    for question in asked.questions():
        assert desk.child.status_request(question).outcome == "sent"
    assert until(lambda: heard(desk, asked).is_over(0))
    return heard(desk, asked).closed()[cl_ord_id]


def heard(desk: Desk, asked: Reconciliation) -> Reconciliation:
    for entry in desk.child.inbox_since(0):
        asked = asked.heard(parse_inbound(entry.raw))
    return asked


def sound_from_here(desk: Desk) -> None:
    """The next child is the real one."""
    object.__setattr__(desk.child._config, "program", program(""))  # noqa: SLF001


@pytest.mark.parametrize(
    ("mutation", "fate", "arrived"),
    [("dies_before_wire", Fate.NOT_RECEIVED, 0), ("dies_after_wire", Fate.KNOWN, 1)],
)
def test_a_child_killed_while_sending_leaves_unknown_and_the_broker_knows(
    tmp_path: Path, mutation: str, fate: Fate, arrived: int
) -> None:
    with (
        broker_at(tmp_path, script=("fill",)) as broker,
        desk_at(tmp_path, broker.profile, mutation) as desk,
    ):
        desk.open()
        sound_from_here(desk)
        fields = order_fields()
        assert desk.hand(fields).outcome == "unknown"
        assert [order.cl_ord_id for order in desk.child.live_orders()] == [dict(fields)[11]]
        assert reconcile(desk, fields) is fate
        assert len(broker.order_ids()) == arrived
        assert until(lambda: desk.child.live_orders() == ())
        assert desk.child.set_reconciled(desk.child.logon_no)
        assert desk.hand(order_fields("next")).outcome == "sent"


def test_reports_sent_while_the_child_is_dead_arrive_afterwards(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path, script=("partial",), partial_delay_ms=300) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        fields = order_fields()
        desk.hand(fields)
        assert until(lambda: desk.statuses(dict(fields)[11]) == ["0", "1"])
        os.kill(desk.child.pid, signal.SIGKILL)
        # The report, and soon after the next logon the same report again.
        assert until(lambda: len(broker.captured("8", "out")) >= 3)
        assert desk.child.wait_for(SessionState.RECONCILING, 60.0)
        name = dict(fields)[11]
        # The one before the kill may come again too: in the inbox, but not yet counted as received.
        seen = ["0", "1", "2"]
        assert until(lambda: [*dict.fromkeys(desk.statuses(name))] == seen), desk.statuses(name)
        assert until(lambda: desk.child.live_orders() == ())
        offsets = [entry.offset for entry in desk.child.inbox_since(0)]
        again = desk.child.inbox_since(offsets[1])
        assert [entry.offset for entry in again] == offsets[1:]


def test_when_the_gateway_dies_the_child_cancels_what_is_live_and_leaves(tmp_path: Path) -> None:
    with broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",) * 3) as broker:
        gateway, child_pid = gateway_with_resting_orders(tmp_path, broker)
        end(gateway)
        assert until(lambda: len(broker.captured("q")) == 1)
        assert until(lambda: cancelled(broker) == set(broker.order_ids()))
        assert until(lambda: not is_alive(child_pid))
        assert len(broker.order_ids()) == 3


def test_a_sweep_after_the_gateways_death_sends_single_cancels_largest_first(
    tmp_path: Path,
) -> None:
    with broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",) * 3) as broker:
        gateway, child_pid = gateway_with_resting_orders(tmp_path, broker, mass_cancel=False)
        end(gateway)
        assert until(lambda: cancelled(broker) == set(broker.order_ids()))
        assert [int(fields[38]) for fields in broker.fields("F")] == [650, 400, 250]
        assert broker.captured("q") == []
        assert until(lambda: not is_alive(child_pid))


GATEWAY = """
import sys
from pathlib import Path
from tests.doubles.fix_world import Desk, order_fields, until
from fix.dialects.profile import parse_profile
desk = Desk(Path(sys.argv[1]), parse_profile(sys.argv[2]))
desk.open()
for qty in (400, 650, 250):
    fields = order_fields(str(qty), qty_lots=qty)
    assert desk.hand(fields).outcome == "sent"
    assert until(lambda: desk.statuses(dict(fields)[11]) == ["0"])
print(desk.child.pid, flush=True)
sys.stdin.read()
"""


def gateway_with_resting_orders(
    folder: Path, broker: Broker, *, mass_cancel: bool = True
) -> tuple["subprocess.Popen[str]", int]:
    """Start a process that hands out three orders which rest, and then waits."""
    capabilities = broker.profile.capabilities.model_copy(update={"mass_cancel": mass_cancel})
    profile = broker.profile.model_copy(update={"capabilities": capabilities})
    gateway = subprocess.Popen(
        [sys.executable, "-c", GATEWAY, str(folder), profile.model_dump_json()],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert gateway.stdout is not None
    return gateway, int(gateway.stdout.readline())


def end(gateway: "subprocess.Popen[str]") -> None:
    """SIGKILL, as a crash would."""
    gateway.kill()
    gateway.communicate()


def cancelled(broker: Broker) -> set[str]:
    return {
        fields.get(41, fields[11]) for fields in broker.fields("8", "out") if fields[150] == "4"
    }


@pytest.mark.parametrize(
    ("mutation", "where"),
    [
        ("raises_in_to_app", "toApp"),
        ("raises_in_from_app", "fromApp"),
        ("raises_in_on_logon", "onLogon"),
        ("disk_refuses", "inbox"),
    ],
)
def test_a_mistake_in_a_callback_is_told_and_nothing_leaves_after_it(
    tmp_path: Path, mutation: str, where: str
) -> None:
    with (
        broker_at(tmp_path, script=("fill", "fill")) as broker,
        desk_at(tmp_path, broker.profile, mutation) as desk,
    ):
        desk.child.start()
        desk.child.logon(min_next_sender=1)
        if desk.child.wait_for(SessionState.RECONCILING, 3.0):
            desk.child.set_reconciled(desk.child.logon_no)
        sound_from_here(desk)
        first = desk.hand(order_fields())
        assert until(lambda: where in {frame["where"] for frame in desk.said("fault")})
        assert until(lambda: desk.said("died")), "a faulty child is replaced"
        desk.ready()
        second = order_fields("second")
        assert desk.hand(second).outcome == "sent"
        assert until(lambda: desk.statuses(dict(second)[11]) == ["0", "2"])
        wanted = {dict(second)[11]} | (
            {dict(order_fields())[11]} if first.outcome == "sent" else set()
        )
        assert set(broker.order_ids()) == wanted
        assert len(broker.order_ids()) == len(wanted)


def test_a_report_that_could_not_be_kept_is_asked_for_again(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path, script=("fill",)) as broker,
        desk_at(tmp_path, broker.profile, "disk_refuses") as desk,
    ):
        desk.open()
        sound_from_here(desk)
        fields = order_fields()
        assert desk.hand(fields).outcome in {"sent", "unknown"}
        assert until(lambda: len(desk.said("died")) == 1)
        assert desk.child.wait_for(SessionState.RECONCILING, 60.0)
        assert until(lambda: desk.statuses(dict(fields)[11]) == ["0", "2"])
