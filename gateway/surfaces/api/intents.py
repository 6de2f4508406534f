"""POST /v1/intents: an agent's intent, judged against the gateway's own forecast."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.requests import IntentRequest, IntentResponse
from gateway.errors import GatewayError
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.access.refusals import Refusals, reason_of
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1", tags=["intents"], route_class=StrictRoute)


@router.post("/intents", summary="Submit an intent and get its verdict")
def submit(
    body: IntentRequest, request: Request, caller: Annotated[Caller, Depends(allowed("submit"))]
) -> IntentResponse:
    """Forecast the instrument, judge the wanted exposure, and send the order if it passes."""
    desk: Desk = request.app.state.desk
    refusals: Refusals = request.app.state.refusals
    try:
        return desk.submit(caller, body)
    except GatewayError as refusal:
        if reason := reason_of(refusal):
            refusals.count(caller.name, reason)
        raise
