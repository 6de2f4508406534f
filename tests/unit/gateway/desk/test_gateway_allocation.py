"""The split of an order is on record before it trades; another one is refused."""

from typing import Protocol

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from pydantic import ValidationError

from audit.records.kinds import Kind
from gateway.desk.bodies.requests import IntentRequest
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.control.groups.allocation import OrderAllocated
from risk.errors import AllocationError
from risk.windows.allocation import split
from tests.doubles.memory_desk import AGENT, MemoryDesk
from tests.doubles.walk_scenes import quantity


class Call(Protocol):
    """Ask for a split, or send one, with somebody's key."""

    def __call__(
        self, name: str, decision_id: str, parts: dict[str, int] | None = None, /
    ) -> Response: ...


SHARES = [{"client": "alpha", "share_bp": 6_000}, {"client": "beta", "share_bp": 4_000}]


def asked(desk: MemoryDesk, *, shares: object = SHARES) -> str:
    document = {
        "client_key": "block",
        "instrument": "SPXN",
        "target_exposure_bp": 2_000,
        "max_qty_lots": 51,
        "allocation": shares,
    }
    request = IntentRequest.model_validate(document)
    return desk.small.desk.submit(AGENT, request).decision_id


def filled(desk: MemoryDesk, decision_id: str) -> int:
    order = desk.standing(decision_id)
    lots = quantity(order)
    text = str(lots)
    desk.settled(desk.report(order, t32=text, t14=text, t151="0", t39="2", t17="A"))
    return lots


@pytest.fixture
def call(desk: MemoryDesk) -> Call:
    app = build_api(desk.small.desk, desk.small.keyring)
    client = TestClient(app, base_url="http://127.0.0.1:8700", raise_server_exceptions=False)

    def ask(name: str, decision_id: str, parts: dict[str, int] | None = None) -> Response:
        key = {"Authorization": f"Bearer {desk.small.keyring.token(name)}"}
        path = f"/v1/decisions/{decision_id}/allocation"
        if parts is None:
            return client.get(path, headers=key)
        return client.post(path, headers=key, json={"parts": parts})

    return ask


def test_the_sealed_split_is_recorded_and_any_other_refused(desk: MemoryDesk, call: Call) -> None:
    decision_id = asked(desk)
    lots = filled(desk, decision_id)
    right = split(lots, {"alpha": 6_000, "beta": 4_000})
    told = call("auditor", decision_id).json()
    assert (told["parts"], told["lots"], told["done"]) == (right, lots, True)
    for wrong in (
        {"alpha": right["alpha"] + 1, "beta": right["beta"] - 1},
        {"alpha": lots},
        {**right, "gamma": 0},
        {"beta": right["alpha"], "alpha": right["beta"]},
    ):
        answer = call("operator", decision_id, wrong)
        assert (answer.status_code, answer.json()["code"]) == (409, "allocation_refused")
    assert not desk.log.of_kind(Kind.ORDER_ALLOCATED)
    assert call("agent", decision_id, right).status_code in {200, 403}
    done = call("operator", decision_id, right)
    assert done.status_code == 200, done.text
    (record,) = desk.log.of_kind(Kind.ORDER_ALLOCATED)
    said = OrderAllocated.of(record)
    assert (dict(said.parts), said.allocated_by) == (right, "operator")
    (received,) = desk.log.of_kind(Kind.INTENT_RECEIVED)
    (report,) = desk.log.of_kind(Kind.ORDER_REPORTED)
    assert said.sealed_seq == received.seq < report.seq, "sealed before the fill"
    assert call("operator", decision_id, right).json()["seq"] == record.seq


def test_an_order_that_works_is_not_split_yet(desk: MemoryDesk, call: Call) -> None:
    decision_id = asked(desk)
    answer = call("operator", decision_id, {"alpha": 1})
    assert answer.status_code == 409
    assert "not done" in answer.json()["message"]


def test_an_intent_without_shares_has_no_split(desk: MemoryDesk, call: Call) -> None:
    decision_id = asked(desk, shares=None)
    filled(desk, decision_id)
    assert "named no shares" in call("operator", decision_id, {"alpha": 1}).json()["message"]
    assert call("operator", "nobody", {"alpha": 1}).status_code == 404
    (received,) = desk.log.of_kind(Kind.INTENT_RECEIVED)
    assert b"allocation" not in received.payload, "as in records made before"


@pytest.mark.parametrize(
    "shares",
    [
        [],
        [{"client": "alpha", "share_bp": 9_999}],
        [{"client": "alpha", "share_bp": 5_000}] * 2,
        [{"client": "Jane Doe", "share_bp": 10_000}],
        [{"client": "alpha", "share_bp": 10_000}, {"client": "beta", "share_bp": 0}],
    ],
)
def test_shares_that_split_nothing_are_refused(desk: MemoryDesk, shares: object) -> None:
    with pytest.raises(ValidationError):
        asked(desk, shares=shares)


def test_a_split_leaves_nothing_over_and_is_the_same_for_everybody() -> None:
    assert split(10, {"c": 3_333, "b": 3_333, "a": 3_334}) == {"a": 4, "b": 3, "c": 3}
    assert split(1, {"b": 5_000, "a": 5_000}) == {"a": 1, "b": 0}
    assert split(0, {"a": 10_000}) == {"a": 0}
    for lots in range(50):
        assert sum(split(lots, {"a": 1, "b": 4_999, "c": 5_000}).values()) == lots
    for wrong in ({}, {"a": 9_999}, {"a": 10_001, "b": -1}, {"a": 10_000, "b": 0}):
        with pytest.raises(AllocationError):
            split(1, wrong)
