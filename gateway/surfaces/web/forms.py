"""Whether a request came from our own page: loopback, same origin, form token.

Not here: who is signed in (`sessions`), who may (`doors`), what a post does (`pages.buttons`).

Rules:
- A page is served to loopback only, under a loopback host name (a foreign name that resolves to us
  could otherwise read pages in a victim's browser).
- A form token is an HMAC over the session and the form's address, with a secret that dies with the
  process. The cookie is HttpOnly and SameSite=Strict, and Secure under TLS.
- A browser sends a host's cookies to every port, so the cookie's name contains our port: two
  gateways on one machine do not sign each other out.
"""

import hmac
import ipaddress
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request, Response

COOKIE: Final = "countersign"
_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class FormGuard:
    """Makes and checks form tokens."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def token(self, session: str, address: str) -> str:
        """Return the token of this session's form that posts to this address."""
        return hmac.new(self._secret, f"{address}\n{session}".encode(), sha256).hexdigest()

    def refusal(self, request: Request, session: str, token: str) -> str:
        """Return why a post is refused, or the empty text."""
        if not same_origin(request):
            return "the form was not sent from this page"
        if not token.isascii() or not hmac.compare_digest(
            token, self.token(session, request.url.path)
        ):
            return "the form is from another session; reload the page and send it again"
        return ""


def cookie_name(request: Request) -> str:
    """Return the session cookie's name at the request's port."""
    return f"{COOKIE}_{request.url.port or 0}"


def session_of(request: Request) -> str:
    """Return the session token in the browser's cookie, or the empty text."""
    return request.cookies.get(cookie_name(request), "")


def keep_session(request: Request, response: Response, session: str, life_s: int) -> None:
    """Set the session cookie; a life of 0 removes it."""
    response.set_cookie(
        cookie_name(request),
        session,
        max_age=life_s,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def from_loopback(request: Request) -> bool:
    """Return whether the peer and the requested host name are this machine's own."""
    client = request.client.host if request.client else ""
    try:
        local = ipaddress.ip_address(client).is_loopback
    except ValueError:
        local = False
    return local and (request.url.hostname or "") in _HOSTS


def same_origin(request: Request) -> bool:
    """Return whether the browser says that the post comes from our own page.

    `Origin` decides; a browser that sends none must say `Sec-Fetch-Site: same-origin`.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    parts = urlsplit(origin)
    return (parts.scheme, parts.netloc) == (request.url.scheme, request.url.netloc)


def own_path(text: str) -> str:
    """Return `text` if it is a path of this site to which a redirect is safe, else `/`.

    Browsers read `//host`, a backslash or a dropped control character as another host or scheme.
    """
    parts = urlsplit(text) if text.isascii() and text.isprintable() else None
    if parts is None or parts.scheme or parts.netloc or not parts.path.startswith("/"):
        return "/"
    if text.startswith("//") or "\\" in text or parts.path.startswith(("/sign-", "//")):
        return "/"
    return text
