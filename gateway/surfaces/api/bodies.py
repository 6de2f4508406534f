"""Strict JSON bodies: an object that names a key twice is refused.

Of two values for one key, some readers take the first and some the last. Another program or a
person would then read something else in the bytes that were judged here.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from typing_extensions import override


class StrictRoute(APIRoute):
    """A route whose JSON body must name each key once."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


class _StrictRequest(Request):
    @override
    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=each_key_once)


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that occurs twice; the error is answered with 422."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise json.JSONDecodeError("a key occurs twice", "", 0)
    return found
