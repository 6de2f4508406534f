"""No agent reads, cancels or replaces what another agent asked for (repro sec_desk d1)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gateway.desk.agents.baskets import submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import author_in, decision_id_of
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.surfaces.access.refusals import Refusals
from gateway.surfaces.api.app import build_api
from gateway.surfaces.route_table import AccessRow, access_rows
from tests.doubles.memory_desk import MemoryDesk, memory_desk

SECRET = "secret plan of the other agent"
OTHER = "desk-1"
READERS = ("desk", "desk-12", "beta")
"""A name that the other's begins with, one that begins with the other's, and another."""
BODIES: dict[str, dict[str, Any]] = {
    "/v1/decisions/{decision_id}/remarks": {"client_key": "m-1", "text": "mine"},
    "/v1/orders/{name}/cancel": {"client_key": "c-1"},
    "/v1/orders/{name}/replace": {"client_key": "r-1", "qty_lots": 1},
}


class World:
    """A desk where the other agent has a basket of two orders and a held order."""

    def __init__(self, folder: Path) -> None:
        self.desk: MemoryDesk = memory_desk(folder)
        small = self.desk.small
        for name in (OTHER, *READERS):
            small.keyring.issue(name, Role.AGENT)
        legs = [self.intent(name, instrument=name) for name in ("SPXN", "NDXN")]
        self.other = Caller(name=OTHER, role=Role.AGENT)
        whole = BasketRequest(client_key="whole", legs=legs)
        self.basket = submit_basket(small.desk, self.other, whole)
        assert self.basket.result == "approved"
        held = self.intent("held", target_exposure_bp=2_800, max_qty_lots=1_000)
        assert small.desk.submit(self.other, held).result == "held"
        own = small.desk.own
        refusals = Refusals(own.tools.ledger, self.desk.wall)
        self.api = TestClient(build_api(small.desk, small.keyring, refusals))

    @staticmethod
    def intent(key: str, **changes: Any) -> IntentRequest:  # noqa: ANN401 - any field
        fields = {"client_key": key, "instrument": "SPXN", "target_exposure_bp": 1_000}
        return IntentRequest(**{**fields, "max_qty_lots": 20, "reason": SECRET, **changes})

    def names(self) -> Iterator[dict[str, str]]:
        """Yield what the path of a route may name of the other's."""
        for leg in self.basket.legs:
            order = self.desk.standing(leg.decision_id)
            for name in (leg.decision_id, order.cl_ord_id):
                yield {"decision_id": name, "basket_id": self.basket.basket_id, "name": name}
        held = decision_id_of(OTHER, "held")
        yield {"decision_id": held, "basket_id": self.basket.basket_id, "name": held}

    def ask(self, row: AccessRow, path: str, reader: str) -> tuple[int, str]:
        """Return status and text of one answer."""
        key = {"Authorization": f"Bearer {self.desk.small.keyring.token(reader)}"}
        asked: dict[str, Any] = {"headers": key}
        if row.path == "/v1/events":
            asked["params"] = {"after": 0, "wait_s": 0}
        elif row.path == "/v1/orders":
            asked["params"] = {"state": "all"}
        if row.method == "POST":
            asked["json"] = BODIES[row.path]
        answer = self.api.request(row.method, path, **asked)
        return answer.status_code, answer.text


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("apart"))


def agents_routes(world: World) -> list[AccessRow]:
    """Return every route that lets an agent's key in and may tell of a decision."""
    own = {"/v1/intents", "/v1/baskets"}  # their path names nothing; the caller's name is in the id
    return [
        row
        for row in access_rows(world.api.app)  # type: ignore[arg-type]
        if row.roles[Role.AGENT] == "in"
        and row.action
        and (row.method, row.path) not in {("POST", path) for path in own}
    ]


@pytest.mark.parametrize("reader", READERS)
def test_no_route_tells_an_agent_of_anothers_decisions(world: World, reader: str) -> None:
    rows = agents_routes(world)
    assert {"/v1/decisions/{decision_id}", "/v1/baskets/{basket_id}", "/v1/orders/{name}"} <= {
        row.path for row in rows
    }
    orders = len(world.desk.small.broker.orders)
    for row in rows:
        for named in world.names():
            status, text = world.ask(row, row.path.format(**named), reader)
            found = [word for word in (SECRET, OTHER + "-", f'"{OTHER}"') if word in text]
            if "{" in row.path:
                assert status == 404, (row.method, row.path, named, text)
                text = text.replace(named["basket_id"], "").replace(named["name"], "")
                found = [word for word in found if word in text]
            assert (status, found) == (status, []), (row.method, row.path, status, text)
    assert len(world.desk.small.broker.orders) == orders, "nothing of the other's was touched"


def test_the_author_and_persons_see_them(world: World) -> None:
    for row in agents_routes(world):
        if row.method != "GET" or "{" not in row.path:
            continue
        named = next(world.names())
        for reader in (OTHER, "operator", "auditor"):
            status, text = world.ask(row, row.path.format(**named), reader)
            assert status == 200, (row.path, reader, text)
            assert OTHER in text


@pytest.mark.parametrize("role", list(Role))
def test_only_those_who_may_see_every_page_see_what_others_asked_for(role: Role) -> None:
    caller = Caller(name="desk", role=role)
    watches = role in {Role.OPERATOR, Role.APPROVER, Role.AUDITOR}
    assert [caller.sees(name) for name in ("desk", "desk-1", "des", "")] == [True, *[watches] * 3]


def test_a_decision_id_names_its_author_and_no_prefix_of_the_name() -> None:
    assert author_in(decision_id_of("desk-1", "a")) == "desk-1"
    assert author_in(decision_id_of("desk", "1-a")) == "desk"
    for other in ("run-pages-00001", "desk-1", "", decision_id_of("desk", "a") + "-1"):
        assert not author_in(other)
