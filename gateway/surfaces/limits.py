"""Limits on one request: the size of a body, and threads reserved for the kill.

Rules:
- A body above `BODY_BYTES_MAX` is refused, whether its length was announced or not.
- A kill has threads of its own, so forty slow requests never delay it.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES_MAX: Final = 65_536
KILL_THREADS: Final = 4
_kill_lane: Final = CapacityLimiter(KILL_THREADS)
_T = TypeVar("_T")


async def in_kill_lane(action: Callable[[], _T]) -> _T:
    """Run a blocking action on the threads reserved for the kill."""
    return await to_thread.run_sync(action, limiter=_kill_lane)


class BodyLimit:
    """ASGI middleware that ends a request whose body is too large with 413."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count the bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = _announced(scope)
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            if announced > BODY_BYTES_MAX:
                raise _too_large()
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > BODY_BYTES_MAX:
                raise _too_large()
            return message

        await self._app(scope, counted, send)


def _announced(scope: Scope) -> int:
    """Return the Content-Length, or 0 if it is not readable (the bytes are counted anyway)."""
    text = dict(scope["headers"]).get(b"content-length", b"0")
    return int(text) if text.isdigit() else 0


def _too_large() -> HTTPException:
    message = f"the body is larger than {BODY_BYTES_MAX} bytes"
    return HTTPException(413, detail={"code": "too_large", "message": message})
