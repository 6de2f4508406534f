"""A whole gateway whose market feeds deliver over HTTP: fresh quotes pass, stale ones do not."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from audit.records.kinds import Kind
from gateway import clock
from gateway.evidence.publication.receipts import GOOD, check_file
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.plan import Plan
from gateway.walk.journal.standing import Stage
from tests.doubles.feeds import bars, quote
from tests.doubles.live_desk import plan_for

pytestmark = [pytest.mark.postgres, pytest.mark.broker]


def fed_plan(state: Path) -> Plan:
    """Return the plan of a gateway that is fed as `serve` is, with the simulator as its broker."""
    plan = plan_for(state)
    feeds = plan.settings.feeds.model_copy(update={"stale_after_s": 1.0})
    settings = plan.settings.model_copy(update={"feeds": feeds})
    return replace(plan, settings=settings, fed=True, playback={})


def post(app: App, name: str, path: str, body: object) -> tuple[int, Any]:
    """Post as somebody; a text is sent as lines."""
    kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
    key = app.plan.keyring.token(name)
    answer = httpx2.post(
        app.server.address + path,
        content=body if isinstance(body, str) else json.dumps(body),
        headers={"Authorization": f"Bearer {key}", "Content-Type": kind},
        timeout=30,
    )
    return answer.status_code, answer.json()


def ask(app: App, key: str) -> tuple[int, Any]:
    """Ask for exposure as an agent."""
    wish = {"client_key": key, "instrument": "SPXN", "target_exposure_bp": 2_000}
    return post(app, "agent", "/v1/intents", {**wish, "max_qty_lots": 50})


def approved(app: App) -> dict[str, Any]:
    """Quote and ask until an order leaves: a machine that stood still made the quote too old."""
    said: list[Any] = []
    for number in range(1, 21):
        quoted = post(app, "feed", "/v1/market/quotes", quote(number, clock.wall_us()))
        answer = ask(app, f"fresh-{number}")
        if answer[0] == 200 and answer[1]["result"] == "approved":
            return dict(answer[1])
        said.append((quoted, answer))
    raise AssertionError(f"nothing passed: {said}")


def test_an_intent_passes_on_fresh_quotes_and_is_refused_on_stale_ones(tmp_path: Path) -> None:
    with running(fed_plan(tmp_path), lambda _: None) as app, app.housekeeping.in_background():
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        assert "no quote since the start" in ask(app, "early")[1]["message"]
        lines = "\n".join(json.dumps(one) for one in bars(60, clock.wall_us()))
        assert post(app, "feed", "/v1/market/bars", lines)[1]["taken"] == 60

        answer = approved(app)
        saved = tmp_path / "answer.json"
        saved.write_text(json.dumps(answer))
        assert check_file(app.reader, app.plan.origin, saved)[0] == GOOD
        wait_for(lambda: _ended(app, answer["decision_id"]), 10.0, part="fill")
        book = app.desk.own.section.book(f"{app.plan.tags.account}.agent")
        assert book.lots("SPXN") == 50

        clock.pause(1.2)
        status, refused = ask(app, "stale")
        assert status == 400
        assert refused["message"].startswith("SPXN: quote is stale: last ")
        assert refused["message"].endswith("s ago, limit 1 s")
        wait_for(lambda: "stale" in _conditions(app), 5.0, part="record of the stale feed")
        assert _conditions(app)[0] == "ok"
        marked = app.reader.records(stream="market/SPXN", kinds=(Kind.MARK_TAKEN,))
        assert {r.body["source"] for r in marked} == {"feed"}


def test_after_a_restart_bars_and_sequences_are_there_and_quotes_are_not(tmp_path: Path) -> None:
    with running(fed_plan(tmp_path), lambda _: None) as app:
        posted = bars(60, clock.wall_us())
        assert post(app, "feed", "/v1/market/bars", posted[:59])[1]["taken"] == 59
        post(app, "feed", "/v1/market/quotes", quote(1, clock.wall_us()))
    with running(fed_plan(tmp_path), lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        assert "no quote since the start" in ask(app, "early")[1]["message"]
        again = post(app, "feed", "/v1/market/bars", posted)
        assert again[1] == {"taken": 1, "repeats": 59, "conditions": []}
        assert approved(app)["result"] == "approved"


def _ended(app: App, decision_id: str) -> bool:
    standing = app.orders.get(decision_id)
    return standing is not None and standing.stage in {Stage.CLOSED, Stage.SEALED}


def _conditions(app: App) -> list[str]:
    found = app.reader.records(stream="market/SPXN", kinds=(Kind.FEED_CONDITION,))
    return [str(r.body["condition"]) for r in found if r.body["feed"] == "quotes"]
