"""The stops apart from the kill over HTTP, and cancelling every order."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons import flatten as flattening
from gateway.desk.persons import stops as stopping
from gateway.desk.persons.flatten import FlattenRequest
from gateway.desk.requests import ResumeRequest, StopRequest
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute
from risk.state.state import Stop

router = APIRouter(prefix="/v1/stops", tags=["stops"], route_class=StrictRoute)
Stopping = Annotated[Caller, Depends(allowed("stop"))]


@router.get("", summary="Which stops are in force?")
def listed(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the stops in force, by whom, and the statement by which an officer ends them."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "stops")
    return stopping.stops_state(desk.own)


@router.post("/pause", summary="Pause: no new order")
def pause(body: StopRequest, request: Request, caller: Stopping) -> dict[str, Any]:
    """Refuse every new order from now on; live orders stay. Decisions go on record as refused."""
    desk: Desk = request.app.state.desk
    return stopping.begin_stop(desk.own, caller.name, Stop.PAUSE, body.reason)


@router.post("/reduce-only", summary="Only orders that reduce a position")
def reduce_only(body: StopRequest, request: Request, caller: Stopping) -> dict[str, Any]:
    """Refuse every order that may increase a position or cross zero; live orders stay."""
    desk: Desk = request.app.state.desk
    return stopping.begin_stop(desk.own, caller.name, Stop.REDUCE_ONLY, body.reason)


@router.post("/secure", summary="Secure reasoning: nothing is drafted")
def secure(body: StopRequest, request: Request, caller: Stopping) -> dict[str, Any]:
    """Sample every forecast from the target alone from now on, until both officers sign its end."""
    desk: Desk = request.app.state.desk
    return stopping.begin_stop(desk.own, caller.name, Stop.SECURE, body.reason)


@router.post("/cancel-all", summary="Cancel every live order")
def cancel_all(body: StopRequest, request: Request, caller: Stopping) -> dict[str, Any]:
    """Cancel every order that may work at the broker, paced; new orders may follow."""
    desk: Desk = request.app.state.desk
    return stopping.cancel_all(desk.own, caller.name, body.reason)


@router.post("/flatten", summary="Close positions")
def flatten(body: FlattenRequest, request: Request, caller: Stopping) -> dict[str, Any]:
    """Put reduce-only in force, then ask for the orders that bring positions to zero.

    Each order is judged by the rules like any other; the answer has its decision and result. What
    cannot be judged now is listed under `left`, with the reason. Refused during a kill or a pause.
    """
    desk: Desk = request.app.state.desk
    return flattening.flatten(desk, caller, body)


@router.post("/resume", summary="End the stops in force")
def resume(body: ResumeRequest, request: Request, caller: Stopping) -> dict[str, Any]:
    """End your own stops, or another person's with one officer's signature."""
    desk: Desk = request.app.state.desk
    stop = None if body.stop is None else Stop(body.stop)
    signatures = {str(role): text for role, text in body.signatures.items()}
    return stopping.resume(desk.own, caller.name, stop, body.reason, signatures)
