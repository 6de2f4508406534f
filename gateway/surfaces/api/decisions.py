"""GET /v1/decisions/{id}, what waits for a person, approvals."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.bodies.requests import ApprovalRequest
from gateway.desk.desk import Desk
from gateway.desk.holds.answering import open_sheet
from gateway.desk.holds.waiting import HoldList, hold_list
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1", tags=["decisions"], route_class=StrictRoute)


@router.get("/approvals", summary="The orders that wait for a person, and those that ended last")
def waiting(request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]) -> HoldList:
    """Return what waits, the one that ends first first, and what ended last."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "approvals")
    own = desk.own
    return hold_list(own.reader, own.orders, own.dispatching.wall_us)


@router.get("/decisions/{decision_id}/sheet", summary="What an approver is shown")
def sheet(
    decision_id: str, request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return a held decision's sheet and its digest, after the read is on record.

    The digest is the SHA-256 of the sheet's canonical JSON (RFC 8785); an approval names it.
    """
    desk: Desk = request.app.state.desk
    found = open_sheet(desk.own.reader, desk.reads, caller, decision_id)
    return {"sheet_digest": found.digest, "sheet": found.document}


@router.get("/decisions/{decision_id}", summary="Every record of one decision")
def read(
    decision_id: str, request: Request, caller: Annotated[Caller, Depends(allowed("read"))]
) -> dict[str, Any]:
    """Return the decision's records in order, each with its sequence number and leaf hash."""
    found: dict[str, Any] = request.app.state.desk.decision(decision_id, reader=caller)
    return found


@router.post("/decisions/{decision_id}/approval", summary="Approve or refuse a held decision")
def approve(
    decision_id: str,
    body: ApprovalRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("approve"))],
) -> dict[str, Any]:
    """Approve or refuse the intent with this digest, as another person than its author.

    An approval also names the digest of the sheet, which must have been read. Then the intent is
    judged again and, if it still passes, sent.
    """
    done: dict[str, Any] = request.app.state.desk.holds.answer(caller, decision_id, body)
    return done
