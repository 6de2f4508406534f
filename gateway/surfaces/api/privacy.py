"""Forget a person, hold what must be kept, read what is kept of somebody."""

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


@router.post("/erase", summary="Forget a person; refused inside retention or a hold")
def erase(
    body: EraseRequest, request: Request, caller: Annotated[Caller, Depends(allowed("erase"))]
) -> dict[str, Any]:
    """Destroy the key of everything that is said of a person; every proof goes on to verify."""
    return privacy_actions.erase(_privacy(request), caller.name, body)


@router.post("/hold", summary="Keep personal values from being erased")
def hold(
    body: HoldRequest, request: Request, caller: Annotated[Caller, Depends(allowed("hold"))]
) -> dict[str, Any]:
    """Place a legal hold on a person, a decision or everything."""
    return privacy_actions.hold(_privacy(request), caller.name, body)


@router.post("/release-hold", summary="Lift a hold; not by the one who placed it")
def release_hold(
    body: LiftRequest, request: Request, caller: Annotated[Caller, Depends(allowed("hold"))]
) -> dict[str, Any]:
    """Lift a legal hold."""
    return privacy_actions.lift(_privacy(request), caller.name, body)


@router.post("/disclose", summary="Read a record's personal values; recorded")
def disclose(
    body: DiscloseRequest, request: Request, caller: Annotated[Caller, Depends(allowed("disclose"))]
) -> dict[str, Any]:
    """Return the values that still have a key, with the disclosures that prove them."""
    return privacy_actions.disclose(_privacy(request), caller.name, body)
