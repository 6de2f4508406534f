"""A policy's draft for a table of instruments, and a signed one put in force.

Not here: numbers and signatures (`policies/`).
"""

import json
import sys
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from audit.files import appearing
from gateway.errors import RequestError
from gateway.feeds.instruments.table import read_table
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import post
from gateway.installation.policies.cooling import wait_us
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.policies.policy_files import (
    READABLE,
    DraftOptions,
    activate_policy,
    new_policy,
    read_policy,
)
from gateway.installation.policies.traded import UNSCALED, DraftScale, currency_of
from gateway.installation.policies.trials import unnamed_said
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.launch.commands.prices import traded_of
from risk.forms.canonical import JSON_SAFE
from risk.forms.money import minor_digits
from risk.policy.policy import policy_digest
from risk.policy.signing import signed_policy_from_document

FOLLOW_WITHIN_S: Final = 60.0
"""Decisions that are under way end first."""


def draft_policy(
    path: Path,
    source: Path | None,
    options: DraftOptions,
    instruments: Path | None,
    scale: DraftScale,
) -> int:
    """Write a draft that names exactly the instruments of a table, if one is given.

    Raises:
        RequestError: the file exists, `source` holds no policy, or a price or the equity is wrong.
        InstrumentsError: the table cannot be read, or has faults.
    """
    if instruments is not None:
        traded = traded_of(read_table(instruments), scale)
        currency = currency_of(traded) if source is None else read_policy(source).policy.currency
        equity = equity_minor(scale.equity, currency)
        options = replace(options, traded=traded, equity_minor=equity)
    elif scale != UNSCALED:
        raise RequestError(
            problem="--price, --bars and --equity scale the limits of a table: name it with"
            " --instruments FILE"
        )
    return new_policy(path, source, options)


def equity_minor(text: str | None, currency: str) -> int | None:
    """Return an equity in minor units of the policy's currency; None if none is given.

    Raises:
        RequestError: it is no amount.
    """
    if text is None:
        return None
    try:
        minor = Decimal(text.replace(",", "")).scaleb(minor_digits(currency))
    except InvalidOperation:
        minor = Decimal(0)
    if not (minor.is_finite() and 1 <= minor <= JSON_SAFE and minor == int(minor)):
        raise RequestError(
            problem=f"--equity {text}: write an amount in {currency}, such as 1000000"
        )
    return int(minor)


def activate_now(path: Path, settings: Settings, reason: str, now_us: int) -> int:
    """Put a signed bundle in force through the running gateway, or leave it for the next start.

    Raises:
        RequestError: it may not follow; the bundle that was in the key folder is there again.
        SettingsError: the key folder lacks an officer's public key.
    """
    state = StateFolder.of(settings)
    final = state.keys / BUNDLE
    before = final.read_bytes() if final.exists() else b""
    activate_policy(path, state, now_us)
    try:
        token = _operator(state)
        body = json.dumps({"reason": reason})
        told = post(state, "/v1/policy/follow", body, token, FOLLOW_WITHIN_S).granted()
    except ConnectionRefusedError:
        _refuse_early(before, final, settings.mode)
        sys.stdout.write("no gateway runs: the next start puts it in force and on record\n")
        return 0
    except RequestError:
        _put_back(before, final)
        raise
    at = "already" if told["seq"] is None else f"from record {told['seq']} on"
    sys.stdout.write(f"version {told['version']} is in force {at}\n")
    sys.stdout.write("".join(f"  {one}\n" for one in told["changes"]))
    return 0


def _refuse_early(before: bytes, final: Path, mode: str) -> None:
    """Refuse a looser successor without a gateway, and one whose officers signed no trial.

    Only a gateway announces on record; the start asks the ledger for the trial.
    """
    if not before:
        return
    given, signed = (
        signed_policy_from_document(json.loads(data)) for data in (before, final.read_bytes())
    )
    old, new = given.policy, signed.policy
    if new.parent == policy_digest(old) and (said := unnamed_said(signed, mode)):
        _put_back(before, final)
        raise RequestError(problem=said)
    if new.parent == policy_digest(old) and (waits := wait_us(old, new, mode)):
        _put_back(before, final)
        raise RequestError(
            problem=f"version {new.version} is looser, and waits {waits // 1_000_000} s after a"
            " record that announces it: start the gateway, then activate it; the old one stays"
        )


def _put_back(before: bytes, final: Path) -> None:
    if before:
        with appearing(final, READABLE) as file:
            file.write(before)


def _operator(state: StateFolder) -> str:
    """Return the operator's key; a folder without one has never been started."""
    try:
        return Keyring(state.keys).token("operator")
    except FileNotFoundError:
        raise ConnectionRefusedError("no operator's key") from None
