"""Every row of the table of acts says one thing, has one function, and leads to one route."""

from collections import Counter

import pytest
from fastapi.routing import APIRoute

from gateway.acts.act import Act
from gateway.acts.table import ACTS
from gateway.desk.bodies.model import RequestModel
from gateway.desk.performing import PERFORM
from gateway.installation.keys.roles import MAY
from gateway.surfaces.api.binder import acts_router

NAMES = [act.name for act in ACTS]


def test_each_act_of_the_table_has_one_function_and_each_function_one_act() -> None:
    assert sorted(NAMES) == sorted(PERFORM)
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []


@pytest.mark.parametrize("act", ACTS, ids=NAMES)
def test_a_row_names_an_action_and_a_strict_body(act: Act) -> None:
    assert act.action in MAY
    assert act.body is None or issubclass(act.body, RequestModel)
    assert set(act.ids) <= set(act.places)
    assert act.noted.format(**dict.fromkeys(act.places, "x")) or not act.is_read


def test_each_act_has_one_route_that_refuses_by_its_row() -> None:
    routes = [one for one in acts_router().routes if isinstance(one, APIRoute)]
    found = {(method, one.path): one for one in routes for method in one.methods}
    assert set(found) == {(act.method, act.path) for act in ACTS}
    assert len(routes) == len(ACTS)
    for act in ACTS:
        asked = found[act.method, act.path].dependant
        assert {one.name for one in asked.path_params} == set(act.places)
        assert [one.name for one in asked.body_params] == ([] if act.is_read else ["body"])


@pytest.mark.parametrize(("body", "noted"), [(None, ""), (RequestModel, "cases")])
def test_a_read_says_what_it_is_recorded_as_and_nothing_else_does(
    body: type[RequestModel] | None, noted: str
) -> None:
    with pytest.raises(ValueError, match="noted"):
        Act(
            name="a.b",
            summary="",
            says="",
            action="watch",
            path="/v1/a",
            body=body,
            noted=noted,
            left_out="no one asks it",
        )
