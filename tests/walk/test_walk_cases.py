"""Orders that match an indicator, at a whole gateway: a case is opened once, for reviewers only."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from gateway.launch.paper.play import open_session
from gateway.launch.threads.conduct import ConductWatch
from gateway.walk.journal.control.oversight.cases import CASE_KINDS
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.verbs import typed

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
WITHIN_S = 60.0
TRIES = 8
LOTS = itertools.count(41)


@pytest.fixture
def cased(walk_state: Path) -> Iterator[tuple[Path, App]]:
    """A gateway with a case on record."""
    with live_desk.desk(walk_state) as app:
        for session in live_desk.sessions(2):
            open_session(app, session)
        with Agent(app) as agent:
            show_size_and_trade(app, agent)
        yield walk_state, app


def state_of(agent: Agent, name: str) -> str:
    return str(agent.http.get(f"/v1/orders/{name}").raise_for_status().json()["state"])


def await_state(agent: Agent, state: str, *names: str) -> None:
    wait_for(lambda: all(state_of(agent, name) == state for name in names), WITHIN_S, part="broker")


def sent(agent: Agent, exposure_bp: int, **more: object) -> str:
    answer: dict[str, Any] = agent.intent(f"case-{next(LOTS)}", exposure_bp, **more).json()
    assert answer["result"] == "approved", [
        one for one in answer["rules"] if one["action"] != "ALLOW"
    ]
    return str(answer["cl_ord_id"])


def show_size_and_trade(app: App, agent: Agent) -> None:
    """Buy a little, show much more below the market, sell, take it back; a slow machine retries."""
    tick = app.market.tick("SPXN").quote
    for _ in range(TRIES):
        lots = next(LOTS)
        bought = sent(agent, 2_000, max_qty_lots=lots)
        await_state(agent, "FILLED", bought)
        below = f"{(tick.bid_ticks - 200 - next(LOTS)) / 100:.2f}"
        shown = [
            sent(agent, 3_000, max_qty_lots=200 + next(LOTS), limit_price=below) for _ in range(2)
        ]
        sent(agent, 0, max_qty_lots=lots)
        for name in shown:
            agent.http.post(f"/v1/orders/{name}/cancel", json={"client_key": name, "reason": "t"})
        await_state(agent, "CANCELED", *shown)
        found = MemoryLedger()
        ConductWatch(app.reader, found).look()
        # the gateway's own thread may have opened the case before: then `found` stays empty
        if found.size or cases_of(app):
            return
    raise AssertionError("no case after so many tries")


def cases_of(app: App) -> tuple[Record, ...]:
    return tuple(app.reader.records(kinds=(Kind.CASE_OPENED,)))


def told(folder: Path, *words: str) -> str:
    code, said = typed(folder, *words)
    assert code == 0, said
    return said


def test_a_case_is_opened_once_and_only_reviewers_see_it(
    cased: tuple[Path, App],
) -> None:
    folder, app = cased
    wait_for(lambda: bool(cases_of(app)), WITHIN_S, part="conduct")
    (opened,) = cases_of(app)
    case_id = str(opened.body["case_id"])
    assert (opened.body["indicator"], opened.body["agents"]) == ("spoofing", ["agent"])
    for name, status in (("agent", 403), ("operator", 403), ("approver", 403), ("auditor", 200)):
        with Agent(app, name) as caller:
            assert caller.http.get("/v1/cases").status_code == status
            assert caller.http.get(f"/v1/cases/{case_id}").status_code == status
            page = caller.http.get(f"/cases/{case_id}")
            assert (page.status_code, "spoofing" in page.text) == (status, status == 200)
            if name != "agent":
                shown = caller.http.get(f"/records/{opened.seq}").status_code
                assert shown == (200 if status == 200 else 404)
                named = "case opened" in caller.http.get("/ledger").text
                assert named is (status == 200)

    assert case_id in told(folder, "cases", "list")
    assert "noted (record" in told(folder, "cases", "note", case_id, "--text", "asked the desk")
    assert "is closed (record" in told(folder, "cases", "close", case_id, "--reason", "a test")
    printed = told(folder, "cases", "show", case_id)
    assert "asked the desk" in printed
    assert "closed: a test" in printed
    assert "not a statement about anybody's intent" in printed
    code, said = typed(folder, "cases", "list", "--as", "operator")
    assert (code, "may not review" in said) == (2, True)


def test_a_restart_opens_no_case_twice(cased: tuple[Path, App]) -> None:
    _, app = cased
    wait_for(lambda: bool(cases_of(app)), WITHIN_S, part="conduct")
    size = app.reader.head().size
    again = ConductWatch(app.reader, app.ledger)
    again.look()
    again.look()
    assert len(cases_of(app)) == 1
    assert not [one for one in app.reader.records(kinds=CASE_KINDS) if one.seq >= size]
