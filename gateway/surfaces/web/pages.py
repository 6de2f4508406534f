"""The pages' routes: ledger records in, HTML out; two forms post.

Not here: what a kill or an approval does (`actions`), who may (`doors`), and the JSON API.

Rules:
- A read is recorded before it is shown, once a minute; without the record there is no page.
- Only the page that checks a record, and a page with `?live=1`, may run a script, their own.
- The kill form and its answer need no ledger: they work while the database is down.
"""

import json
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Final, Protocol

from fastapi import APIRouter, Depends, FastAPI, Form, HTTPException, Query, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from audit.errors import AuditError
from audit.records.record import Record
from gateway.desk.officers.oversight.case_files import shown_to
from gateway.errors import GatewayError, RequestError
from gateway.evidence.answers.days import FlowReport
from gateway.evidence.statement import COLUMNS
from gateway.feeds.live.overview import FeedLine
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.limits import in_kill_lane
from gateway.surfaces.web.doors import (
    LIVE,
    WATCH,
    Entrance,
    NotSignedInError,
    PageRefusedError,
    Posted,
    SignedIn,
    loopback_only,
    reader_of,
)
from gateway.surfaces.web.live import live
from gateway.surfaces.web.orders import ORDERS, OrderActions, OrderPages
from gateway.surfaces.web.oversight import (
    APPROVALS,
    ApprovalPages,
    OversightActions,
    oversight_routes,
)
from gateway.surfaces.web.sheets import HEADERS, KILL, SCRIPTED, Sheets
from gateway.surfaces.web.sign_in import SEE_OTHER, SignIn
from gateway.surfaces.web.stops import Controls, StopButtons
from gateway.surfaces.web.views.decision import DecisionView
from gateway.surfaces.web.views.evidence import VERIFIER
from gateway.surfaces.web.views.lists import OUTCOMES, Views
from gateway.surfaces.web.views.oversight.baskets import basket_view
from gateway.surfaces.web.views.oversight.fairness import fairness_view
from gateway.telemetry.session import SessionStatus

HERE: Final = Path(__file__).parent
ASSETS: Final = {
    "site.css": (HERE / "static" / "site.css", "text/css; charset=utf-8"),
    "mark.svg": (HERE / "static" / "mark.svg", "image/svg+xml"),
    "live.mjs": (HERE / "static" / "live.mjs", "text/javascript; charset=utf-8"),
    "check.mjs": (HERE / "static" / "check.mjs", "text/javascript; charset=utf-8"),
    "verify.mjs": (VERIFIER, "text/javascript; charset=utf-8"),
}


class Actions(OrderActions, OversightActions, Protocol):
    """What a page can make the gateway do. Refusals are `GatewayError` or `AuditError`."""

    def kill_state(self) -> tuple[int, bool]:
        """Return (kill_epoch, killed) from the shared kill word."""

    def book_state(self) -> str:
        """Return `ready`, or where the book and the broker are known to differ."""

    def feeds(self) -> tuple[FeedLine, ...] | None:
        """Return each feed's state, from memory; None where the market is played."""

    def session(self) -> SessionStatus | None:
        """Return the FIX session's state, from memory."""

    def flow(self, first: str, last: str) -> FlowReport:
        """Return refusals and times of a range of UTC days; raise RequestError for no range."""

    def kill(self, caller: Caller, reason: str) -> str:
        """Press the kill; return one line for the person."""


