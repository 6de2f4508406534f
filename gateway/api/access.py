"""Who is calling and what that role may do. Bearer keys only; no cookie opens the API."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gateway.keyring import Caller, Keyring
from gateway.roles import MAY

bearer = HTTPBearer(auto_error=False, description="key from `countersign keygen`")


def allowed(
    action: str,
) -> Callable[[Request, HTTPAuthorizationCredentials | None], Awaitable[Caller]]:
    """Return a dependency that yields the caller, or refuses with 401 or 403.

    It runs on the event loop (one small file is read): a kill must not wait for a thread here.
    """

    async def dependency(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> Caller:
        keyring: Keyring = request.app.state.keyring
        caller = None if credentials is None else keyring.authenticate(credentials.credentials)
        if caller is None:
            raise HTTPException(
                401,
                detail={
                    "code": "unauthenticated",
                    "message": "send Authorization: Bearer KEY (from keygen)",
                },
                headers={"WWW-Authenticate": "Bearer"},
            )
        if caller.role not in MAY[action]:
            raise HTTPException(
                403, detail={"code": "forbidden", "message": f"role {caller.role} may not {action}"}
            )
        return caller

    return dependency
