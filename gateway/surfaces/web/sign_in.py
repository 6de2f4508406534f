"""Signing in and out of the pages: a bearer key or a one-time link opens a session.

Rules:
- The key is checked and forgotten: it enters no cookie, page, log or record. The redirect after a
  link removes its token from the address.
- A wrong key is answered late. Above `DELAYED_MAX` at the same time it is answered 429 at once, so
  that guesses never hold up other people. A right key always enters: nobody can lock a person out.
- After sign-in the browser is redirected to a path of this site only.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from gateway.installation.keys.keyring import digest_of
from gateway.installation.keys.roles import MAY
from gateway.surfaces.access.refusals import NOBODY, AccessReason, may_not
from gateway.surfaces.web.doors import (
    NEXT_CHARS_MAX,
    SIGN_IN,
    WATCH,
    Entrance,
    Posted,
)
from gateway.surfaces.web.forms import keep_session, own_path, same_origin, session_of
from gateway.surfaces.web.sessions import LIFE_S
from gateway.surfaces.web.sheets import HEADERS, SIGN_OUT, Sheets

DELAY_S: Final = 1.0
DELAYED_MAX: Final = 16
"""Wrong keys that may wait for their late answer at the same time."""
SEE_OTHER: Final = 303


class SignIn:
    """The handlers of signing in and out."""

    def __init__(self, entrance: Entrance, sheets: Sheets) -> None:
        self._entrance = entrance
        self._sheets = sheets
        self._delayed = 0

    def routes(self) -> APIRouter:
        """Return the routes; the first two are open because they ask for the key."""
        router = APIRouter()
        router.add_api_route(SIGN_IN, self.show, methods=["GET"])
        router.add_api_route(SIGN_IN, self.enter, methods=["POST"])
        router.add_api_route(
            SIGN_OUT, self.leave, methods=["POST"], dependencies=[Depends(Posted(WATCH))]
        )
        return router

    async def show(
        self,
        request: Request,
        once: Annotated[str, Query(max_length=100)] = "",
        following: Annotated[str, Query(alias="next", max_length=NEXT_CHARS_MAX)] = "/",
    ) -> Response:
        """Show the form, or open a session for a valid link."""
        if not once:
            return self._form(request, following, "", 200)
        session = self._entrance.sessions.enter(once)
        if session is not None:
            return self._let_in(request, session, following)
        if self._entrance.sessions.caller(session_of(request)) is not None:
            return _see(own_path(following))
        self._entrance.refusals.count(NOBODY, AccessReason.LINK_NOT_VALID)
        text = "This link has been used or has expired. Sign in with a key."
        return self._form(request, following, text, 403)

    async def enter(
        self,
        request: Request,
        key: Annotated[str, Form(max_length=200)] = "",
        following: Annotated[str, Form(alias="next", max_length=NEXT_CHARS_MAX)] = "/",
    ) -> Response:
        """Check a key and open a session."""
        entrance = self._entrance
        key = key.strip()
        if not same_origin(request):
            entrance.refusals.count(NOBODY, AccessReason.FOREIGN_FORM)
            return self._form(request, following, "The form was not sent from this page.", 403)
        caller = entrance.keyring.authenticate(key)
        if caller is None:
            entrance.refusals.count(entrance.refusals.pseudonym(key), AccessReason.SIGN_IN_FAILED)
            if not await self._waited():
                text = "Too many wrong keys at the moment. Try again in a minute."
                return self._form(request, following, text, 429)
            return self._form(request, following, "This key is not known.", 401)
        if caller.role not in MAY[WATCH]:
            entrance.refusals.count(caller.name, may_not(WATCH))
            text = f"The role {caller.role} has no pages. Its key is for the API."
            return self._form(request, following, text, 403)
        entrance.sessions.close(session_of(request))
        return self._let_in(request, entrance.sessions.open(digest_of(key)), following)

    async def leave(self, request: Request) -> Response:
        """Sign out."""
        self._entrance.sessions.close(session_of(request))
        answer = _see(SIGN_IN)
        keep_session(request, answer, "", 0)
        return answer

    def _let_in(self, request: Request, session: str, following: str) -> Response:
        answer = _see(own_path(following))
        keep_session(request, answer, session, LIFE_S)
        return answer

    def _form(self, request: Request, following: str, fault: str, status: int) -> Response:
        values = {"following": own_path(following), "fault": fault}
        answer = self._sheets.page(
            request, "sign_in.html", values, title="Sign in", status=status, plain=True
        )
        if status == 401:  # noqa: PLR2004 - RFC 9110, section 15.5.2
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    async def _waited(self) -> bool:
        """Wait before a refusal; return False at once if too many wait already."""
        if self._delayed >= DELAYED_MAX:
            return False
        self._delayed += 1
        try:
            await self._entrance.delay(DELAY_S)
        finally:
            self._delayed -= 1
        return True


def _see(address: str) -> Response:
    return RedirectResponse(address, status_code=SEE_OTHER, headers=HEADERS)
