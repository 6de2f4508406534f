"""Who is calling, and whether that role may act. Bearer keys only: no cookie opens the API."""

from typing import Annotated, Final

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gateway.installation.keys.keyring import Caller, Keyring
from gateway.installation.keys.roles import MAY
from gateway.surfaces.access.refusals import NOBODY, AccessReason, Refusals, may_not

bearer: Final = HTTPBearer(auto_error=False, description="key from `countersign keygen`")


class Door:
    """A dependency that lets callers in; the server does not start with a route that has none."""

    def __init__(self, action: str) -> None:
        """Guard a route that does `action`, a key of `MAY`."""
        self.action = action


class Allowed(Door):
    """A dependency that yields the caller, or refuses with 401 or 403.

    It runs on the event loop (it reads one small file), so that a kill never waits for a thread.
    """

    async def __call__(
        self,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> Caller:
        """Return who calls."""
        return by_key(request, credentials, self.action)


def allowed(action: str) -> Allowed:
    """Return the door of a route that does `action`."""
    return Allowed(action)


def by_key(
    request: Request, credentials: HTTPAuthorizationCredentials | None, action: str
) -> Caller:
    """Return the holder of the request's key; count refusals for the record.

    Raises:
        HTTPException: 401 without a known key, 403 when its role may not.
    """
    keyring: Keyring = request.app.state.keyring
    refusals: Refusals = request.app.state.refusals
    caller = None if credentials is None else keyring.authenticate(credentials.credentials)
    if caller is None:
        if credentials is None:
            refusals.count(NOBODY, AccessReason.NO_KEY)
        else:
            refusals.count(refusals.pseudonym(credentials.credentials), AccessReason.UNKNOWN_KEY)
        raise HTTPException(
            401,
            detail={
                "code": "unauthenticated",
                "message": "send `Authorization: Bearer KEY`; `countersign keygen` makes a key",
            },
            headers={"WWW-Authenticate": "Bearer"},
        )
    if caller.expired(refusals.steady_us()):
        refusals.count(caller.name, AccessReason.KEY_EXPIRED)
        message = "the key has expired; ask the operator for a new one"
        raise HTTPException(403, detail={"code": "key_expired", "message": message})
    if caller.role not in MAY[action]:
        refusals.count(caller.name, may_not(action))
        raise HTTPException(
            403, detail={"code": "forbidden", "message": f"role {caller.role} may not {action}"}
        )
    return caller
