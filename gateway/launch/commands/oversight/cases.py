"""The verb cases: cases about conduct, through the running gateway, with a reviewer's key."""

import json
import secrets
import sys
from typing import Any, Final

from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 10.0
ROUTE: Final = "/v1/cases"


def list_cases(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print the cases on record, newest first; return 0."""
    state = StateFolder.of(settings)
    found = get(state, ROUTE, Keyring(state.keys).token(name), WITHIN_S).granted()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    for one in found["cases"]:
        agents = ", ".join(one["agents"])
        sys.stdout.write(
            f"{one['case_id']}  {one['state']:10} {one['indicator']:18} {one['instrument']}"
            f"  {len(one['evidence'])} records  {agents}\n"
        )
    if not found["cases"]:
        sys.stdout.write("no records match an indicator\n")
    return 0


def show_case(settings: Settings, name: str, case_id: str, *, as_json: bool) -> int:
    """Print one case with the draft of a report; return 0."""
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)
    found = get(state, f"{ROUTE}/{case_id}", token, WITHIN_S).granted()
    said = json.dumps(found, indent=2) + "\n" if as_json else found["draft_report"]
    sys.stdout.write(said)
    return 0


def note_on_case(settings: Settings, name: str, case_id: str, text: str) -> int:
    """Put a note on a case; return 0."""
    body = {"text": text, "client_key": secrets.token_hex(16)}
    return _said(settings, name, f"{case_id}/notes", body, f"case {case_id}: noted")


def move_to(settings: Settings, name: str, case_id: str, to: str, reason: str) -> int:
    """Move a case to another state; return 0."""
    body = {"state": to, "reason": reason}
    return _said(settings, name, f"{case_id}/state", body, f"case {case_id} is {to}")


def _said(settings: Settings, name: str, where: str, body: dict[str, Any], said: str) -> int:
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)
    done = post(state, f"{ROUTE}/{where}", json.dumps(body), token, WITHIN_S).granted()
    sys.stdout.write(f"{said} (record {done['seq']})\n")
    return 0
