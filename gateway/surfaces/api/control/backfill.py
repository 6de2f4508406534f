"""POST /v1/market/backfill: bars and events of a file that fill what is missing."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError

from gateway.desk.desk import Desk
from gateway.desk.intake.filling import FillRequest, fill
from gateway.errors import IntakeError, RequestError
from gateway.feeds.live.items import BARS, parse
from gateway.feeds.news.posted import parse_event
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/market", tags=["market"], route_class=StrictRoute)


@router.post("/backfill", summary="Fill what is missing from a file")
def backfill(
    body: FillRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("resolve"))],
) -> dict[str, Any]:
    """Take what does not stand yet; refused as a whole (409) if an item contradicts what stands."""
    desk: Desk = request.app.state.desk
    if desk.own.feeding is None:
        raise RequestError(problem="this gateway plays its own market: nothing can be filled")
    items = []
    for number, value in enumerate(body.items, start=1):
        try:
            known = desk.own.instruments
            one = parse(BARS, value, known) if body.feed == BARS else parse_event(value)
        except IntakeError as error:
            place = (f"item {number}", error.where)
            fault = {"loc": place, "msg": error.problem, "type": "value_error"}
            raise RequestValidationError([fault]) from None
        items.append(one)
    return fill(desk.own.feeding, caller.name, body, items)
