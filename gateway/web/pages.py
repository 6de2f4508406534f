"""The pages' routes: ledger records in, HTML out; two forms post, guarded by `forms`.

Not here: what a kill or an approval does (`Actions`, the gateway's own), and the JSON API.

Rules kept here:
- Pages are served to loopback only; every response forbids scripts and foreign hosts (CSP);
  the page that checks a record may run its own script.
- A form post needs the page's own token and a bearer key typed in; the key's role must allow it.
- The kill form and its answer need no ledger: they work while the database is down.
- Templates escape everything; the only HTML made elsewhere is `plots`, which escapes its text.
"""

import json
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Final, Protocol

from fastapi import APIRouter, Depends, FastAPI, Form, HTTPException, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from audit.errors import AuditError
from gateway.api.limits import in_kill_lane
from gateway.errors import GatewayError
from gateway.keyring import Caller
from gateway.roles import MAY
from gateway.web.decision_view import DecisionView
from gateway.web.evidence import VERIFIER
from gateway.web.formats import FILTERS
from gateway.web.forms import FormGuard, from_loopback, keep_session
from gateway.web.views import OUTCOMES, Frame, Views

HERE: Final = Path(__file__).parent
ASSETS: Final = {
    "site.css": (HERE / "static" / "site.css", "text/css; charset=utf-8"),
    "mark.svg": (HERE / "static" / "mark.svg", "image/svg+xml"),
    "check.mjs": (HERE / "static" / "check.mjs", "text/javascript; charset=utf-8"),
    "verify.mjs": (VERIFIER, "text/javascript; charset=utf-8"),
}
KILL: Final = "kill"
MESSAGE: Final = "message.html"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
CHECKING: Final = HEADERS | {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"]
    + "; script-src 'self'; connect-src 'self'"
}


class Actions(Protocol):
    """What a page can make the gateway do. Refusals are `GatewayError` or `AuditError`."""

    def authenticate(self, key: str) -> Caller | None:
        """Return whose bearer key this is."""
        ...

    def kill_state(self) -> tuple[int, bool]:
        """Return (kill_epoch, killed) as the shared kill word has it now."""
        ...

    def kill(self, caller: Caller, reason: str) -> str:
        """Press the kill; return one line for the person who did."""
        ...

    def answer_hold(
        self, caller: Caller, decision_id: str, *, approve: bool, intent_digest: str, note: str
    ) -> str:
        """Approve or refuse a held decision; return one line for the person who did."""
        ...


def register(app: FastAPI, views: Views, actions: Actions, secret: bytes) -> None:
    """Add the pages to the application.

    `secret` keys the form tokens; it should be fresh for each process.
    """
    pages = Pages(views, actions, FormGuard(secret))
    router = APIRouter(include_in_schema=False, dependencies=[Depends(loopback_only)])
    for path, method, handler in (
        ("/", "GET", pages.decisions),
        ("/decisions/{decision_id}", "GET", pages.decision),
        ("/positions", "GET", pages.positions),
        ("/ledger", "GET", pages.ledger),
        ("/records/{seq}", "GET", pages.record),
        ("/records/{seq}/check", "GET", pages.check),
        ("/records/{seq}/{form}", "GET", pages.evidence),
        ("/kill", "GET", pages.kill_form),
        ("/decisions/{decision_id}/approval", "POST", pages.approval),
    ):
        router.add_api_route(path, pages.or_say_so(handler), methods=[method])
    router.add_api_route("/kill", pages.kill, methods=["POST"])
    router.add_api_route("/static/{name}", asset, methods=["GET"])
    app.include_router(router)


async def loopback_only(request: Request) -> None:
    """Refuse whoever is not on this machine."""
    if not from_loopback(request):
        raise HTTPException(403, detail={"code": "loopback_only", "message": "pages are local"})


def asset(name: str) -> Response:
    """Return one of the files that pages need."""
    if name not in ASSETS:
        raise HTTPException(404, detail={"code": "no_such_file", "message": "no such file"})
    path, media_type = ASSETS[name]
    return FileResponse(path, media_type=media_type, headers=HEADERS)


