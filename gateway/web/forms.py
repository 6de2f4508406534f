"""Who may post from a page: loopback, same origin, the page's own form, and a bearer key typed in.

Not here: what a post does (`pages` calls the gateway's actions).

Rules kept here:
- A page is served to loopback only, under a loopback host name (a foreign name that resolves to us
  could otherwise read pages in a victim's browser).
- A form token is an HMAC over the browser's session cookie and the form's purpose, with a secret
  that dies with the process; the cookie is HttpOnly and SameSite=Strict.
- The key is never stored, echoed, or put in a cookie.
"""

import hmac
import ipaddress
import secrets
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request, Response

COOKIE: Final = "countersign_session"
_SESSION_BYTES: Final = 24
_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class FormGuard:
    """Makes and checks form tokens."""

    def __init__(self, secret: bytes) -> None:
        """Keep the secret; it should be fresh for each process."""
        self._secret = secret

    def session(self, request: Request) -> str:
        """Return the browser's session, or a new one when it has none."""
        known = request.cookies.get(COOKIE, "")
        return known if known.isascii() and len(known) == _LENGTH else new_session()

    def token(self, session: str, purpose: str) -> str:
        """Return the token that a form of this purpose carries in this session."""
        return hmac.new(self._secret, f"{purpose}\n{session}".encode(), sha256).hexdigest()

    def refusal(self, request: Request, token: str, purpose: str) -> str:
        """Return why a post is refused, or nothing when it may go on."""
        if not same_origin(request):
            return "the form was not sent from this page"
        session = request.cookies.get(COOKIE, "")
        if not session or not token.isascii():
            return "the form has no session; reload the page and send it again"
        if not hmac.compare_digest(token, self.token(session, purpose)):
            return "the form is from another session; reload the page and send it again"
        return ""


def new_session() -> str:
    """Return a random session id; it is a secret of one browser and enters no record."""
    return secrets.token_urlsafe(_SESSION_BYTES)


_LENGTH: Final = len(new_session())


def keep_session(response: Response, session: str) -> None:
    """Set the session cookie."""
    response.set_cookie(COOKIE, session, httponly=True, samesite="strict", path="/")


def from_loopback(request: Request) -> bool:
    """Tell whether the peer and the host name asked for are this machine's own."""
    client = request.client.host if request.client else ""
    try:
        local = ipaddress.ip_address(client).is_loopback
    except ValueError:
        local = False
    return local and (request.url.hostname or "") in _HOSTS


def same_origin(request: Request) -> bool:
    """Tell whether the browser says that the post comes from our own page.

    `Origin` decides; a browser that sends none must say `Sec-Fetch-Site: same-origin`.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    parts = urlsplit(origin)
    return (parts.scheme, parts.netloc) == (request.url.scheme, request.url.netloc)
