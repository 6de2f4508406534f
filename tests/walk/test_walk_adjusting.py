"""A desk's day on a whole gateway: opened, traded, adjusted by two, closed with a statement."""

import json
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.evidence.replay.replay import replay
from gateway.evidence.statement import read_statement
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from gateway.launch.commands.adjustments import adjust_book, adjustment_from, opening_from
from tests.doubles.api_agent import Agent, standing_of

pytestmark = [pytest.mark.walk, pytest.mark.timeout(240)]


def test_a_book_is_opened_traded_adjusted_and_closed(
    app: App, agent: Agent, tmp_path: Path
) -> None:
    account, settings = f"{app.plan.tags.account}.agent", app.plan.settings
    file = tmp_path / "sod.csv"
    file.write_text("instrument,quantity,price\nSPXN,100,250.00\nCASH,975000.00,\n")
    assert adjust_book(settings, opening_from(file, account, "2018-01-02", "start"), {}) == 0
    section = app.desk.own.section
    assert section.book(account).equity_minor == 100_000_000

    told = agent.intent("after-the-opening", 500).json()
    assert told["result"] == "approved", told
    name = told["decision_id"]
    wait_for(lambda: standing_of(app, name).sealed, 30.0, part="the order's end")
    replay(app.reader, app.desk.own.tools.table, name)

    lots = section.book(account).lots("SPXN")
    given = {"reason": "notice", "evidence": "ticket 7"}
    split = {"ref": "s", "sort": "split", "instrument": "SPXN", "ratio": "2:1", **given}
    for _ in range(2):  # the same again changes nothing
        assert adjust_book(settings, adjustment_from(split), {}) == 0
    fee = {"ref": "f", "sort": "fee", "account": account, "amount": "25.00", **given}
    assert adjust_book(settings, adjustment_from(fee), {}) == 0
    assert section.book(account).lots("SPXN") == 2 * lots
    assert app.book_check.run("run_end") == 0, "the check against the broker counts them"
    records = list(app.reader.records(kinds=(Kind.BOOK_ADJUSTED,)))
    assert [one.body["sort"] for one in records] == ["opening", "split", "fee"]

    made = read_statement(app.reader, account, "2018-01-02")
    assert made.book == section.book(account)
    assert [done.ref for _, done in made.adjustments] == ["opening:2018-01-02", "s", "f"]
    page = agent.http.get("/v1/adjustments")
    assert page.status_code == 403, json.dumps(page.json())
