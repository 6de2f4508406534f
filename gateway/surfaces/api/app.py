"""The API as an application: every route, and the table from error code to HTTP status."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from audit.errors import AuditError
from gateway.desk.desk import Desk
from gateway.errors import (
    BusyError,
    GatewayError,
    OutOfScopeError,
    OverBudgetError,
    UndecidedError,
)
from gateway.evidence.answers.days import FlowDays, LiveFlow
from gateway.installation.keys.keyring import Keyring
from gateway.surfaces.access.refusals import Refusals
from gateway.surfaces.api import (
    decisions,
    events,
    health,
    intents,
    log,
    market,
    metrics,
    orders,
    privacy,
)
from gateway.surfaces.api.binder import acts_router
from gateway.surfaces.api.control import backfill, engine_adds, flow, kill, scores
from gateway.surfaces.following import Following
from gateway.surfaces.heads import HeadAsGet
from gateway.surfaces.limits import BodyLimit

FIELD_CHARS_MAX: Final = 80
# error code -> HTTP status; codes not listed are 500
STATUS: Final = {
    "not_ready": 503,
    "busy": 503,
    "request": 400,
    "unknown_decision": 404,
    "out_of_scope": 403,
    "over_budget": 429,
    "unknown_order": 404,
    "not_cancellable": 409,
    "not_replaceable": 409,
    "feed_refused": 409,
    "approval_refused": 409,
    "release_refused": 403,
    "stop_refused": 409,
    "override_refused": 409,
    "allocation_refused": 409,
    "review_refused": 409,
    "resolution_refused": 409,
    "adjustment_refused": 409,
    "lane_full": 503,
    "ledger_timeout": 503,
    "ledger_stopped": 503,
    "subject_retired": 503,
    "idempotency_conflict": 409,
    "erasure_refused": 409,
}


def build_api(desk: Desk, keyring: Keyring, refusals: Refusals | None = None) -> FastAPI:
    """Return the API over one desk; without `refusals` it counts refused callers by itself."""
    app = FastAPI(
        title="Countersign",
        summary="A governed execution gateway with an audit ledger.",
        version="0.1.0",
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(BodyLimit)
    app.add_middleware(HeadAsGet)
    app.state.desk = desk
    app.state.keyring = keyring
    app.state.following = Following(lambda: desk.own.reader)
    app.state.flow_days = FlowDays(lambda: desk.own.reader)
    app.state.flow = LiveFlow()  # the start lets it follow the ledger
    app.state.alarms = None  # the start sets it
    app.state.log = None  # the published log; the server sets it
    app.state.refusals = refusals or Refusals(desk.own.tools.ledger, desk.own.dispatching.wall_us)
    agents = (intents, orders, events, market, decisions)
    control = (backfill, kill)
    oversight = (flow, scores, engine_adds)
    resources = (*agents, *control, *oversight)
    app.include_router(acts_router())
    for module in (*resources, privacy, log, health, metrics):
        app.include_router(module.router)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(GatewayError, _refuse)
    app.add_exception_handler(AuditError, _refuse)
    return app


async def _malformed(_: Request, error: Exception) -> JSONResponse:
    """Answer what is wrong with a body; never repeat it: NaN or a megabyte must not come back."""
    faults = error.errors() if isinstance(error, RequestValidationError) else ()
    named = [
        {"field": _named(fault["loc"]), "message": _problem(fault)[:200]} for fault in faults[:20]
    ]
    return JSONResponse(
        {"code": "malformed", "message": "the body does not match the API", "faults": named},
        status_code=422,
    )


def _problem(fault: Mapping[str, Any]) -> str:
    """Return what is wrong; for invalid JSON also why, which repeats nothing of the body."""
    if fault["type"] == "json_invalid":
        return f"{fault['msg']}: {fault['ctx']['error']}"
    return str(fault["msg"])


def _named(place: tuple[object, ...]) -> str:
    """Return where a fault is, short and in ASCII: a field's name may be the caller's own text."""
    text = ".".join(str(part) for part in place)
    return text.encode("ascii", "backslashreplace").decode()[:FIELD_CHARS_MAX]


async def _refuse(_: Request, error: Exception) -> JSONResponse:
    code = getattr(error, "code", "internal")
    more = error.details() if isinstance(error, OutOfScopeError) else {}
    later = None
    if isinstance(error, BusyError | UndecidedError | OverBudgetError) and error.retry_after_s:
        later = {"Retry-After": str(error.retry_after_s)}
    return JSONResponse(
        {"code": code, "message": str(error), **more},
        status_code=STATUS.get(code, 500),
        headers=later,
    )
