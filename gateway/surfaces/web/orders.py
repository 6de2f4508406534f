"""The blotter: orders as a page, each live one with forms that cancel or replace it; baskets.

Not here: what they do (`gateway.desk.controls.orders`), and the other pages (`pages`).
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, Protocol

from fastapi import Form, Query, Request
from fastapi.responses import Response

from audit.errors import AuditError
from gateway.desk.bodies.order_requests import OrderLine
from gateway.desk.intake.foreign import ForeignLine
from gateway.errors import GatewayError
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.web.doors import reader_of
from gateway.surfaces.web.sheets import Sheets
from gateway.surfaces.web.views.oversight.baskets import BasketView

ORDERS = "/orders"
SHOWN_MAX = 200


class OrderActions(Protocol):
    """What the blotter asks of the gateway. Refusals are `GatewayError` or `AuditError`."""

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""

    def orders(self, caller: Caller, *, live: bool, limit: int) -> Sequence[OrderLine]:
        """Return orders, newest first."""

    def foreign(self, caller: Caller, *, live: bool, limit: int) -> Sequence[ForeignLine]:
        """Return the orders that are not ours, the one heard of last first."""

    def cancel(self, caller: Caller, name: str, client_key: str, reason: str) -> str:
        """Cancel an order; return one line for the person."""

    def replace(self, caller: Caller, name: str, request: Mapping[str, str | int | None]) -> str:
        """Replace an order's quantity or limit; return one line for the person."""


class OrderPages:
    """The handlers of the blotter and of a basket's page."""

    def __init__(
        self, actions: OrderActions, sheets: Sheets, basket: Callable[[str], BasketView | None]
    ) -> None:
        self._actions = actions
        self._sheets = sheets
        self._basket = basket

    def basket(self, request: Request, basket_id: str) -> Response:
        """Show a basket with its legs."""
        found = self._basket(basket_id)
        if found is None:
            what = "The ledger has no basket with this id."
            return self._sheets.say(request, "No such basket", what, 404, back=ORDERS)
        self._actions.note_read(reader_of(request), f"basket/{basket_id}")
        return self._sheets.page(request, "basket.html", {"basket": found}, here="/")

    def blotter(
        self, request: Request, state: Annotated[Literal["live", "all"], Query()] = "live"
    ) -> Response:
        """Show the orders that may still trade, or the newest of all."""
        reader = reader_of(request)
        live = state == "live"
        found = self._actions.orders(reader, live=live, limit=SHOWN_MAX)
        foreign = self._actions.foreign(reader, live=live, limit=SHOWN_MAX)
        self._actions.note_read(reader, "orders")
        shown = {"orders": found, "foreign": foreign, "state": state, "shown_max": SHOWN_MAX}
        values = {**shown, "once": secrets.token_hex}  # a key for each form
        return self._sheets.page(request, "orders.html", values, here=ORDERS)

    def cancel(
        self,
        request: Request,
        name: str,
        client_key: Annotated[str, Form(max_length=64, pattern=r"^[A-Za-z0-9._-]{1,64}$")] = "",
        reason: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        """Cancel an order; the same form sent twice asks once."""
        say = self._sheets.say
        try:
            key, words = client_key or secrets.token_hex(8), reason or "asked for on the page"
            text = self._actions.cancel(reader_of(request), name, key, words)
        except (GatewayError, AuditError) as error:
            return say(request, "Cancel: refused", str(error), 409, back=ORDERS)
        return say(request, "Cancel", text, 200, back=ORDERS)

    def replace(
        self,
        request: Request,
        name: str,
        client_key: Annotated[str, Form(max_length=64, pattern=r"^[A-Za-z0-9._-]{1,64}$")] = "",
        qty_lots: Annotated[str, Form(max_length=12, pattern=r"^[0-9]*$")] = "",
        limit_price: Annotated[str, Form(max_length=24)] = "",
        reason: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        """Replace an order; the same form sent twice asks once."""
        say = self._sheets.say
        asked: dict[str, str | int | None] = {
            "client_key": client_key or secrets.token_hex(8),
            "qty_lots": int(qty_lots) if qty_lots else None,
            "limit_price": limit_price or None,
            "reason": reason or "asked for on the page",
        }
        try:
            text = self._actions.replace(reader_of(request), name, asked)
        except (GatewayError, AuditError) as error:
            return say(request, "Replace: refused", str(error), 409, back=ORDERS)
        return say(request, "Replace", text, 200, back=ORDERS)
