"""The verb justify: the registry of justifications, through the running gateway."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from gateway.desk.bodies.fairness import JustificationBody
from gateway.desk.officers.oversight.justifications import justification_statement, terms_of
from gateway.errors import RequestError
from gateway.feeds.live.calendars import when
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 10.0
ROUTE: Final = "/v1/fairness/justifications"


def list_justifications(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print the entries on record, newest first; return 0."""
    state = StateFolder.of(settings)
    found: dict[str, Any] = get(state, ROUTE, Keyring(state.keys).token(name), WITHIN_S).granted()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    for one in found["justifications"]:
        sys.stdout.write(f"{_line(one)}, {'in force' if one['in_force'] else 'not in force'}\n")
    if not found["justifications"]:
        sys.stdout.write("no justification is registered: countersign justify add FILE\n")
    return 0


def add_justification(
    settings: Settings, name: str, file: Path, key_files: Mapping[str, Path | None]
) -> int:
    """Sign the entry in a JSON file with both roles' keys and register it; return 0.

    Raises:
        RequestError: the file is no entry, or the gateway refused it.
        SettingsError: a key file holds no key.
    """
    body = _read(file)
    state = StateFolder.of(settings)
    keyring = Keyring(state.keys)
    token = keyring.token(name)
    found: dict[str, Any] = get(state, ROUTE, token, WITHIN_S).granted()
    signed = justification_statement(str(found["log_id"]), terms_of(name, body))
    signatures = {
        role: role_key(keyring, role, key_files.get(role)).sign(signed).hex()
        for role in SIGNING_ROLES
    }
    body = body.model_copy(update={"signatures": signatures})
    sent = json.dumps(body.model_dump(mode="json"))
    done: dict[str, Any] = post(state, ROUTE, sent, token, WITHIN_S).granted()
    again = "was registered before" if done["again"] else "is registered"
    sys.stdout.write(f"{again}: {_line(done)}\n")
    return 0


def _read(file: Path) -> JustificationBody:
    try:
        return JustificationBody.model_validate_json(file.read_bytes())
    except OSError as error:
        raise RequestError(problem=f"{file}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RequestError(problem=f"{file}: {where}: {first['msg']}") from None


def _line(one: dict[str, Any]) -> str:
    return (
        f"record {one['seq']}: {one['ref']}, {one['attribute']} by {one['mechanism']},"
        f" {one['asset_class']} {one['side'] or 'both sides'}, at most {one['bound_bp']} bp, from"
        f" {when(one['valid_from_us'])} to {when(one['valid_to_us'])}"
    )
