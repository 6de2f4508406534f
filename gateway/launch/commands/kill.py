"""kill and release from the command line, with or without a running gateway."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import RowRefusedError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from fix.durable.journal import read_live
from fix.durable.kill_word import KillWord, Press
from fix.errors import JournalError
from gateway.desk.kill import AWAY
from gateway.desk.statements import all_signed, log_id, refuse_unnamed, release_statement
from gateway.errors import (
    DoorError,
    ReleaseRefusedError,
    RequestError,
    SettingsError,
    StateInUseError,
)
from gateway.feeds.intake import show_hidden_text
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.keys.rotation import held_against_key, open_ledger
from gateway.installation.local_client import DoorAnswer, get, post
from gateway.installation.place import attached
from gateway.installation.press_notes import PressNote, PressNotes
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.walk.journal.kill import kill_pressed, kill_released
from gateway.walk.journal.own_keys import OwnKeys
from gateway.walk.projections.kill_times import lines, newest_kill

CONFIRM_WITHIN_S = 2.0
ACTOR = "cli"
"""Who presses or releases where no gateway runs: whoever may use the folder."""


def press_kill(settings: Settings, reason: str) -> int:
    """Close the gate in the shared word first; then tell a running gateway, which records it.

    It is one press and one epoch: the gateway is told which, and confirms that one. The reason is
    kept beside the word until the press is on record.

    Raises:
        SettingsError: nothing ever ran in this folder.
    """
    state = StateFolder.of(settings)
    word = _word(state)
    epoch = word.press()
    made = word.newest_press()
    sys.stdout.write(f"kill {epoch} is in force in {state.root}: no new order passes\n")
    # a crash here leaves a press that goes on record without its reason
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
    """Release the kill with both roles' signatures; recorded before the gate opens.

    Args:
        settings: where the state is.
        reason: recorded.
        key_files: by role; the key folder's own where there is none.
        although_live: sign also that orders may still work at the broker, each by its ClOrdID.

    Raises:
        ReleaseRefusedError: nothing is pressed, a signature does not hold, or orders may work.
        SettingsError: nothing ever ran in this folder, or a key file holds no key.
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
                raise ReleaseRefusedError(problem="a press was cut off: press again first")
            live = _live_on_disk(state)
            if not although_live:
                refuse_unnamed(live, ())
            _record_release(settings, press, _Word(reason, live), keys, keyring.public_keys())
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
    """Say which kill is in force, and what is on record of the newest, with its times.

    A press that is in force and not on record is named. Strangers' rows are left out.

    Raises:
        NoLedgerError: there is no ledger.
        RequestError: no press is on record, and none is in force.
        LedgerUnsafeError: the folder knows nothing of the ledger's rows.
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
    left_out = [f"left out: {stranger}" for stranger in strangers]
    missing = press is not None and killed and _is_missing(press, kill)
    if kill is None and not missing:
        raise RequestError(problem="; ".join(["no kill is on record", *left_out]))
    sys.stderr.write("".join(f"countersign: {line}\n" for line in left_out))
    if press is not None and missing:
        note = PressNotes(state.root).of(press)
        why = f": pressed by {note.actor}, {note.reason}" if note else ""
        sys.stdout.write(f"kill {press.kill_epoch} is not on record yet{why}\n")
    if kill is not None:
        sys.stdout.write("".join(f"{line}\n" for line in lines(kill)))
    return 0


def _is_missing(press: Press, kill: Mapping[str, Any] | None) -> bool:
    """Return whether the ledger has no press as new as this one."""
    return kill is None or int(kill["kill_epoch"]) < press.kill_epoch


def _sign(keys: dict[str, Ed25519PrivateKey], signed: bytes) -> dict[str, str]:
    """Return the roles' signatures of a statement, in hex."""
    return {role: key.sign(signed).hex() for role, key in keys.items()}


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


@dataclass(frozen=True, slots=True)
class _Word:
    """Why a kill is released, and which orders may work although it is."""

    reason: str
    live: Sequence[str]


def _live_on_disk(state: StateFolder) -> list[str]:
    """Return the orders that the FIX child, which is not there, left as live.

    Raises:
        ReleaseRefusedError: its list is damaged.
    """
    try:
        return sorted(one.cl_ord_id for one in read_live(state.fix_journal))
    except JournalError as error:
        raise ReleaseRefusedError(
            problem=f"{error}; start the gateway, which asks the broker, and release there"
        ) from error


def _record_release(
    settings: Settings,
    press: Press,
    word: _Word,
    keys: dict[str, Ed25519PrivateKey],
    public: dict[str, bytes],
) -> None:
    """Put press (if the ledger missed it) and release on record.

    Raises:
        ReleaseRefusedError: the keys are not those of the two roles.
    """
    with (
        attached(settings) as place,
        open_ledger(place) as ledger,
        held_against_key(place) as reader,
    ):
        own = OwnKeys(ledger, reader)
        pressed = reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
        if all(r.body["kill_epoch"] != press.kill_epoch for r in pressed):
            note = PressNotes(StateFolder.of(settings).root).of(press)
            actor, reason = note or PressNote("kill word", AWAY)
            reason = show_hidden_text(reason)[:500]
            own.append(kill_pressed(press, actor, reason, confirmed=False), lane=Lane.URGENT)
        log = log_id(reader, settings.ledger.origin)
        signed = release_statement(log, press.kill_epoch, press.press_id, word.live)
        signatures = _sign(keys, signed)
        if not all_signed(signed, signatures, public):
            raise ReleaseRefusedError(
                problem="both roles, risk and compliance, must sign the release"
            )
        draft = kill_released(press, log, ACTOR, word.reason, signatures, word.live)
        own.append(draft, lane=Lane.URGENT)
    PressNotes(StateFolder.of(settings).root).drop(press)


def _tell_gateway(state: StateFolder, reason: str, made: Press) -> str:
    """Ask a running gateway to confirm and record the press; empty when none answers."""
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
    """Let the running gateway record and release; return which orders may still be live.

    Its word for the ledger's first record is taken: a wrong one would only make signatures that
    release nothing here. What is signed names our own press all the same.
    """
    state = StateFolder.of(settings)
    try:
        token = Keyring(state.keys).token("operator")
        found = _told(get(state, "/v1/kill", token, CONFIRM_WITHIN_S))
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
    return _told(post(state, path, json.dumps(body), token, CONFIRM_WITHIN_S))


def _told(answer: DoorAnswer) -> dict[str, Any]:
    """Return what the gateway said.

    Raises:
        RequestError: it refused.
    """
    if answer.refused:
        raise RequestError(problem=answer.refused)
    return answer.document
