"""Erase a person's data, place and lift legal holds, disclose personal values."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from audit.privacy.erasure import Privacy
from gateway.installation.keys.keyring import Caller
from gateway.privacy import answers as privacy_actions
from gateway.privacy.requests import DiscloseRequest, EraseRequest, HoldRequest, LiftRequest
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/privacy", tags=["privacy"], route_class=StrictRoute)


def _privacy(request: Request) -> Privacy:
    found: Privacy = request.app.state.privacy
    return found


@router.post("/erase", summary="Erase a person's data; refused within retention or under a hold")
def erase(
    body: EraseRequest, request: Request, caller: Annotated[Caller, Depends(allowed("erase"))]
) -> dict[str, Any]:
    """Destroy the only key to a person's values; every proof still verifies."""
    return privacy_actions.erase(_privacy(request), caller.name, body)


@router.post("/hold", summary="Place a legal hold: nothing in its scope is erased")
def hold(
    body: HoldRequest, request: Request, caller: Annotated[Caller, Depends(allowed("hold"))]
) -> dict[str, Any]:
    """Place a legal hold on a person, a decision or everything."""
    return privacy_actions.hold(_privacy(request), caller.name, body)


@router.post("/release-hold", summary="Lift a legal hold that somebody else placed")
def release_hold(
    body: LiftRequest, request: Request, caller: Annotated[Caller, Depends(allowed("hold"))]
) -> dict[str, Any]:
    """Lift a legal hold."""
    return privacy_actions.lift(_privacy(request), caller.name, body)


@router.post("/disclose", summary="Read a record's personal values; recorded")
def disclose(
    body: DiscloseRequest, request: Request, caller: Annotated[Caller, Depends(allowed("disclose"))]
) -> dict[str, Any]:
    """Return the values whose key still exists, with the disclosures that prove them."""
    return privacy_actions.disclose(_privacy(request), caller.name, body)
