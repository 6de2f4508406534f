"""The verb register: digests of what runs, on record, and compared with what is there now.

Not here: who may raise a mode (`desk.persons.governing.modes`).
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from audit.records.kinds import Kind
from gateway import clock
from gateway.errors import RequestError
from gateway.installation.children.fix_profiles import profile_record, session_profile
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.rotation import held_against_key, open_ledger, stopped
from gateway.installation.place import attached
from gateway.installation.policies.policy import given_policy
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.walk.journal.control.modes import DigestsRegistered, digests_registered
from inference.weights.registry import load_pair
from risk.policy.policy import policy_digest

HOUSE: Final = Path(__file__).parents[3]
PACKAGES: Final = ("audit", "fix", "gateway", "inference", "risk")
DIFFERS: Final = 1


def present_digests(settings: Settings) -> dict[str, str]:
    """Return the SHA-256 (hex) of what `serve` would run with these settings.

    That is code, model, policy, instruments, the broker's profile and the FIX dictionaries: those
    that are shipped and the one that the profile names.

    Raises:
        SettingsError: there is no signed policy, or the profile is faulty.
        InferenceError: the model pair does not match its manifest.
    """
    state = StateFolder.of(settings)
    session = profile_record(session_profile(settings))
    shipped = _digest_of((HOUSE / "fix").rglob("*.xml"))
    found = {
        "code": _digest_of(file for name in PACKAGES for file in (HOUSE / name).rglob("*.py")),
        "dictionary": sha256(f"{shipped} {session['dictionary_digest']}\n".encode()).hexdigest(),
        "model": load_pair(settings.engine.model).manifest_digest,
        "policy": policy_digest(given_policy(Keyring(state.keys)).policy),
        "profile": str(session["digest"]),
    }
    if settings.instruments is not None:
        found["instruments"] = sha256(settings.instruments.read_bytes()).hexdigest()
    return found


def _digest_of(files: Iterator[Path]) -> str:
    """Return one digest of files: of the lines `SHA-256 path`, sorted by path."""
    lines = [
        f"{sha256(file.read_bytes()).hexdigest()} {file.relative_to(HOUSE).as_posix()}\n"
        for file in sorted(files)
    ]
    return sha256("".join(lines).encode()).hexdigest()


def record_digests(settings: Settings, actor: str, reason: str) -> int:
    """Put the digests of what is there now on record; the gateway must be stopped.

    Raises:
        RequestError: no reason is given.
        StateInUseError: a gateway runs.
        NoLedgerError: there is no ledger.
    """
    if not reason:
        raise RequestError(problem="say what changed: countersign register --reason ..")
    digests = present_digests(settings)
    with stopped(settings) as place, open_ledger(place) as ledger:
        draft = digests_registered(digests, actor, reason, number=clock.wall_us())
        (record,) = ledger.append(draft)
        ledger.checkpoint_now()
    sys.stdout.write("".join(f"{name:11} {digest}\n" for name, digest in digests.items()))
    sys.stdout.write(f"registered as record {record.seq}\n")
    return 0


def check_registered(settings: Settings, *, as_json: bool) -> int:
    """Compare what is there with what is registered; return 1 if anything differs.

    Raises:
        RequestError: nothing is registered.
        NoLedgerError: there is no ledger.
    """
    with attached(settings) as place, held_against_key(place) as reader:
        newest = next(
            iter(
                reader.records(
                    stream="control", kinds=(Kind.DIGESTS_REGISTERED,), newest_first=True, limit=1
                )
            ),
            None,
        )
    if newest is None:
        raise RequestError(problem="nothing is registered: countersign register --reason ..")
    registered, present = DigestsRegistered.of(newest).digests, present_digests(settings)
    names = sorted({*registered, *present})
    found = {
        name: {"registered": registered.get(name), "present": present.get(name)} for name in names
    }
    differing = [name for name in names if registered.get(name) != present.get(name)]
    if as_json:
        told = {"record": newest.seq, "digests": found, "differs": differing}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        for name in names:
            said = "differs" if name in differing else "as registered"
            sys.stdout.write(f"{name:11} {said}\n")
    return DIFFERS if differing else 0
