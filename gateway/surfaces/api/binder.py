"""The acts of the table as routes: one loop, no route by hand.

The body and the ids are read and refused by the row's types, the caller by its action; a read goes
on record before it is answered.
"""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request

from gateway.acts.act import Act
from gateway.acts.table import ACTS
from gateway.desk.desk import Desk
from gateway.desk.performing import PERFORM, AskedAct
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

ANSWER: Final = dict[str, Any]


def acts_router() -> APIRouter:
    """Return the routes of every act of the table."""
    router = APIRouter(route_class=StrictRoute)
    for act in ACTS:
        router.add_api_route(
            act.path,
            _endpoint(act),
            methods=[act.method],
            summary=act.summary,
            description=act.says,
            tags=[act.group],
        )
    return router


def _endpoint(act: Act) -> Callable[..., dict[str, Any]]:
    """Return a function whose signature says what the act needs; FastAPI reads it."""

    def asked_for(request: Request, caller: Caller, **said: Any) -> dict[str, Any]:  # noqa: ANN401 - of the row's types
        desk: Desk = request.app.state.desk
        ids = {place: said[place] for place in act.places}
        done = PERFORM[act.name](AskedAct(desk=desk, caller=caller, ids=ids, body=said.get("body")))
        if act.is_read:
            desk.reads.note(caller, act.noted.format(**ids))
        return done

    needed: dict[str, Any] = {place: act.ids.get(place, str) for place in act.places}
    if act.body is not None:
        needed["body"] = act.body
    needed |= {"request": Request, "caller": Annotated[Caller, Depends(allowed(act.action))]}
    asked_for.__name__ = act.name.replace(".", "_")
    asked_for.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.KEYWORD_ONLY, annotation=of) for name, of in needed.items()],
        return_annotation=ANSWER,
    )
    return asked_for
