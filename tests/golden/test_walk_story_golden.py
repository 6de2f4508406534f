"""What each scene of the walk leaves on record, field by field, was fixed once.

A field that is new is no difference; one that is gone, or says something else, is one.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from fix.session_link import HandResult
from gateway.api.models import IntentRequest
from gateway.dispatch import dispatch
from gateway.orders import Standing
from inference.engine import SampleRequest, Samples
from inference.errors import EngineDeadlineError
from tests.doubles.memory_desk import AGENT, MemoryDesk, memory_desk
from tests.doubles.row_engine import RowEngine
from tests.doubles.walk_story import Story, missing

STORIES = Path(__file__).parent / "walk_stories"


def quantity(order: Standing) -> int:
    assert order.approving is not None
    return int(order.approving.body["intent"]["qty_lots"])


def filled(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t12="0.50", t13="3"))
    rest = {"t32": str(quantity(order) - 1), "t14": str(quantity(order)), "t151": "0", "t39": "2"}
    desk.settled(desk.report(desk.standing(order.decision_id), **rest))


def cancelled_after_a_part(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    raw = desk.report(order)
    for text in (raw, raw, desk.report(order, t17="M1")):
        desk.settled(text)
    gone = {"t150": "4", "t39": "4", "t32": "0", "t31": "0", "t14": "1", "t151": "0"}
    desk.settled(desk.report(desk.standing(order.decision_id), **gone))


def what_a_broker_may_say(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    for changes in (
        {"t150": "0", "t39": "0", "t32": "0", "t31": "0", "t14": "0"},
        {"t11": "NOBODYNOBODYNOBODY"},
        {"t31": "999.00"},
        {"t55": "NDXN"},
        {"t32": "1.5"},
        {"t150": "I", "t39": "1", "t32": "0", "t31": "0", "t17": "0"},
        {"t150": "9", "t39": "9", "t32": "0", "t31": "0"},
    ):
        desk.settled(desk.report(desk.standing(order.decision_id), **changes))
    desk.settled("8=FIX.4.4")


def refused_by_the_broker(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    no = {"t150": "8", "t39": "8", "t32": "0", "t31": "0", "t14": "0", "t151": "0", "t103": "1"}
    desk.settled(desk.report(order, **no, t58="too much"))


def rejected(desk: MemoryDesk) -> None:
    desk.ask(5_000, exposure_bp=9_000)


def nothing_to_trade(desk: MemoryDesk) -> None:
    desk.ask(50, exposure_bp=0)


def selling(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    all_of_it = {"t32": "51", "t14": "51", "t151": "0", "t39": "2"}
    desk.settled(desk.report(order, **all_of_it))
    request = IntentRequest(
        client_key="sell",
        instrument="SPXN",
        target_exposure_bp=0,
        limit_price="268.10",
        reason="enough",
        directional=True,
    )
    desk.small.desk.submit(AGENT, request)


def held_and_approved(desk: MemoryDesk) -> None:
    desk.answer(desk.hold(), note="read it")


def held_and_refused(desk: MemoryDesk) -> None:
    desk.answer(desk.hold(), approve=False, note="too much")


def held_and_killed(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    desk.small.desk.kill_switch.press(actor="ops", reason="now")
    desk.answer(decision_id)


def withdrawn(desk: MemoryDesk) -> None:
    order = desk.approved()
    dispatch(order, replace(desk.small.desk.own.dispatching, settling=lambda: False))


class Broker:
    def __init__(self, answer: HandResult) -> None:
        self.answer = answer

    def hand(self, *_: object) -> HandResult:
        return self.answer


def not_sent(desk: MemoryDesk) -> None:
    for outcome in ("refused", "unknown"):
        broker = Broker(HandResult(outcome=outcome, reason="why"))
        dispatch(desk.approved(), replace(desk.small.desk.own.dispatching, broker=broker))


def killed(desk: MemoryDesk) -> None:
    switch = desk.small.desk.kill_switch
    switch.press(actor="ops", reason="now")
    desk.ask()


class Hanging(RowEngine):
    @override
    def sample(self, request: SampleRequest) -> Samples:
        raise EngineDeadlineError(f"{request.request_id}: late")


def without_a_forecast(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    engine = Hanging(table=own.tools.table, codec=own.tools.codec)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=engine))
    desk.ask()


def two_days_of_the_strategy(desk: MemoryDesk) -> None:
    desk.small.play(4)


SCENES: dict[str, Callable[[MemoryDesk], None]] = {
    scene.__name__: scene
    for scene in (
        filled,
        cancelled_after_a_part,
        what_a_broker_may_say,
        refused_by_the_broker,
        rejected,
        nothing_to_trade,
        selling,
        held_and_approved,
        held_and_refused,
        held_and_killed,
        withdrawn,
        not_sent,
        killed,
        without_a_forecast,
        two_days_of_the_strategy,
    )
}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_leaves_what_it_left(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    desk = memory_desk(tmp_path, live=name != "two_days_of_the_strategy")
    start = desk.log.size
    SCENES[name](desk)
    told = json.loads(json.dumps(Story().told(desk.log.records(after_seq=start - 1))))
    path = STORIES / f"{name}.json"
    if request.config.getoption("--rewrite-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(one, sort_keys=True) for one in told)
        path.write_text(f"[\n{lines}\n]\n")
        return
    expected: Any = json.loads(path.read_text())
    assert [one["kind"] for one in told] == [one["kind"] for one in expected]
    assert missing(told, expected) == []
