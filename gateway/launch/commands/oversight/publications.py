"""The verb publications: own acts, through the running gateway, with a person's own key."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from gateway.desk.officers.oversight.publications import end_statement
from gateway.errors import RequestError
from gateway.feeds.live.calendars import when
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 10.0
ROUTE: Final = "/v1/publications"


def list_publications(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print the acts on record, newest first; return 0."""
    state = StateFolder.of(settings)
    found: dict[str, Any] = get(state, ROUTE, Keyring(state.keys).token(name), WITHIN_S).granted()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    for one in found["publications"]:
        sys.stdout.write(f"{_line(one)}\n")
    if not found["publications"]:
        sys.stdout.write("no own publication is on record: countersign publications add\n")
    return 0


def add_publication(settings: Settings, name: str, body: dict[str, Any]) -> int:
    """Record an act and print its record; return 0."""
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)
    done: dict[str, Any] = post(state, ROUTE, json.dumps(body), token, WITHIN_S).granted()
    again = "was recorded before" if done["again"] else "is recorded"
    sys.stdout.write(f"{again}: {_line(done)}\n")
    return 0


def end_publication(
    settings: Settings, name: str, ref: str, reason: str, key_files: dict[str, Path | None]
) -> int:
    """End an act with both officers' keys; return 0.

    Raises:
        RequestError: no act of this name is on record, or the gateway refused.
        SettingsError: a key file holds no key.
    """
    state = StateFolder.of(settings)
    keyring = Keyring(state.keys)
    token = keyring.token(name)
    found: dict[str, Any] = get(state, ROUTE, token, WITHIN_S).granted()
    act = next((one for one in found["publications"] if one["ref"] == ref), None)
    if act is None:
        raise RequestError(problem=f"no act {ref} is on record: countersign publications list")
    signed = end_statement(str(found["log_id"]), act["seq"], act["leaf"], reason)
    signatures = {
        role: role_key(keyring, role, key_files.get(role)).sign(signed).hex()
        for role in SIGNING_ROLES
    }
    body = json.dumps({"reason": reason, "signatures": signatures})
    done: dict[str, Any] = post(state, f"{ROUTE}/{ref}/end", body, token, WITHIN_S).granted()
    sys.stdout.write(f"{ref} does not count any more: record {done['seq']}\n")
    return 0


def _line(one: dict[str, Any]) -> str:
    about = "every instrument" if one["instrument"] in {"", "*"} else one["instrument"]
    ended = f"; ended by record {one['ended_seq']}" if one.get("ended_seq") else ""
    return (
        f"record {one['seq']}: {one['ref']}, {about}, {when(one['published_us'])},"
        f" {one['medium']} by {one['author']}, {one['reference']}{ended}"
    )
