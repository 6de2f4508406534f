"""Show the ledger's mode and what another one needs; sign a change of mode."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from gateway.desk.controls.statements import signed_by
from gateway.desk.officers.governing.modes import mode_statement, needs, signatures_needed
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.kept_signatures import keep_signature, kept_signatures
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.officers import read_officer
from gateway.installation.place import attached
from gateway.installation.policies.policy import given_policy
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.launch.controls import limits_of, runs_now
from gateway.launch.plan import undeclared
from gateway.walk.journal.control.modes import Mode
from gateway.walk.projections.modes import modes_on_record
from gateway.walk.projections.outbox import DECISION_PREFIX, Orders

_SHOWN: Final = {True: "there   ", False: "MISSING ", None: "AT START"}


def show_mode(settings: Settings, *, as_json: bool) -> int:
    """Print the mode on record, and what each mode needs.

    Raises:
        NoLedgerError: there is no ledger.
    """
    keyring = Keyring(StateFolder.of(settings).keys)
    with attached(settings) as place:
        history, log = modes_on_record(place.reader), log_id(place.reader, settings.ledger.origin)
        orders = Orders()
        orders.fold(one for one in place.reader.records() if one.stream.startswith(DECISION_PREFIX))
        policy = given_policy(keyring)
        now = {
            mode: runs_now(settings.model_copy(update={"mode": mode}), policy, place.reader, orders)
            for mode in Mode
        }
    keys, model = keyring.public_keys(), now[Mode.PAPER].digests["model"]
    found: dict[str, Any] = {
        "mode": history.mode or None,
        "setting": settings.mode,
        "reconciled_sessions": history.reconciled,
        "registered": bool(history.registered),
        "pilot_limits": limits_of(settings, Mode.PILOT),
        "liable": undeclared(settings) or "declared",
        "needs": {},
    }
    for mode in Mode:
        limits = limits_of(settings, mode)
        said = mode_statement(log, history, mode, limits)
        signed = signed_by(said, kept_signatures(place.state.keys), keys)
        found["needs"][mode.value] = [
            {"what": one.what, "met": one.met}
            for one in needs(
                history,
                mode,
                len(signed),
                doctor=None,
                model=model,
                limits=limits,
                now=now[mode],
            )
        ]
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if as_json else _text(found))
    return 0


def _text(found: dict[str, Any]) -> str:
    lines = [f"on record  {found['mode'] or 'no served run yet'}", f"setting    {found['setting']}"]
    lines.append(f"pilot may  {found['pilot_limits']}")
    liable = found["liable"]
    lines.append(f"liable     {liable if liable == 'declared' else f'MISSING: set {liable}'}")
    for mode, wanted in found["needs"].items():
        lines.append(f"{mode} needs:")
        lines += [f"  {_SHOWN[one['met']]}  {one['what']}" for one in wanted]
    return "".join(f"{line}\n" for line in lines)


def sign_mode(settings: Settings, to: str, key_file: Path) -> int:
    """Sign the change to a mode with one officer's key, into the gateway's key folder.

    Raises:
        RequestError: there is no such mode, or the change needs no signature.
        SettingsError: the key file holds no officer's key, or does not name its role.
    """
    if to not in set(Mode):
        raise RequestError(problem=f"no mode {to!r}; known: {', '.join(Mode)}")
    officer = read_officer(key_file, "--key")
    if not officer.role:
        problem = f"{key_file} does not name its officer's role: carry it over with `officer-key`"
        raise SettingsError(name="--key", problem=problem)
    with attached(settings) as place:
        history, log = modes_on_record(place.reader), log_id(place.reader, settings.ledger.origin)
    mode = Mode(to)
    limits = limits_of(settings, mode)
    if not signatures_needed(history, mode, limits):
        raise RequestError(problem=f"mode {mode} needs no signature now")
    signed = mode_statement(log, history, mode, limits)
    path = keep_signature(place.state.keys, officer.role, officer.key.sign(signed).hex())
    sys.stdout.write(f"{signed.decode()}signed by {officer.role}:{officer.name} into {path}\n")
    return 0
