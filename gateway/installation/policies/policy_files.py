"""The verbs of `countersign policy`: new, show, sign, activate and diff.

A draft is TOML with comments. The first signature makes a bundle beside it (JSON: the policy and
its signatures), which the second officer signs and `serve` reads.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.files import appearing
from audit.records.canonical import canonical
from audit.signers.file import write_new
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.keys.officers import (
    PUBLIC_SUFFIX,
    OfficerKey,
    read_officer,
    read_public,
)
from gateway.installation.policies.packs import packs_said
from gateway.installation.policies.policy import BUNDLE, POLICIES, given_policy
from gateway.installation.policies.sections import first_draft, missing_said, next_draft
from gateway.installation.policies.traded import TradedInstrument
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from risk.errors import RiskError
from risk.numbers.standing import PolicyStanding
from risk.policy.changes import policy_changes
from risk.policy.policy import MAX_POLICY_BYTES, Policy, parse_policy, policy_digest
from risk.policy.signing import (
    PolicySignature,
    SignedPolicy,
    policy_statement,
    sign_policy,
    signed_policy_document,
    signed_policy_from_document,
    verify_signatures,
)
from risk.policy.text import parse_policy_text, policy_text

DAY_US: Final = 86_400_000_000
DIFFERS: Final = 1
NAME: Final = "desk"
"""Of a first draft; the desk changes it as it likes."""
_LARGEST: Final = 4 * MAX_POLICY_BYTES
READABLE: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """A policy from a file; `is_bundle` if the file has room for signatures."""

    signed: SignedPolicy
    is_bundle: bool

    @property
    def policy(self) -> Policy:
        """The policy in it."""
        return self.signed.policy


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOptions:
    """How a new policy differs from the one that it starts from.

    Attributes:
        traded: the instruments that it shall name; none: those that it has.
        equity_minor: the account's equity, by which its limits are scaled; None: that with which
            an account begins, or what the policy to follow was written for.
    """

    author: str
    days: int
    now_us: int
    traded: tuple[TradedInstrument, ...] = ()
    equity_minor: int | None = None


def read_policy(path: Path) -> PolicyFile:
    """Return the policy in a file: TOML, JSON, or a bundle with signatures (not checked here).

    Raises:
        RequestError: it cannot be read or holds no policy; names the file, and the line if known.
    """
    try:
        text = path.read_bytes()[: _LARGEST + 1].decode()
        if len(text) > _LARGEST:
            raise RequestError(problem=f"{path} is larger than a policy may be")
        if not text.lstrip().startswith("{"):
            plain = SignedPolicy(policy=parse_policy_text(text), signatures=())
            return PolicyFile(signed=plain, is_bundle=False)
        document = json.loads(text)
        if "policy" in document:
            return PolicyFile(signed=signed_policy_from_document(document), is_bundle=True)
        plain = SignedPolicy(policy=parse_policy(text.encode()), signatures=())
        return PolicyFile(signed=plain, is_bundle=False)
    except OSError as error:
        raise RequestError(problem=f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RequestError(problem=f"{path} line {line}: not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise RequestError(problem=f"{path} line {error.lineno}: not JSON: {error.msg}") from None
    except (RiskError, RecursionError) as error:
        raise RequestError(problem=f"{path} {error}") from None


def new_policy(path: Path, source: Path | None, options: DraftOptions) -> int:
    """Write a draft (see `write_draft`) and print what to do with it."""
    policy = write_draft(path, source, options)
    sys.stdout.write("".join(f"{one}\n" for one in missing_said(policy, options.traded)))
    sys.stdout.write(
        f"{path}: edit it, then let both officers run: countersign policy sign {path} --key KEY\n"
    )
    return 0


def write_draft(path: Path, source: Path | None, options: DraftOptions) -> Policy:
    """Write a commented draft, to follow the policy in `source`, or from the settings' shipped one.

    Raises:
        RequestError: the file exists, or `source` holds no policy.
    """
    policy = read_policy(source or POLICIES[load().policy]).policy
    if options.traded:
        draft = first_draft if source is None else next_draft
        policy = draft(policy, options.traded, options.equity_minor)
    start_us = options.now_us // DAY_US * DAY_US
    changed: dict[str, object] = {
        "author": options.author or policy.author,
        "not_before_us": start_us,
        "expires_us": start_us + options.days * DAY_US,
    }
    if source is None:
        changed["name"] = NAME  # the shipped one says that it is the playback's
    else:
        before = read_policy(source).policy
        changed |= {"version": before.version + 1, "parent": policy_digest(before)}
    text = policy_text(policy.model_copy(update=changed))
    try:
        policy = parse_policy_text(text)
        write_new(path.resolve(), text.encode(), READABLE)
    except RiskError as error:
        count = len(policy.instruments)
        problem = f"this would be no policy: {error} ({count} instruments, 64 KiB at most)"
        raise RequestError(problem=problem) from None
    except FileExistsError:
        raise RequestError(problem=f"{path} exists: choose another name") from None
    return policy


def show_policy(path: Path, publics: Sequence[Path], state: StateFolder, now_us: int) -> int:
    """Print a policy's digest, validity, signatures and numbers; return 1 if one is wrong."""
    found = read_policy(path)
    policy, keys = found.policy, _public_keys(publics, state)
    wrong = False
    lines = [
        f"{policy.name} version {policy.version}, written by {policy.author}",
        f"digest     {policy_digest(policy)}",
        f"follows    {policy.parent or 'none: the first'}",
        f"valid      {_term(policy)}{_validity(policy, now_us)}",
    ]
    for one in found.signed.signatures:
        said = _checked(policy, one, keys)
        wrong = wrong or said.startswith("WRONG")
        said += f", over trial {one.trial}" if one.trial else ""
        lines.append(f"signature  {one.role}:{one.signer}: {said}")
    missing = [role for role in SIGNING_ROLES if role not in _roles(found.signed)]
    if missing:
        lines.append(f"unsigned   still needed: {', '.join(missing)}")
    sys.stdout.write("".join(f"{line}\n" for line in (*lines, "", policy_text(policy))))
    return DIFFERS if wrong else 0


