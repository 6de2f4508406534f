"""GET /v1/flow: what was refused or held and why, and how long each part of the way took."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from gateway.clock import date_of
from gateway.desk.desk import Desk
from gateway.evidence.answers.days import FlowDays
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/flow", tags=["flow"], route_class=StrictRoute)


@router.get("", summary="What was refused and why, and how long did orders take?")
def flow(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("watch"))],
    first: Annotated[str, Query(alias="from", max_length=10)] = "",
    last: Annotated[str, Query(alias="to", max_length=10)] = "",
) -> dict[str, Any]:
    """Return counts by rule and reason, and quantiles in microseconds, of a range of UTC days.

    Without `to` it is one day, without `from` today.
    """
    desk: Desk = request.app.state.desk
    days: FlowDays = request.app.state.flow_days
    desk.reads.note(caller, "flow")
    begins = first or date_of(desk.own.dispatching.wall_us())
    return days.between(begins, last or begins).document()
