"""GET /v1/decisions/{id} and the approval of a held one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.requests import ApprovalRequest
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/decisions", tags=["decisions"], route_class=StrictRoute)


@router.get("/{decision_id}", summary="Every record of one decision")
def read(
    decision_id: str, request: Request, caller: Annotated[Caller, Depends(allowed("read"))]
) -> dict[str, Any]:
    """Return the decision's records in order, each with its sequence number and leaf hash."""
    found: dict[str, Any] = request.app.state.desk.decision(decision_id, reader=caller)
    return found


@router.post("/{decision_id}/approval", summary="Approve or refuse a held decision")
def approve(
    decision_id: str,
    body: ApprovalRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("approve"))],
) -> dict[str, Any]:
    """Approve or refuse the intent with this digest, as another person than its author.

    On approval the intent is judged again and, if it still passes, sent.
    """
    done: dict[str, Any] = request.app.state.desk.answer_hold(caller, decision_id, body)
    return done
