"""Every difference between brokers as one frozen value, parsed strictly from JSON.

Not here: behaviour. The initiator's settings text derives from the profile alone.
"""

from enum import StrEnum
from typing import Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from fix.dialects.person_tags import is_undeclared
from fix.errors import ProfileError

_WORD = r"^[\x21-\x7e]{1,64}$"
_TIME = r"^(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])?$"


class SessionMode(StrEnum):
    """Whether sequence numbers continue across logons or restart at 1 with each."""

    RESUME = "resume"
    RESET = "reset"


class Resets(StrEnum):
    """Which sequence resets are expected; any other stops the session."""

    NONE = "none"
    BY_BROKER = "by_broker"
    NIGHTLY = "nightly"


class _ProfileModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Capabilities(_ProfileModel):
    """What the broker supports beyond D, F, H and 8."""

    mass_cancel: bool = Field(description="OrderMassCancelRequest (q), 530=7")
    mass_status: bool = Field(description="OrderMassStatusRequest (AF), 585=7")
    cancel_on_disconnect: bool = Field(description="the broker cancels live orders on disconnect")
    unknown_is_gone: bool = Field(
        default=True,
        description="a cancel refused as unknown order (9 with 102=1) means that nothing is left;"
        " if not, only the answer to a status request does",
    )


class Pace(_ProfileModel):
    """Message rates that the broker accepts."""

    cancels_per_s: int = Field(ge=1, le=10_000, description="cancels per second, after the burst")
    cancel_burst: int = Field(ge=1, le=10_000, description="cancels sent at once")
    sweep_timeout_s: int = Field(ge=1, le=120, description="how long a sweep waits for answers")
    questions_per_s: int = Field(
        default=20, ge=1, le=10_000, description="status requests in any second"
    )


class OrderTags(_ProfileModel):
    """Constant MiFID fields of every order; empty text leaves a field out.

    Source: FIX 4.4 volume 6, and EP161/EP216 for 2376, 2593-2595 and 1724.
    """

    order_capacity: str = Field(default="P", pattern="^[AGIPRW]?$", description="528")
    handling: str = Field(default="1", pattern="^[123]?$", description="21 HandlInst")
    algorithm_code: str = Field(
        default="", pattern="^[0-9]{0,10}$", description="short code of the deciding algorithm"
    )
    trader_code: str = Field(
        default="", pattern="^[0-9]{0,10}$", description="short code of the executing person"
    )
    origination: str = Field(default="", pattern="^[1-6]?$", description="1724 OrderOrigination")


class Profile(_ProfileModel):
    """One session with one broker."""

    name: str = Field(pattern=r"^[a-z0-9_-]{1,32}$", description="name of the profile and session")
    sender_comp_id: str = Field(pattern=_WORD, description="49, ours")
    target_comp_id: str = Field(pattern=_WORD, description="56, theirs")
    host: str = Field(pattern=_WORD, description="peer's address")
    port: int = Field(ge=1, le=65_535, description="peer's TCP port")
    mode: SessionMode = Field(default=SessionMode.RESUME, strict=False)
    resets: Resets = Field(
        default=Resets.NONE,
        strict=False,
        description="expected sequence resets: none, by_broker (141=Y, or a broker that restarts"
        " at 1), nightly (both sides, by the session's times)",
    )
    session_start: str = Field(
        default="", pattern=_TIME, description="nightly: when the session begins, HH:MM:SS UTC"
    )
    session_end: str = Field(
        default="", pattern=_TIME, description="nightly: when it ends, HH:MM:SS UTC"
    )
    heartbeat_s: int = Field(default=10, ge=1, le=120)
    reconnect_s: int = Field(default=5, ge=1, le=60, description="each try costs a MsgSeqNum")
    logon_timeout_s: int = Field(default=10, ge=1, le=60)
    max_latency_s: int = Field(default=120, ge=1, le=3600, description="SendingTime accuracy")
    account: str = Field(
        default="", pattern=r"^[\x21-\x7e]{0,32}$", description="tag 1; empty: ours"
    )
    currency: str = Field(default="USD", pattern="^[A-Z]{3}$", description="tag 15")
    minor_digits: int = Field(default=2, ge=0, le=8, description="decimals of the minor unit")
    capabilities: Capabilities
    pace: Pace
    tags: OrderTags = OrderTags()
    public_tags: tuple[int, ...] = Field(
        default=(), description="user-defined fields that neither name nor describe a person"
    )

    @field_validator("public_tags")
    @classmethod
    def _are_undeclared(cls, tags: tuple[int, ...]) -> tuple[int, ...]:
        declared = [tag for tag in tags if not is_undeclared(tag)]
        if declared:
            raise ValueError(f"tag {declared[0]} is not the profile's to declare")
        return tags

    @model_validator(mode="after")
    def _has_its_times(self) -> Self:
        times = {self.session_start, self.session_end}
        if self.resets is Resets.NIGHTLY and ("" in times or len(times) == 1):
            raise ValueError(
                "nightly resets need session_start and session_end, two different times"
            )
        if self.resets is not Resets.NIGHTLY and times != {""}:
            raise ValueError("session_start and session_end belong to nightly resets")
        return self


