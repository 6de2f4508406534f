"""The pages' site: every row's routes, sign-in, the files that pages need, and what doors refuse.

Not here: what a page reads or a button does (`pages`), who may (`doors`), and the JSON API.
"""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from gateway.desk.desk import Desk
from gateway.evidence.answers.days import FlowDays
from gateway.surfaces.web.binder import Binder
from gateway.surfaces.web.doors import (
    LIVE,
    WATCH,
    Entrance,
    NotSignedInError,
    PageRefusedError,
    SignedIn,
    loopback_only,
)
from gateway.surfaces.web.live import live
from gateway.surfaces.web.sheets import HEADERS, Sheets
from gateway.surfaces.web.sign_in import SEE_OTHER, SignIn
from gateway.surfaces.web.views.evidence import VERIFIER
from gateway.surfaces.web.views.lists import Views

HERE: Final = Path(__file__).parent
ASSETS: Final = {
    "site.css": (HERE / "static" / "site.css", "text/css; charset=utf-8"),
    "mark.svg": (HERE / "static" / "mark.svg", "image/svg+xml"),
    "live.mjs": (HERE / "static" / "live.mjs", "text/javascript; charset=utf-8"),
    "check.mjs": (HERE / "static" / "check.mjs", "text/javascript; charset=utf-8"),
    "verify.mjs": (VERIFIER, "text/javascript; charset=utf-8"),
}


def register(app: FastAPI, views: Views, desk: Desk, entrance: Entrance) -> None:
    """Add the pages to the application."""
    app.state.entrance = entrance
    app.state.refusals = entrance.refusals
    app.state.keyring = entrance.keyring
    if not hasattr(app.state, "flow_days"):  # the API's, where there is one
        app.state.flow_days = FlowDays(lambda: desk.own.reader)
    sheets = Sheets(entrance.guard, views, desk)
    router = APIRouter(include_in_schema=False, dependencies=[Depends(loopback_only)])
    router.include_router(SignIn(entrance, sheets).routes())
    router.include_router(Binder(desk=desk, views=views, sheets=sheets).router())
    router.add_api_route(LIVE, live, methods=["GET"], dependencies=[Depends(SignedIn(WATCH))])
    router.add_api_route("/static/{name}", asset, methods=["GET"])
    app.include_router(router)

    async def refused(request: Request, error: Exception) -> Response:
        if not isinstance(error, PageRefusedError):
            raise error
        return sheets.say(request, error.heading, error.text, error.status, back=error.back)

    app.add_exception_handler(NotSignedInError, to_sign_in)
    app.add_exception_handler(PageRefusedError, refused)


async def to_sign_in(_: Request, error: Exception) -> Response:
    """Send a browser to the sign-in page."""
    address = error.address if isinstance(error, NotSignedInError) else "/"
    return RedirectResponse(address, status_code=SEE_OTHER, headers=HEADERS)


def asset(name: str) -> Response:
    """Return one of the files that pages need."""
    if name not in ASSETS:
        raise HTTPException(404, detail={"code": "no_such_file", "message": "no such file"})
    path, media_type = ASSETS[name]
    return FileResponse(path, media_type=media_type, headers=HEADERS)