def register(
    app: FastAPI,
    views: Views,
    actions: Actions,
    entrance: Entrance,
    controls: Controls | None = None,
) -> None:
    """Add the pages to the application; without `controls` there are no buttons of stops."""
    app.state.entrance = entrance
    app.state.refusals = entrance.refusals
    app.state.keyring = entrance.keyring
    sheets = Sheets(
        entrance.guard,
        frame=views.frame,
        kill_state=actions.kill_state,
        book_state=actions.book_state,
        tick_of=actions.tick_of,
        stops=tuple if controls is None else controls.stops,
        drilled=str if controls is None else controls.drilled,
    )
    pages = Pages(views, actions, sheets)
    blotter = OrderPages(actions, sheets, partial(basket_view, views.reader))
    checkpoint = ApprovalPages(actions, sheets)
    router = APIRouter(include_in_schema=False, dependencies=[Depends(loopback_only)])
    router.include_router(SignIn(entrance, sheets).routes())
    seen, approves, kills = Depends(SignedIn(WATCH)), Posted("approve"), Posted("kill")
    for path, handler in (
        ("/", pages.decisions),
        ("/decisions/{decision_id}", pages.decision),
        ("/baskets/{basket_id}", blotter.basket),
        ("/positions", pages.positions),
        ("/statement", pages.statement),
        (ORDERS, blotter.blotter),
        (APPROVALS, checkpoint.waiting),
        ("/session", pages.session),
        ("/feeds", pages.feeds),
        ("/fairness", pages.fairness),
        ("/flow", pages.flow),
        ("/ledger", pages.ledger),
        ("/records/{seq}", pages.record),
        ("/records/{seq}/check", pages.check),
        ("/records/{seq}/{form}", pages.evidence),
        (KILL, pages.kill_form),
    ):
        router.add_api_route(path, pages.or_say_so(handler), methods=["GET"], dependencies=[seen])
    router.include_router(oversight_routes(actions, sheets, pages.or_say_so, views))
    router.add_api_route(LIVE, live, methods=["GET"], dependencies=[seen])
    router.add_api_route(
        "/decisions/{decision_id}/approval",
        pages.or_say_so(checkpoint.answer),
        methods=["POST"],
        dependencies=[Depends(approves)],
    )
    for verb, change in (("cancel", blotter.cancel), ("replace", blotter.replace)):
        router.add_api_route(
            f"{ORDERS}/{{name}}/{verb}",
            pages.or_say_so(change),
            methods=["POST"],
            dependencies=[Depends(Posted("cancel"))],
        )
    router.add_api_route(KILL, pages.kill, methods=["POST"], dependencies=[Depends(kills)])
    router.add_api_route("/static/{name}", asset, methods=["GET"])
    if controls is not None:
        router.include_router(StopButtons(controls, sheets).routes())
    app.include_router(router)
    app.add_exception_handler(NotSignedInError, to_sign_in)
    app.add_exception_handler(PageRefusedError, pages.refused)


async def to_sign_in(_: Request, error: Exception) -> Response:
    """Send a browser to the sign-in page."""
    address = error.address if isinstance(error, NotSignedInError) else "/"
    return RedirectResponse(address, status_code=SEE_OTHER, headers=HEADERS)


def asset(name: str) -> Response:
    """Return one of the files that pages need."""
    if name not in ASSETS:
        raise HTTPException(404, detail={"code": "no_such_file", "message": "no such file"})
    path, media_type = ASSETS[name]
    return FileResponse(path, media_type=media_type, headers=HEADERS)


