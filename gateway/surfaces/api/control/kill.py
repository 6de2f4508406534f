"""The kill switch over HTTP: a press needs one person, a release two signatures."""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.bodies.requests import KillRequest, ReleaseRequest
from gateway.desk.bodies.stopping import StopRequest
from gateway.desk.desk import Desk
from gateway.desk.officers.release import kill_state, release_press
from gateway.errors import NotReadyError
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute
from gateway.surfaces.limits import in_kill_lane

router = APIRouter(prefix="/v1/kill", tags=["kill"], route_class=StrictRoute)


@router.get("", summary="Is the kill in force?")
def state(request: Request, caller: Annotated[Caller, Depends(allowed("read"))]) -> dict[str, Any]:
    """Return the epoch, whether new orders are stopped, and the statement that releases it."""
    desk: Desk = request.app.state.desk
    desk.reads.try_note(caller, "kill")
    return kill_state(desk.own)


@router.post("", summary="Stop all new orders now")
async def press(
    body: KillRequest, request: Request, caller: Annotated[Caller, Depends(allowed("kill"))]
) -> dict[str, Any]:
    """Return once the kill is durable and the FIX child has confirmed it or is dead.

    With the epoch and id of a press that is already in the kill word, no second press is made: that
    one is confirmed and recorded.
    """
    switch = request.app.state.desk.kill_switch
    receipt = await in_kill_lane(
        partial(switch.press, actor=caller.name, reason=body.reason, made=body.made)
    )
    return asdict(receipt)


@router.post("/drill", summary="Drill the kill: nothing stops")
def drill(
    body: StopRequest, request: Request, caller: Annotated[Caller, Depends(allowed("kill"))]
) -> dict[str, Any]:
    """Walk the path of a press to the FIX child and back, and put the times on record."""
    desk: Desk = request.app.state.desk
    if desk.own.drills is None:
        raise NotReadyError(part="FIX session", state="missing: there is nothing to drill")
    return desk.own.drills.drill(caller.name, body.reason)


@router.post("/release", summary="Release a kill: two signatures")
def release(
    body: ReleaseRequest, request: Request, caller: Annotated[Caller, Depends(allowed("kill"))]
) -> dict[str, Any]:
    """Release the newest press; both officers must have signed what GET shows as `to_sign`.

    While orders may still work at the broker, that statement names them, and `live` must too.
    """
    desk: Desk = request.app.state.desk
    signatures = {str(role): text for role, text in body.signatures.items()}
    return release_press(
        desk.own, caller.name, body.kill_epoch, signatures, body.reason, tuple(body.live)
    )
