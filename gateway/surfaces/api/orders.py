"""Orders, one order, its cancel and its replace, for agents and people.

Not here: what they do (`gateway.desk.controls.orders`, `gateway.desk.controls.replacing`).
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request

from gateway.desk.bodies.order_requests import (
    CancelRequest,
    CancelResponse,
    OrderLine,
    OrderList,
    ReplaceRequest,
    ReplaceResponse,
)
from gateway.desk.controls.orders import LISTED_MAX
from gateway.desk.desk import Desk
from gateway.desk.intake.foreign import ForeignList, foreign_lines
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/orders", tags=["orders"], route_class=StrictRoute)


@router.get("", summary="Orders: an agent's own, everybody's for people")
def listed(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("read"))],
    state: Annotated[Literal["live", "all"], Query()] = "live",
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = LISTED_MAX,
) -> OrderList:
    """Return the orders that may still trade, or all, newest first."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "orders")
    return OrderList(orders=desk.order_desk.listed(caller, live=state == "live", limit=limit))


@router.get("/foreign", summary="Orders at the broker that are not ours")
def foreign(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("read"))],
    state: Annotated[Literal["live", "all"], Query()] = "live",
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = LISTED_MAX,
) -> ForeignList:
    """Return the orders that others entered on our session or account; an agent sees none."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "orders")
    found = foreign_lines(caller, desk.own.foreign, live=state == "live", limit=limit)
    return ForeignList(orders=found)


@router.get("/{name}", summary="One order")
def read(
    name: str, request: Request, caller: Annotated[Caller, Depends(allowed("read"))]
) -> OrderLine:
    """Return an order by its ClOrdID or its decision's id, with the requests to cancel it."""
    desk: Desk = request.app.state.desk
    found = desk.order_desk.order(caller, name)
    desk.reads.note(caller, f"order/{found.cl_ord_id}")
    return found


@router.post("/{name}/cancel", summary="Cancel one order")
def cancel(
    name: str,
    body: CancelRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("cancel"))],
) -> CancelResponse:
    """Record the request, then cancel the order; also while a kill is in force.

    The answer says what is known so far; GET the order to see what the broker made of it.
    """
    desk: Desk = request.app.state.desk
    return desk.order_desk.cancel(caller, name, body)


@router.post("/{name}/replace", summary="Replace one order's quantity or limit")
def replace(
    name: str,
    body: ReplaceRequest,
    request: Request,
    caller: Annotated[Caller, Depends(allowed("cancel"))],
) -> ReplaceResponse:
    """Record and judge the request, then replace the order; refused while a kill is in force.

    The answer says what is known so far; GET the order to see what the broker made of it.
    """
    desk: Desk = request.app.state.desk
    return desk.order_desk.replace(caller, name, body)
