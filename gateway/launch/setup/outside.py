"""The look at what the installation needs around it: database, clock, disk, port, broker.

Nothing is written or started: the embedded database is looked at only by its process.
"""

import http.client
import os
import shlex
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.errors import LedgerUnsafeError
from audit.records.kinds import Kind
from audit.store.connection import refuse_unsafe
from audit.store.logins import login_of
from audit.store.reader import LedgerReader
from audit.store.tables import (
    READER_ROLE,
    SCHEMA_REVISION,
    DatabaseError,
    connect,
    is_current,
    out_of_reach,
)
from fix.dialects.profile import Profile, SessionMode
from fix.durable.continuity import lacking, stored_numbers
from fix.durable.resets import resets_of
from gateway import clock
from gateway.errors import InstrumentsError, SettingsError
from gateway.feeds.instruments.fit import changes
from gateway.feeds.instruments.table import read_table
from gateway.installation.children.fix_profiles import SIMULATOR, profile_path, session_profile
from gateway.installation.children.postmaster import live_postmaster
from gateway.installation.keys.keyring import Keyring
from gateway.installation.policies.on_record import (
    early_on_record,
    refuse_stray_officers,
    stray_said,
    untried_on_record,
)
from gateway.installation.policies.policy import given_policy
from gateway.installation.settings import FixSettings, Settings
from gateway.installation.state import StateFolder
from gateway.installation.trial import database_homes, refuse_unfinished
from gateway.launch.feeds import changed_terms
from gateway.launch.session import last_offset, refuse_other_session
from gateway.launch.setup.findings import PartFinding, good, mend, unseen
from gateway.launch.setup.own_files import edit
from gateway.walk.journal.run import InstrumentListed
from gateway.walk.projections.outbox import DECISION_PREFIX, Orders
from gateway.walk.projections.sequence import numbers

REACH_S: Final = 3.0
"""Longest wait for a peer."""
SKEW_MAX_S: Final = 0.5
"""Clocks may differ by this much: feeds and the broker stamp what they send."""
FREE_MIN: Final = 2 * 1024**3
"""Free space below which the ledger may fill the disk within days, bytes."""
_MIGRATE: Final = "COUNTERSIGN_LEDGER__ADMIN_DSN=.. countersign migrate"


