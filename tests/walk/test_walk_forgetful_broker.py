"""A broker takes a trade back, loses its numbers and never says so: the next logon finds it.

Real: the commands of the page, PostgreSQL, ledger, FIX child, simulator, TCP, HTTP.
"""

from pathlib import Path

import pytest

from audit.records.kinds import Kind
from fix.simulator.acts import BrokerAct
from fix.simulator.play import deal, play
from gateway.clock import pause
from gateway.evidence.replay.replay import replay
from gateway.installation.children.simulator import wait_for
from tests.doubles.fix_world import Broker, broker_at
from tests.doubles.operator_page import do, edited
from tests.doubles.scene_desk import SYMBOL, WITHIN_S, served_desk

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]


def said(broker: Broker) -> list[str]:
    """Return the sort of each report that the broker made."""
    return [one[150] for one in broker.fields("8", "out")]


@pytest.mark.parametrize("act", ["bust", "correct"])
def test_a_bust_that_a_broker_forgot_with_its_numbers_is_found_at_the_next_logon(
    act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = do("profile", "example", "simulator").stdout
    with broker_at(tmp_path) as broker:
        port, control = broker.config.port, broker.config.control
        profile = edited(shipped, port=port, resets="by_broker", mass_status=False)
        with served_desk(tmp_path / "empty", port, monkeypatch, profile) as desk:
            desk.start()
            desk.ready()
            desk.post_bars()
            deal(control, "fill")
            pause(0.1)  # the simulator reads its control every 20 ms
            order = desk.comes(desk.ask(), lambda one: one.sealed)
            desk.stop()

            play(control, BrokerAct(act, order.cl_ord_id, 3))
            told = {"bust": "H", "correct": "G"}[act]
            wait_for(lambda: told in said(broker), WITHIN_S, part=act)
            play(control, BrokerAct("restart"))
            pause(0.5)  # until its numbers are gone
            desk.start()
            desk.ready()

            heard = desk.app.reader.records(kinds=(Kind.FIX_INBOUND,))
            assert [one for one in heard if f"\x01150={told}\x01" in str(one.body["raw"])] == []
            (found,) = desk.app.reader.records(kinds=(Kind.BOOK_DIFFERENCE,))
            lots = 0 if act == "bust" else 3
            assert found.body["cl_ord_id"] == order.cl_ord_id
            assert (found.body["book_lots"], found.body["broker_lots"]) == (order.filled_lots, lots)
            assert desk.app.desk.own.section.differences.blocks(SYMBOL)
            now = desk.standing(order.decision_id)
            assert now.is_live, "what the broker took back works again, and a kill cancels it"
            replay(desk.app.reader, desk.app.desk.own.tools.table, order.decision_id)
            desk.app.ledger.checkpoint_now()
            do("verify", "--key", "keys/ledger.key.pub")
