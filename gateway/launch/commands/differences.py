"""List and resolve differences, through the running gateway."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import resolution_statement
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 5.0
_ODD: Final = (
    "no whole lots, so nothing books them; both officers sign --right book with where they are"
)
_BOOKED: Final = {
    "FEE_OPEN": "a fee is missing: book it with countersign adjust fee, then --right book",
    "PRICE_BEYOND_LIMIT": "booked beyond the limit: ask the broker, then --right book",
    "OVERFILLED": "booked beyond the order: ask the broker, then --right book",
}
"""What to do about a booked trade, whose lots agree."""


def list_differences(settings: Settings) -> int:
    """Print the open differences; return 1 if there are any, 0 otherwise."""
    found = _listed(StateFolder.of(settings))
    for one in found["open"]:
        sides = f"book {one['book_lots']}, broker {one['broker_lots']}"
        if odd := one.get("odd_units"):
            sides += f" and {odd} units: {_ODD}"
        elif said := _BOOKED.get(one["reason"]):
            sides += f"; {said}"
        elif one.get("lots") == 0:
            sides += "; they agree by now: --right broker closes it and changes nothing"
        if one.get("resent"):
            sides += "; the broker's word was sent again (43=Y): it may be old, ask for its total"
        about = f"{one['instrument'] or '-'} {one['account'] or '-'} {one['cl_ord_id'] or '-'}"
        sys.stdout.write(f"{one['seq']:>8} {one['reason']:22} {about}: {sides}\n")
    if not found["open"]:
        sys.stdout.write("the book agrees with the broker's reports\n")
    return 1 if found["open"] else 0


def resolve_difference(
    settings: Settings, seq: int, request: ResolveRequest, key_files: dict[str, Path | None]
) -> int:
    """Resolve a difference; sign with both roles' keys if it changes a book or ends an order.

    Raises:
        RequestError: the difference is not open, or the gateway refused.
        SettingsError: a key file holds no key.
    """
    state = StateFolder.of(settings)
    found = _listed(state)
    one = next((one for one in found["open"] if one["seq"] == seq), None)
    if one is None:
        raise RequestError(problem=f"no difference {seq} is open: countersign differences")
    leaf = str(one["leaf"])
    keyring = Keyring(state.keys)
    if request.right == "broker" and "lots" not in request.model_fields_set:
        request = request.model_copy(update={"lots": one.get("lots") or 0})
    if request.right == "broker" or request.ends or one.get("odd_units"):
        signed = resolution_statement(str(found["log_id"]), seq, leaf, request)
        signatures = {
            role: role_key(keyring, role, key_files.get(role)).sign(signed).hex()
            for role in SIGNING_ROLES
        }
        request = request.model_copy(update={"signatures": signatures})
    body = json.dumps(request.model_dump(mode="json"))
    token = keyring.token("operator")
    post(state, f"/v1/differences/{seq}/resolve", body, token, WITHIN_S).granted()
    by = f", the book adjusted by {request.lots} lots" if request.right == "broker" else ""
    sys.stdout.write(f"difference {seq} is resolved: the {request.right} is right{by}\n")
    return 0


def request_of(given: Mapping[str, str | int | list[str]]) -> ResolveRequest:
    """Return the request from command-line options.

    Raises:
        RequestError: an option is malformed.
    """
    try:
        return ResolveRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(problem=f"--{first['loc'][0]}: {first['msg']}") from None


def _listed(state: StateFolder) -> dict[str, Any]:
    token = Keyring(state.keys).token("operator")
    return get(state, "/v1/differences", token, WITHIN_S).granted()
