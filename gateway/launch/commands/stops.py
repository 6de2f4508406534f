"""Pause, reduce-only, resume and flatten from the command line.

A stop also goes on record while no gateway runs; the next one starts with it. Everything else needs
the running gateway.
"""

import json
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gateway.desk.officers.flatten import flattened_text
from gateway.desk.officers.stops import resume_statement
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.keys.rotation import open_ledger, stopped
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.walk.journal.control.stops import stop_begun
from risk.state.state import Stop

WITHIN_S: Final = 5.0
FLATTEN_WITHIN_S: Final = 600.0
"""Each position takes a forecast."""
OPERATOR: Final = "operator"


def begin(settings: Settings, stop: Stop, reason: str) -> int:
    """Put a stop in force, with or without a running gateway.

    Raises:
        RequestError: the gateway refused.
        NoLedgerError: no gateway runs, and there is no ledger.
    """
    state = StateFolder.of(settings)
    try:
        seq = _post(state, stop.value, {"reason": reason})["seq"]
    except ConnectionRefusedError:
        with stopped(settings) as place, open_ledger(place) as ledger:
            (record,) = ledger.append(stop_begun(stop, secrets.token_hex(16), OPERATOR, reason))
        seq = record.seq
        sys.stdout.write("no gateway runs: the next one starts with this stop\n")
    sys.stdout.write(f"{stop.value} is in force, on record as {seq}\n")
    sys.stdout.write("`countersign resume --reason ..` ends it\n")
    return 0


def resume(settings: Settings, stop: str, reason: str, key_files: dict[str, Path | None]) -> int:
    """End the stops in force, or one sort; the officers' keys that are named sign.

    Raises:
        RequestError: no stop is in force, or the gateway refused.
        SettingsError: a key file holds no key.
    """
    state = StateFolder.of(settings)
    keyring = Keyring(state.keys)
    found = _listed(state)
    ids = [one["stop_id"] for one in found["stops"] if stop in {"", one["stop"]}]
    named = [role for role in SIGNING_ROLES if key_files.get(role)]
    signatures = {}
    if named and ids:
        signed = resume_statement(str(found["log_id"]), ids)
        signatures = {
            role: role_key(keyring, role, key_files[role]).sign(signed).hex() for role in named
        }
    body = {"reason": reason, "stop": stop or None, "signatures": signatures}
    ended = _post(state, "resume", body)["ended"]
    sys.stdout.write("".join(f"{one['stop']} by {one['by']} is over\n" for one in ended))
    return 0


def flatten(
    settings: Settings,
    what: tuple[str, str],
    ask: Callable[[str], bool] | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Close positions through the running gateway: `what` is the reason and the instrument or "".

    Without `ask` nobody is asked whether to go on. Return 1 if a position has no order.

    Raises:
        RequestError: the gateway refused.
    """
    state, (reason, instrument) = StateFolder.of(settings), what
    body = {"reason": reason, "instrument": instrument or None}
    told = _post(state, "flatten", body | {"dry_run": True})
    if not dry_run:
        if ask is not None and not ask(f"{flattened_text(told)}\nAsk for these orders?"):
            return 1
        told = _post(state, "flatten", body, FLATTEN_WITHIN_S)
    text = json.dumps(told, indent=2) if as_json else flattened_text(told)
    sys.stdout.write(f"{text}\n")
    done = {"approved"} | ({None} if dry_run else set())
    return int(bool(told["left"]) or any(o.get("result") not in done for o in told["orders"]))


def _listed(state: StateFolder) -> dict[str, Any]:
    return get(state, "/v1/stops", Keyring(state.keys).token(OPERATOR), WITHIN_S).granted()


def _post(
    state: StateFolder, verb: str, body: dict[str, Any], within_s: float = WITHIN_S
) -> dict[str, Any]:
    token = Keyring(state.keys).token(OPERATOR)
    return post(state, f"/v1/stops/{verb}", json.dumps(body), token, within_s).granted()


def drill_kill(settings: Settings, reason: str) -> int:
    """Drill the kill through the running gateway; return 1 if the FIX process did not answer.

    Raises:
        RequestError: the gateway refused.
    """
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(OPERATOR)
    body = json.dumps({"reason": reason})
    told = post(state, "/v1/kill/drill", body, token, WITHIN_S).granted()
    sys.stdout.write(f"{told['told']}\nnothing was stopped\n")
    return 0 if told["confirmed"] else 1
