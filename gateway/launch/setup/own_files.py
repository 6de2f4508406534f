"""The look at what the installation has on disk: settings, keys, instruments, policy, model."""

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.errors import NoteError
from audit.signers.file import public_file
from audit.tlog.note import VerifierKey
from gateway.errors import (
    GatewayError,
    InstrumentsError,
    IntakeError,
    RequestError,
    SettingsError,
    SourcesError,
)
from gateway.feeds.files.sources import read_sources
from gateway.feeds.instruments.fit import misfits, unnamed
from gateway.feeds.instruments.table import InstrumentTable, read_table
from gateway.feeds.live.calendars import Calendars
from gateway.installation.children.fix_profiles import SIMULATOR, profile_of
from gateway.installation.keys.custody import faults
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.log_keys import has_key, place_of
from gateway.installation.keys.officers import (
    PUBLIC_SUFFIX,
    read_public,
    refuse_officers_keys,
)
from gateway.installation.keys.roles import Role, SigningRole
from gateway.installation.keys.row_keys import SECRET, read_secret
from gateway.installation.policies.policy import BUNDLE, given_policy
from gateway.installation.policies.policy_files import read_policy, unsigned_said, validity_said
from gateway.installation.settings import Settings, variable_of
from gateway.installation.settings_file import without_secrets
from gateway.installation.state import StateFolder
from gateway.launch.commands.market import wrong_with
from gateway.launch.plan import undeclared
from gateway.launch.setup.findings import PartFinding, good, mend, unseen
from gateway.launch.threads.alarms import SECRET_BYTES_MIN, sink_of
from inference.errors import RegistryError
from inference.speculation.rounds import DrafterKind
from inference.weights.registry import MANIFEST, load_pair
from inference.weights.text_pair import check_runs
from risk.policy.policy import Policy, policy_digest

SHOWN: Final = 5
DRAFT: Final = "policy.toml"
"""The first policy's draft, beside the settings."""
_NEEDED: Final = (Role.OPERATOR, Role.AGENT, Role.FEED)


def look_at_settings(settings: Settings) -> Iterator[PartFinding]:
    """Yield what is missing or open in the settings."""
    where = settings.config or "the environment; there is no countersign.toml here"
    yield from list(_wrong_settings(settings)) or [good("settings", f"from {where}")]


def _wrong_settings(settings: Settings) -> Iterator[PartFinding]:
    ledger, file = settings.ledger, settings.config
    if file is not None:
        mode = stat.S_IMODE(file.stat().st_mode)
        secret = without_secrets(text := file.read_text(encoding="utf-8")) != text
        if mode & (0o077 if secret else 0o022):
            does = "read it, and it has a password" if secret else "change it"
            said = f"{file} has mode {mode:o}, so that others may {does}"
            yield mend("settings", said, f"chmod 600 {shlex.quote(str(file))}")
    if ledger.dsn and ledger.embedded:
        command = "unset COUNTERSIGN_LEDGER__EMBEDDED" if file is None else edit(file)
        yield mend("settings", "a DSN and the embedded database: one is too much", command)
    if ledger.admin_dsn is not None:
        said = "the administrator's DSN is set; the gateway must not hold it"
        yield mend("settings", said, "unset COUNTERSIGN_LEDGER__ADMIN_DSN")
    try:
        sink_of(settings.alarms)
    except SettingsError as error:
        yield mend("alarms", error, _secret_made(settings))
    if name := undeclared(settings):
        command = f"export {name}=.." if file is None else edit(file)
        yield mend("settings", f"{name} is not set: nobody is declared as liable", command)
    missing = {
        ("ledger", "dsn"): ledger.dsn or ledger.embedded,
        ("", "keys"): settings.keys,
        ("fix", "port"): settings.fix.port or settings.fix.profile.name != SIMULATOR,
        ("", "instruments"): settings.instruments,
    }
    for (section, name), value in missing.items():
        if not value:
            variable = variable_of(section, name)
            command = f"export {variable}=.." if file is None else edit(file)
            yield mend("settings", f"{variable} is not set; `serve` has no default", command)


def _secret_made(settings: Settings) -> str:
    """Return the command that makes the webhook's secret, or opens the settings."""
    secret = settings.alarms.secret_file
    if secret is None:
        name = "COUNTERSIGN_ALARMS__SECRET_FILE"
        return edit(settings.config) if settings.config else f"export {name}=.."
    file = shlex.quote(str(secret))
    if secret.exists() and len(secret.read_bytes().strip()) >= SECRET_BYTES_MIN:
        return f"chmod 600 {file}"
    return f"umask 077; openssl rand -hex 32 > {file}"


