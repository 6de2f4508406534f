"""Where the book and the broker differ, and how a person resolves it."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons import resolution as resolving
from gateway.desk.requests import ResolveRequest
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/differences", tags=["differences"], route_class=StrictRoute)


@router.get("", summary="Where the book and the broker differ")
def listed(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the open differences, oldest first; their instruments take no new order."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "differences")
    return resolving.listed(desk.own)


@router.post("/{seq}/resolve", summary="Resolve a difference; two signatures if a book changes")
def resolve(
    seq: int,
    body: ResolveRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("resolve"))],
) -> dict[str, Any]:
    """Record which side is right, why, and what shows it."""
    desk: Desk = request.app.state.desk
    return resolving.resolve(desk.own, caller.name, seq, body)
