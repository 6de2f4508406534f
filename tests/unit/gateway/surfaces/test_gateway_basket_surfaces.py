"""A basket over the API, on its page, on the pages of its legs, and from a file."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient

from audit.evidence.bundle import baskets_of
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import RequestError
from gateway.evidence.explanation import decision_document
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import DoorAnswer
from gateway.installation.settings import Settings
from gateway.launch.commands import orders
from gateway.surfaces.api.app import build_api
from tests.doubles.memory_desk import TABLE, MemoryDesk
from tests.doubles.page_desk import page_desk

HOME = "http://127.0.0.1:8700"
LEGS: list[dict[str, Any]] = [
    {"client_key": "a", "instrument": "SPXN", "target_exposure_bp": 2_000, "max_qty_lots": 40},
    {"client_key": "b", "instrument": "NDXN", "target_exposure_bp": 2_000, "max_qty_lots": 10},
]
PASSES = {"client_key": "whole", "legs": LEGS}
LARGE = {**LEGS[1], "target_exposure_bp": 90_000, "max_qty_lots": 1_000_000}
STOPS = {"client_key": "whole", "legs": [LEGS[0], LARGE]}


def asked(
    desk: MemoryDesk, name: str, method: str, path: str, body: object = None
) -> tuple[int, Any]:
    keyring = desk.small.desk.own.keyring
    web = TestClient(build_api(desk.small.desk, keyring), base_url=HOME)
    key = {"Authorization": f"Bearer {keyring.token(name)}"}
    answer = web.request(method, path, json=body, headers=key)
    return answer.status_code, answer.json()


def test_an_agent_submits_a_basket_and_an_auditor_reads_it(desk: MemoryDesk) -> None:
    for name in ("approver", "auditor"):
        assert asked(desk, name, "POST", "/v1/baskets", PASSES)[0] == 403
    status, said = asked(desk, "agent", "POST", "/v1/baskets", PASSES)
    assert (status, said["result"]) == (200, "approved")
    assert asked(desk, "agent", "POST", "/v1/baskets", PASSES) == (200, said)
    path = f"/v1/baskets/{said['basket_id']}"
    assert asked(desk, "auditor", "GET", path) == (200, said)
    (read,) = desk.log.of_kind(Kind.READ_RECORDED)
    assert read.body["object"] == f"basket/{said['basket_id']}"
    assert asked(desk, "auditor", "GET", "/v1/baskets/nobody")[0] == 404


@pytest.mark.parametrize(
    "legs",
    [
        LEGS[:1],
        [LEGS[0], {**LEGS[1], "client_key": "a"}],
        [LEGS[0], {**LEGS[1], "instrument": "SPXN"}],
        [{**LEGS[0], "client_key": str(n), "instrument": f"N{n}"} for n in range(9)],
    ],
)
def test_what_is_no_basket_is_refused_before_anything_runs(
    desk: MemoryDesk, legs: list[dict[str, Any]]
) -> None:
    size = desk.log.size
    body = {"client_key": "whole", "legs": legs}
    assert asked(desk, "agent", "POST", "/v1/baskets", body)[0] == 422
    assert desk.log.size == size


def test_the_pages_of_a_leg_and_of_the_whole_name_each_other(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    said = asked(desk, "agent", "POST", "/v1/baskets", STOPS)[1]
    assert said["result"] == "stopped"
    browser = page_desk(tmp_path, desk).browser("approver")
    first, second = (one["decision_id"] for one in said["legs"])
    page = browser.get(f"/decisions/{first}").raise_for_status().text
    assert f'href="{said["permalink"]}"' in page
    assert f'href="/decisions/{second}"' in page
    assert "because leg 2 is rejected" in page
    whole = browser.get(said["permalink"]).raise_for_status().text
    assert all(f'href="/decisions/{one}"' in whole for one in (first, second))
    assert f'href="/records/{said["record_seq"]}"' in whole
    assert browser.get("/baskets/nobody").status_code == 404


def test_a_leg_is_exported_with_the_records_of_its_basket(desk: MemoryDesk) -> None:
    said = asked(desk, "agent", "POST", "/v1/baskets", PASSES)[1]
    leg, reader = said["legs"][0]["decision_id"], cast("LedgerReader", desk.log)
    records = list(desk.log.records(stream=f"decision/{leg}"))
    kinds = [one.kind for one in baskets_of(reader, records)]
    assert kinds == [Kind.BASKET_RECEIVED, Kind.BASKET_DECIDED]
    shown = json.dumps(decision_document(reader, TABLE, leg), default=str)
    assert "basket_received" in shown
    assert "basket_decided" in shown


@pytest.mark.parametrize(("body", "code"), [(PASSES, 0), (STOPS, 1)])
def test_the_verb_submits_a_file_and_says_what_became_of_each_leg(
    desk: MemoryDesk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    body: dict[str, Any],
    code: int,
) -> None:
    def post(_: object, path: str, content: str, token: str, _within_s: float) -> DoorAnswer:
        assert token == Keyring(settings.state / "keys").token("agent")
        status, said = asked(desk, "agent", "POST", path, json.loads(content))
        return DoorAnswer(status=status, document=said)

    Keyring.create(tmp_path / "state" / "keys")
    settings = Settings(state=tmp_path / "state")
    monkeypatch.setattr(orders, "post", post)
    file = tmp_path / "basket.json"
    file.write_text(json.dumps(body))
    assert orders.submit_file(settings, file, "agent", as_json=False) == code
    printed = capsys.readouterr().out
    assert ("stopped (leg 2 is rejected)" if code else ": approved") in printed
    assert ("NDXN     rejected (R" if code else "NDXN     approved;") in printed
    assert orders.submit_file(settings, file, "agent", as_json=True) == code
    assert json.loads(capsys.readouterr().out)["result"] == ("stopped" if code else "approved")


def test_a_file_that_holds_no_basket_is_named_with_its_field(tmp_path: Path) -> None:
    file = tmp_path / "basket.json"
    file.write_text(
        json.dumps({"client_key": "whole", "legs": [{**LEGS[0], "client_key": ""}, LEGS[1]]})
    )
    with pytest.raises(RequestError, match=r"basket\.json legs\.0\.client_key"):
        orders.submit_file(Settings(state=tmp_path), file, "agent", as_json=False)
