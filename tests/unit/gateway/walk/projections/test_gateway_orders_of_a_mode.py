"""All modes share one ledger: another mode's session numbers and OrderIDs name no order here."""

from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.walk.projections.outbox import Orders
from tests.doubles.memory_desk import memory_desk
from tests.doubles.walk_scenes import SCENES, filled


@pytest.mark.parametrize(("mode", "known"), [("", True), ("paper", True), ("pilot", False)])
def test_numbers_and_ids_of_a_session_belong_to_its_mode(
    tmp_path: Path, mode: str, *, known: bool
) -> None:
    desk = memory_desk(tmp_path)
    filled(desk)
    (sent,) = desk.log.of_kind(Kind.ORDER_SENT)
    orders = Orders(mode)
    orders.fold(desk.log.records())
    number = int(sent.body["msg_seq_num"])
    assert (orders.by_msg_seq_num("EMSSIM", 0, number) is not None) is known
    assert (orders.by_broker_id("EMSSIM", "X1") is not None) is known
    assert len(orders.placed_here()) == int(known)
    assert len(orders.placed()) == 1
    assert orders.by_cl_ord_id(str(sent.body["cl_ord_id"])) is not None


@pytest.mark.parametrize("name", sorted(SCENES))
def test_every_record_of_a_decision_has_its_mode(tmp_path: Path, name: str) -> None:
    desk = memory_desk(tmp_path)
    SCENES[name](desk)
    records = [one for one in desk.log.records() if one.stream.startswith("decision/")]
    assert records
    assert {one.body.get("mode") for one in records} == {"paper"}, [
        one.kind for one in records if one.body.get("mode") != "paper"
    ]
