"""GET /metrics: figures for Prometheus, from what is known already; no record is read."""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from gateway.desk.desk import Desk
from gateway.evidence.answers.days import LiveFlow
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import Condition
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.telemetry.alarms.alarms import Alarms
from gateway.telemetry.alarms.catalogue import READY, Alarm
from gateway.telemetry.metrics import CONTENT_TYPE, Exposition, Figure

router = APIRouter(tags=["health"])


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response)
def metrics(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("measure"))],  # noqa: ARG001 - the door
) -> Response:
    """Return every metric of docs/metrics.md in Prometheus' text format."""
    text = Exposition(lambda: _figures(request.app.state)).text()
    return Response(text, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})


def _figures(state: Any) -> Iterator[Figure]:  # noqa: ANN401 - the application's state
    desk: Desk = state.desk
    for part, said in desk.parts().items():
        yield _one("countersign_part_ready", said == READY, part)
    yield _one("countersign_kill_epoch", desk.own.word.read()[0])
    yield _one("countersign_orders_live", len(desk.own.orders.live()))
    if (foreign := desk.own.foreign) is not None:
        yield _one("countersign_foreign_orders_working", len(foreign.working()))
    if desk.own.orders.ready:
        yield _one("countersign_holds_waiting", len(desk.own.orders.held()))
    load = desk.load()
    yield _one("countersign_intents_waiting", load.waiting.queue)
    yield _one("countersign_intent_wait_seconds", load.waiting.oldest_s)
    yield _one("countersign_answer_seconds", load.waiting.needs_s)
    if load.pace.tokens_s is not None:
        yield _one("countersign_engine_tokens_per_second", load.pace.tokens_s)
    yield from _feeds(desk)
    for name, result, count in desk.own.telemetry.counted():
        yield _one(f"{name.replace('.', '_')}_total", count, result)
    for reason, count in state.refusals.totals().items():
        yield _one("countersign_refused_attempts_total", count, reason)
    yield from _flow(state.flow)
    yield _one("countersign_event_streams", state.following.followers)
    alarms: Alarms | None = state.alarms
    if alarms is not None:
        raised = alarms.watch.standing()
        for alarm in Alarm:
            yield _one("countersign_alarm", alarm in raised, alarm.value)
        if (webhook := alarms.webhook) is not None:
            yield _one("countersign_alarm_notices_waiting", webhook.waiting)
            yield _one("countersign_alarm_notices_delivered_total", webhook.delivered)
            yield _one("countersign_alarm_notices_lost_total", webhook.lost)


def _flow(flow: LiveFlow) -> Iterator[Figure]:
    for labels, count in flow.refusals().items():
        yield _one("countersign_refusals_total", count, *labels)
    for leg, count, total_us in flow.times():
        yield _one("countersign_way_us_total", total_us, leg)
        yield _one("countersign_way_timed_total", count, leg)


def _feeds(desk: Desk) -> Iterator[Figure]:
    market = desk.own.market
    if not isinstance(market, FedMarket):
        return
    for feed, instrument, source in market.feeds():
        sound = market.finding(feed, instrument, source).condition is Condition.OK
        yield _one("countersign_feed_sound", sound, feed, instrument, source)


def _one(name: str, value: float, *labels: str) -> Figure:
    return Figure(name=name, value=float(value), labels=labels)