class Pages:
    """The handlers; each reads the ledger again and keeps nothing."""

    def __init__(self, views: Views, actions: Actions, sheets: Sheets) -> None:
        self._views = views
        self._actions = actions
        self._sheets = sheets
        self._say = sheets.say

    async def refused(self, request: Request, error: Exception) -> Response:
        """Show why a door refused."""
        if not isinstance(error, PageRefusedError):
            raise error
        return self._say(request, error.heading, error.text, 403, back=error.back)

    def or_say_so(self, handler: Callable[..., Response]) -> Callable[..., Response]:
        """Return the handler; what it cannot answer is a page: 400 or, without the ledger, 503."""

        @wraps(handler)
        def wrapped(**values: object) -> Response:
            request = values["request"]
            if not isinstance(request, Request):
                raise TypeError("a page is asked for without its request")
            try:
                return handler(**values)
            except RequestError as error:
                return self._say(request, "This cannot be shown", str(error), 400)
            except AuditError as error:
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
        self._noted(request, "decisions")
        return self._page(
            request, "decisions.html", here="/", view=view, outcomes=OUTCOMES, before=before
        )

    def decision(
        self, request: Request, decision_id: str, paths: Annotated[int, Query(ge=0, le=10_000)] = 0
    ) -> Response:
        """Show one decision as the walk."""
        view = self._views.decision(decision_id, paths) if decision_id.isprintable() else None
        if view is None:
            return self._say(
                request, "No such decision", "The ledger has no decision with this id.", 404
            )
        self._noted(request, f"decision/{decision_id}")
        reader = reader_of(request)
        return self._page(
            request,
            "decision.html",
            sheet_digest=self._actions.sheet_digest(reader, decision_id) if view.waits else "",
            view=view,
            reader=reader,
            steps=steps(view),
            inclusion=self._views.inclusion(view.chain[-1].record),
            approval=f"/decisions/{decision_id}/approval",
            edit=self._actions.would_pass(decision_id),
        )

    def positions(
        self,
        request: Request,
        run: Annotated[str, Query(max_length=200)] = "",
        account: Annotated[str, Query(max_length=200)] = "",
    ) -> Response:
        """Show an account's positions, exposure and profit at the end of a run."""
        view = self._views.positions(run, account)
        self._noted(request, "positions" if view is None else f"positions/{view.account}")
        return self._page(request, "positions.html", here="/positions", view=view)

    def statement(
        self,
        request: Request,
        account: Annotated[str, Query(max_length=200)] = "",
        day: Annotated[str, Query(max_length=10)] = "",
        form: Annotated[str, Query(max_length=4)] = "",
    ) -> Response:
        """Show an account's statement of a day, or send it as CSV."""
        names, made = self._views.statement(account, day)
        name = "statement" if made is None else f"statement/{made.run.account}/{made.day}"
        self._noted(request, name)
        if form == "csv" and made is not None:
            file = f"statement-{made.run.account}-{made.day}.csv"
            shown = {"Content-Disposition": f'attachment; filename="{file}"'}
            return Response(made.to_csv(), media_type="text/csv", headers=HEADERS | shown)
        return self._page(
            request, "statement.html", here="/positions", accounts=names, made=made, columns=COLUMNS
        )

    def session(self, request: Request) -> Response:
        """Show the FIX session: state, numbers, gaps, throttle, last messages."""
        status = self._actions.session()
        self._noted(request, "session")
        return self._page(request, "session.html", here="/session", session=status)

    def feeds(self, request: Request) -> Response:
        """Show what each source delivered: age, sequence, gaps, lag, condition, bars held."""
        lines = self._actions.feeds()
        self._noted(request, "feeds")
        return self._page(request, "feeds.html", here="/feeds", feeds=lines)

    def fairness(
        self, request: Request, run: Annotated[int | None, Query(ge=0)] = None
    ) -> Response:
        """Show the runs of the tests of fairness."""
        view = fairness_view(self._views.reader, run)
        self._noted(request, "fairness")
        return self._page(request, "fairness.html", here="/ledger", view=view)

    def flow(
        self,
        request: Request,
        first: Annotated[str, Query(alias="from", max_length=10)] = "",
        last: Annotated[str, Query(alias="to", max_length=10)] = "",
    ) -> Response:
        """Show what was refused and why, and how long orders took."""
        report = self._actions.flow(first, last)
        self._noted(request, "flow")
        return self._page(request, "flow.html", here="/flow", report=report)

    def ledger(
        self, request: Request, before: Annotated[int | None, Query(ge=0)] = None
    ) -> Response:
        """Show the log's state."""
        view = self._views.ledger(before, reader_of(request).role)
        self._noted(request, "ledger")
        return self._page(request, "ledger.html", here="/ledger", ledger=view, before=before)

    def record(self, request: Request, seq: int) -> Response:
        """Show one record with the bytes that were hashed."""
        record = self._record(request, seq)
        if record is None:
            return self._no_record(request)
        self._noted(request, f"record/{seq}")
        return self._page(
            request,
            "record.html",
            disavowed_by=self._views.disavowed_by(seq),
            record=record,
            header=record.header.decode(),
            payload=json.dumps(record.body, indent=2, ensure_ascii=False),
        )

    def check(self, request: Request, seq: int) -> Response:
        """Show the page on which the browser checks one record; the only page with a script."""
        record = self._record(request, seq)
        if record is None:
            return self._no_record(request)
        self._noted(request, f"record/{seq}")
        response = self._page(request, "check.html", record=record)
        response.headers.update(SCRIPTED)
        return response

    def evidence(self, request: Request, seq: int, form: str) -> Response:
        """Send one file of a record's evidence."""
        found = self._views.download(seq, form) if self._record(request, seq) else None
        if found is None:
            text = "No such record or file, or no checkpoint covers the record yet."
            return self._say(request, "No such evidence", text, 404)
        self._noted(request, f"record/{seq}")
        found.headers.update(HEADERS)
        return found

    def kill_form(self, request: Request) -> Response:
        """Show the kill form on a page of its own; needs no ledger."""
        return self._sheets.page(request, "kill.html", {}, here=KILL, plain=True)

    async def kill(
        self, request: Request, reason: Annotated[str, Form(max_length=500)] = ""
    ) -> Response:
        """Press the kill, on threads reserved for it."""
        press = self.or_say_so(self._press)
        return await in_kill_lane(partial(press, request=request, reason=reason))

    def _press(self, request: Request, reason: str) -> Response:
        caller = reader_of(request)
        return self._do(
            request, "Kill", lambda: self._actions.kill(caller, reason or "pressed on the page")
        )

    def _record(self, request: Request, seq: int) -> Record | None:
        found = self._views.record(seq) if 0 <= seq < 1 << 62 else None
        return found if found and shown_to(found, reader_of(request).role) else None

    def _no_record(self, request: Request) -> Response:
        text = "The ledger has no record with this number."
        return self._say(request, "No such record", text, 404)

    def _noted(self, request: Request, what: str) -> None:
        self._actions.note_read(reader_of(request), what)

    def _do(self, request: Request, heading: str, action: Callable[[], str]) -> Response:
        try:
            text = action()
        except (GatewayError, AuditError) as error:
            return self._say(request, f"{heading}: refused", str(error), 409)
        return self._say(request, heading, text, 200)

    def _page(self, request: Request, template: str, here: str = "", **values: object) -> Response:
        return self._sheets.page(request, template, values, here=here)


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
        *((("renewal", "Renewal", True),) if view.renewed else ()),
        ("order", "Order", bool(view.order)),
        ("chain", "Records", True),
    )
