"""Show the ledger's mode and what another one needs; sign a change of mode."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from gateway.desk.persons.governing.modes import mode_statement, needs, signatures_needed
from gateway.desk.persons.statements import log_id, signed_by
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.mode_mark import keep_signature, signed_mode
from gateway.installation.keys.officers import read_officer
from gateway.installation.place import Place, attached
from gateway.installation.settings import Settings
from gateway.walk.journal.control.modes import Mode
from gateway.walk.projections.modes import MODE_KINDS, ModeHistory, mode_history
from inference.weights.registry import load_pair

_SHOWN: Final = {True: "there   ", False: "MISSING ", None: "AT START"}


def show_mode(settings: Settings, *, as_json: bool) -> int:
    """Print the mode on record, and what each mode needs.

    Raises:
        NoLedgerError: there is no ledger.
    """
    with attached(settings) as place:
        history, log = _history(place), log_id(place.reader, settings.ledger.origin)
    keys = Keyring(place.state.keys).public_keys()
    model = load_pair(settings.engine.model).manifest_digest
    found: dict[str, Any] = {
        "mode": history.mode or None,
        "setting": settings.mode,
        "reconciled_sessions": history.reconciled,
        "registered": history.registered,
        "pilot_limits": _limits(settings, Mode.PILOT),
        "needs": {},
    }
    for mode in Mode:
        limits = _limits(settings, mode)
        said = mode_statement(log, history, mode, limits)
        signed = signed_by(said, signed_mode(place.state.keys), keys)
        found["needs"][mode.value] = [
            {"what": one.what, "met": one.met}
            for one in needs(history, mode, len(signed), doctor=None, model=model, limits=limits)
        ]
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if as_json else _text(found))
    return 0


def _text(found: dict[str, Any]) -> str:
    lines = [f"on record  {found['mode'] or 'no served run yet'}", f"setting    {found['setting']}"]
    lines.append(f"pilot may  {found['pilot_limits']}")
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
        history, log = _history(place), log_id(place.reader, settings.ledger.origin)
    mode = Mode(to)
    limits = _limits(settings, mode)
    if not signatures_needed(history, mode, limits):
        raise RequestError(problem=f"mode {mode} needs no signature now")
    signed = mode_statement(log, history, mode, limits)
    path = keep_signature(place.state.keys, officer.role, officer.key.sign(signed).hex())
    sys.stdout.write(f"{signed.decode()}signed by {officer.role}:{officer.name} into {path}\n")
    return 0


def _limits(settings: Settings, mode: Mode) -> str:
    return str(settings.pilot.limits()) if mode is Mode.PILOT else ""


def _history(place: Place) -> ModeHistory:
    return mode_history(place.reader.records(stream="control", kinds=MODE_KINDS))
