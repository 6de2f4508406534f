"""A window is gathered from records alone, put on record, and follows from them for anybody."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient
from msgspec.structs import replace as with_fields

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import RequestError
from gateway.evidence.fairness.gathering import WINDOW_KINDS, gathered
from gateway.evidence.fairness.report import differing, report_text, root_by, run_tests
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.control.fairness import FairnessTested, fairness_tested
from gateway.walk.journal.run import Listing, feed_mark, instrument_listed
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk
from tests.doubles.page_desk import page_desk
from tests.doubles.walk_scenes import quantity

DAY, NEXT = "2018-01-02", "2018-01-03"


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """One day with three intents of an agent: filled, held or refused; then another day."""
    desk = memory_desk(tmp_path / "desk")
    own = desk.small.desk.own
    listing = Listing(
        instrument=own.instruments["SPXN"],
        max_qty=1_000,
        calendar="XNYS",
        region="north-america",
        mic="XNYS",
    )
    desk.log.append(instrument_listed(listing, "0" * 64))
    opens(desk, DAY)
    order = desk.rest(50)
    lots = str(quantity(order))
    desk.settled(desk.report(order, t32=lots, t14=lots, t151="0", t39="2", t17="A"))
    desk.ask(900_000, exposure_bp=-90_000)
    desk.rest(10)
    opens(desk, NEXT)
    return desk


def opens(desk: MemoryDesk, day: str) -> None:
    desk.log.append(
        feed_mark(
            replace(desk.small.tags, account=AGENT_ACCOUNT),
            instrument="SPXN",
            market_time_us=desk.small.desk.own.market.now_us() + int(day[-2:]),
            price_ticks=26_800,
            day=day,
            opens=True,
        )
    )


def run(desk: MemoryDesk, days: tuple[str, str] = (DAY, DAY)) -> FairnessTested:
    return run_tests(reader(desk), root_by(desk.log.tiles.reader), days, deals=19)


def reader(desk: MemoryDesk) -> LedgerReader:
    return cast("LedgerReader", desk.log)


def body(desk: MemoryDesk) -> dict[str, Any]:
    document = run(desk).document()
    del document["actor_name"]
    return document


def test_the_cases_are_what_the_records_say(desk: MemoryDesk) -> None:
    window = gathered(desk.log.records(kinds=WINDOW_KINDS), DAY, DAY)
    assert [case.result for case in window.cases] == ["approved", "rejected", "approved"]
    assert [case.filled for case in window.cases] == [True, False, False]
    first, refused, _ = window.cases
    assert first.levels == {
        "region": "north-america",
        "sector": "",
        "side": "BUY",
        "agent": "agent",
    }
    assert first.features["venue"] == "XNYS"
    assert refused.rules, "the rules that refused are named"
    assert not first.rules
    (made,) = desk.log.of_kind(Kind.FORECAST_MADE)
    assert {case.forecast for case in window.cases} == {made.seq}
    told = [*desk.log.of_kind(Kind.VERDICT_GIVEN), *desk.log.of_kind(Kind.ORDER_SENDING)]
    assert window.size == max(record.seq for record in told) + 1
    assert {one.stratum for one in window.placed} == {f"SPXN {DAY}"}
    assert len(window.placed) == len(desk.log.of_kind(Kind.ORDER_SENDING))


def test_another_day_has_none_of_them(desk: MemoryDesk) -> None:
    assert gathered(desk.log.records(kinds=WINDOW_KINDS), NEXT, NEXT).size == 0
    with pytest.raises(RequestError, match="no intent was judged"):
        run(desk, (NEXT, NEXT))
    with pytest.raises(RequestError, match="is not a day"):
        run(desk, ("yesterday", NEXT))
    with pytest.raises(RequestError, match="is after"):
        run(desk, (NEXT, DAY))


def test_a_run_says_why_a_test_does_not_apply(desk: MemoryDesk) -> None:
    why = {row["attribute"]: row["because"] for row in run(desk).results if row["test"] == "W1-W7"}
    assert why == {
        "sector": "the table of instruments names no sector",
        "client": "an intent has no client of its own: W8 compares what clients were allotted",
    }
    swaps = [row for row in run(desk).results if row["test"] == "F2"]
    assert {row["attribute"] for row in swaps} == {"region", "sector", "issuer", "client"}
    assert {row["finding"] for row in swaps} == {"does not apply"}
    assert "insufficient" in report_text(run(desk)), "three cases are too few, and it says so"


def test_what_comes_later_changes_neither_window_nor_root(desk: MemoryDesk) -> None:
    before = run(desk)
    desk.ask(5)
    opens(desk, "2018-01-04")
    assert run(desk) == before


def test_a_recorded_run_follows_from_the_records_and_a_changed_one_does_not(
    desk: MemoryDesk,
) -> None:
    made = run(desk)
    tiles = root_by(desk.log.tiles.reader)
    assert differing(made, reader(desk), tiles) == ()
    flattered = tuple(
        {**row, "finding": "not flagged"} if row["finding"] == "insufficient" else row
        for row in made.results
    )
    assert differing(with_fields(made, results=flattered), reader(desk), tiles) == ("results",)
    assert differing(with_fields(made, root="00" * 32), reader(desk), tiles) == ("root",)
    fewer = with_fields(made, cases=made.cases - 1)
    assert differing(fewer, reader(desk), tiles) == ("cases",)


def api(desk: MemoryDesk) -> TestClient:
    app = build_api(desk.small.desk, desk.small.keyring)
    return TestClient(app, base_url="http://127.0.0.1:8700", raise_server_exceptions=False)


def key(desk: MemoryDesk, name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {desk.small.keyring.token(name)}"}


def test_a_run_goes_on_record_with_who_ran_it_once(desk: MemoryDesk) -> None:
    client = api(desk)
    said = client.post("/v1/fairness", json=body(desk), headers=key(desk, "operator"))
    assert said.status_code == 200, said.text
    (record,) = desk.log.of_kind(Kind.FAIRNESS_TESTED)
    assert record.seq == said.json()["seq"]
    assert FairnessTested.of(record).actor_name == "operator"
    again = client.post("/v1/fairness", json=body(desk), headers=key(desk, "operator"))
    assert again.json() == said.json()
    assert len(desk.log.of_kind(Kind.FAIRNESS_TESTED)) == 1
    (listed,) = client.get("/v1/fairness", headers=key(desk, "auditor")).json()["runs"]
    assert listed["results"] == json.loads(json.dumps(body(desk)["results"]))
    assert client.get("/v1/fairness", headers=key(desk, "agent")).status_code == 403
    refused = client.post("/v1/fairness", json=body(desk), headers=key(desk, "agent"))
    assert refused.status_code == 403


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"root": "00" * 32}, 400),
        ({"size": 10_000}, 400),
        ({"results": []}, 422),
        ({"first_day": "today"}, 422),
    ],
)
def test_a_run_of_another_log_or_without_form_is_refused(
    desk: MemoryDesk, changed: dict[str, Any], status: int
) -> None:
    said = api(desk).post(
        "/v1/fairness", json={**body(desk), **changed}, headers=key(desk, "operator")
    )
    assert said.status_code == status
    assert not desk.log.of_kind(Kind.FAIRNESS_TESTED)


def test_the_page_shows_a_run_with_all_of_its_tests_and_no_script(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    pages = page_desk(tmp_path, desk)
    assert "No test was run yet" in pages.read("/fairness")
    (record,) = desk.log.append(fairness_tested(planted(run(desk))))
    page = pages.read(f"/fairness?run={record.seq}")
    assert "W8 compares what clients were allotted" in page
    assert f"--check {record.seq}" in page
    assert "<script" not in page
    assert page.count("<svg") == 1
    assert "north-america, 40 cases: 70.0 %, flagged" in page
    assert "No test was run yet" in pages.read("/fairness?run=0")


def planted(made: FairnessTested) -> FairnessTested:
    """Return a run with a flagged group, as a page must show it."""
    row = {
        "test": "W1",
        "attribute": "region",
        "group": "north-america",
        "cases": 40,
        "observed": 7_000,
        "limit": 8_000,
        "finding": "flagged",
    }
    return with_fields(made, results=(row, *made.results), actor_name="auditor")
