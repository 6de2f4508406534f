"""Pilot mode: an approved order beyond a limit is withdrawn on record, with the limit's name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from audit.records.kinds import Kind
from gateway import clock
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import PilotSettings
from gateway.launch.app import App, running
from gateway.launch.plan import Plan
from tests.doubles.feeds import bars, quote
from tests.doubles.live_desk import plan_for

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
WIDE = PilotSettings(
    instruments="SPXN",
    price_max_minor=10_000_000,
    value_max_minor=1_000_000_000,
    orders_per_day=1,
    position_max_lots=10_000,
)


def pilot_plan(state: Path, pilot: PilotSettings) -> Plan:
    """Return a plan of pilot mode as a development run: nothing else starts it."""
    plan = plan_for(state)
    settings = plan.settings.model_copy(update={"pilot": pilot})
    tags = replace(plan.tags, mode="pilot")
    return replace(plan, tags=tags, settings=settings, fed=True, playback={})


def post(app: App, name: str, path: str, body: object) -> Any:  # noqa: ANN401 - JSON
    answer = httpx2.post(
        app.server.address + path,
        content=json.dumps(body),
        headers={
            "Authorization": f"Bearer {app.plan.keyring.token(name)}",
            "Content-Type": "application/json",
        },
        timeout=30,
    )
    return answer.json()


def decided(app: App, first: int) -> dict[str, Any]:
    """Quote and ask until the rules approve: a machine that stood still made the quote too old."""
    answer: dict[str, Any] = {}
    for number in range(first, first + 20):
        post(app, "feed", "/v1/market/quotes", quote(number, clock.wall_us()))
        wish = {"client_key": f"k-{number}", "instrument": "SPXN", "target_exposure_bp": 2_000}
        answer = post(app, "agent", "/v1/intents", {**wish, "max_qty_lots": 50 + number})
        if answer.get("verdict") in {"ALLOW", "WARN"}:
            return dict(answer)
    raise AssertionError(f"the rules approved nothing: {answer}")


@pytest.mark.parametrize(
    ("pilot", "said"),
    [
        (PilotSettings(), "pilot_instruments: SPXN is not among them"),
        (WIDE.model_copy(update={"price_max_minor": 100}), "pilot_price: "),
        (WIDE.model_copy(update={"value_max_minor": 100}), "pilot_value: "),
        (WIDE.model_copy(update={"orders_per_day": 0}), "pilot_orders: 1, at most 0"),
        (WIDE.model_copy(update={"position_max_lots": 1}), "pilot_position: "),
    ],
)
def test_an_order_beyond_a_limit_never_leaves(
    tmp_path: Path, pilot: PilotSettings, said: str
) -> None:
    with running(pilot_plan(tmp_path, pilot), lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 30.0, part="scripted engine")
        post(app, "feed", "/v1/market/bars", bars(60, clock.wall_us()))
        answer = decided(app, 1)
        assert answer["result"] == "not_sent"
        assert answer["reason"].startswith(said)
        kinds = {one.kind for one in app.reader.records()}
        assert Kind.ORDER_WITHDRAWN in kinds
        assert not kinds & {Kind.ORDER_SENDING, Kind.ORDER_SENT}


def test_an_order_within_every_limit_leaves_and_the_next_is_one_too_many(tmp_path: Path) -> None:
    with running(pilot_plan(tmp_path, WIDE), lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 30.0, part="scripted engine")
        wait_for(lambda: app.fix.state.value == "READY", 30.0, part="FIX session")
        post(app, "feed", "/v1/market/bars", bars(60, clock.wall_us()))
        assert decided(app, 1)["result"] == "approved"
        answer = decided(app, 101)
        assert (answer["result"], answer["reason"]) == ("not_sent", "pilot_orders: 2, at most 1")
