"""GET /v1/scores: how forecasts did against the bars that came."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.evidence.answers.outcomes import scores_of
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/scores", tags=["scores"], route_class=StrictRoute)


@router.get("", summary="How did forecasts do against what came?")
def scores(
    request: Request, caller: Annotated[Caller, Depends(allowed("watch"))]
) -> dict[str, Any]:
    """Return CRPS by instrument and bars ahead, beside the table's, and evidence of drift."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "scores")
    return scores_of(desk.own.reader).document()
