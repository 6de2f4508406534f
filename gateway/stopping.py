"""kill and release from the command line, with or without a running gateway."""

import json
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.kinds import Kind
from audit.ledger import Lane
from audit.record import Draft
from fix.kill import KillWord
from gateway.attach import attached
from gateway.errors import (
    DoorError,
    ReleaseRefusedError,
    RequestError,
    SettingsError,
    StateInUseError,
)
from gateway.journal import kill_released
from gateway.keyring import (
    SIGNING_ROLES,
    Keyring,
    check_release,
    read_signing_key,
    release_statement,
)
from gateway.local_client import post
from gateway.rotating import open_ledger
from gateway.settings import Settings
from gateway.state import StateFolder

CONFIRM_WITHIN_S = 2.0


def press_kill(settings: Settings, reason: str) -> int:
    """Close the gate in the shared word first; then tell a running gateway, which records it.

    Raises:
        SettingsError: nothing ever ran in this folder.
    """
    state = StateFolder.of(settings)
    epoch = _word(state).press()
    sys.stdout.write(f"kill {epoch} is in force: no new order passes\n")
    told = _tell_gateway(state, reason)
    sys.stdout.write(
        f"gateway: {told}\n"
        if told
        else "no running gateway answered; the next start records the press\n"
    )
    sys.stdout.write("release needs both keys: countersign release --reason '...'\n")
    return 0


def release_kill(settings: Settings, reason: str, key_files: dict[str, Path | None]) -> int:
    """Release the kill with both roles' signatures; recorded before the gate opens.

    Raises:
        ReleaseRefusedError: nothing is pressed, or a signature does not hold.
        SettingsError: nothing ever ran in this folder, or a key file holds no key.
    """
    state = StateFolder.of(settings)
    word = _word(state)
    epoch, killed = word.read()
    if not killed:
        raise ReleaseRefusedError(problem="no kill is in force")
    keyring = Keyring(state.keys)
    origin = settings.ledger.origin
    signatures = {
        role: _key(keyring, role, key_files.get(role)).sign(release_statement(epoch, origin)).hex()
        for role in SIGNING_ROLES
    }
    if not check_release(epoch, origin, signatures, keyring.public_keys()):
        raise ReleaseRefusedError(problem="both roles, risk and compliance, must sign the release")
    try:
        with state.lock():
            _record_release(settings, epoch, reason, signatures)
            word.release(epoch)
    except StateInUseError:
        _ask_gateway(state, epoch, reason, signatures)
    sys.stdout.write(f"kill {epoch} is released\n")
    return 0


def _word(state: StateFolder) -> KillWord:
    """Return the kill word of a folder.

    Raises:
        SettingsError: there is none.
    """
    if not state.kill_word.exists():
        raise SettingsError(
            name="COUNTERSIGN_STATE",
            problem=f"no kill word in {state.root}: name the folder of the run, here or as --state",
        )
    return KillWord(state.kill_word)


def write_address(state: StateFolder, address: str) -> None:
    """Say where this state's gateway listens, for the verbs of other processes."""
    state.say_address(address)


def _record_release(
    settings: Settings, epoch: int, reason: str, signatures: dict[str, str]
) -> None:
    """Put press (if the ledger missed it) and release on record."""
    with attached(settings) as place, open_ledger(place) as ledger:
        pressed = place.reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
        if all(r.body["kill_epoch"] != epoch for r in pressed):
            ledger.append(_pressed(epoch), lane=Lane.URGENT)
        ledger.append(kill_released(epoch, "cli", reason, signatures), lane=Lane.URGENT)


def _pressed(epoch: int) -> Draft:
    return Draft(
        stream="control",
        kind=Kind.KILL_PRESSED,
        payload={
            "kill_epoch": epoch,
            "actor_name": "kill word",
            "reason": "pressed while the ledger was away",
            "confirmed": True,
        },
        actor="cli",
        idem_key=f"kill:{epoch}",
    )


def _tell_gateway(state: StateFolder, reason: str) -> str:
    """Ask a running gateway to confirm and record the press; empty when none answers."""
    try:
        answer = _post(state, "/v1/kill", {"reason": reason})
    except DoorError as error:
        sys.stderr.write(f"countersign: {error}\n")
        return ""
    except (OSError, RequestError, SettingsError):
        return ""
    confirmed, recorded = answer.get("child_confirmed"), answer.get("recorded")
    return f"confirmed by the FIX child: {confirmed}, on record: {recorded}"


def _ask_gateway(state: StateFolder, epoch: int, reason: str, signatures: dict[str, str]) -> None:
    """Let the running gateway record and release."""
    try:
        _post(
            state,
            "/v1/kill/release",
            {"kill_epoch": epoch, "signatures": signatures, "reason": reason},
        )
    except (OSError, DoorError, RequestError) as error:
        raise ReleaseRefusedError(problem=f"the running gateway did not release: {error}") from None


def _post(state: StateFolder, path: str, body: dict[str, Any]) -> dict[str, Any]:
    token = Keyring(state.keys).token("operator")
    answer = post(state, path, json.dumps(body), token, CONFIRM_WITHIN_S)
    if answer.refused:
        raise RequestError(problem=answer.refused)
    return answer.document


def _key(keyring: Keyring, role: str, path: Path | None) -> Ed25519PrivateKey:
    if path is None:
        return keyring.signing_key(role)
    return read_signing_key(path, f"--{role}-key")
