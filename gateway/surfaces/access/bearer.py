"""Who is calling and what that role may do. Bearer keys only; no cookie opens the API.

Who is refused is counted for the record (`gateway.surfaces.access.refusals`).
"""

from typing import Annotated, Final

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gateway.installation.keys.keyring import Caller, Keyring
from gateway.installation.keys.roles import MAY
from gateway.surfaces.access.refusals import NOBODY, AccessReason, Refusals, may_not

bearer: Final = HTTPBearer(auto_error=False, description="key from `countersign keygen`")


class Door:
    """What every dependency that lets callers in is: a route without one does not start."""

    def __init__(self, action: str) -> None:
        """Take what the route does, a key of `MAY`."""
        self.action = action


class Allowed(Door):
    """A dependency that yields the caller, or refuses with 401 or 403.

    It runs on the event loop (one small file is read): a kill must not wait for a thread here.
    """

    async def __call__(
        self,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> Caller:
        """Return who calls."""
        return by_key(request, credentials, self.action)


def allowed(action: str) -> Allowed:
    """Return the door of a route that does this."""
    return Allowed(action)


def by_key(
    request: Request, credentials: HTTPAuthorizationCredentials | None, action: str
) -> Caller:
    """Return whose key the request carries.

    Raises:
        HTTPException: 401 without a known key, 403 for a role that may not.
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
                "message": "send Authorization: Bearer KEY (from keygen)",
            },
            headers={"WWW-Authenticate": "Bearer"},
        )
    if caller.role not in MAY[action]:
        refusals.count(caller.name, may_not(action))
        raise HTTPException(
            403, detail={"code": "forbidden", "message": f"role {caller.role} may not {action}"}
        )
    return caller
