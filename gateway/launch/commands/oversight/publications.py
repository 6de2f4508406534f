"""The verb publications: own acts, through the running gateway, with a person's own key."""

import json
import sys
from typing import Any, Final

from gateway.feeds.live.calendars import when
from gateway.installation.keys.keyring import Keyring
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


def _line(one: dict[str, Any]) -> str:
    return (
        f"record {one['seq']}: {one['ref']}, {one['instrument'] or 'every instrument'},"
        f" {when(one['published_us'])}, {one['medium']} by {one['author']}, {one['reference']}"
    )
