"""Templates to answers: what every page shows, for whom, and its security headers.

Rules:
- Every response forbids scripts and foreign hosts (CSP), and no cache keeps it. Scripts of our own
  run on the page that checks a record, and on a page that a person asked to keep fresh.
- A person sees the buttons that the role may press; without a session there is no menu.
- Templates escape everything; the only HTML made elsewhere is in `plots`, which escapes its text.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gateway.desk.desk import Desk
from gateway.surfaces.web.doors import KILL, SIGN_IN, WATCH, person_of
from gateway.surfaces.web.forms import FormGuard
from gateway.surfaces.web.live import LIVE_PAGES, is_live, toggled
from gateway.surfaces.web.pages.table import PAGES
from gateway.surfaces.web.views.formats import FILTERS, when
from gateway.surfaces.web.views.lists import PageFrame, Views

TEMPLATES: Final = Path(__file__).parent / "templates"
MESSAGE: Final = "message.html"
MENU: Final = tuple((one.path, one.title) for one in PAGES if one.menu)
SIGN_OUT: Final = "/sign-out"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

SCRIPTED: Final = HEADERS | {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"]
    + "; script-src 'self'; connect-src 'self'"
}
"""For a page that runs its own script."""


class Sheets:
    """Renders templates as pages."""

    def __init__(self, guard: FormGuard, views: Views, desk: Desk) -> None:
        """Load the templates."""
        self._guard = guard
        self._views = views
        self._desk = desk
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(FILTERS)
        self._templates.globals["tick_of"] = self._tick_of

    def page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, object],
        *,
        title: str = "",
        status: int = 200,
        here: str = "",
        plain: bool = False,
    ) -> Response:
        """Return a rendered template; a plain page does not read the ledger."""
        person = person_of(request)
        session = "" if person is None else person.session
        own, (epoch, killed) = self._desk.own, self._desk.kill_switch.state
        watches = person is not None and person.may(WATCH)
        fresh = watches and is_live(request, here)
        html = self._templates.get_template(template).render(
            title=title,
            here=here,
            menu=MENU,
            frame=PageFrame() if plain else self._views.frame(),
            plain=plain,
            person=person,
            watches=watches,
            live=fresh,
            live_address=toggled(request) if here in LIVE_PAGES else "",
            forms=bool(session),
            token=partial(self._guard.token, session),
            killed=killed,
            kill_epoch=epoch,
            book=own.section.differences.state,
            stops=self._stops(),
            drilled="" if own.drills is None else own.drills.newest,
            sign_in=SIGN_IN,
            sign_out=SIGN_OUT,
            kill=KILL,
            **values,
        )
        headers = SCRIPTED if fresh else HEADERS
        return HTMLResponse(html, status_code=status, headers=headers)

    def say(
        self, request: Request, heading: str, text: str, status: int, back: str = "/"
    ) -> Response:
        """Return a page of one message with a link back; it needs no ledger."""
        values = {"heading": heading, "text": text, "back": back}
        return self.page(request, MESSAGE, values, title=heading, status=status, plain=True)

    def _tick_of(self, instrument: str) -> int:
        """Return one price step of an instrument in minor units; 1 if it is not listed."""
        listed = self._desk.own.instruments.get(instrument)
        return 1 if listed is None else listed.tick_minor

    def _stops(self) -> tuple[str, ...]:
        """Return a line for each stop in force, from memory."""
        return tuple(
            f"{one.stop.value} is in force: pressed by {one.actor} at {when(one.recorded_at_us)}."
            for one in self._desk.own.section.stops.open()
        )