def look_at_keys(settings: Settings, state: StateFolder) -> Iterator[PartFinding]:
    """Yield what is missing, open or misplaced in the key folder."""
    if not state.keys.is_dir():
        yield mend("keys", f"there is no folder {state.keys}", "countersign log-key")
        return
    found = [mend("keys", f"{one.path} {one.problem}", one.command) for one in faults(state)]
    found += _log_key(settings, state)
    if not (state.keys / SECRET).exists():
        found.append(mend("keys", f"no {SECRET}: it makes the rows' MACs", "countersign row-key"))
    else:
        try:
            read_secret(state.keys)
        except SettingsError as error:
            found.append(mend("keys", error, f"rm {shlex.quote(str(state.keys / SECRET))}"))
    found += _officers(state)
    for role in _NEEDED:
        if not Keyring(state.keys).names_of(role):
            command = f"countersign keygen --name {role} --role {role}"
            found.append(mend("keys", f"no bearer key of the role {role}", command))
    yield from found or [good("keys", f"{state.keys}: complete, and only the gateway's user reads")]


def _log_key(settings: Settings, state: StateFolder) -> Iterator[PartFinding]:
    key, ledger = state.ledger_key, settings.ledger
    if not has_key(key):
        yield mend("keys", f"no {key.name}: it signs checkpoints", "countersign log-key")
        return
    if key.exists() and place_of(key) != ledger.signer:
        said = f"{key} is {place_of(key)}, COUNTERSIGN_LEDGER__SIGNER is {ledger.signer}"
        yield mend("keys", said, f"countersign rotate-key --to {shlex.quote(ledger.signer)}")
    public = public_file(key)
    if public.exists():
        try:
            name = VerifierKey.parse(public.read_text(encoding="utf-8")).name
        except NoteError as error:
            yield mend("keys", f"{public}: {error}", f"rm {shlex.quote(str(public))}")
            return
        if name != ledger.origin:
            said = f"{public} is of the log {name}, COUNTERSIGN_LEDGER__ORIGIN is {ledger.origin}"
            command = f"export COUNTERSIGN_LEDGER__ORIGIN={shlex.quote(name)}"
            yield mend("keys", said, edit(settings.config) if settings.config else command)


def _officers(state: StateFolder) -> Iterator[PartFinding]:
    try:
        refuse_officers_keys(state)
    except SettingsError as error:
        command = f"countersign officer-key FILE --role ROLE --from {state.keys}/ROLE.key"
        yield mend("keys", error.problem, command)
        return
    raws: list[bytes] = []
    for role in SigningRole:
        public = state.keys / f"{role}{PUBLIC_SUFFIX}"
        try:
            raws.append(read_public(public, role, role).raw)
        except SettingsError as error:
            command = f"cp {role}{PUBLIC_SUFFIX} {shlex.quote(str(public))}"
            yield mend("keys", f"{role} officer: {error.problem}", command)
    if len(set(raws)) < len(raws):
        said = "both officers have the same key: each makes one of his own"
        yield mend("keys", said, "countersign officer-key FILE --role compliance")


def look_at_instruments(settings: Settings, now_us: int) -> Iterator[PartFinding]:
    """Yield whether the table can be read, and which market hours end soon."""
    if settings.instruments is None:
        return
    try:
        table = read_table(settings.instruments)
    except InstrumentsError as error:
        said = f"{settings.instruments}: {error.faults[0]}"
        if len(error.faults) > 1:
            said += f" (and {len(error.faults) - 1} more: countersign instruments check)"
        yield mend("instruments", said, edit(settings.instruments))
        return
    calendars = ", ".join(sorted({one.calendar for one in table.listings}))
    said = f"{len(table.listings)} in {settings.instruments}; calendars {calendars}"
    names = {one.instrument.symbol: one.calendar for one in table.listings}
    try:
        said = "; ".join((said, *Calendars(names).ending(now_us)))
    except IntakeError as error:
        yield mend("instruments", error, edit(settings.instruments))
    else:
        yield good("instruments", said)


def look_at_files(settings: Settings) -> Iterator[PartFinding]:
    """Yield whether the followed files are there, can be read, and have the columns."""
    if (path := settings.feeds.files) is None:
        return
    try:
        sources = read_sources(path)
    except SourcesError as error:
        yield mend("files", f"{path}: {error.faults[0]}", edit(path))
        return
    for source in sources:
        found = list(wrong_with(source))[:SHOWN]
        name = f"{source.name} {source.feed}"
        yield from (mend("files", f"{name}: {said}", edit(path)) for said in found)
        if not found:
            yield good("files", f"{name}: {source.path}")


