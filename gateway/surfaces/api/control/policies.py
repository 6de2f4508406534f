"""The policy in force over HTTP, and the one that follows it."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons.governing.policies import follow_policy, policy_state
from gateway.desk.persons.governing.trials import TrialBody, record_trial, trials_document
from gateway.desk.requests import StopRequest
from gateway.installation.keys.keyring import Caller
from gateway.installation.policies.origins import origins_document
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/policy", tags=["policy"], route_class=StrictRoute)


@router.get("", summary="Which policy is in force?")
def in_force(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the policy's digest, version, standing, signers and end."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "policy")
    return policy_state(desk)


@router.get("/origins", summary="Where does each number of the policy in force come from?")
def origins(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return each number with who gave it, the policy's own or a pack, and what others asked."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "policy_origins")
    return origins_document(desk.own.section.policy)


@router.get("/trials", summary="Which drafts were tried on recorded decisions?")
def trials(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return the newest fifty trials on record: range, number, verdicts that differ, digest."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "policy_trials")
    return trials_document(desk.own.reader)


@router.post("/trials", summary="Put a trial of a draft on record")
def tried(
    body: TrialBody, request: Request, caller: Annotated[Caller, Depends(allowed("test"))]
) -> dict[str, Any]:
    """Record a trial that `countersign policy try` made; it must be of this ledger, and whole.

    Both officers sign the digest that is returned, before the draft may follow.
    """
    desk: Desk = request.app.state.desk
    return record_trial(desk.own, caller.name, body)


@router.post("/follow", summary="Put the next policy in force")
def follow(
    body: StopRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("resolve"))],
) -> dict[str, Any]:
    """Put the signed bundle in the key folder in force, at one record, without a restart.

    Both officers signed it, and it names the policy in force as its parent. Decisions that are
    under way end under the old one first; what waits for a person must be asked for again.
    """
    desk: Desk = request.app.state.desk
    return follow_policy(desk, caller, body.reason)