class Pages:
    """The handlers; each reads the ledger anew and keeps nothing."""

    def __init__(self, views: Views, actions: Actions, guard: FormGuard) -> None:
        """Keep the parts and load the templates."""
        self._views = views
        self._actions = actions
        self._guard = guard
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(FILTERS)

    def or_say_so(self, handler: Callable[..., Response]) -> Callable[..., Response]:
        """Return the handler, with a page of its own for a ledger that does not answer."""

        @wraps(handler)
        def wrapped(**values: object) -> Response:
            try:
                return handler(**values)
            except AuditError as error:
                request = values["request"]
                if not isinstance(request, Request):
                    raise
                return self._say(request, "The ledger does not answer", str(error), 503)

        return wrapped

    def decisions(
        self,
        request: Request,
        run: Annotated[str, Query(max_length=200)] = "",
        outcome: Annotated[str, Query(max_length=40)] = "",
        before: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """Show a page of decisions."""
        view = self._views.decisions(run_id=run, outcome=outcome, before=before)
        return self._page(
            request, "decisions.html", here="/", view=view, outcomes=OUTCOMES, before=before
        )

    def decision(
        self, request: Request, decision_id: str, paths: Annotated[int, Query(ge=0, le=10_000)] = 0
    ) -> Response:
        """Show one decision as the walk."""
        view = self._views.decision(decision_id, paths) if decision_id.isprintable() else None
        if view is None:
            return self._say(request, "No such decision", "The ledger has none of that id.", 404)
        session = self._guard.session(request)
        return self._page(
            request,
            "decision.html",
            session=session,
            view=view,
            steps=steps(view),
            inclusion=self._views.inclusion(view.chain[-1].record),
            approval_token=self._guard.token(session, _approval(decision_id)),
            intent_digest=view.intent_digest,
        )

    def positions(
        self,
        request: Request,
        run: Annotated[str, Query(max_length=200)] = "",
        account: Annotated[str, Query(max_length=10)] = "",
    ) -> Response:
        """Show a run's positions, exposure and profit."""
        agent = account == "agent"
        view = self._views.positions(run, agent=agent)
        return self._page(request, "positions.html", here="/positions", view=view, agent=agent)

    def ledger(
        self, request: Request, before: Annotated[int | None, Query(ge=0)] = None
    ) -> Response:
        """Show the log's state."""
        view = self._views.ledger(before)
        return self._page(request, "ledger.html", here="/ledger", ledger=view, before=before)

    def record(self, request: Request, seq: int) -> Response:
        """Show one record with the bytes that were hashed."""
        record = self._views.record(seq) if 0 <= seq < 1 << 62 else None
        if record is None:
            return self._say(request, "No such record", "The ledger has none at that place.", 404)
        return self._page(
            request,
            "record.html",
            record=record,
            header=record.header.decode(),
            payload=json.dumps(record.body, indent=2, ensure_ascii=False),
        )

    def check(self, request: Request, seq: int) -> Response:
        """Show the page on which the browser checks one record; the only one with a script."""
        record = self._views.record(seq) if 0 <= seq < 1 << 62 else None
        if record is None:
            return self._say(request, "No such record", "The ledger has none at that place.", 404)
        response = self._page(request, "check.html", record=record)
        response.headers.update(CHECKING)
        return response

    def evidence(self, request: Request, seq: int, form: str) -> Response:
        """Send one file of a record's evidence."""
        found = self._views.download(seq, form)
        if found is None:
            text = "No such record or file, or no checkpoint covers the record yet."
            return self._say(request, "No such evidence", text, 404)
        found.headers.update(HEADERS)
        return found

    def kill_form(self, request: Request) -> Response:
        """Say how to press the kill; needs no ledger."""
        text = "Open the kill form at the top right: it works while the ledger does not answer."
        return self._say(request, "Kill", text, 200)

    async def kill(
        self,
        request: Request,
        token: Annotated[str, Form(max_length=100)] = "",
        key: Annotated[str, Form(max_length=200)] = "",
        reason: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        """Press the kill, on threads that nothing else takes."""
        press = self.or_say_so(self._press)
        return await in_kill_lane(
            partial(press, request=request, token=token, key=key, reason=reason)
        )

    def _press(self, request: Request, token: str, key: str, reason: str) -> Response:
        caller = self._caller(request, token, key, KILL, KILL)
        if not isinstance(caller, Caller):
            return self._say(request, "Not pressed", caller, 403)
        return self._do(
            request, "Kill", lambda: self._actions.kill(caller, reason or "pressed on the page")
        )

    def approval(
        self,
        request: Request,
        decision_id: str,
        token: Annotated[str, Form(max_length=100)] = "",
        key: Annotated[str, Form(max_length=200)] = "",
        answer: Annotated[str, Form(max_length=10)] = "",
        intent_digest: Annotated[str, Form(max_length=64)] = "",
        note: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        """Approve or refuse a held decision."""
        caller = self._caller(request, token, key, _approval(decision_id), "approve")
        if not isinstance(caller, Caller):
            return self._say(request, "Not recorded", caller, 403)
        if answer not in {"approve", "refuse"}:
            return self._say(request, "Not recorded", "Answer with approve or refuse.", 400)
        return self._do(
            request,
            "Approval",
            lambda: self._actions.answer_hold(
                caller,
                decision_id,
                approve=answer == "approve",
                intent_digest=intent_digest,
                note=note,
            ),
        )

    def _caller(
        self, request: Request, token: str, key: str, purpose: str, action: str
    ) -> Caller | str:
        """Return who posts, or why not."""
        if refusal := self._guard.refusal(request, token, purpose):
            return refusal[:1].upper() + refusal[1:] + "."
        caller = self._actions.authenticate(key)
        if caller is None:
            return "This key is not known."
        if caller.role not in MAY[action]:
            return f"The role {caller.role} may not {action}."
        return caller

    def _do(self, request: Request, heading: str, action: Callable[[], str]) -> Response:
        try:
            text = action()
        except (GatewayError, AuditError) as error:
            return self._say(request, f"{heading}: refused", str(error), 409)
        return self._say(request, heading, text, 200)

    def _say(self, request: Request, heading: str, text: str, status: int) -> Response:
        return self._page(request, MESSAGE, status=status, heading=heading, text=text, back="/")

    def _page(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        session: str = "",
        here: str = "",
        **values: object,
    ) -> Response:
        session = session or self._guard.session(request)
        # what a person must be told while the database is down is told without it
        frame = Frame() if template == MESSAGE else self._views.frame()
        kill_epoch, killed = self._actions.kill_state()
        html = self._templates.get_template(template).render(
            here=here,
            frame=frame,
            plain=template == MESSAGE,
            killed=killed,
            kill_epoch=kill_epoch,
            kill_token=self._guard.token(session, KILL),
            **values,
        )
        response = HTMLResponse(html, status_code=status, headers=HEADERS)
        keep_session(response, session)
        return response


def steps(view: DecisionView) -> tuple[tuple[str, str, bool], ...]:
    """Return the steps of the walk: anchor, name, and whether it happened."""
    return (
        ("snapshot", "Snapshot", view.snapshot is not None),
        ("narrative", "Narrative", view.snapshot is not None and bool(view.snapshot.news)),
        ("prompt", "Prompt and seed", bool(view.prompt)),
        ("rounds", "Draft and target", view.tokens is not None),
        ("forecast", "Forecast", view.target is not None),
        ("intent", "Intent", bool(view.proposed)),
        ("rules", "Rules", bool(view.rules)),
        ("approval", "Approval", bool(view.asked)),
        ("order", "Order", bool(view.order)),
        ("chain", "Records", True),
    )


def _approval(decision_id: str) -> str:
    return f"approval {decision_id}"
