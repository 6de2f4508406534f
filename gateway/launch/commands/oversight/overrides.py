"""The verb override: draft an exceptional override, sign it, grant it, list, withdraw.

The draft is a file that goes from officer to officer. Each signs it where his key is; that machine
needs neither the gateway nor its folders. The gateway checks both signatures when it is granted.
"""

import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from audit.files import PRIVATE, appearing
from gateway import clock
from gateway.desk.bodies.governing import OverrideRequest, OverrideTerms
from gateway.desk.officers.governing.overrides import override_statement
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.keys.officers import read_officer
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 5.0
ROUTE: Final = "/v1/overrides"
OPERATOR: Final = "operator"
_ID_BYTES: Final = 16
_MINUTE_US: Final = 60_000_000


def draft(settings: Settings, file: Path, given: Mapping[str, Any], minutes: int) -> int:
    """Write the draft of an override for the policy in force, from now on.

    Raises:
        RequestError: an option is malformed, the file exists, or no gateway answers.
    """
    found = _get(settings)
    now_us = clock.wall_us()
    terms = _terms(
        {
            **given,
            "override_id": secrets.token_hex(_ID_BYTES),
            "policy_digest": found["policy_digest"],
            "not_before_us": now_us,
            "expires_us": now_us + minutes * _MINUTE_US,
        }
    )
    limit = f"{terms.rule} {terms.check}"
    if limit not in found["limits"]:
        known = ", ".join(found["limits"])
        raise RequestError(problem=f"no override lifts {limit}; it can lift one of {known}")
    for what, name in (("account", terms.account), ("instrument", terms.instrument)):
        if name not in (known := found[f"{what}s"]):
            raise RequestError(problem=f"no {what} {name} here; known: {', '.join(known)}")
    if file.exists():
        raise RequestError(problem=f"{file} exists: name another file")
    text = override_statement(str(found["log_id"]), terms).decode()
    document = {"log_id": found["log_id"], "terms": terms.model_dump(mode="json")}
    _write(file, {**document, "signatures": {}})
    sys.stdout.write(
        f"{text}\n\nfor {minutes} minutes from now: one order of at most {terms.qty_max_lots:,}"
        f" lots, worth at most {terms.notional_max_minor:,} minor units\n"
        f"in {file}; each officer: countersign override sign {file} --key KEY\n"
    )
    return 0


def sign(file: Path, key_file: Path) -> int:
    """Add one officer's signature to a draft, after showing what is signed.

    Raises:
        RequestError: the file is no draft.
        SettingsError: the key file holds no officer's key, or does not name its role.
    """
    log_id, terms, signatures = _read(file)
    officer = read_officer(key_file, "--key")
    if not officer.role:
        problem = f"{key_file} does not name its officer's role: carry it over with `officer-key`"
        raise SettingsError(name="--key", problem=problem)
    signed = override_statement(log_id, terms)
    signatures = {**signatures, officer.role: officer.key.sign(signed).hex()}
    document = {"log_id": log_id, "terms": terms.model_dump(mode="json")}
    _write(file, {**document, "signatures": signatures})
    lacking = [role for role in SIGNING_ROLES if role not in signatures]
    follows = f"{lacking[0]} signs next" if lacking else f"now: countersign override grant {file}"
    sys.stdout.write(f"{signed.decode()}\nsigned by {officer.role}:{officer.name}; {follows}\n")
    return 0


def grant(settings: Settings, file: Path) -> int:
    """Put a draft that both officers signed on record, through the running gateway.

    Raises:
        RequestError: the file is no signed draft, or the gateway refused.
    """
    _, terms, signatures = _read(file)
    lacking = [role for role in SIGNING_ROLES if role not in signatures]
    if lacking:
        raise RequestError(problem=f"{file} is not signed by {' and '.join(lacking)}")
    try:
        request = OverrideRequest.model_validate({**terms.model_dump(), "signatures": signatures})
    except ValidationError as error:
        raise RequestError(problem=f"{file}: {error.errors()[0]['msg']}") from None
    done = _post(settings, ROUTE, request.model_dump(mode="json"))
    again = "was granted before" if done["again"] else "is granted"
    sys.stdout.write(f"override {done['override_id']} {again}: record {done['seq']}\n")
    return 0


def _terms(given: Mapping[str, Any]) -> OverrideTerms:
    try:
        return OverrideTerms.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RequestError(problem=f"{where}: {first['msg']}") from None


def _read(file: Path) -> tuple[str, OverrideTerms, dict[str, str]]:
    try:
        found: Any = json.loads(file.read_bytes())
        log_id, signatures = str(found["log_id"]), dict(found["signatures"])
        return log_id, _terms(found["terms"]), signatures
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"{file} is no draft that `countersign override draft` wrote: {error}"
        raise RequestError(problem=problem) from None


def _write(file: Path, document: Mapping[str, Any]) -> None:
    with appearing(file, PRIVATE) as out:
        out.write(json.dumps(document, indent=1, sort_keys=True).encode() + b"\n")


def _get(settings: Settings) -> dict[str, Any]:
    state = StateFolder.of(settings)
    return get(state, ROUTE, Keyring(state.keys).token(OPERATOR), WITHIN_S).granted()


def _post(settings: Settings, route: str, body: dict[str, Any]) -> dict[str, Any]:
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(OPERATOR)
    return post(state, route, json.dumps(body), token, WITHIN_S).granted()