def parse_profile(raw: bytes | str) -> Profile:
    """Parse a profile from JSON.

    Raises:
        ProfileError: names the first field that is unknown, missing or malformed.
    """
    try:
        return Profile.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        raise ProfileError(problem=f"{where}: {first['msg']}") from error


def profile_document(profile: Profile) -> str:
    """Return the JSON text that `parse_profile` reads back to an equal profile."""
    return profile.model_dump_json()


def initiator_settings(profile: Profile, *, store: str, log: str, dictionary: str) -> str:
    """Return QuickFIX's settings text for this session.

    - ``PersistMessages=N``: the engine answers a ResendRequest with a gap fill only, so it sends no
      order twice. It still stores sequence numbers.
    - ``ReconnectInterval=1``: a kill needs this rate. Each refused connect uses a MsgSeqNum
      (measured), so `fix.session.redial` applies the profile's interval otherwise.
    - ``Validate...=N`` and ``AllowUnknownMsgFields=Y``: brokers add tags at will. A session reject
      would lose a fill, so `fix.wire.reports` checks the fields that we need.

    `store` and `log` are folders, `dictionary` is a file.
    """
    reset = "Y" if profile.mode is SessionMode.RESET else "N"
    times = ["NonStopSession=Y"]
    if profile.resets is Resets.NIGHTLY:
        times = [f"StartTime={profile.session_start}", f"EndTime={profile.session_end}"]
    lines = [
        "[DEFAULT]",
        "ConnectionType=initiator",
        *times,
        "ReconnectInterval=1",
        f"LogonTimeout={profile.logon_timeout_s}",
        f"FileStorePath={store}",
        f"FileLogPath={log}",
        "UseDataDictionary=Y",
        f"DataDictionary={dictionary}",
        "ValidateUserDefinedFields=N",
        "AllowUnknownMsgFields=Y",
        "ValidateFieldsHaveValues=N",
        "ValidateFieldsOutOfOrder=N",
        "TimestampPrecision=6",
        "SocketNodelay=Y",
        "CheckLatency=Y",
        f"MaxLatency={profile.max_latency_s}",
        "PersistMessages=N",
        "SendRedundantResendRequests=N",
        f"ResetOnLogon={reset}",
        "ResetOnLogout=N",
        "ResetOnDisconnect=N",
        "[SESSION]",
        "BeginString=FIX.4.4",
        f"SenderCompID={profile.sender_comp_id}",
        f"TargetCompID={profile.target_comp_id}",
        f"SocketConnectHost={profile.host}",
        f"SocketConnectPort={profile.port}",
        f"HeartBtInt={profile.heartbeat_s}",
    ]
    return "\n".join(lines) + "\n"


def simulator_profile(port: int, *, sender: str = "COUNTERSIGN", target: str = "EMSSIM") -> Profile:
    """Return the profile of the bundled simulator."""
    return Profile(
        name="simulator",
        sender_comp_id=sender,
        target_comp_id=target,
        host="127.0.0.1",
        port=port,
        reconnect_s=1,
        capabilities=Capabilities(mass_cancel=True, mass_status=True, cancel_on_disconnect=False),
        pace=Pace(cancels_per_s=500, cancel_burst=500, sweep_timeout_s=5),
        tags=OrderTags(algorithm_code="1001", trader_code="2001", origination="5"),
    )
