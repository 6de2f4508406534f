"""The verbs about differences: list and resolve, through the gateway that runs."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ValidationError

from gateway.desk.requests import ResolveRequest
from gateway.desk.resolution import resolution_statement
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, read_signing_key
from gateway.installation.local_client import DoorAnswer, get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 5.0


def list_differences(settings: Settings) -> int:
    """Print what is open; 0 if nothing is, 1 if something waits for a person."""
    found = _listed(StateFolder.of(settings))
    for one in found["open"]:
        sides = f"book {one['book_lots']}, broker {one['broker_lots']}"
        if one.get("lots") == 0:
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
    """Resolve a difference, signed with both roles' keys where it changes a book.

    Raises:
        RequestError: nothing of that number is open, or the gateway refused.
        SettingsError: a key file holds no key.
    """
    state = StateFolder.of(settings)
    found = _listed(state)
    one = next((one for one in found["open"] if one["seq"] == seq), None)
    if one is None:
        raise RequestError(problem=f"no difference {seq} is open: countersign differences")
    leaf = str(one["leaf"])
    if request.right == "broker" and "lots" not in request.model_fields_set:
        request = request.model_copy(update={"lots": one.get("lots") or 0})
    if request.right == "broker" or request.ends:
        signed = resolution_statement(str(found["log_id"]), seq, leaf, request)
        signatures = {
            role: _key(state, role, key_files.get(role)).sign(signed).hex()
            for role in SIGNING_ROLES
        }
        request = request.model_copy(update={"signatures": signatures})
    body = json.dumps(request.model_dump(mode="json"))
    token = Keyring(state.keys).token("operator")
    _told(post(state, f"/v1/differences/{seq}/resolve", body, token, WITHIN_S))
    by = f", the book adjusted by {request.lots} lots" if request.right == "broker" else ""
    sys.stdout.write(f"difference {seq} is resolved: the {request.right} is right{by}\n")
    return 0


def request_of(given: Mapping[str, str | int]) -> ResolveRequest:
    """Return the request that these options make.

    Raises:
        RequestError: one of them is not as it must be; says which.
    """
    try:
        return ResolveRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(problem=f"--{first['loc'][0]}: {first['msg']}") from None


def _key(state: StateFolder, role: str, path: Path | None) -> Ed25519PrivateKey:
    if path is None:
        return Keyring(state.keys).signing_key(role)
    return read_signing_key(path, f"--{role}-key")


def _listed(state: StateFolder) -> dict[str, Any]:
    token = Keyring(state.keys).token("operator")
    return _told(get(state, "/v1/differences", token, WITHIN_S))


def _told(answer: DoorAnswer) -> dict[str, Any]:
    if answer.refused:
        raise RequestError(problem=answer.refused)
    return answer.document
