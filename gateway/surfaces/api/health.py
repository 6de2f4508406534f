"""Liveness and readiness: open to everybody, without secrets.

Both answer on the event loop from what is known already. They never wait for a thread, the database
or a child, because they must report when one of those stands still.
"""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from gateway.desk.parts import DeskParts
from gateway.feeds.live.overview import faults, overview
from gateway.walk.projections.stops import Level
from gateway.walk.sampled.planning import template_permitted

router = APIRouter(tags=["health"])


def level_of(own: DeskParts, parts: Mapping[str, str]) -> Level:
    """Return how much the gateway does by itself, of its parts as they are now."""
    killed = parts.get("kill", "ready") != "ready"
    sampling = parts.get("engine", "ready") == "ready"
    template = template_permitted(own.section.policy)
    return own.section.stops.level(halted=killed, sampling=sampling, template=template)


@router.get("/healthz", summary="The process lives")
async def healthz() -> dict[str, str]:
    """Answer while the process lives."""
    return {"status": "ok"}


@router.get("/readyz", summary="Every part is up")
async def readyz(request: Request, response: Response) -> dict[str, Any]:
    """Return mode, account, level, each part's state; 503 unless all are ready and no kill holds.

    The level says how much the gateway does by itself: full, no-speculation, by-persons (the AI
    circuit breaker), template (the table alone while the engine is away), no-forecast,
    reduce-only, halt.

    `agreement` says of policy, build, model, dictionary and order profile whether the processes
    have the same, and what to do where not; a child that disagrees is a part that is not ready.
    `load` says how many intents are handled and wait, how long the oldest has, how long one of now
    would take to its answer, and the engine's speed. The part `desk` is not ready while that answer
    would come after its deadline.

    With a witness policy, also return how far its witnesses lag; with a FIX session its sequence
    numbers, what is missing and the age of its last messages; where feeds deliver the market, what
    is wrong with them. None of these makes it unready: feeds deliver through this same door.
    """
    parts: dict[str, str] = request.app.state.desk.parts()
    ready = all(state == "ready" for state in parts.values())
    response.status_code = 200 if ready else 503
    witnessed = request.app.state.desk.own.witnessed()
    session = request.app.state.desk.own.session()
    desk = request.app.state.desk.own
    feeds = overview(desk.market, desk.instruments)
    return (
        {"ready": ready, "mode": desk.tags.mode, "account": desk.tags.account, "parts": parts}
        | {"level": level_of(desk, parts).value}
        | {"agreement": desk.agreement()}
        | {"load": request.app.state.desk.load().document()}
        | ({"session": session.summary()} if session else {})
        | ({"witnessed": witnessed} if witnessed else {})
        | ({} if feeds is None else {"feeds": faults(feeds) or "ready"})
    )
