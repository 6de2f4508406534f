"""Cases about conduct over HTTP, for reviewers only."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons.oversight.cases import (
    CaseNoteBody,
    CaseStateBody,
    case_document,
    cases_document,
    move_case,
    note_case,
)
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/cases", tags=["cases"], route_class=StrictRoute)
_Reviewer = Annotated[Caller, Depends(allowed("review"))]


@router.get("", summary="Which orders match an indicator of conduct?")
def listed(request: Request, caller: _Reviewer) -> dict[str, Any]:
    """Return the newest 500 cases, each with its evidence, state and notes."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "cases")
    return cases_document(desk.own)


@router.get("/{case_id}", summary="One case, with the draft of a report")
def read(case_id: str, request: Request, caller: _Reviewer) -> dict[str, Any]:
    """Return a case; the draft says which records match, never what anybody intended."""
    desk: Desk = request.app.state.desk
    found = case_document(desk.own, case_id)
    desk.reads.note(caller, f"case/{case_id}")
    return found


@router.post("/{case_id}/notes", summary="Put a note on a case")
def note(case_id: str, body: CaseNoteBody, request: Request, caller: _Reviewer) -> dict[str, Any]:
    """Record a note under the reviewer's name."""
    desk: Desk = request.app.state.desk
    return note_case(desk.own, caller.name, case_id, body)


@router.post("/{case_id}/state", summary="Move a case to another state")
def move(case_id: str, body: CaseStateBody, request: Request, caller: _Reviewer) -> dict[str, Any]:
    """Record that a case is in review, reported or closed, with the reason; or open again."""
    desk: Desk = request.app.state.desk
    return move_case(desk.own, caller.name, case_id, body)