def sign_policy_file(
    path: Path, key_file: Path, publics: Sequence[Path], state: StateFolder, trial: str = ""
) -> int:
    """Add one officer's signature to the bundle, which is made beside a draft.

    `trial` is the digest of the trial that the officer saw; both officers name the same one.

    Raises:
        RequestError: the file holds no policy, was edited after a signature, or the officer may
            not sign it (the author, the same role, person or key twice).
        SettingsError: the key file holds no officer's key.
    """
    found = read_policy(path)
    bundle = path if found.is_bundle else path.with_suffix(".bundle.json")
    signed = found.signed
    if not found.is_bundle and bundle.exists():
        signed = read_policy(bundle).signed
        if policy_digest(signed.policy) != policy_digest(found.policy):
            raise _refused(
                f"{path} was edited after {bundle} was signed: see `countersign policy diff"
                f" {bundle} {path}`; to sign the new text, remove {bundle} and let both sign again"
            )
    officer = read_officer(key_file, "--key")
    if not officer.role:
        raise SettingsError(
            name="--key",
            problem=f"{key_file} does not name its officer's role: carry the key over with"
            f" `countersign officer-key FILE --role ROLE --from {key_file}`",
        )
    keys = _public_keys(publics, state)
    _refuse_second(signed, officer, bundle)
    _refuse_other_trial(signed, trial, bundle)
    if said := packs_said(signed.policy):
        raise _refused(said)
    for one in signed.signatures:
        if _checked(signed.policy, one, keys).startswith("WRONG"):
            raise _refused(
                f"{bundle}: the signature of {one.role}:{one.signer} is not over this policy: it"
                " was edited after signing, or another key signed it; let both sign again"
            )
    added = sign_policy(signed.policy, officer.role, officer.name, officer.key, trial)
    signed = replace(signed, signatures=(*signed.signatures, added))
    with appearing(bundle.resolve(), READABLE) as file:
        file.write(canonical(signed_policy_document(signed)))
    missing = [role for role in SIGNING_ROLES if role not in _roles(signed)]
    if missing:
        after = f"still needed: {', '.join(missing)}: countersign policy sign {bundle} --key KEY"
    else:
        after = f"both signed; on the gateway's machine: countersign policy activate {bundle}"
    sys.stdout.write(
        f"{officer.role}:{officer.name} signed {policy_digest(signed.policy)}"
        f"{f' and trial {trial}' if trial else ''}\n{after}\n"
    )
    return 0


