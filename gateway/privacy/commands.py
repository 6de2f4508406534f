"""The verbs erase, hold, release-hold and disclose.

A running gateway carries them out, because it alone writes the log. Without one they take the state
folder's lock and do it themselves. The actor is the holder of the bearer key `NAME.token` in the
key folder (`--as NAME`), and the key's role decides.
"""

import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from pydantic import BaseModel, ValidationError

from audit.errors import ErasureRefusedError
from audit.files import PRIVATE, appearing
from audit.privacy.erasure import Privacy
from audit.privacy.vault import Vault
from gateway.errors import RequestError, SettingsError, StateInUseError
from gateway.installation.keys.keyring import Caller, Keyring
from gateway.installation.keys.roles import MAY
from gateway.installation.keys.rotation import held_against_key, open_ledger
from gateway.installation.local.client import post
from gateway.installation.place import Place, attached, require_ledger
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.privacy import answers as privacy_actions
from gateway.privacy.erasure import make_privacy
from gateway.privacy.requests import DiscloseRequest, EraseRequest, HoldRequest, LiftRequest
from gateway.telemetry.console import Progress, waiting

WORDS_SHOWN = 20
ANSWER_WITHIN_S = 600.0
"""An erasure reads the whole log: some seconds for a million records."""
ACTIONS: dict[str, Any] = {
    "erase": ("erase", EraseRequest, privacy_actions.erase),
    "hold": ("hold", HoldRequest, privacy_actions.hold),
    "release-hold": ("hold", LiftRequest, privacy_actions.lift),
    "disclose": ("disclose", DiscloseRequest, privacy_actions.disclose),
}
"""By verb: the permission that it needs, its request body, its function."""


def erase(settings: Settings, actor: str, subjects: list[str], basis: str) -> int:
    """Erase a person's values and print what was done; return 2 if free text still has the name."""
    whom = subjects if len(subjects) > 1 else subjects[0]
    done = carry_out(settings, "erase", actor, subject=whom, basis=basis)
    for subject, record in zip(done["subjects"], done["records"], strict=True):
        _say(f"record {record} says that {subject} is erased, by whom and why")
    keys = len(done["subjects"])
    before = f", {keys - done['keys_destroyed']} were before" * (done["keys_destroyed"] < keys)
    _say(f"{done['keys_destroyed']} of {keys} keys destroyed{before}")
    _say(f"{done['fields']} values of {done['of_records']} records are unreadable")
    if shown := [f"{one['reader']} (record {one['record']})" for one in done["shown_to"]]:
        _say(f"tell who was shown values and may hold copies (GDPR art. 19): {', '.join(shown)}")
    _say("every proof made before still verifies: countersign verify")
    return _say_words(done.get("in_words"))


def _say_words(left: list[int] | None) -> int:
    """Print which records hold the name in free text, which cannot be erased; return 2 if any."""
    if left is None:
        _say("free text was not searched: the name is gone already, or too short")
    elif left:
        some = ", ".join(map(str, left[:WORDS_SHOWN]))
        more = f" and {len(left) - WORDS_SHOWN} more" * (len(left) > WORDS_SHOWN)
        _say(f"NOT erased: {len(left)} records hold the name in words and keep it: {some}{more}")
        _say("words are personal only if the name was known when they were recorded")
    else:
        _say("no record holds the name in words")
    return 2 if left else 0


def hold(settings: Settings, actor: str, scope: str, reason: str) -> int:
    """Place a hold and print how to lift it."""
    done = carry_out(settings, "hold", actor, scope=scope, reason=reason)
    for one in done["holds"]:
        _say(f"{one['hold_id']} on {one['scope']} is in force (record {one['record']})")
        _say(f"another person lifts it: countersign release-hold {one['hold_id']} --reason '...'")
    return 0


def release_hold(settings: Settings, actor: str, hold_id: str, reason: str) -> int:
    """Lift a hold."""
    done = carry_out(settings, "release-hold", actor, hold_id=hold_id, reason=reason)
    _say(f"{done['hold_id']} is lifted (record {done['record']})")
    return 0


