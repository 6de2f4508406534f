"""Exceptional overrides over HTTP: list, grant with both officers' signatures, withdraw."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons.governing.overrides import (
    OverrideRequest,
    WithdrawRequest,
    grant_override,
    overrides_state,
    withdraw_override,
)
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/overrides", tags=["overrides"], route_class=StrictRoute)


@router.get("", summary="Which limits were lifted once, by whom, and for which order?")
def listed(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return every override with its state, and what a new one must name."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "overrides")
    return overrides_state(desk.own)


@router.post("", summary="Lift one limit once, for one order")
def grant(
    body: OverrideRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("resolve"))],
) -> dict[str, Any]:
    """Record an override that both officers signed; the same again changes nothing."""
    desk: Desk = request.app.state.desk
    return grant_override(desk.own, caller.name, body)


@router.post("/{override_id}/withdraw", summary="Withdraw an override")
def withdraw(
    override_id: str,
    body: WithdrawRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("stop"))],
) -> dict[str, Any]:
    """End an override before its time; an order that was approved under it is not recalled."""
    desk: Desk = request.app.state.desk
    return withdraw_override(desk.own, caller.name, override_id, body.reason)
