"""Scenes of the walk, each played by a desk in memory: from a fill to what a start finds."""

import contextlib
from collections.abc import Callable
from dataclasses import replace

from typing_extensions import override

from audit.errors import LedgerWriteError
from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.session.link import HandResult
from gateway.desk.bodies.requests import IntentRequest
from gateway.walk.dispatch import dispatch
from gateway.walk.journal.standing import Standing
from gateway.walk.reconciliation.recovery import close_abandoned, mark_unknown
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadlineError
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, MemoryDesk
from tests.doubles.row_engine import RowEngine

DAYS = "two_days_of_the_strategy"
"""The scene that opens its own market."""


def quantity(order: Standing) -> int:
    if order.approving is None:
        raise AssertionError("it was never approved")
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

    def prepare(self, *_: object) -> None:
        """Nothing to do."""

    def go(self, *order: object) -> Callable[[], HandResult]:
        return lambda: self.hand(*order)

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


def taken_back_and_corrected(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    total = quantity(order)
    all_of_it = {"t32": str(total), "t14": str(total), "t151": "0", "t39": "2"}
    desk.settled(desk.report(order, t17="FILL", **all_of_it))
    left = {"t14": str(total - 1), "t151": "0", "t39": "2", "t19": "FILL"}
    raw = desk.report(
        order, t17="FIX", t150="G", **{**left, "t32": str(total - 1), "t31": "268.01"}
    )
    desk.settled(raw)
    gone = {"t14": "0", "t151": str(total), "t39": "0", "t32": "0", "t31": "0", "t19": "FIX"}
    desk.settled(desk.report(order, t17="BUST", t150="H", **gone))
    desk.settled(desk.report(order, t17="BUST2", t150="H", **{**gone, "t19": "NOBODY"}))


def refused_by_the_session(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    sent = desk.log.of_kind(Kind.ORDER_SENT)[0].body["msg_seq_num"]
    head = ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "7"), (52, "20180102-15:00:00"))
    desk.settled(framed("3", (*head, (45, "9999"), (58, "not one of ours"))))
    desk.settled(framed("3", (*head, (45, str(sent)), (372, "D"), (58, "tag missing"))))
    second = desk.rest(60)
    desk.settled(framed("j", (*head, (372, "D"), (379, second.cl_ord_id), (380, "3"))))
    desk.settled(desk.report(order))


def restarted(desk: MemoryDesk) -> None:
    """Leave a decision in each stage, then do what a start does."""
    own = desk.small.desk.own
    desk.approved("approved")
    waiting = desk.approved("sending")
    desk.log.before = stop_at(Kind.ORDER_SENT)
    with contextlib.suppress(LedgerWriteError):
        desk.dispatch(waiting)
    for kind in (Kind.FORECAST_TAKEN, Kind.VERDICT_GIVEN, Kind.DECISION_SEALED):
        desk.log.before = stop_at(kind)
        with contextlib.suppress(LedgerWriteError):
            desk.ask(5_000, exposure_bp=9_000)
    desk.log.before = lambda _: None
    desk.rest(40)
    desk.hold()
    ledger, known = own.tools.ledger, own.section.differences
    counts: list[int] = []
    for now_us in (7, 9):
        counts += [
            close_abandoned(ledger, own.orders, known, market_time_us=now_us),
            mark_unknown(ledger, own.orders, market_time_us=now_us + 1),
        ]
    if counts != [5, 1, 0, 0]:
        raise AssertionError(f"a start ended {counts}")


def stop_at(kind: Kind) -> Callable[[tuple[Draft, ...]], None]:
    """Have the gateway die where a record of this kind would be written."""

    def before(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is kind for one in drafts):
            raise LedgerWriteError("the gateway has died")

    return before


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
        taken_back_and_corrected,
        refused_by_the_session,
        restarted,
        two_days_of_the_strategy,
    )
}