def diff_policies(before: Path, after: Path) -> int:
    """Print every field that differs, and whether it loosens or tightens; return 1 if any does."""
    present, following = read_policy(before).policy, read_policy(after).policy
    changes = policy_changes(present, following)
    same = policy_digest(present) == policy_digest(following)
    for one in changes:
        old, new = (json.dumps(side, ensure_ascii=False) for side in (one.before, one.after))
        sys.stdout.write(f"{one.effect.value:8} {one.field}: {old} -> {new}\n")
    if not changes:
        said = "the policies are the same" if same else "only the order of the sections differs"
        sys.stdout.write(f"{said}\n")
    return 0 if same else DIFFERS


def served_policy(keyring: Keyring, now_us: int) -> SignedPolicy:
    """Return the bundle in the key folder if both officers signed it.

    A policy that is not valid at this time is returned with a warning: the gateway must start to
    look after open orders, and its rules refuse every intent.

    Raises:
        SettingsError: it is missing, malformed, looser than its packs, or not signed by both.
    """
    bundle, path = given_policy(keyring), keyring.folder / BUNDLE
    if said := unsigned_said(bundle, keyring, now_us):
        raise SettingsError(
            name="COUNTERSIGN_KEYS",
            problem=f"{path} is not signed by both officers whose public keys are in"
            f" {keyring.folder} ({said}): countersign policy sign",
        )
    if said := packs_said(bundle.policy):
        raise SettingsError(name="COUNTERSIGN_KEYS", problem=f"{path}: {said}")
    if said := validity_said(bundle.policy, now_us):
        sys.stderr.write(f"countersign: {path} {said}: every intent is refused\n")
    return bundle


def activate_policy(path: Path, state: StateFolder, now_us: int) -> int:
    """Put a bundle into the key folder if both officers signed it and it follows the one there.

    It may also stand instead of that one, which perhaps never started; the start compares it with
    the policy on record.

    Raises:
        RequestError: it is not so, it is no bundle, or it has expired.
        SettingsError: the key folder lacks an officer's public key.
    """
    found, keyring = read_policy(path), Keyring(state.keys)
    if said := unsigned_said(found.signed, keyring, now_us):
        raise _refused(f"{path} is not signed by both officers ({said}): countersign policy sign")
    if now_us >= found.policy.expires_us:
        raise _refused(f"{path} {validity_said(found.policy, now_us)}")
    final = keyring.folder / BUNDLE
    if final.exists():
        present = given_policy(keyring).policy
        follows = found.policy.parent == policy_digest(present)
        instead = found.policy.parent == present.parent  # of one that never started, perhaps
        if not (follows or instead) or found.policy.version < present.version + follows:
            raise _refused(
                f"{path} does not follow {final}: make it with `countersign policy new FILE --from"
                f" {final}`"
            )
    with appearing(final, READABLE) as file:
        file.write(canonical(signed_policy_document(found.signed)))
    when = validity_said(found.policy, now_us)
    sys.stdout.write(f"{final}: {when or 'valid'}\n")
    return 0


