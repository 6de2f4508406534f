"""Kill and release from the command line, with or without a running gateway."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import RowRefusedError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from fix.durable.journal import read_live
from fix.durable.kill_word import KillWord, Press
from fix.errors import JournalError
from gateway.desk.controls.kill import AWAY
from gateway.desk.controls.statements import all_signed, refuse_unnamed, release_statement
from gateway.errors import (
    DoorError,
    ReleaseRefusedError,
    RequestError,
    SettingsError,
    StateInUseError,
)
from gateway.feeds.text import show_hidden_text
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.rotation import held_against_key, open_ledger
from gateway.installation.local.client import get, post
from gateway.installation.place import attached
from gateway.installation.press_notes import PressNote, PressNotes
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.walk.journal.control.kill import KillEpoch, kill_pressed, kill_released
from gateway.walk.journal.control.own_keys import OwnKeys
from gateway.walk.projections.kill_times import lines, newest_drill, newest_kill

CONFIRM_WITHIN_S = 2.0
ACTOR = "cli"
"""The actor of a press or release without a gateway: anyone who may use the state folder."""


def press_kill(settings: Settings, reason: str) -> int:
    """Press the kill word, then tell a running gateway, which confirms and records that press.

    The reason is kept beside the word until the press is on record.

    Raises:
        SettingsError: the folder has no kill word.
    """
    state = StateFolder.of(settings)
    word = _word(state)
    epoch = word.press()
    made = word.newest_press()
    sys.stdout.write(f"kill {epoch} is in force in {state.root}: no new order passes\n")
    # a crash here leaves a press that is recorded without its reason
    try:
        PressNotes(state.root).keep(made, PressNote(ACTOR, reason))
    except OSError as error:
        sys.stderr.write(f"countersign: the reason is not kept: {error}\n")
    told = _tell_gateway(state, reason, made)
    sys.stdout.write(
        f"gateway: {told}\n"
        if told
        else "no running gateway answered; the next start records the press\n"
    )
    sys.stdout.write("release needs both keys: countersign release --reason '...'\n")
    return 0


def release_kill(
    settings: Settings,
    reason: str,
    key_files: dict[str, Path | None],
    *,
    although_live: bool = False,
) -> int:
    """Release the kill with both roles' signatures; record it before the gate opens.

    With `although_live` the statement names the orders that may still work at the broker.

    Raises:
        ReleaseRefusedError: no kill is in force, a signature is wrong, orders may work, or the
            journal of live orders is damaged.
        SettingsError: the folder has no kill word, or a key file holds no key.
    """
    state = StateFolder.of(settings)
    word = _word(state)
    if not word.read().killed:
        raise ReleaseRefusedError(problem="no kill is in force")
    keyring = Keyring(state.keys)
    keys = {role: role_key(keyring, role, key_files.get(role)) for role in SIGNING_ROLES}
    try:
        with state.lock():
            press = word.name_press()
            if not press.press_id:
                raise ReleaseRefusedError(problem="the newest press is incomplete: press again")
            live = _live_on_disk(state)
            if not although_live:
                refuse_unnamed(live, ())
            _record_release(settings, press, reason, live, keys)
            word.release(press.kill_epoch, press.press_id)
    except StateInUseError:
        press = word.newest_press()
        live = _ask_gateway(settings, press, reason, keys, although_live=although_live)
    sys.stdout.write(f"kill {press.kill_epoch} is released\n")
    if live:
        sys.stdout.write(
            f"{len(live)} orders may still work at the broker and are no longer cancelled:"
            f" {' '.join(live)}\n"
        )
    return 0


def report_kill(settings: Settings) -> int:
    """Print whether a kill is in force, the newest recorded kill with its times, and drill.

    Rows without our MAC are left out.

    Raises:
        NoLedgerError: there is no ledger.
        RequestError: no press is on record, and none is in force.
        LedgerUnsafeError: the ledger was never opened with this folder's row key.
        SettingsError: the key folder has no row key.
    """
    state = StateFolder.of(settings)
    press = KillWord(state.kill_word).newest_press() if state.kill_word.exists() else None
    killed = press is not None and press.killed
    if press is not None:
        said = f"kill {press.kill_epoch} is in force" if killed else "no kill is in force"
        sys.stdout.write(f"{said}\n")  # first: the ledger may be away
    strangers: list[RowRefusedError] = []
    with attached(settings) as place, held_against_key(place) as reader:
        kill = newest_kill(reader, strangers.append)
        drilled = newest_drill(reader, strangers.append)
    left_out = [f"left out: {stranger}" for stranger in strangers]
    known = -1 if kill is None else int(kill["kill_epoch"])
    missing = press is not None and killed and known < press.kill_epoch
    if kill is None and not missing and not drilled:
        raise RequestError(problem="; ".join(["no kill is on record", *left_out]))
    sys.stderr.write("".join(f"countersign: {line}\n" for line in left_out))
    if press is not None and missing:
        note = PressNotes(state.root).of(press)
        why = f": pressed by {note.actor}, {note.reason}" if note else ""
        sys.stdout.write(f"kill {press.kill_epoch} is not on record yet{why}\n")
    if kill is not None:
        sys.stdout.write("".join(f"{line}\n" for line in lines(kill)))
    if drilled:
        sys.stdout.write(f"{drilled}\n")
    return 0


def _sign(keys: dict[str, Ed25519PrivateKey], signed: bytes) -> dict[str, str]:
    return {role: key.sign(signed).hex() for role, key in keys.items()}


def _word(state: StateFolder) -> KillWord:
    if not state.kill_word.exists():
        raise SettingsError(
            name="COUNTERSIGN_STATE",
            problem=f"no kill word in {state.root}: name the folder of the run, here or as --state",
        )
    return KillWord(state.kill_word)


def _live_on_disk(state: StateFolder) -> list[str]:
    try:
        return sorted(
            one.cl_ord_id for store in state.fix_stores for one in read_live(store / "journal")
        )
    except JournalError as error:
        raise ReleaseRefusedError(
            problem=f"{error}; start the gateway, which asks the broker, and release there"
        ) from error


def _record_release(
    settings: Settings,
    press: Press,
    reason: str,
    live: Sequence[str],
    keys: dict[str, Ed25519PrivateKey],
) -> None:
    """Record the release, and first the press if the ledger missed it."""
    public = Keyring(StateFolder.of(settings).keys).public_keys()
    with (
        attached(settings) as place,
        open_ledger(place) as ledger,
        held_against_key(place) as reader,
    ):
        own = OwnKeys(ledger, reader)
        pressed = reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
        if all(KillEpoch.of(r).kill_epoch != press.kill_epoch for r in pressed):
            actor, why = PressNotes(place.state.root).of(press) or PressNote("kill word", AWAY)
            why = show_hidden_text(why)[:500]
            own.append(kill_pressed(press, actor, why, confirmed=False), lane=Lane.URGENT)
        log = log_id(reader, settings.ledger.origin)
        signed = release_statement(log, press.kill_epoch, press.press_id, live)
        signatures = _sign(keys, signed)
        if not all_signed(signed, signatures, public):
            raise ReleaseRefusedError(
                problem="both roles, risk and compliance, must sign the release"
            )
        draft = kill_released(press, log, ACTOR, reason, signatures, live)
        own.append(draft, lane=Lane.URGENT)
        PressNotes(place.state.root).drop(press)


def _tell_gateway(state: StateFolder, reason: str, made: Press) -> str:
    """Ask a running gateway to confirm and record the press; return its answer, or ""."""
    body = {"reason": reason, "kill_epoch": made.kill_epoch, "press_id": made.press_id}
    try:
        answer = _post(state, "/v1/kill", body)
    except DoorError as error:
        sys.stderr.write(f"countersign: {error}\n")
        return ""
    except (OSError, RequestError, SettingsError):
        return ""
    confirmed, recorded = answer.get("child_confirmed"), answer.get("recorded")
    return f"confirmed by the FIX child: {confirmed}, on record: {recorded}"


def _ask_gateway(
    settings: Settings,
    press: Press,
    reason: str,
    keys: dict[str, Ed25519PrivateKey],
    *,
    although_live: bool,
) -> list[str]:
    """Let the running gateway record and release; return the orders that may still work.

    The log id is taken from its answer: signatures over a wrong one release nothing here, because
    the statement names our own press.
    """
    state = StateFolder.of(settings)
    try:
        token = Keyring(state.keys).token("operator")
        found = get(state, "/v1/kill", token, CONFIRM_WITHIN_S).granted()
        log = str(found.get("log_id", ""))
        if not log.startswith(f"{settings.ledger.origin}#"):
            raise ReleaseRefusedError(problem="the running gateway cannot read its ledger")
        live = [str(one) for one in found.get("live", ())] if although_live else []
        signed = release_statement(log, press.kill_epoch, press.press_id, live)
        body = {
            "kill_epoch": press.kill_epoch,
            "signatures": _sign(keys, signed),
            "reason": reason,
            "live": live,
        }
        _post(state, "/v1/kill/release", body)
    except (OSError, DoorError, RequestError) as error:
        raise ReleaseRefusedError(problem=f"the running gateway did not release: {error}") from None
    return live


def _post(state: StateFolder, path: str, body: dict[str, Any]) -> dict[str, Any]:
    token = Keyring(state.keys).token("operator")
    return post(state, path, json.dumps(body), token, CONFIRM_WITHIN_S).granted()
