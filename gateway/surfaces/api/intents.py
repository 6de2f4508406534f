"""POST /v1/intents: an agent's intent, judged against the gateway's own forecast."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from gateway.desk.requests import IntentRequest, IntentResponse
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1", tags=["intents"], route_class=StrictRoute)


@router.post("/intents", summary="Submit an intent and get its verdict")
def submit(
    body: IntentRequest, request: Request, caller: Annotated[Caller, Depends(allowed("submit"))]
) -> IntentResponse:
    """Forecast the instrument, judge the wanted exposure, and send the order if it passes."""
    response: IntentResponse = request.app.state.desk.submit(caller, body)
    return response
