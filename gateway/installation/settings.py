"""All settings, from `COUNTERSIGN_...` in the environment and from a file (`settings_file`).

Not here: what feeds may be told (`feed_settings`).

Rules:

- The command line wins over the environment, which wins over the file.
- Nested fields are joined by `__` in the environment, and are a table of the file.
- An unknown name stops the start: a mistyped limit must not be ignored.
- `run` fills development defaults; `serve` has no default for database, keys, broker or
  instruments.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from typing_extensions import override

from gateway.errors import SettingsError
from gateway.installation.feed_settings import FeedSettings, SettingsSection
from gateway.installation.settings_file import (
    FileSource,
    place_in,
    plain_fields,
    refuse_unknown,
    settings_file,
    without_secrets,
)
from risk.intent import SYMBOL
from risk.state.pilot import PilotLimits

PREFIX = "COUNTERSIGN_"
# Names that the set-up and the tests read.
OUTSIDE = frozenset({"COUNTERSIGN_CACHE", "COUNTERSIGN_FAILPOINT", "COUNTERSIGN_ENGINE_FAULT"})


SHIPPED_PROFILES = frozenset({"simulator", "plain-4.2", "plain-4.4", "plain-5.0sp2"})


class ApiSettings(SettingsSection):
    """The HTTP server."""

    host: str = Field(default="127.0.0.1", description="address to bind; loopback only in `run`")
    port: int = Field(default=8700, ge=0, le=65535, description="TCP port; 0 takes a free one")


class LedgerSettings(SettingsSection):
    """The ledger and its database."""

    dsn: str | None = Field(
        default=None,
        description="PostgreSQL DSN of a plain login (`serve` refuses a superuser's); none starts "
        "the embedded one",
    )
    admin_dsn: str | None = Field(
        default=None,
        description="PostgreSQL DSN of the administrator, for `countersign migrate` alone: keep it "
        "out of the gateway's environment",
    )
    embedded: bool = Field(
        default=False, description="`serve` uses the state folder's embedded database; then no DSN"
    )
    origin: str = Field(
        default="countersign.local/dev",
        description="name of the log: the first line of each checkpoint",
    )
    signer: str = Field(
        default="file",
        description="where the log's key is: file (ledger.key in the key folder), or the PKCS#11 "
        "URI of a key in a device, pkcs11:token=..;object=..?module-path=..&pin-source=file:..",
    )
    ml_dsa: bool = Field(
        default=False, description="cosign each checkpoint with the log's own ML-DSA-44 key too"
    )
    checkpoint_every_s: float = Field(
        default=1.0, gt=0, le=60, description="time between checkpoints, seconds"
    )
    witness_policy: Path | None = Field(
        default=None,
        description="tlog-policy file: witnesses with addresses, and the quorum; none: no witness",
    )
    witness_timeout_s: float = Field(
        default=5.0, gt=0, le=60, description="longest wait for one witness's answer, seconds"
    )
    witness_lost_after_s: float = Field(
        default=15.0, gt=0, description="quorum lost: so long without one for a checkpoint, seconds"
    )
    tiles: Literal["auditor", "public"] = Field(
        default="auditor",
        description="who may read /log (headers, no payloads): auditors, or everybody",
    )


class EngineSettings(SettingsSection):
    """The engine child and what it samples."""

    drafter: Literal["table", "network", "none"] = Field(
        default="table", description="who proposes: table, network, or none (no speculation)"
    )
    spec_k: int = Field(default=4, ge=1, le=8, description="draft tokens per round")
    paths: int = Field(default=1024, ge=16, le=1024, description="trajectories per forecast")
    horizon: int = Field(default=10, ge=1, le=32, description="bars per trajectory")
    deadline_s: float = Field(
        default=20.0, gt=0, description="longest wait for one forecast, seconds"
    )
    start_timeout_s: float = Field(
        default=240.0, gt=0, description="longest wait for the engine's start, seconds"
    )
    model: Path = Field(
        default=Path(__file__).parents[2] / "inference" / "models" / "pair_v4",
        description="folder of the model pair, with its manifest",
    )


class FixSettings(SettingsSection):
    """The FIX session to the broker."""

    profile: Path = Field(
        default=Path("simulator"),
        description="the broker's profile: a TOML file, or a shipped name (simulator, plain-4.2,"
        " plain-4.4, plain-5.0sp2); host, port, sender, target, resets and public_tags win over it",
    )
    host: str = Field(
        default="127.0.0.1",
        description="broker host; `run` trades with its own simulator and refuses this name",
    )
    port: int = Field(default=0, ge=0, le=65535, description="broker port; 0: the profile's")
    sender: str = Field(default="COUNTERSIGN", description="SenderCompID")
    target: str = Field(default="EMSSIM", description="TargetCompID")
    public_tags: str = Field(
        default="",
        pattern=r"^(\d{3,5}(,\d{3,5})*)?$",
        description="the broker's user-defined tags that name no person, such as 5700,9730; all "
        "others are kept as personal values",
    )
    resets: Literal["none", "by_broker", "nightly"] = Field(
        default="none",
        description="which restarts of the sequence numbers to expect: none, by_broker (141=Y, or"
        " it starts again at 1), nightly (at session_start); any other ends the session",
    )
    session_start: str = Field(
        default="", description="nightly: start of the session, HH:MM:SS UTC"
    )
    session_end: str = Field(default="", description="nightly: end of the session, HH:MM:SS UTC")
    new_session: str = Field(
        default="",
        max_length=500,
        description="reason for a new FIX session, on record (`--new-fix-session`): the session's"
        " folder is lost, or the broker restarted its numbers and was refused; refused when neither"
        " is so",
    )
    cancel_at_stop: bool = Field(
        default=True,
        description="stopping the gateway first cancels every working order; false leaves them at"
        " the broker, unless a kill is in force",
    )
    send_within_s: float = Field(
        default=10.0,
        gt=0,
        description="an approval not sent within this time is withdrawn, seconds",
    )

    @field_validator("profile")
    @classmethod
    def _without_folder(cls, profile: Path) -> Path:
        """Return a shipped name alone: a settings file puts its folder before each path."""
        return Path(profile.name) if profile.name in SHIPPED_PROFILES else profile


class SimulatorSettings(SettingsSection):
    """The EMS simulator, the paper counterparty."""

    seed: int = Field(default=7, ge=0, description="seed of the simulator's published outcome deck")
    silent: bool = Field(
        default=False, description="the simulator answers nothing, to test a silent broker"
    )


class PlaybackSettings(SettingsSection):
    """The market series that `run` plays."""

    decisions: int | None = Field(
        default=None, ge=1, description="stop after this many decisions; none: all of 2018"
    )
    exit: bool = Field(
        default=False, description="exit after the summary instead of serving until Ctrl-C"
    )
    demo_agent: bool = Field(
        default=True, description="let the demo agent post intents that break rules, labelled so"
    )


class PilotSettings(SettingsSection):
    """The further limits of pilot mode, which both officers sign; unset permits nothing."""

    instruments: str = Field(
        default="",
        pattern=rf"^({SYMBOL}(,{SYMBOL})*)?$",
        description="the only instruments of pilot mode, such as AAPL,MSFT",
    )
    price_max_minor: int = Field(default=0, ge=0, description="highest limit price, minor units")
    value_max_minor: int = Field(default=0, ge=0, description="largest order, minor units")
    orders_per_day: int = Field(default=0, ge=0, description="most orders on one day, UTC")
    position_max_lots: int = Field(default=0, ge=0, description="largest position, lots")

    def limits(self) -> PilotLimits:
        """Return the limits as the core has them."""
        return PilotLimits(
            instruments=tuple(sorted(filter(None, self.instruments.split(",")))),
            **self.model_dump(exclude={"instruments"}),
        )


class AlarmSettings(SettingsSection):
    """Alarms for operators."""

    webhook: str | None = Field(
        default=None, description="https address that alarms are posted to; none: nowhere"
    )
    secret_file: Path | None = Field(
        default=None, description="file with the secret that signs the posts, mode 0600"
    )
    give_up_after_s: float = Field(
        default=3600, gt=0, le=86400, description="an alarm not taken so long is lost, seconds"
    )
    rejects_max: int = Field(default=5, ge=1, le=1000, description="refused orders in a minute")
    disk_free_min_mib: int = Field(default=1024, ge=0, description="least free room on disk, MiB")


class RetentionSettings(SettingsSection):
    """How long personal fields must be kept, by class; statutes: `audit.privacy.retention`."""

    order_years: int = Field(
        default=6, ge=0, le=30, description="years to keep names in orders and executions"
    )
    communication_years: int = Field(
        default=5, ge=0, le=30, description="years to keep words of persons about transactions"
    )
    supervision_years: int = Field(
        default=5, ge=0, le=30, description="years to keep names of approvers and operators"
    )


class LiabilitySettings(SettingsSection):
    """Who is liable for what in a decision; recorded with each run, and `serve` needs it set."""

    model_provider: str = Field(
        default="this project (bundled pair, trained from scratch)",
        min_length=1,
        max_length=200,
        description="who provides the model",
    )
    compute_operator: str = Field(
        default="whoever runs this machine (not declared)",
        min_length=1,
        max_length=200,
        description="who operates the machine that computes forecasts",
    )
    deployer: str = Field(
        default="not declared (development)",
        min_length=1,
        max_length=200,
        description="who puts the system to use, in the sense of the EU AI Act art. 3(4)",
    )


class Settings(BaseSettings):
    """All settings; frozen. Build with `load`, which refuses unknown names."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
    )

    config: Path | None = Field(
        default=None,
        description="settings file (TOML); none: countersign.toml in the current folder, if there",
    )
    state: Path = Field(
        default=Path("state"), description="folder of keys, database, FIX store, kill word"
    )
    keys: Path | None = Field(
        default=None, description="folder of key files; none: state/keys (run only)"
    )
    vault: Path | None = Field(
        default=None,
        description="folder of subject keys; none: state/vault; keep it out of database backups",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING", description="operator log level"
    )
    mode: Literal["paper", "shadow", "pilot", "live"] = Field(
        default="paper",
        description="paper, shadow (sends nothing), pilot, live: all on one ledger, each with an"
        " account and CompIDs of its own",
    )
    policy: Literal["desk", "first"] = Field(
        default="desk",
        description="shipped policy that `run` signs and that `init` and `policy new` start from:"
        " desk (every rule, budgets on paths), or first (17 rules)",
    )
    account: str = Field(
        default="desk",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,23}$",
        description="account of `serve`, kept over restarts; each `run` opens a new one",
    )
    instruments: Path | None = Field(
        default=None,
        description="table of instruments, TOML or CSV, for `serve`; `run` has its own two",
    )
    api: ApiSettings = ApiSettings()
    ledger: LedgerSettings = LedgerSettings()
    engine: EngineSettings = EngineSettings()
    fix: FixSettings = FixSettings()
    simulator: SimulatorSettings = SimulatorSettings()
    playback: PlaybackSettings = PlaybackSettings()
    feeds: FeedSettings = FeedSettings()
    pilot: PilotSettings = PilotSettings()
    alarms: AlarmSettings = AlarmSettings()
    retention: RetentionSettings = RetentionSettings()
    liability: LiabilitySettings = LiabilitySettings()

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the command line, the environment and the settings file; the first one wins."""
        file = settings_file()
        last = () if file is None else (FileSource(settings_cls, file),)
        return (init_settings, env_settings, *last)


def known_names() -> dict[str, str]:
    """Return every environment variable with its description, in reading order."""
    return {
        variable_of(section, name): one.description or ""
        for section, name, one in plain_fields(Settings)
    }


def resolved(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield variable, value without secrets, and origin of each setting that is not a default."""
    file = settings.config
    for section, name, one in plain_fields(Settings):
        value = getattr(getattr(settings, section) if section else settings, name)
        variable, loc = variable_of(section, name), (section, name) if section else (name,)
        place = None if file is None else place_in(file, loc, exact=True)
        if value != one.default:
            there = any(other.upper() == variable and os.environ[other] for other in os.environ)
            found = "current folder" if name == "config" else "command line"
            origin = "environment" if there else place or found
            yield variable, without_secrets(str(value)), origin


def variable_of(section: str, name: str) -> str:
    """Return a setting's environment variable."""
    return f"{PREFIX}{section}{'__' * bool(section)}{name}".upper()


def load(**overrides: object) -> Settings:
    """Read environment and file; overrides are top-level fields of the command line, which win.

    Raises:
        SettingsError: an unknown name, or a value out of range; names the variable, or the file
            with the line.
    """
    known = known_names()
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name.upper() not in known and name not in OUTSIDE:
            raise SettingsError(name=name, problem="no such setting; see `countersign settings`")
    file = settings_file()
    if file is not None:
        refuse_unknown(file, Settings)
    given = {"config": file} | {k: v for k, v in overrides.items() if v is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]  # pydantic validates
    except ValidationError as error:
        first = error.errors()[0]
        loc = tuple(map(str, first["loc"]))
        where = PREFIX + "__".join(loc).upper()
        set_there = any(name.upper() == where and os.environ[name] for name in os.environ)
        place = None if file is None or set_there else place_in(file, loc)
        if place is None:
            raise SettingsError(name=where, problem=str(first["msg"])) from None
        problem = f"{place}: {first['msg']}, not {first['input']!r}"
        raise SettingsError(name=".".join(loc), problem=problem) from None
