"""Who may open a page or post a form: the dependencies of every page's route.

Rules:
- A page needs a session, or a bearer key as the API does. A browser without either is sent to
  sign in and returns afterwards.
- A form needs a session, our own page as its origin, and the session's token for that address.
- The role must allow what the route does. Refusals are counted for the record.

Not here: signing in (`sign_in`), and the API's own door (`gateway.surfaces.access.bearer`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import Depends, Form, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials

from gateway.installation.keys.keyring import Caller, Keyring
from gateway.installation.keys.roles import MAY
from gateway.surfaces.access.bearer import Door, bearer, by_key
from gateway.surfaces.access.refusals import NOBODY, AccessReason, Refusals, may_not
from gateway.surfaces.web.forms import FormGuard, from_loopback, session_of
from gateway.surfaces.web.sessions import Sessions

SIGN_IN: Final = "/sign-in"
NEXT_CHARS_MAX: Final = 500
WATCH: Final = "watch"
LIVE: Final = "/live"
"""What a page that keeps itself fresh asks; such requests do not keep a session open."""
KILL: Final = "/kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """What the pages' doors share; `delay` sleeps before a wrong key is answered."""

    keyring: Keyring
    sessions: Sessions
    refusals: Refusals
    guard: FormGuard
    delay: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who looks at a page; `session` is empty for a caller with a bearer key."""

    caller: Caller
    session: str = ""

    def may(self, action: str) -> bool:
        """Return whether the person's role may do this."""
        return self.caller.role in MAY[action]


class NotSignedInError(Exception):
    """A page was requested without a session; the browser is sent to `address`."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


class PageRefusedError(Exception):
    """A page or a form is refused; answered with `status`, this text and a link `back`."""

    status = 403

    def __init__(self, heading: str, text: str, back: str = "/") -> None:
        super().__init__(text)
        self.heading = heading
        self.text = text
        self.back = back


class SignedIn(Door):
    """The door of a page that is read."""

    async def __call__(
        self,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> Caller:
        """Return the caller, who has a session or a key of a role that may."""
        if credentials is not None:
            caller = by_key(request, credentials, self.action)
            request.state.person = Person(caller=caller)
            return caller
        entrance: Entrance = request.app.state.entrance
        session = session_of(request)
        used = request.query_params.get("live") != "1" and request.url.path != LIVE
        found = entrance.sessions.caller(session, used=used) if session else None
        if found is None or found.expired(entrance.refusals.steady_us()):
            entrance.refusals.count(NOBODY, AccessReason.NOT_SIGNED_IN)
            raise NotSignedInError(sign_in_address(request))
        request.state.person = Person(caller=found, session=session)
        if found.role not in MAY[self.action]:
            entrance.refusals.count(found.name, may_not(self.action))
            raise PageRefusedError("Not allowed", f"The role {found.role} may not {self.action}.")
        return found


class Posted(Door):
    """The door of a form."""

    async def __call__(
        self, request: Request, token: Annotated[str, Form(max_length=100)] = ""
    ) -> Caller:
        """Return the caller, who is signed in, posted from our page, and has a role that may."""
        entrance: Entrance = request.app.state.entrance
        session = session_of(request)
        found = entrance.sessions.caller(session) if session else None
        if found is None or found.expired(entrance.refusals.steady_us()):
            entrance.refusals.count(NOBODY, AccessReason.NOT_SIGNED_IN)
            text = "Your session has ended. Sign in, then send the form from its page again."
            raise PageRefusedError("Not done", text, back=form_address(request))
        who = found.name
        request.state.person = Person(caller=found, session=session)
        if refusal := entrance.guard.refusal(request, session, token):
            entrance.refusals.count(who, AccessReason.FOREIGN_FORM)
            raise PageRefusedError("Not done", f"{refusal[:1].upper()}{refusal[1:]}.")
        if found.role not in MAY[self.action]:
            entrance.refusals.count(who, may_not(self.action))
            raise PageRefusedError("Not done", f"The role {found.role} may not {self.action}.")
        return found


def person_of(request: Request) -> Person | None:
    """Return the person that a door let in, or None."""
    found = getattr(request.state, "person", None)
    return found if isinstance(found, Person) else None


def reader_of(request: Request) -> Caller:
    """Return the caller that the page's door let in."""
    person = person_of(request)
    if person is None:
        raise HTTPException(500, detail={"code": "internal", "message": "the page has no door"})
    return person.caller


async def loopback_only(request: Request) -> None:
    """Refuse callers from other machines."""
    if not from_loopback(request):
        refusals: Refusals = request.app.state.refusals
        refusals.count(NOBODY, AccessReason.NOT_LOCAL)
        raise HTTPException(403, detail={"code": "loopback_only", "message": "pages are local"})


def sign_in_address(request: Request) -> str:
    """Return the sign-in address that leads back to this page."""
    query = f"?{request.url.query}" if request.url.query else ""
    return _coming_back(request.url.path + query)


def form_address(request: Request) -> str:
    """Return the sign-in address that leads back to the page of the posted form."""
    path = request.url.path
    form = "/orders" if path.endswith(("/cancel", "/replace")) else path.removesuffix("/approval")
    return _coming_back(form)


def _coming_back(asked: str) -> str:
    if asked == "/" or len(asked) > NEXT_CHARS_MAX:
        return SIGN_IN
    return f"{SIGN_IN}?next={quote(asked, safe='/')}"
