"""POST /v1/intents and /v1/baskets: an agent's intents, judged alone or as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool

from gateway.desk.agents.baskets import submit_basket, told_of
from gateway.desk.bodies.basket_requests import BasketRequest, BasketResponse
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.desk.desk import Desk
from gateway.errors import GatewayError
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.access.refusals import Refusals, reason_of
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1", tags=["intents"], route_class=StrictRoute)


@router.post(
    "/intents", summary="Submit an intent and get its verdict", response_model=IntentResponse
)
async def submit(
    body: IntentRequest, request: Request, caller: Annotated[Caller, Depends(allowed("submit"))]
) -> Response:
    """Forecast the instrument, judge the wanted exposure, and send the order if it passes."""
    desk: Desk = request.app.state.desk
    with _counted(request, caller):
        # on the event loop, so that one who asks too often waits for no thread and takes none
        desk.refuse_early(caller, body)
        answer = await run_in_threadpool(desk.submit, caller, body)
    # as FastAPI would write it, but once: it has a line for each of a hundred checks
    return Response(answer.model_dump_json(by_alias=True), media_type="application/json")


@router.post("/baskets", summary="Submit intents that are judged as a whole")
def submit_whole(
    body: BasketRequest, request: Request, caller: Annotated[Caller, Depends(allowed("submit"))]
) -> BasketResponse:
    """Decide every leg; send the orders only if every leg may leave, else none of them."""
    desk: Desk = request.app.state.desk
    with _counted(request, caller):
        return submit_basket(desk, caller, body)


@router.get("/baskets/{basket_id}", summary="What became of a basket and of its legs")
def basket(
    basket_id: str, request: Request, caller: Annotated[Caller, Depends(allowed("read"))]
) -> BasketResponse:
    """Return the outcome of a basket with the answer to each leg, after the read is on record."""
    desk: Desk = request.app.state.desk
    found = told_of(desk, basket_id, reader=caller)
    desk.reads.note(caller, f"basket/{basket_id}")
    return found


@contextmanager
def _counted(request: Request, caller: Caller) -> Iterator[None]:
    """Count a refusal that the caller's key earned."""
    refusals: Refusals = request.app.state.refusals
    try:
        yield
    except GatewayError as refusal:
        if reason := reason_of(refusal):
            refusals.count(caller.name, reason)
        raise
