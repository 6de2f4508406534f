"""GET /metrics: every figure is in the table, nothing of a decision is in it, only keys open it."""

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from audit.records.kinds import Kind
from gateway.surfaces.api.app import build_api
from gateway.telemetry.metrics import METRICS
from tests.doubles.memory_desk import MemoryDesk


def client(desk: MemoryDesk) -> TestClient:
    return TestClient(build_api(desk.small.desk, desk.small.keyring))


def key(desk: MemoryDesk, name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {desk.small.keyring.token(name)}"}


def figures(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (one.name, tuple(one.labels.values())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_the_figures_follow_what_happens(desk: MemoryDesk) -> None:
    api = client(desk)
    desk.rest()
    desk.hold()
    api.get("/v1/kill", headers={"Authorization": "Bearer nobody"})
    answer = api.get("/metrics", headers=key(desk, "monitor"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = figures(answer.text)
    assert found["countersign_decisions_total", ("approved",)] == 1
    assert found["countersign_decisions_total", ("held",)] == 1
    assert found["countersign_orders_total", ("sent",)] == 1
    assert found["countersign_orders_live", ()] == 1
    assert found["countersign_holds_waiting", ()] == 1
    assert found["countersign_part_ready", ("kill",)] == 1
    assert found["countersign_refused_attempts_total", ("unknown_key",)] == 1
    assert {name for name, _ in found} <= METRICS.keys()


def test_a_scrape_reads_no_record_and_leaves_none(desk: MemoryDesk) -> None:
    desk.rest()
    size = desk.log.size
    answer = client(desk).get("/metrics", headers=key(desk, "operator"))
    assert desk.log.size == size
    (received,) = desk.log.of_kind(Kind.INTENT_RECEIVED)
    assert str(received.body["decision_id"]) not in answer.text


def test_the_monitors_key_opens_nothing_else(desk: MemoryDesk) -> None:
    api = client(desk)
    for name, status in (("agent", 403), ("feed", 403), ("approver", 403), ("auditor", 200)):
        assert api.get("/metrics", headers=key(desk, name)).status_code == status
    assert api.get("/metrics").status_code == 401
    for path in ("/v1/kill", "/v1/events?wait_s=0", "/v1/decisions/x"):
        assert api.get(path, headers=key(desk, "monitor")).status_code == 403
