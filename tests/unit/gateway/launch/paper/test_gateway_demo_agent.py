import json

import httpx
import pytest
from pydantic import ValidationError

from gateway.desk.bodies.requests import IntentRequest
from gateway.launch.paper.demo_agent import NAME, bad_attempts, run_demo_agent


def accepts(body: bytes) -> bool:
    try:
        IntentRequest.model_validate_json(body)
    except ValidationError:
        return False
    return True


def test_every_malformed_attempt_fails_the_api_own_model() -> None:
    for attempt in bad_attempts("t"):
        if attempt.name == "unknown_instrument":
            continue
        assert accepts(attempt.body) == (attempt.expected == "rejected"), attempt.name


def test_attempts_ask_for_limits_and_for_malformed_input() -> None:
    expected = [attempt.expected for attempt in bad_attempts("t")]
    assert expected.count("rejected") >= 3
    assert expected.count("refused") >= 5


def test_two_runs_never_share_a_client_key() -> None:
    first, second = bad_attempts("run-1"), bad_attempts("run-2")
    keyed = [a for a in zip(first, second, strict=True) if b"client_key" in a[0].body]
    assert all(a.body != b.body for a, b in keyed)


def test_answers_are_counted_by_what_they_mean() -> None:
    seen: list[tuple[str | None, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = request.read()
        seen.append((request.headers.get("authorization"), body))
        if "authorization" not in request.headers:
            return httpx.Response(401, json={"code": "unauthenticated"})
        if not accepts(body) or b"NOPE" in body:
            return httpx.Response(422, json={})
        return httpx.Response(200, json={"result": "rejected"})

    report = run_demo_agent("http://gate", "k", "t", transport=httpx.MockTransport(answer))
    assert report.let_through == 0
    assert report.rejected == sum(a.expected == "rejected" for a in bad_attempts("t"))
    assert report.refused == report.attempts - report.rejected
    assert sum(key == "Bearer k" for key, _ in seen) == report.attempts - 1
    assert json.loads(json.dumps(report.document()))["actor"] == NAME


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, json={"result": "approved"}),
        httpx.Response(200, content=b"not json"),
        httpx.Response(200, json=[]),
        httpx.Response(500, json={}),
    ],
)
def test_what_is_not_clearly_shut_counts_as_let_through(reply: httpx.Response) -> None:
    report = run_demo_agent("http://gate", "k", "t", transport=httpx.MockTransport(lambda _: reply))
    assert report.let_through == report.attempts > 0


def test_a_dead_gateway_counts_as_let_through_and_does_not_raise() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    report = run_demo_agent("http://gate", "k", "t", transport=httpx.MockTransport(gone))
    assert report.outcomes["no_key"] == "no_answer"
    assert report.let_through == report.attempts
