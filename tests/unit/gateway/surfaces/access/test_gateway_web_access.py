"""A route lets nobody in by mistake: each has a door, and what is read is said to be on record."""

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from starlette.routing import Mount, Route

from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import MAY, Role
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.log import LogReader
from gateway.surfaces.route_table import DoorlessError, access_rows
from gateway.surfaces.web.doors import Posted, SignedIn


def bare() -> FastAPI:
    return FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


def answer() -> str:
    return ""


def behind(caller: Annotated[Caller, Depends(allowed("kill"))]) -> str:
    return caller.name


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_route_without_a_door_is_refused(method: str) -> None:
    app = bare()
    app.add_api_route("/new", answer, methods=[method])
    with pytest.raises(DoorlessError, match=f"{method} /new has no door"):
        access_rows(app)


def test_an_open_route_is_open_for_its_method_only() -> None:
    app = bare()
    app.add_api_route("/healthz", answer, methods=["GET"])
    (row,) = access_rows(app)
    assert (row.nobody, row.way, set(row.roles.values())) == ("in", "nothing", {"in"})
    app.add_api_route("/healthz", answer, methods=["POST"])
    with pytest.raises(DoorlessError, match="POST /healthz has no door"):
        access_rows(app)


def test_what_is_read_behind_a_door_must_be_said_to_be_on_record() -> None:
    app = bare()
    app.add_api_route("/new", behind, methods=["GET"])
    with pytest.raises(DoorlessError, match="GET /new is a read"):
        access_rows(app)


def test_a_plain_route_or_a_mounted_application_is_looked_at_too() -> None:
    for route in (Route("/new", answer), Mount("/new", bare())):
        app = bare()
        app.router.routes.append(route)
        with pytest.raises(DoorlessError):
            access_rows(app)


@pytest.mark.parametrize(
    ("door", "path", "method", "way", "nobody"),
    [
        (allowed("kill"), "/v1/kill", "POST", "key", "401"),
        (LogReader("mirror"), "/log/checkpoint", "GET", "key", "401"),
        (SignedIn("watch"), "/ledger", "GET", "session or key", "303"),
        (Posted("approve"), "/decisions/x/approval", "POST", "session and its form", "403"),
    ],
)
def test_a_row_says_what_each_door_asks_for(
    door: object, path: str, method: str, way: str, nobody: str
) -> None:
    app = bare()
    app.add_api_route(path, answer, methods=[method], dependencies=[Depends(door)])  # type: ignore[arg-type]
    (row,) = access_rows(app)
    assert (row.way, row.nobody) == (way, nobody)
    assert {role for role in Role if row.roles[role] == "in"} == MAY[row.action]
    assert {row.roles[role] for role in Role if role not in MAY[row.action]} == {"403"}
    assert bool(row.noted) is (method == "GET")


def test_the_table_of_roles_gives_each_what_it_needs_and_no_more() -> None:
    assert {action: {role.value for role in roles} for action, roles in MAY.items()} == {
        "submit": {"agent", "operator"},
        "read": {"agent", "operator", "approver", "auditor"},
        "follow": {"agent", "operator", "approver", "auditor"},
        "watch": {"operator", "approver", "auditor"},
        "cancel": {"agent", "operator"},
        "approve": {"approver"},
        "kill": {"operator", "approver"},
        "stop": {"operator", "approver"},
        "hold": {"operator", "approver"},
        "resolve": {"operator"},
        "erase": {"operator"},
        "disclose": {"auditor"},
        "mirror": {"auditor"},
        "review": {"auditor"},
        "annotate": {"operator", "approver", "auditor"},
        "test": {"operator", "auditor"},
        "feed": {"feed"},
        "measure": {"monitor", "operator", "auditor"},
    }