def unsigned_said(bundle: SignedPolicy, keyring: Keyring, now_us: int) -> str:
    """Return whose signature is missing or wrong, "" if both officers signed."""
    keys = keyring.public_keys()
    if verify_signatures(bundle, keys, now_us).standing is not PolicyStanding.UNSIGNED:
        return ""
    said = [
        f"{one.role}:{one.signer} {_checked(bundle.policy, one, keys)}" for one in bundle.signatures
    ]
    said += [f"{role} did not sign" for role in SIGNING_ROLES if role not in _roles(bundle)]
    return "; ".join(said)


def validity_said(policy: Policy, now_us: int) -> str:
    """Return when a policy expired or begins, "" while it is valid."""
    return _validity(policy, now_us).strip(" ,")


def _refuse_second(signed: SignedPolicy, officer: OfficerKey, bundle: Path) -> None:
    """Refuse a signature that would count for nothing, or for a second person."""
    if signed.policy.signatures_min > len(SIGNING_ROLES):
        raise _refused(
            f"signatures_min is {signed.policy.signatures_min}, but the gateway knows the keys of"
            f" {len(SIGNING_ROLES)} officers: write signatures_min = {len(SIGNING_ROLES)}"
        )
    if officer.name == signed.policy.author:
        raise _refused(f"{officer.name} is the policy's author and may not sign it")
    raw = officer.key.public_key().public_bytes_raw()
    for one in signed.signatures:
        who = f"{one.role}:{one.signer}"
        if one.role == officer.role:
            raise _refused(f"{bundle} is signed by {who} already: the other officer must sign")
        if one.signer == officer.name:
            raise _refused(f"{officer.name} signed {bundle} as {one.role}: two people must sign")
        if _checked(signed.policy, one, {one.role: raw}) == "valid":
            raise _refused(f"{who} signed {bundle} with this same key: two people must sign")


def _refuse_other_trial(signed: SignedPolicy, trial: str, bundle: Path) -> None:
    """Refuse a digest of another form, or another trial than the first officer signed."""
    if trial and re.fullmatch("[0-9a-f]{64}", trial) is None:
        raise _refused("--trial is the digest that `countersign policy try --record` printed")
    for one in signed.signatures:
        if one.trial != trial:
            raise _refused(
                f"{one.role}:{one.signer} signed {bundle} with"
                f" {f'trial {one.trial}' if one.trial else 'no trial'}: look at the same one and"
                f" write {f'--trial {one.trial}' if one.trial else 'no --trial'}, or let both sign"
                " anew"
            )


def _public_keys(publics: Sequence[Path], state: StateFolder) -> dict[str, bytes]:
    """Return the officers' public keys from the files, else those that the key folder has."""
    files = publics or [
        path for role in SIGNING_ROLES if (path := state.keys / f"{role}{PUBLIC_SUFFIX}").exists()
    ]
    found = [read_public(path, "--public") for path in files]
    return {one.role: one.raw for one in found}


def _checked(policy: Policy, one: PolicySignature, keys: Mapping[str, bytes]) -> str:
    if one.role not in keys:
        return f"not checked: no public key of {one.role}, name its file with --public"
    statement = policy_statement(policy_digest(policy), one.role, one.signer, one.trial)
    try:
        key = Ed25519PublicKey.from_public_bytes(keys[one.role])
        key.verify(bytes.fromhex(one.signature), statement)
    except (InvalidSignature, ValueError):
        return "WRONG: another key, or the policy was edited after signing"
    return "valid"


def _roles(signed: SignedPolicy) -> set[str]:
    return {one.role for one in signed.signatures}


def _term(policy: Policy) -> str:
    return f"{_day(policy.not_before_us)} to {_day(policy.expires_us)}"


def _validity(policy: Policy, now_us: int) -> str:
    if now_us < policy.not_before_us:
        return f", not valid before {_day(policy.not_before_us)}"
    return f", expired {_day(policy.expires_us)}" if now_us >= policy.expires_us else ""


def _day(time_us: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_us / 1_000_000, tz=UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError):
        return f"{time_us} us"


def _refused(problem: str) -> RequestError:
    return RequestError(problem=problem)
