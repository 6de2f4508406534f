"""Who may what, route by route: made of the application's own routes and of `roles.MAY`.

`docs/access.md` shows it (`make docs`); a test walks every route of a real site with it.

A new route: give it a door (`Depends(allowed(ACTION))` in the API, `SignedIn` or `Posted` for a
page). One that everybody may ask is named in `OPEN`, with the reason. Any GET behind a door is
named in `NOTED`, with what its reading is on record as. Then run `make docs`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from gateway.installation.keys.roles import MAY, Role
from gateway.surfaces.access.bearer import Allowed, Door
from gateway.surfaces.api.log import LogReader
from gateway.surfaces.web.doors import Posted, SignedIn

IN: Final = "in"
OPEN: Final[Mapping[tuple[str, str], str]] = {
    ("GET", "/healthz"): "says that the process lives",
    ("GET", "/readyz"): "states of the parts, for whoever supervises; no decision, no name",
    ("GET", "/openapi.json"): "how the API is asked; the same for every installation",
    ("HEAD", "/openapi.json"): "as GET",
    ("GET", "/static/{name}"): "style, mark and the verifier's script; the same everywhere",
    ("GET", "/sign-in"): "asks for the key, or takes a link that enters once",
    ("POST", "/sign-in"): "takes the key; a wrong one is answered late",
}
"""Route -> why everybody may."""

NOTED: Final[Mapping[tuple[str, str], str]] = {
    ("GET", "/"): "decisions",
    ("GET", "/decisions/{decision_id}"): "decision/ID",
    ("GET", "/positions"): "positions/ACCOUNT",
    ("GET", "/ledger"): "ledger",
    ("GET", "/records/{seq}"): "record/N",
    ("GET", "/records/{seq}/check"): "record/N",
    ("GET", "/records/{seq}/{form}"): "record/N",
    ("GET", "/kill"): "nothing is read: the form alone",
    ("GET", "/v1/decisions/{decision_id}"): "decision/ID",
    ("GET", "/v1/kill"): "kill",
    ("GET", "/v1/differences"): "differences",
    ("GET", "/log/checkpoint"): "log, once an hour",
    ("GET", "/log/{path:path}"): "log, once an hour",
}
"""Route -> what a read of it is on record as."""


class DoorlessError(Exception):
    """A route lets anybody in, or its reads are not said to be on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRow:
    """One route.

    Attributes:
        nobody: what who has no key gets; `in` or a status.
        roles: what each role gets with its own key or session.
        way: what the caller brings.
        noted: what a read is on record as; for open routes why they are open.
    """

    method: str
    path: str
    action: str
    way: str
    nobody: str
    roles: Mapping[Role, str]
    noted: str


def access_rows(app: FastAPI) -> tuple[AccessRow, ...]:
    """Return what everybody gets at each route.

    Raises:
        DoorlessError: a route is without a door, and not in `OPEN`; or it is read, and not in
            `NOTED`.
    """
    return tuple(row for route in app.routes for row in _rows(route))


def _rows(route: BaseRoute) -> Iterator[AccessRow]:
    if not isinstance(route, Route):
        raise DoorlessError(f"{route} is no plain route: its doors cannot be seen from here")
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
            " gateway/surfaces/route_table.py (OPEN) why everybody may; then `make docs`"
        )
    everybody = dict.fromkeys(Role, IN)
    return AccessRow(
        method=method,
        path=path,
        action="",
        way="nothing",
        nobody=IN,
        roles=everybody,
        noted=OPEN[method, path],
    )


def _guarded(method: str, path: str, door: Door) -> AccessRow:
    read = method in {"GET", "HEAD"}
    if read and ("GET", path) not in NOTED:
        raise DoorlessError(
            f"{method} {path} is read: say in gateway/surfaces/route_table.py (NOTED) what the"
            " read is on record as; then `make docs`"
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
"""Door -> what a caller brings, and what who brings nothing gets."""
