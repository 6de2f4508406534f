"""GET /v1/engine-adds: an account against its GJR twin, in three columns."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from gateway.desk.desk import Desk
from gateway.evidence.answers.engine_adds import engine_adds
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/engine-adds", tags=["scores"], route_class=StrictRoute)


@router.get("", summary="What did the account make against its GJR twin?")
def adds(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("watch"))],
    account: Annotated[str, Query(max_length=100)] = "",
) -> dict[str, Any]:
    """Return what scale, words and execution made, which sum to the difference of the two books.

    Without an account it is that of the newest run. Money is in minor units.
    """
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "engine adds")
    return engine_adds(desk.own.reader, account).document()
