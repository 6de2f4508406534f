"""The verb annotate: put a person's words about a decision on record, with the person's own key."""

import json
import secrets
import sys
from typing import Any, Final

from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 10.0
_KEY_BYTES: Final = 12


def annotate(settings: Settings, name: str, decision_id: str, said: dict[str, Any]) -> int:
    """Record an annotation; return 0.

    Raises:
        RequestError: there is no such decision, or the gateway refused.
    """
    state = StateFolder.of(settings)
    body = json.dumps({**said, "client_key": secrets.token_hex(_KEY_BYTES)})
    token = Keyring(state.keys).token(name)
    done = post(state, _route(decision_id), body, token, WITHIN_S).granted()
    sys.stdout.write(f"{said['sort']} on {decision_id} is on record as {done['seq']}\n")
    return 0


def list_annotations(settings: Settings, name: str, decision_id: str, *, as_json: bool) -> int:
    """Print what persons remarked about a decision, oldest first; return 0."""
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)
    found = get(state, _route(decision_id), token, WITHIN_S).granted()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    for one in found["annotations"]:
        instead = f", instead: {one['instead']}" if one["instead"] else ""
        sys.stdout.write(
            f"record {one['seq']}  {one['role']}:{one['actor_name']}  {one['sort']}{instead}:"
            f" {one['text']}\n"
        )
    if not found["annotations"]:
        sys.stdout.write(f"nobody has annotated {decision_id}\n")
    return 0


def _route(decision_id: str) -> str:
    return f"/v1/decisions/{decision_id}/annotations"
