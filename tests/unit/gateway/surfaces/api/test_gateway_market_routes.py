"""POST /v1/market/quotes and /bars: who may, bulk bodies, repeats, and faults named by number."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from gateway.surfaces.api.app import build_api
from tests.doubles.feeds import FedDesk, bars, fed_desk, quote
from tests.doubles.memory_desk import memory_desk

QUOTES = "/v1/market/quotes"
BARS = "/v1/market/bars"
NDJSON = "application/x-ndjson"


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    return fed_desk(memory_desk(tmp_path, live=False))


Post = Callable[..., tuple[int, Any]]


def poster(desk: FedDesk) -> Post:
    small = desk.desk.small
    browser = TestClient(build_api(small.desk, small.keyring), raise_server_exceptions=False)

    def post(
        path: str, body: object, *, name: str = "feed", kind: str = "application/json"
    ) -> tuple[int, Any]:
        headers = {"Content-Type": kind}
        if name:
            headers["Authorization"] = f"Bearer {small.keyring.token(name)}"
        content = body if isinstance(body, (str, bytes)) else json.dumps(body)
        answer = browser.post(path, content=content, headers=headers)
        return answer.status_code, answer.json()

    return post


@pytest.fixture
def post(fed: FedDesk) -> Post:
    return poster(fed)


def lines(values: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in values)


def test_a_feeds_key_opens_the_market_and_nothing_else(fed: FedDesk, post: Post) -> None:
    one = quote(1, fed.clock.wall_us())
    for name in ("agent", "operator", "approver", "auditor"):
        assert post(QUOTES, one, name=name)[0] == 403
        assert post(BARS, one, name=name)[0] == 403
    assert post(QUOTES, one, name="")[0] == 401
    assert not fed.market.feeds()
    assert post(QUOTES, one) == (200, {"taken": 1, "repeats": 0, "conditions": []})
    intent = {"client_key": "k", "instrument": "SPXN", "target_exposure_bp": 1}
    assert post("/v1/intents", intent)[0] == 403
    assert post("/v1/kill", {"reason": "x"})[0] == 403


def test_one_item_a_list_and_lines_are_the_same(fed: FedDesk, post: Post) -> None:
    now_us = fed.clock.wall_us()
    known = bars(300, now_us)
    assert post(BARS, known[0])[1]["taken"] == 1
    assert post(BARS, known[:100])[1] == {"taken": 99, "repeats": 1, "conditions": []}
    assert post(BARS, lines(known[100:]), kind=NDJSON)[1]["taken"] == 200
    assert post(BARS, "\n" + lines(known[250:]), kind=NDJSON)[1]["repeats"] == 50
    assert len(fed.market.unbroken("SPXN")) == 300


def test_another_item_under_the_same_sequence_is_refused(fed: FedDesk, post: Post) -> None:
    one = quote(1, fed.clock.wall_us())
    assert post(QUOTES, [one, one])[1] == {"taken": 1, "repeats": 1, "conditions": []}
    status, said = post(QUOTES, one | {"ask": "300.00"})
    assert (status, said["code"]) == (409, "feed_refused")
    assert "SPXN sequence 1 of alpha" in said["message"]


def test_an_unsound_item_is_taken_with_its_condition_and_recorded(fed: FedDesk, post: Post) -> None:
    now_us = fed.clock.wall_us()
    values = [quote(1, now_us), quote(2, now_us, bid="300.00"), quote(3, now_us, bid="0")]
    status, said = post(QUOTES, values)
    assert status == 200
    assert [(c["item"], c["sequence"], c["condition"]) for c in said["conditions"]] == [
        (2, 2, "crossed"),
        (3, 3, "non_positive"),
    ]
    found = fed.desk.log.of_kind(Kind.FEED_CONDITION)
    assert [r.body["condition"] for r in found] == ["ok", "crossed", "non_positive"]


@pytest.mark.parametrize(
    ("third", "field", "said"),
    [
        ("{", "line 3", "is not JSON"),
        ("[" * 20_000, "line 3", "is not JSON"),
        ("[]", "line 3", "Input should be"),
        ("NaN", "line 3", "Input should be"),
        ({"bid": 268.5}, "line 3.bid", "valid string"),
        ({"bid": "1e3"}, "line 3.bid", "should match pattern"),
        ({"bid": "268.505"}, "line 3.bid", "not a multiple of SPXN's tick 0.01"),
        ({"instrument": "NOPE"}, "line 3.instrument", "unknown instrument NOPE; known: SPXN, NDXN"),
        ({"sequence": 0}, "line 3.sequence", "greater than or equal to 1"),
        ({"sequence": True}, "line 3.sequence", "valid integer"),
        ({"event_time_us": 1.5}, "line 3.event_time_us", "valid integer"),
        ({"source": "a b"}, "line 3.source", "should match pattern"),
        ({"colour": "red"}, "line 3.colour", "not permitted"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_taken(
    fed: FedDesk, post: Post, third: str | dict[str, Any], field: str, said: str
) -> None:
    now_us = fed.clock.wall_us()
    bad = third if isinstance(third, str) else json.dumps(quote(3, now_us) | third)
    body = lines([quote(1, now_us), quote(2, now_us)]) + bad + "\n"
    status, answer = post(QUOTES, body, kind=NDJSON)
    assert (status, answer["code"]) == (422, "malformed")
    assert answer["faults"][0]["field"] == field
    assert said in answer["faults"][0]["message"]
    assert not fed.market.feeds()


@pytest.mark.parametrize("body", ["", "[]", '{"bid": "1", "bid": "2"}', b"\xff"])
def test_a_body_without_an_item_or_with_a_key_twice_is_malformed(post: Post, body: object) -> None:
    for kind in ("application/json", NDJSON):
        assert post(QUOTES, body, kind=kind)[0] == 422


def test_a_gateway_that_plays_its_market_takes_no_feed(tmp_path: Path) -> None:
    fed = fed_desk(memory_desk(tmp_path))
    own = fed.desk.small.desk.own
    object.__setattr__(own, "feeding", None)
    status, said = poster(fed)(QUOTES, quote(1, fed.clock.wall_us()))
    assert status == 400
    assert "plays its own market" in said["message"]
