"""GET /v1/decisions/{id} and the approval of a held one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.api.access import allowed
from gateway.api.bodies import StrictRoute
from gateway.api.models import ApprovalRequest
from gateway.keyring import Caller

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
    """Approve or refuse: another person than the author, bound to the digest that was read.

    On approval the decision is evaluated again and, if it still passes, sent.
    """
    done: dict[str, Any] = request.app.state.desk.answer_hold(caller, decision_id, body)
    return done
