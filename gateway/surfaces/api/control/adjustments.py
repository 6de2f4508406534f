"""Adjustments of the books, signed by two officers."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons import adjustment
from gateway.desk.requests import AdjustRequest
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/adjustments", tags=["adjustments"], route_class=StrictRoute)


@router.get("", summary="Cash and lots of each account, and the log id that a statement names")
def listed(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return what an adjustment would change."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "adjustments")
    return adjustment.adjustments(desk.own)


@router.post("", summary="Adjust a book: opening, split, dividend, fee, cash, trade, give-up")
def adjust(
    body: AdjustRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("resolve"))],
) -> dict[str, Any]:
    """Record an adjustment that both officers signed; the same again changes nothing."""
    desk: Desk = request.app.state.desk
    return adjustment.adjust(desk.own, caller.name, body)
