"""The blotter shows each order as it stands, and its button cancels one, once."""

import re

import pytest

from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import OWN, PageDesk, hidden


def form_of(page: str) -> tuple[str, dict[str, str]]:
    """Return the address and the hidden fields of the first cancel form."""
    found = re.search(r'action="(/orders/[^"]+/cancel)"', page)
    assert found is not None
    return found[1], hidden(page, found[1])


def test_an_order_is_shown_with_what_the_broker_said(desk: MemoryDesk, pages: PageDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t37="BROKER-7"))
    page = pages.browser("auditor").get("/orders").text
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


def test_an_order_that_is_over_is_on_the_list_of_all_only(
    desk: MemoryDesk, pages: PageDesk
) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t150="4", t39="4", t32="0", t31="0", t14="0", t151="0"))
    operator = pages.browser("operator")
    assert "No order is live." in operator.get("/orders").text
    page = operator.get("/orders?state=all").text
    assert order.cl_ord_id in page
    assert "/cancel" not in page


def test_the_button_cancels_once_and_says_what_became_of_it(
    desk: MemoryDesk, pages: PageDesk
) -> None:
    order = desk.rest(50)
    operator = pages.browser("operator")
    address, fields = form_of(operator.get("/orders").text)
    body = {**fields, "reason": "stale"}
    for _ in range(2):
        done = operator.post(address, data=body, headers=OWN)
        assert done.status_code == 200
        assert f"Cancel of order {order.cl_ord_id}, recorded for operator" in done.text
    assert len(desk.small.broker.cancelled) == 1
    page = operator.get("/orders").text
    assert "by operator" in page
    assert "requested" in page


def test_a_refused_cancel_is_shown(desk: MemoryDesk, pages: PageDesk) -> None:
    order = desk.rest(50)
    operator = pages.browser("operator")
    address, fields = form_of(operator.get("/orders").text)
    desk.settled(desk.report(order, t150="4", t39="4", t32="0", t31="0", t14="0", t151="0"))
    done = operator.post(address, data=fields, headers=OWN)
    assert done.status_code == 409
    assert "it is CANCELED" in done.text


@pytest.mark.parametrize("change", ["token", "origin", "auditor"])
def test_a_form_that_is_not_ours_cancels_nothing(
    desk: MemoryDesk, pages: PageDesk, change: str
) -> None:
    desk.rest(50)
    operator = pages.browser("operator")
    address, fields = form_of(operator.get("/orders").text)
    sender = pages.browser("auditor") if change == "auditor" else operator
    fields = {**fields, "token": "x"} if change == "token" else fields
    origin = "http://elsewhere.example" if change == "origin" else OWN["Origin"]
    done = sender.post(address, data=fields, headers={"Origin": origin})
    assert done.status_code == 403
    assert desk.small.broker.cancelled == []
