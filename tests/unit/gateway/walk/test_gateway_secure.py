"""Secure reasoning: nothing is drafted until both officers end it; the levels of health."""

from typing import cast

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.officers import stops as stopping
from gateway.errors import StopRefusedError
from gateway.evidence.replay.replay import replay
from gateway.surfaces.api.app import build_api
from gateway.walk.projections.stops import Level
from risk.state.state import Stop
from tests.doubles.memory_desk import TABLE, MemoryDesk


def look_aheads(desk: MemoryDesk) -> list[int]:
    return [one.body["spec_k"] for one in desk.log.of_kind(Kind.FORECAST_REQUESTED)]


def browser_of(desk: MemoryDesk) -> TestClient:
    return TestClient(build_api(desk.small.desk, desk.small.keyring))


def signatures(desk: MemoryDesk, *roles: str) -> dict[str, str]:
    own = desk.small.desk.own
    said = stopping.stops_state(own)["to_sign"].encode()
    return {role: own.keyring.signing_key(role).sign(said).hex() for role in roles}


def test_nothing_is_drafted_until_both_officers_end_it(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    usual = own.tools.plan.spec_k
    assert usual > 0
    assert desk.ask().result == "approved"
    stopping.begin_stop(own, "ada", Stop.SECURE, "odd drafts")
    response = desk.ask()
    assert response.result == "approved", "orders go on"
    assert look_aheads(desk) == [usual, 0]
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
    for given in ({}, signatures(desk, "risk")):
        with pytest.raises(StopRefusedError, match="both officers"):
            stopping.resume(own, "ada", None, "over", given)
    assert desk.ask().result == "approved"
    stopping.resume(own, "ada", None, "over", signatures(desk, "risk", "compliance"))
    assert desk.ask().result == "approved"
    assert look_aheads(desk) == [usual, 0], "each was made once"
    named = [one.body["forecast_id"] for one in desk.log.of_kind(Kind.FORECAST_TAKEN)]
    assert named[0] == named[3] != named[1] == named[2]
    begun, ended = (desk.log.of_kind(kind) for kind in (Kind.STOP_BEGUN, Kind.STOP_ENDED))
    assert len(begun) == len(ended) == 1, "the interval is on record"


def test_a_first_decision_after_a_start_reads_the_stop_from_the_log(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    stopping.begin_stop(own, "ada", Stop.SECURE, "odd drafts")
    own.section.stops = type(own.section.stops)(cast("LedgerReader", desk.log))
    assert desk.ask().result == "approved"
    assert look_aheads(desk) == [0]


def test_an_order_approved_before_it_leaves(desk: MemoryDesk) -> None:
    stops = desk.small.desk.own.section.stops
    with stops.beginning(Stop.SECURE):
        assert stops.held_back() == ""
    with stops.beginning(Stop.PAUSE):
        assert stops.held_back() == "stop_pause"


def test_each_level_is_reached_and_shown_by_health(desk: MemoryDesk) -> None:
    own, browser = desk.small.desk.own, browser_of(desk)
    shown = [browser.get("/readyz").json()["level"]]
    for stop in (Stop.SECURE, Stop.BREAKER):
        stopping.begin_stop(own, "ada", stop, "a test")
        answer = browser.get("/readyz")
        shown.append(answer.json()["level"])
        assert (answer.status_code == 200) is (stop is Stop.SECURE)
    assert own.section.stops.level(halted=False, sampling=False) is Level.NO_FORECAST
    for stop in (Stop.REDUCE_ONLY, Stop.PAUSE):
        stopping.begin_stop(own, "ada", stop, "a test")
        shown.append(browser.get("/readyz").json()["level"])
    assert shown == ["full", "no-speculation", "by-persons", "reduce-only", "halt"]
    assert own.section.stops.level(halted=True, sampling=True) is Level.HALT