def look_at_policy(settings: Settings, state: StateFolder, now_us: int) -> Iterator[PartFinding]:
    """Yield whether both officers signed the policy, its validity, and what it does not name."""
    ring, path = Keyring(state.keys), state.keys / BUNDLE
    if not path.exists():
        yield mend("policy", f"no {path}", _policy_step(settings))
        return
    bundle = given_policy(ring)
    try:
        said = unsigned_said(bundle, ring, now_us)
    except GatewayError as error:
        yield unseen("policy", error)
        return
    if said:
        yield mend("policy", said, f"countersign policy sign {path} --key KEY")
    elif said := validity_said(bundle.policy, now_us):
        command = f"countersign policy new next.toml --from {shlex.quote(str(path))}"
        yield mend("policy", f"{path} {said}: every intent is refused", command)
    else:
        by = ", ".join(f"{one.role}:{one.signer}" for one in bundle.signatures)
        yield good("policy", f"{bundle.policy.name} {bundle.policy.version}, signed by {by}")
    yield from _ignored_draft(settings, bundle.policy, path)
    if settings.instruments is not None and settings.instruments.is_file():
        try:
            table = read_table(settings.instruments)
        except InstrumentsError as error:
            yield unseen("policy", f"not held against the table: {error.faults[0]}")
            return
        yield from _fitting(settings, table, bundle.policy, path)


def _policy_step(settings: Settings) -> str:
    """Return the next step on the way of the first policy: written, signed twice, activated."""
    draft = _home(settings) / DRAFT
    bundle = draft.with_suffix(".bundle.json")
    if not bundle.exists():
        verb = "sign" if draft.exists() else "new"
        return f"countersign policy {verb} {draft.name}{' --key KEY' * draft.exists()}"
    try:
        signatures = read_policy(bundle).signed.signatures
    except RequestError:
        signatures = ()
    if len(signatures) < len(SigningRole):
        return f"countersign policy sign {bundle.name} --key KEY"
    return f"countersign policy activate {bundle.name}"


def _ignored_draft(settings: Settings, serving: Policy, path: Path) -> Iterator[PartFinding]:
    """Yield a draft beside the settings that is newer than the policy in force."""
    draft = _home(settings) / DRAFT
    if not draft.exists():
        return
    try:
        policy = read_policy(draft).policy
    except RequestError as error:
        yield mend("policy", f"{error}; `serve` does not read the draft", edit(draft))
        return
    if policy.version < serving.version or policy_digest(policy) == policy_digest(serving):
        return
    said = f"{draft} is not the signed policy: `serve` ignores what it says"
    if policy.parent == policy_digest(serving):
        yield mend("policy", said, f"countersign policy sign {draft.name} --key KEY")
        return
    command = f"countersign policy new next.toml --from {shlex.quote(str(path))}"
    yield mend("policy", f"{said}, and it does not follow that one: write it anew", command)


def _home(settings: Settings) -> Path:
    return Path() if settings.config is None else settings.config.parent


def _fitting(
    settings: Settings, table: InstrumentTable, policy: Policy, path: Path
) -> Iterator[PartFinding]:
    symbols = list(unnamed(table.listings, policy))
    file = settings.instruments or Path()
    if symbols:
        said = f"does not name {', '.join(symbols[:SHOWN])}{' ..' * (len(symbols) > SHOWN)}"
        command = (
            f"countersign policy new next.toml --from {shlex.quote(str(path))}"
            f" --instruments {shlex.quote(str(file))}"
        )
        yield mend("policy", f"{said}: every intent on it is refused", command)
    profile = profile_of(settings.fix)
    for fault in list(misfits(table.listings, policy, profile))[:SHOWN]:
        yield mend("instruments", fault, edit(file))


def look_at_model(settings: Settings) -> Iterator[PartFinding]:
    """Yield whether the model pair is complete, as its manifest says, and can run as set."""
    pair = load_pair(settings.engine.model)
    try:
        check_runs(pair, DrafterKind(settings.engine.drafter))
    except RegistryError as error:
        yield mend("model", error, edit(settings.config or settings.engine.model / MANIFEST))
        return
    yield good("model", f"{settings.engine.model}, manifest {pair.manifest_digest[:12]}")


def edit(file: Path) -> str:
    """Return the command that opens a file."""
    return f"{os.environ.get('EDITOR', 'vi')} {shlex.quote(str(file))}"
