"""The blotter shows each order as it stands, and its button cancels one, once."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.store.reader import LedgerReader
from gateway.surfaces.web.actions import DeskActions
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.page_person import entrance, sign_in

HOME = "http://127.0.0.1:8700"
Browse = Callable[[str], TestClient]


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path / "desk")


@pytest.fixture
def door(tmp_path: Path) -> Entrance:
    return entrance(tmp_path / "door")


@pytest.fixture
def browse(desk: MemoryDesk, door: Entrance) -> Browse:
    app = FastAPI()
    views = Views(cast("LedgerReader", desk.log), desk.small.table)
    register(app, views, DeskActions(desk.small.desk), door)

    def signed_in(name: str) -> TestClient:
        client = TestClient(
            app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False
        )
        sign_in(client, door.keyring.token(name))
        return client

    return signed_in


def form_of(page: str) -> tuple[str, dict[str, str]]:
    """Return the address and the hidden fields of the first cancel form."""
    form = r'<form method="post" action="(/orders/[^"]+/cancel)".*?</form>'
    found = re.search(form, page, re.DOTALL)
    assert found is not None
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found.group(0)))
    return found.group(1), fields


def test_an_order_is_shown_with_what_the_broker_said(desk: MemoryDesk, browse: Browse) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t37="BROKER-7"))
    page = browse("auditor").get("/orders").text
    for text in (
        order.cl_ord_id,
        "BROKER-7",
        "partial",
        "1 of ",
        f"/decisions/{order.decision_id}",
    ):
        assert text in page
    assert "/cancel" not in page, "an auditor reads only"
    assert "<script" not in page


def test_an_order_that_is_over_is_on_the_list_of_all_only(desk: MemoryDesk, browse: Browse) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t150="4", t39="4", t32="0", t31="0", t14="0", t151="0"))
    operator = browse("operator")
    assert "No order is live." in operator.get("/orders").text
    page = operator.get("/orders?state=all").text
    assert order.cl_ord_id in page
    assert "/cancel" not in page


def test_the_button_cancels_once_and_says_what_became_of_it(
    desk: MemoryDesk, browse: Browse
) -> None:
    order = desk.rest(50)
    operator = browse("operator")
    address, fields = form_of(operator.get("/orders").text)
    body = {**fields, "reason": "stale"}
    for _ in range(2):
        done = operator.post(address, data=body, headers={"Origin": HOME})
        assert done.status_code == 200
        assert f"Cancel of order {order.cl_ord_id}, recorded for operator" in done.text
    assert len(desk.small.broker.cancelled) == 1
    page = operator.get("/orders").text
    assert "by operator" in page
    assert "requested" in page


def test_a_refused_cancel_is_shown(desk: MemoryDesk, browse: Browse) -> None:
    order = desk.rest(50)
    operator = browse("operator")
    address, fields = form_of(operator.get("/orders").text)
    desk.settled(desk.report(order, t150="4", t39="4", t32="0", t31="0", t14="0", t151="0"))
    done = operator.post(address, data=fields, headers={"Origin": HOME})
    assert done.status_code == 409
    assert "it is CANCELED" in done.text


@pytest.mark.parametrize("change", ["token", "origin", "auditor"])
def test_a_form_that_is_not_ours_cancels_nothing(
    desk: MemoryDesk, browse: Browse, change: str
) -> None:
    desk.rest(50)
    operator = browse("operator")
    address, fields = form_of(operator.get("/orders").text)
    sender = browse("auditor") if change == "auditor" else operator
    fields = {**fields, "token": "x"} if change == "token" else fields
    origin = "http://elsewhere.example" if change == "origin" else HOME
    done = sender.post(address, data=fields, headers={"Origin": origin})
    assert done.status_code == 403
    assert desk.small.broker.cancelled == []
