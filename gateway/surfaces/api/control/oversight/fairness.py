"""The runs of the tests of fairness over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons.oversight.criteria import CriteriaBody, agree_on, criteria_document
from gateway.desk.persons.oversight.fairness import FairnessRunBody, record_run, runs_document
from gateway.desk.persons.oversight.justifications import (
    JustificationBody,
    enter_justification,
    justifications,
)
from gateway.desk.persons.oversight.swaps import SwapsBody, record_swaps
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/fairness", tags=["fairness"], route_class=StrictRoute)


@router.get("", summary="Which tests of fairness were run, and what did they find?")
def listed(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the newest fifty runs on record, each with every test and why one did not apply."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "fairness")
    return runs_document(desk.own.reader)


@router.get("/criteria", summary="By which criteria are the tests of fairness run?")
def criteria(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the criteria on record, newest first, with who agreed or objected."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "fairness_criteria")
    return criteria_document(desk.own.reader)


@router.post("/criteria", summary="Put criteria of fairness on record")
def agree(
    body: CriteriaBody, request: Request, caller: Annotated[Caller, Depends(allowed("resolve"))]
) -> dict[str, Any]:
    """Record criteria that both officers signed; they count from their effective day on."""
    desk: Desk = request.app.state.desk
    return agree_on(desk.own, caller.name, body)


@router.post("", summary="Put a run of the tests of fairness on record")
def record(
    body: FairnessRunBody, request: Request, caller: Annotated[Caller, Depends(allowed("test"))]
) -> dict[str, Any]:
    """Record a run that `countersign fairness` made; its root must be this log's at its size."""
    desk: Desk = request.app.state.desk
    return record_run(desk.own, caller.name, body)


@router.post("/swaps", summary="Put a run of counterfactual swaps on record")
def swaps(
    body: SwapsBody, request: Request, caller: Annotated[Caller, Depends(allowed("test"))]
) -> dict[str, Any]:
    """Record a run that `countersign swaps` made; rule R48 reads it from the next verdict on."""
    desk: Desk = request.app.state.desk
    return record_swaps(desk.own, caller.name, body)


@router.get("/justifications", summary="Which justifications are registered, and are in force?")
def registered(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the newest entries, newest first, and the log id that a statement names."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "justifications")
    return justifications(desk.own)


@router.post("/justifications", summary="Register a justification that both officers signed")
def enter(
    body: JustificationBody,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("resolve"))],
) -> dict[str, Any]:
    """Register an entry for 180 days at most; the same again changes nothing."""
    desk: Desk = request.app.state.desk
    return enter_justification(desk.own, caller.name, body)
