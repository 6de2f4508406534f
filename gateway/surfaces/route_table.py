"""Who may do what, route by route, from the application's own routes and `roles.MAY`.

`make docs` writes it to `docs/access.md`; a test asks every route of a real site.

A new route needs a door (`Depends(allowed(ACTION))` in the API, `SignedIn` or `Posted` for a
page), or an entry in `OPEN` with the reason why everybody may use it. A GET behind a door also
needs an entry in `NOTED`: what a read is recorded as; an act and a page say it in their rows. Then
run `make docs`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from gateway.acts.table import ACTS
from gateway.installation.keys.roles import MAY, Role
from gateway.surfaces.access.bearer import Allowed, Door
from gateway.surfaces.api.log import LogReader
from gateway.surfaces.web.doors import Posted, SignedIn
from gateway.surfaces.web.pages.table import PAGES

IN: Final = "in"
OPEN: Final[Mapping[tuple[str, str], str]] = {
    ("GET", "/healthz"): "says that the process lives",
    (
        "GET",
        "/readyz",
    ): "mode, account, states of the parts, for monitoring; no decision, no person",
    ("GET", "/openapi.json"): "describes the API; the same for every installation",
    ("HEAD", "/openapi.json"): "as GET",
    ("GET", "/static/{name}"): "style, logo and the verifier's script; the same everywhere",
    ("GET", "/sign-in"): "asks for a key, or accepts a one-time link",
    ("POST", "/sign-in"): "accepts a key; a wrong one is answered late",
}
"""Route -> why everybody may use it."""

NOTED: Final[Mapping[tuple[str, str], str]] = {
    ("GET", "/live"): "nothing is read: says only that something happened",
    ("GET", "/v1/approvals"): "approvals",
    ("GET", "/v1/decisions/{decision_id}"): "decision/ID",
    ("GET", "/v1/decisions/{decision_id}/sheet"): "sheet/ID",
    ("GET", "/v1/baskets/{basket_id}"): "basket/ID",
    ("GET", "/v1/orders"): "orders",
    ("GET", "/v1/orders/foreign"): "orders",
    ("GET", "/v1/orders/{name}"): "order/CLORDID",
    ("GET", "/v1/kill"): "kill",
    ("GET", "/metrics"): "nothing is read: figures only",
    ("GET", "/v1/events"): "events, once an hour",
    ("GET", "/v1/flow"): "flow",
    ("GET", "/v1/scores"): "scores",
    ("GET", "/v1/engine-adds"): "engine adds",
    ("GET", "/log/checkpoint"): "log, once an hour",
    ("GET", "/log/{path:path}"): "log, once an hour",
    **{("GET", page.path): page.noted_for for page in PAGES},
    **{(act.method, act.path): act.noted_for for act in ACTS if act.is_read},
}
"""Route -> what a read of it is recorded as."""


class DoorlessError(Exception):
    """A route lets anybody in, or nothing says what its reads are recorded as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRow:
    """One route.

    Attributes:
        nobody: the answer to a caller without a key: `in` or a status.
        roles: the answer to each role with its own key or session.
        way: what the caller must send.
        noted: what a read is recorded as; for open routes, why they are open.
    """

    method: str
    path: str
    action: str
    way: str
    nobody: str
    roles: Mapping[Role, str]
    noted: str


def access_rows(app: FastAPI) -> tuple[AccessRow, ...]:
    """Return the table of every route.

    Raises:
        DoorlessError: when a route has no door and is not in `OPEN`, or answers GET behind a door
            and is not in `NOTED`.
    """
    return tuple(row for route in app.routes for row in _rows(route))


def _rows(route: BaseRoute) -> Iterator[AccessRow]:
    if not isinstance(route, Route):
        raise DoorlessError(f"{route} is not a plain route, so its doors cannot be checked")
    door = next(_doors(route.dependant), None) if isinstance(route, APIRoute) else None
    for method in sorted(route.methods or ()):
        yield _open(method, route.path) if door is None else _guarded(method, route.path, door)


def _doors(dependant: Dependant) -> Iterator[Door]:
    for inner in dependant.dependencies:
        if isinstance(inner.call, Door):
            yield inner.call
        yield from _doors(inner)


def _open(method: str, path: str) -> AccessRow:
    if (method, path) not in OPEN:
        raise DoorlessError(
            f"{method} {path} has no door: give it Depends(allowed(ACTION)), or say in"
            " gateway/surfaces/route_table.py (OPEN) why everybody may use it; then `make docs`"
        )
    return AccessRow(
        method=method,
        path=path,
        action="",
        way="nothing",
        nobody=IN,
        roles=dict.fromkeys(Role, IN),
        noted=OPEN[method, path],
    )


def _guarded(method: str, path: str, door: Door) -> AccessRow:
    read = method in {"GET", "HEAD"}
    if read and ("GET", path) not in NOTED:
        raise DoorlessError(
            f"{method} {path} is a read: say in gateway/surfaces/route_table.py (NOTED) what it"
            " is recorded as; then `make docs`"
        )
    way, nobody = next(_WAYS[kind] for kind in _WAYS if isinstance(door, kind))
    return AccessRow(
        method=method,
        path=path,
        action=door.action,
        way=way,
        nobody=nobody,
        roles={role: IN if role in MAY[door.action] else "403" for role in Role},
        noted=NOTED["GET", path] if read else "",
    )


_WAYS: Final[Mapping[type[Door], tuple[str, str]]] = {
    Allowed: ("key", "401"),
    LogReader: ("key", "401"),
    SignedIn: ("session or key", "303"),
    Posted: ("session and its form", "403"),
}
"""Door -> what a caller must send, and the answer to one who sends nothing."""