def disclose(settings: Settings, actor: str, seq: int, reason: str, out: Path | None) -> int:
    """Print a record's personal values; write the disclosures that prove them to `out`.

    The exit code is 2 if all values are erased.

    Raises:
        OSError: `out` cannot be written; nothing was read.
    """
    if out is not None:
        _reachable(settings)
        out.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryFile(dir=out):
            pass  # fail before the read goes on record
    done = carry_out(settings, "disclose", actor, seq=seq, reason=reason)
    gone = 0
    for one in done["fields"]:
        gone += one["value"] is None
        value = "(erased)" if one["value"] is None else one["value"]
        _say(f"{one['path']:16} {one['subject']}  {value}")
        if out is not None and one["disclosure"] is not None:
            path = out / f"{seq}.{one['position']}.disclosure"
            with appearing(path, PRIVATE) as file:
                file.write(f"{one['disclosure']}\n".encode("ascii"))
            _say(f"                 {path}")
    _say("this read is on record")
    return 2 if gone == len(done["fields"]) else 0


def carry_out(settings: Settings, verb: str, actor: str, **words: object) -> dict[str, Any]:
    """Carry out a verb as the holder of a key; return its answer.

    Raises:
        SettingsError: there is no such key, or its role does not allow the verb.
        NoLedgerError: there is no ledger.
        RequestError: an argument is malformed, or the running gateway refused or did not answer.
        DoorError: another process could have answered; nothing was sent.
        AuditError: refused.
    """
    action, model, function = ACTIONS[verb]
    state = StateFolder.of(settings)
    _reachable(settings)
    caller, token = _caller(Keyring(state.keys), actor, action)
    try:
        ask: BaseModel = model.model_validate(words)
    except ValidationError as error:
        fault = max(error.errors(), key=lambda one: len(one["loc"]))  # the most specific place
        raise RequestError(problem=f"{fault['loc'][0]}: {fault['msg']}") from None
    try:
        with state.lock(), attached(settings) as place:
            done: dict[str, Any] = _alone(place, function, caller, ask)
    except StateInUseError:
        done = _through_gateway(state, verb, token, ask)
    return done


def _reachable(settings: Settings) -> None:
    """Refuse a state folder in which nothing ever ran and that has no ledger."""
    if not StateFolder.of(settings).lock_file.exists():
        require_ledger(settings)


def _alone(place: Place, function: Any, caller: Caller, ask: BaseModel) -> dict[str, Any]:  # noqa: ANN401 - of ACTIONS
    vault = Vault(place.state.vault)
    bar = Progress(sys.stderr)
    with open_ledger(place, vault) as ledger, held_against_key(place) as reader:
        privacy = make_privacy(
            place.settings,
            place.state,
            dsn=place.dsn,
            ledger=ledger,
            reader=reader,
            vault=vault,
            on_read=lambda done, total: bar.show("reading", done, total),
            on_search=lambda done, total: bar.show("searching words", done, total),
        )
        try:
            if function is not privacy_actions.erase:
                privacy.complete()
            # an interrupted erasure that is asked for again completes itself and searches free text
            done: dict[str, Any] = function(privacy, caller.name, ask)
        except ErasureRefusedError:
            _complete(privacy)
            raise
        finally:
            bar.end()
        _complete(privacy)
        return done


def _complete(privacy: Privacy) -> None:
    if number := privacy.complete():
        sys.stderr.write(
            f"countersign: {number} interrupted erasures are complete now; free text was not"
            " searched for them\n"
        )


def _through_gateway(state: StateFolder, verb: str, token: str, ask: BaseModel) -> dict[str, Any]:
    try:
        with waiting(sys.stderr, f"{verb}: waiting for the running gateway"):
            answer = post(
                state, f"/v1/privacy/{verb}", ask.model_dump_json(), token, ANSWER_WITHIN_S
            )
    except (FileNotFoundError, ConnectionRefusedError):
        problem = "another command holds the state folder: try again"
        raise RequestError(problem=problem) from None
    except OSError as error:
        raise RequestError(
            problem=f"the running gateway did not answer ({type(error).__name__}): try again"
        ) from None
    return answer.granted()


def _caller(keyring: Keyring, name: str, action: str) -> tuple[Caller, str]:
    token = keyring.token(name)
    caller = keyring.authenticate(token)
    if caller is None or caller.role not in MAY[action]:
        may = " or ".join(sorted(MAY[action]))
        raise SettingsError(name="--as", problem=f"this needs a key of role {may}")
    return caller, token


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
