"""The book and its orders: positions, daily statement, orders, what waits for an approver."""

import secrets
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import Query
from fastapi.responses import Response

from gateway.desk.holds.waiting import hold_list
from gateway.desk.intake.foreign import foreign_lines
from gateway.evidence.statement import COLUMNS
from gateway.surfaces.web.pages.page import AskedPage, Page, PageRead

SHOWN_MAX: Final = 200


def _positions(
    asked: AskedPage,
    run: Annotated[str, Query(max_length=200)] = "",
    account: Annotated[str, Query(max_length=200)] = "",
) -> PageRead:
    view = asked.views.positions(run, account)
    noted = "positions" if view is None else f"positions/{view.account}"
    return PageRead(values={"view": view}, noted=noted)


def _statement(
    asked: AskedPage,
    account: Annotated[str, Query(max_length=200)] = "",
    day: Annotated[str, Query(max_length=10)] = "",
    form: Annotated[str, Query(max_length=4)] = "",
) -> PageRead:
    """Return an account's statement of a day, as CSV where that is asked for."""
    names, made = asked.views.statement(account, day)
    values = {"accounts": names, "made": made, "columns": COLUMNS}
    if made is None:
        return PageRead(values=values, noted="statement")
    noted, file = f"statement/{made.run.account}/{made.day}", None
    if form == "csv":
        name = f"statement-{made.run.account}-{made.day}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        file = Response(made.to_csv(), media_type="text/csv", headers=headers)
    return PageRead(values=values, noted=noted, file=file)


def _orders(
    asked: AskedPage, state: Annotated[Literal["live", "all"], Query()] = "live"
) -> Mapping[str, object]:
    """Return the orders that may still trade, or the newest of all."""
    desk, caller, live = asked.desk, asked.caller, state == "live"
    return {
        "orders": desk.order_desk.listed(caller, live=live, limit=SHOWN_MAX),
        "foreign": foreign_lines(caller, desk.own.foreign, live=live, limit=SHOWN_MAX),
        "state": state,
        "shown_max": SHOWN_MAX,
        "once": secrets.token_hex,  # a key for each form
    }


def _approvals(asked: AskedPage) -> Mapping[str, object]:
    """Return the orders that wait for a person, and how those before them ended."""
    own = asked.desk.own
    return {"holds": hold_list(own.reader, own.orders, own.dispatching.wall_us)}


TRADING: Final = (
    Page(
        path="/positions",
        title="Positions",
        reader=_positions,
        template="positions.html",
        noted="positions/{account}",
        menu=True,
        fresh=True,
        looks=("/positions?account=agent",),
    ),
    Page(
        path="/statement",
        title="Statement",
        reader=_statement,
        template="statement.html",
        noted="statement/{account}/{day}",
        under="/positions",
    ),
    Page(
        path="/orders",
        title="Orders",
        reader=_orders,
        template="orders.html",
        noted="orders",
        menu=True,
        looks=("/orders?state=all",),
    ),
    Page(
        path="/approvals",
        title="Approvals",
        reader=_approvals,
        template="approvals.html",
        noted="approvals",
        menu=True,
        fresh=True,
    ),
)
