"""List orders, cancel and replace one, submit a basket, through the running gateway."""

import json
import secrets
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pydantic import ValidationError

from gateway.desk.bodies.basket_requests import BasketRequest
from gateway.desk.bodies.order_requests import CancelRequest, ReplaceRequest
from gateway.desk.bodies.requests import IntentRequest
from gateway.errors import RequestError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 10.0
BASKET_WITHIN_S: Final = 120.0
"""Each leg has a forecast of its own."""
_SAID: Final = {
    "requested": "is on record; whether it left is not known yet",
    "sent": "has left for the broker",
    "confirmed": "is confirmed: the order is cancelled",
    "rejected": "was refused by the broker: the order goes on",
    "not_sent": "did not leave and never will: ask again",
    "too_late": "came too late",
    "replaced": "is confirmed: the order has its new terms",
    "not_received": "never reached the broker: the order goes on as it was",
}


def list_orders(settings: Settings, *, all_of_them: bool, as_json: bool) -> int:
    """Print the orders, newest first; return 0."""
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token("operator")
    path = f"/v1/orders?state={'all' if all_of_them else 'live'}"
    found = get(state, path, token, WITHIN_S).granted()
    foreign = get(state, path.replace("?", "/foreign?"), token, WITHIN_S).granted()["orders"]
    if as_json:
        sys.stdout.write(json.dumps({**found, "foreign": foreign}, indent=1) + "\n")
        return 0
    for one in found["orders"]:
        sys.stdout.write(_line(one) + "\n")
    for one in foreign:
        sys.stdout.write(_foreign_line(one) + "\n")
    if not found["orders"]:
        sys.stdout.write("no orders\n" if all_of_them else "no live orders\n")
    return 0


def cancel_order(settings: Settings, name: str, reason: str, client_key: str) -> int:
    """Cancel an order by its ClOrdID or decision; return 1 if the request did not leave.

    Raises:
        RequestError: no such order, or nothing of it is left.
    """
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token("operator")
    key = client_key or f"cli-{secrets.token_hex(8)}"
    body = CancelRequest(client_key=key, reason=reason).model_dump_json()
    path = f"/v1/orders/{quote(name, safe='')}/cancel"
    done = post(state, path, body, token, WITHIN_S).granted()
    why = f" ({done['reason']})" if done["reason"] else ""
    sys.stdout.write(f"the cancel {_SAID[done['result']]}{why}\n{_line(done['order'])}\n")
    return 1 if done["result"] == "not_sent" else 0


def _foreign_line(one: dict[str, Any]) -> str:
    at = f" @ {one['price']}" if one["price"] else ""
    return (
        f"not ours: {one['name']} {one['state']:15} {one['side']} {one['quantity']}"
        f" {one['instrument']}{at}: {one['filled']} filled; ClOrdID {one['cl_ord_id'] or '-'}"
    )


def replace_request(
    lots: int | None, limit: str | None, reason: str, client_key: str
) -> ReplaceRequest:
    """Return the request of these options.

    Raises:
        RequestError: they are none.
    """
    key = client_key or f"cli-{secrets.token_hex(8)}"
    try:
        return ReplaceRequest(client_key=key, qty_lots=lots, limit_price=limit, reason=reason)
    except ValidationError as error:
        raise RequestError(problem=error.errors()[0]["msg"]) from None


def replace_order(settings: Settings, name: str, request: ReplaceRequest) -> int:
    """Replace an order by its ClOrdID or decision; return 1 if the request did not leave.

    Raises:
        RequestError: no such order, or something keeps it as it is.
    """
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token("operator")
    path = f"/v1/orders/{quote(name, safe='')}/replace"
    done = post(state, path, request.model_dump_json(), token, WITHIN_S).granted()
    why = f" ({done['reason']})" if done["reason"] else ""
    sys.stdout.write(f"the replace {_SAID[done['result']]}{why}\n{_line(done['order'])}\n")
    return 1 if done["result"] == "not_sent" else 0


def submit_file(settings: Settings, file: Path, name: str, *, as_json: bool) -> int:
    """Submit the basket of a file by an agent's key; return 1 unless every order left.

    Raises:
        RequestError: the file holds no basket, or the gateway refuses it.
    """
    try:
        request = BasketRequest.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RequestError(problem=f"{file.name} {where}: {first['msg']}") from None
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)
    body = request.model_dump_json()
    done = post(state, "/v1/baskets", body, token, BASKET_WITHIN_S).granted()
    if as_json:
        sys.stdout.write(json.dumps(done, indent=1) + "\n")
    else:
        why = f" ({done['reason']})" if done["reason"] else ""
        sys.stdout.write(f"basket {done['basket_id']}: {done['result']}{why}\n")
        sys.stdout.writelines(map(_leg_line, request.legs, done["legs"]))
    return 0 if done["result"] in {"approved", "no_trade"} else 1


def _leg_line(asked: IntentRequest, one: dict[str, Any]) -> str:
    answer = one["answer"] or {}
    why = f" ({answer['reason']})" if answer.get("reason") else ""
    return f"  {asked.instrument:8} {one['result']}{why}; {one['decision_id']}\n"


def _line(one: dict[str, Any]) -> str:
    filled = f"{one['filled_lots']}/{one['qty_lots']} lots"
    at = f" at {one['average_price']}" if one["average_price"] else ""
    age = "" if one["age_s"] is None else f", {one['age_s']} s old"
    asked = f", cancel {one['cancels'][-1]['state']}" if one["cancels"] else ""
    asked += f", replace {one['replaces'][-1]['state']}" if one["replaces"] else ""
    return (
        f"{one['cl_ord_id']} {one['state']:15} {one['side']} {one['quantity']} {one['instrument']}"
        f" @ {one['limit_price']}: {filled}{at}{age}{asked}; {one['author']}, {one['decision_id']}"
    )
