"""Which orders a person approved or refused between two days: asked over the API, and noted."""

import datetime as dt
from typing import Any

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from gateway.surfaces.api.app import build_api
from tests.doubles.memory_desk import MemoryDesk


def asked(desk: MemoryDesk, path: str, name: str = "auditor") -> tuple[int, dict[str, Any]]:
    own = desk.small.desk.own
    head = {"Authorization": f"Bearer {own.keyring.token(name)}"}
    answer = TestClient(build_api(desk.small.desk, own.keyring)).get(path, headers=head)
    return answer.status_code, answer.json()


def test_the_answers_of_a_person_on_these_days_with_their_records(desk: MemoryDesk) -> None:
    one, other = desk.hold(), ""
    desk.answer(one, approve=False, note="too much at once")
    other = desk.hold()
    assert desk.answer(other, note="as agreed") == "approved"
    (given,) = desk.log.of_kind(Kind.APPROVAL_GIVEN)
    day = dt.datetime.fromtimestamp(given.recorded_at_us / 1e6, tz=dt.UTC).date()
    status, found = asked(desk, f"/v1/approvals/approver/{day}/{day}")
    assert status == 200
    assert [(row["decision_id"], row["answer"], row["reason"]) for row in found["answers"]] == [
        (one, "refused", "too much at once"),
        (other, "approved", "as agreed"),
    ]
    assert (found["answers"][1]["seq"], found["answers"][1]["leaf"]) == (
        given.seq,
        given.leaf.hex(),
    )
    (read,) = [row for row in desk.log.of_kind(Kind.READ_RECORDED) if "approvals/" in str(row.body)]
    assert f"approvals/approver/{day}/{day}" in str(read.body)

    before = day - dt.timedelta(days=1)
    assert asked(desk, f"/v1/approvals/approver/{before}/{before}")[1]["answers"] == []
    assert asked(desk, f"/v1/approvals/another/{day}/{day}")[1]["answers"] == []


@pytest.mark.parametrize("days", ["monday/monday", "2026-11-20/2026-11-01"])
def test_days_that_are_no_range_are_refused_in_words(desk: MemoryDesk, days: str) -> None:
    status, said = asked(desk, f"/v1/approvals/approver/{days}")
    assert (status, "message" in said) == (400, True)


def test_an_agent_may_not_ask_it(desk: MemoryDesk) -> None:
    assert asked(desk, "/v1/approvals/approver/2026-11-01/2026-11-02", "agent")[0] == 403
