"""Own publications over HTTP: list them, record one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons.oversight.publications import (
    PublicationBody,
    note_publication,
    publications,
)
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/publications", tags=["publications"], route_class=StrictRoute)


@router.get("", summary="What did the firm itself publish, and on which instruments?")
def listed(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the newest acts on record, newest first."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "publications")
    return {"publications": publications(desk.own.reader)}


@router.post("", summary="Record an own publication; rule R49 reads it from the next verdict on")
def note(
    body: PublicationBody,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("hold"))],
) -> dict[str, Any]:
    """Record an act; the same again changes nothing."""
    desk: Desk = request.app.state.desk
    return note_publication(desk.own, caller.name, body)
