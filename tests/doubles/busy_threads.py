"""A process whose threads for requests are all taken, as by forty slow callers."""

from collections.abc import Iterator
from contextlib import contextmanager

from anyio import fail_after, to_thread
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

ANSWER_WITHIN_S = 30.0
LOCAL = ("127.0.0.1", 40_000)


class _InTime:
    """Ends what waits for a thread: a test must fail then, not hang."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with fail_after(ANSWER_WITHIN_S):
            await self._app(scope, receive, send)


@contextmanager
def busy(app: FastAPI, address: str = "http://127.0.0.1:8700") -> Iterator[TestClient]:
    """Yield a browser of an application that has no thread left for requests."""

    async def take_all() -> None:
        threads = to_thread.current_default_thread_limiter()
        threads.total_tokens = 1
        threads.acquire_on_behalf_of_nowait(app)

    async def give_back() -> None:
        to_thread.current_default_thread_limiter().release_on_behalf_of(app)

    with TestClient(_InTime(app), base_url=address, client=LOCAL) as browser:
        if browser.portal is None:
            raise AssertionError("no event loop")
        browser.portal.call(take_all)
        try:
            yield browser
        finally:
            browser.portal.call(give_back)