def look_at_disk(settings: Settings, state: StateFolder) -> Iterator[PartFinding]:
    """Yield whether the state folder can be written and is this session's, and the free space."""
    refuse_unfinished(state.root)
    there = next(one for one in (state.root, *state.root.parents) if one.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield mend("state", f"{there} cannot be written", f"chown {os.geteuid()} {_quoted(there)}")
        return
    free = shutil.disk_usage(there).free
    said = f"{free / 1024**3:.1f} GiB free in {there}"
    if free < FREE_MIN:
        yield mend("disk", f"{said}, fewer than {FREE_MIN // 1024**3}", f"du -xh {_quoted(there)}")
    else:
        yield good("disk", said)
    if wrong := _another_owner(settings, state):
        command = edit(settings.config) if settings.config else "export COUNTERSIGN_STATE=.."
        yield mend("state", wrong, command)
        return
    yield good("state", f"{state.root}{'' if there == state.root else ', which the start makes'}")


def _another_owner(settings: Settings, state: StateFolder) -> str:
    """Return why the folder is not of this mode and session, as the start would; or ""."""
    try:
        profile = session_profile(settings)
    except SettingsError:
        return ""  # told by the look at the broker
    try:
        refuse_other_session(state.fix, profile)
    except SettingsError as error:
        return error.problem
    return ""


def look_at_database(settings: Settings, state: StateFolder) -> Iterator[PartFinding]:
    """Yield whether the database answers, is safe, migrated and open to a plain login."""
    dsn = settings.ledger.dsn
    if dsn is None:
        yield from _embedded(state)
        return
    try:
        with connect(dsn, name="countersign-doctor") as session:
            row = session.execute("SELECT current_setting('server_version')").fetchone()
        if not is_current(dsn):
            said = f"the schema is not {SCHEMA_REVISION}, which this program needs"
            yield mend("database", said, _MIGRATE)
            return
        login = login_of(dsn)
        wrong = [f"lacks the role {one}" for one in login.lacking] + list(login.excess)
        if wrong:
            yield mend("database", f"the login {login.name} {', '.join(wrong)}", _MIGRATE)
        with connect(dsn, role=READER_ROLE, name="countersign-doctor") as session:
            refuse_unsafe(session)
            began_us = clock.wall_us()
            asked = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
            at = session.execute(asked.encode()).fetchone()
            ended_us = clock.wall_us()
    except LedgerUnsafeError as error:
        yield mend("database", error, "psql COUNTERSIGN_LEDGER__DSN")
        return
    except DatabaseError as error:
        yield mend("database", out_of_reach(error), "pg_isready -d COUNTERSIGN_LEDGER__DSN")
        return
    version = row[0] if row else "?"
    yield good("database", f"PostgreSQL {version}, schema {SCHEMA_REVISION}, login {login.name}")
    skew_s = (int(at[0]) - (began_us + ended_us) // 2) / 1_000_000 if at else 0.0
    unsure_s = (ended_us - began_us) / 2_000_000  # a slow answer is no skew
    said = f"the database's is {abs(skew_s):.3f} s {'ahead' if skew_s > 0 else 'behind'}"
    if abs(skew_s) - unsure_s > SKEW_MAX_S:
        yield mend("clock", f"{said}; at most {SKEW_MAX_S:g} s", "timedatectl set-ntp true")
    else:
        yield good("clock", said)


def _embedded(state: StateFolder) -> Iterator[PartFinding]:
    homes = [home for home in database_homes(state.root) if (home / "data").is_dir()]
    pid = next((pid for home in homes if (pid := live_postmaster(home / "data"))), None)
    where = str(homes[0]) if homes else f"the first start makes it in {state.root}"
    running = f"runs as process {pid}" if pid else "the start runs it"
    yield good("database", f"embedded, {where}; {running}; its ledger is not looked at")


def look_at_ledger(settings: Settings, state: StateFolder) -> Iterator[PartFinding]:
    """Yield whether policy and FIX store follow what is on record, where a DSN is given."""
    folder = state.fix
    ours, theirs = stored_numbers(folder)
    said = f"next numbers {ours} (ours) and {theirs} (the broker's) in {folder}"
    dsn = settings.ledger.dsn
    if dsn is None or not is_current(dsn):
        yield good("session", f"{said}; not held against the ledger")
        return
    profile = session_profile(settings)
    reader = LedgerReader(dsn)
    try:
        found = _lost(profile, settings.mode, folder, reader)
        if found:
            command = "countersign serve --new-fix-session 'WHY'"
            yield mend("session", f"{folder} is behind the ledger: {'; '.join(found)}", command)
        else:
            yield good("session", f"{said}, as on record")
        yield from _changed(settings, reader)
        count = sum(reader.kind_counts().values())
        run = reader.records(kinds=(Kind.RUN_STARTED,), newest_first=True, limit=1)
        began = "; never started here" if not list(run) else ""
        yield good("ledger", f"{count} records{began}")
        try:
            ring = Keyring(state.keys)
            signed, keys = given_policy(ring), ring.public_keys()
        except SettingsError:
            return  # told by the looks at keys and policy
        try:
            refuse_stray_officers(keys, settings.ledger.origin, reader)
        except SettingsError as error:
            command = "countersign key replace-officer ROLE --public FILE --reason WHY"
            yield mend("keys", error.problem, command)
        policy, mode = signed.policy, settings.mode
        if stray := stray_said(policy, reader):
            command = "countersign policy new next.toml --from FILE-OF-THE-ONE-IN-FORCE"
            yield mend("policy", f"the policy in {state.keys} {stray}", command)
        elif early := early_on_record(policy, mode, reader, clock.wall_us()):
            command = "put the bundle of the policy in force back, or wait"
            yield mend("policy", f"the policy in {state.keys}: {early}", command)
        elif untried := untried_on_record(signed, mode, reader):
            command = "countersign policy try FILE --record"
            yield mend("policy", f"the policy in {state.keys}: {untried}", command)
    finally:
        reader.close()


def _changed(settings: Settings, reader: LedgerReader) -> Iterator[PartFinding]:
    """Yield what the table changes of instruments that have orders on record."""
    if settings.instruments is None:
        return
    try:
        table = read_table(settings.instruments)
    except InstrumentsError:
        return  # told by the look at the table
    listed = [InstrumentListed.of(one) for one in reader.records(kinds=[Kind.INSTRUMENT_LISTED])]
    symbols = [str(one.instrument["symbol"]) for one in listed]
    if not any(changes(table.instruments, listed, symbols)):
        return  # the orders need not be read
    orders = Orders()
    orders.fold(one for one in reader.records() if one.stream.startswith(DECISION_PREFIX))
    for said in changed_terms(table.instruments, reader, orders):
        yield mend("instruments", said, edit(settings.instruments))


def _lost(profile: Profile, mode: str, folder: Path, reader: LedgerReader) -> tuple[str, ...]:
    known = numbers(reader, profile, resets_of(folder), clock.wall_us(), mode)
    if known.refused is not None:
        return (str(known.refused),)
    goes_on = profile.mode is SessionMode.RESUME
    return lacking(
        folder,
        last_offset=last_offset(reader, profile.name),
        next_sender=known.next_sender if goes_on else 0,
    )


def look_at_port(settings: Settings, state: StateFolder) -> Iterator[PartFinding]:
    """Yield whether the API's port is free, or ours."""
    api = settings.api
    if not api.port:
        yield good("api", "takes a free port")
        return
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(api.host, api.host)  # noqa: S104 - compared
    connection = http.client.HTTPConnection(host, api.port, timeout=REACH_S)
    try:
        connection.connect()
    except OSError:
        yield good("api", f"port {api.port} of {api.host} is free")
        return
    finally:
        connection.close()
    noted = state.root / "address"
    address = noted.read_text(encoding="ascii").split() if noted.exists() else []
    if address and address[0].endswith(f":{api.port}"):
        yield good("api", f"a gateway of this state folder listens at {address[0]}")
    else:
        command = f"ss -ltnp 'sport = :{api.port}'"
        yield mend("api", f"another process listens on port {api.port}", command)


def look_at_broker(settings: Settings) -> Iterator[PartFinding]:
    """Yield whether the session's settings make sense and the broker's port answers (TCP only)."""
    fix, file = settings.fix, settings.config
    if not fix.port and fix.profile.name == SIMULATOR:
        yield unseen("broker", "its port is not set")
        return
    try:
        profile = session_profile(settings)
    except SettingsError as error:
        yield mend("broker", error, edit(file) if file else f"export {error.name}=..")
        return
    yield from look_at_ids(settings, profile)
    host, port = profile.host, profile.port
    try:
        socket.create_connection((host, port), REACH_S).close()
    except OSError as error:
        said = f"{host}:{port} does not answer ({error.strerror or error})"
        yield mend("broker", said, f"nc -vz {shlex.quote(host)} {port}")
        return
    ids = f"{profile.sender_comp_id} -> {profile.target_comp_id}"
    said = f"{host}:{port} answers; {profile.name}, {profile.version}, {ids}, {profile.mode}"
    yield good("broker", f"{said}; a logon was not tried")
    if profile.market_data is not None:
        yield _market_data(profile.market_session, profile.market_data.source)


def _market_data(session: Profile, source: str) -> PartFinding:
    """Return whether the port of the market data session answers (TCP only)."""
    host, port = session.host, session.port
    try:
        socket.create_connection((host, port), REACH_S).close()
    except OSError as error:
        said = f"{host}:{port} does not answer ({error.strerror or error})"
        return mend("market data", said, f"nc -vz {shlex.quote(host)} {port}")
    ids = f"{session.sender_comp_id} -> {session.target_comp_id}"
    return good("market data", f"{host}:{port} answers; {ids}, source {source}; not logged on")


def look_at_ids(settings: Settings, profile: Profile) -> Iterator[PartFinding]:
    """Yield CompIDs that no broker can tell apart, or that only our simulator has."""
    fix = settings.fix
    own = profile_path(fix.profile) == fix.profile  # a file of the desk's, not a shipped one
    file = fix.profile if own else settings.config
    command = edit(file) if file else "export COUNTERSIGN_FIX__SENDER=.."
    sender, target = profile.sender_comp_id, profile.target_comp_id
    if sender == target:
        yield mend("broker", f"SenderCompID and TargetCompID are both {sender}", command)
    loopback = profile.host in {"127.0.0.1", "::1", "localhost"}
    if not loopback and FixSettings().target == target:
        yield mend("broker", f"TargetCompID {target} is the simulator's", command)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
