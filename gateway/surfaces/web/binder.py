"""The tables of pages and of buttons as routes: two loops, no route by hand.

Rules:
- A read is recorded before it is shown, once a minute; without the record there is no page.
- What a page cannot answer is a page: 400, or 503 while the ledger does not answer.
- The kill form and its answer need no ledger: they work while the database is down.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from audit.errors import AuditError
from gateway.desk.desk import Desk
from gateway.errors import GatewayError, RequestError
from gateway.surfaces.limits import in_kill_lane
from gateway.surfaces.web.doors import Posted, SignedIn, reader_of
from gateway.surfaces.web.pages.buttons import BUTTONS
from gateway.surfaces.web.pages.page import AskedPage, Button, Page, PageRead
from gateway.surfaces.web.pages.table import PAGES
from gateway.surfaces.web.sheets import HEADERS, SCRIPTED, Sheets
from gateway.surfaces.web.views.lists import Views


@dataclass(frozen=True, slots=True, kw_only=True)
class Binder:
    """What the routes of every row share; each reads the ledger again and keeps nothing."""

    desk: Desk
    views: Views
    sheets: Sheets

    def router(self) -> APIRouter:
        """Return the routes of every page and of every button."""
        router = APIRouter()
        for page in PAGES:
            door = Depends(SignedIn(page.action))
            router.add_api_route(page.path, self._page(page), methods=["GET"], dependencies=[door])
        for one in BUTTONS:
            door = Depends(Posted(one.action))
            router.add_api_route(one.path, self._button(one), methods=["POST"], dependencies=[door])
        return router

    def _page(self, page: Page) -> Callable[..., Response]:
        def shown(request: Request, **said: object) -> Response:
            try:
                return self._shown(page, request, said)
            except RequestError as error:
                return self.sheets.say(request, "This cannot be shown", str(error), 400)
            except AuditError as error:
                return self.sheets.say(request, "The ledger does not answer", str(error), 503)

        return _taking(page.reader, shown)

    def _shown(self, page: Page, request: Request, said: Mapping[str, object]) -> Response:
        asked = self._asked(request)
        found = page.reader(asked, **said)
        if not isinstance(found, PageRead):
            found = PageRead(values=found, noted=page.noted.format(**said))
        if not page.plain:
            self.desk.reads.note(asked.caller, found.noted)
        if found.file is not None:
            found.file.headers.update(HEADERS)
            return found.file
        answer = self.sheets.page(
            request,
            page.template,
            found.values,
            title=page.title,
            here=page.here,
            plain=page.plain,
        )
        if page.scripted:
            answer.headers.update(SCRIPTED)
        return answer

    def _button(self, button: Button) -> Callable[..., Any]:
        def pressed(request: Request, **said: object) -> Response:
            back = button.back.format(**said)
            try:
                text = button.does(self._asked(request), **said)
            except (GatewayError, AuditError) as error:
                return self.sheets.say(request, button.refusal, str(error), 409, back=back)
            return self.sheets.say(request, button.title, text, 200, back=back)

        async def hurried(request: Request, **said: object) -> Response:
            return await in_kill_lane(partial(pressed, request, **said))

        return _taking(button.does, hurried if button.hurried else pressed)

    def _asked(self, request: Request) -> AskedPage:
        return AskedPage(
            desk=self.desk, views=self.views, caller=reader_of(request), state=request.app.state
        )


def _taking(said: Callable[..., object], endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return the endpoint with a signature that FastAPI reads: the request, then what `said` takes.

    What `said` takes first is what is asked, which the endpoint makes.
    """
    named = list(signature(said).parameters.values())[1:]
    endpoint.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request),
            *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in named),
        ],
        return_annotation=Response,
    )
    return endpoint
