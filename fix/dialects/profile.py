"""Every difference between brokers as one frozen value, parsed strictly from JSON.

Not here: behaviour, a profile's file (`profile_text`), the engine's settings (`engine_settings`).
"""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from fix.dialects.market_data import MarketData
from fix.dialects.person_tags import KNOWN_MAX, is_undeclared, is_user_defined
from fix.dialects.versions import SPEECH, Version
from fix.errors import ProfileError
from risk.forms.money import minor_digits

_WORD = r"^[\x21-\x7e]{1,64}$"
_TIME = r"^(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])?$"
_PRICE = r"^[0-9]{1,9}(\.[0-9]{1,8})?$"
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_OURS = frozenset((
    1, 8, 9, 10, 11, 15, 21, 34, 35, 36, 37, 38, 40, 41, 43, 44, 49, 52, 54, 55, 56, 59, 60, 97,
    122, 141, 447, 448, 452, 453, 528, 1128, 1724, 2376, 2593, 2594, 2595,
))  # fmt: skip
"""Fields of an order that the engine or we set; `tags.extra` may not name them."""


def _digits(given: dict[str, Any]) -> int:
    """Return the decimals of a profile's currency; of one that did not parse, any."""
    return minor_digits(given.get("currency", ""))


class SessionMode(StrEnum):
    """Whether sequence numbers continue across logons or restart at 1 with each."""

    RESUME = "resume"
    RESET = "reset"


class Resets(StrEnum):
    """Which sequence resets are expected; any other stops the session."""

    NONE = "none"
    BY_BROKER = "by_broker"
    NIGHTLY = "nightly"


class ForeignTreatment(StrEnum):
    """What happens to an order at the broker whose ClOrdID is not in our form."""

    SHOW = "show"
    BLOCK = "block"
    CANCEL = "cancel"


class _ProfileModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Capabilities(_ProfileModel):
    """What the broker supports beyond D, F and 8."""

    mass_cancel: bool = Field(description="OrderMassCancelRequest (q), 530=7")
    mass_status: bool = Field(description="OrderMassStatusRequest (AF), 585=7")
    order_status: bool = Field(
        default=True,
        description="OrderStatusRequest (H); without it an order in doubt stays so until the broker"
        " reports on it or a person resolves it",
    )
    replace: bool = Field(
        default=False,
        description="OrderCancelReplaceRequest (G): quantity and price of a working order change;"
        " without it an order is cancelled and asked for anew",
    )
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
    orders_per_s: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="orders in any second, 0: no limit; more are refused",
    )
    questions_per_s: int = Field(
        default=20, ge=1, le=10_000, description="status requests in any second"
    )


class ExtraTag(_ProfileModel):
    """A constant field that this broker wants in every order, also a user-defined one."""

    tag: int = Field(ge=1, le=39_999, description="number of the field")
    value: str = Field(pattern=r"^[\x20-\x7e]{1,64}$", description="its text")

    @field_validator("tag")
    @classmethod
    def _is_not_ours(cls, tag: int) -> int:
        if tag in _OURS:
            raise ValueError(f"tag {tag} is set by the gateway or the engine")
        return tag


class OrderTags(_ProfileModel):
    """Constant fields of every order; empty text leaves a field out.

    An order carries a user-defined field only where `extra` says so.

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
    extra: tuple[ExtraTag, ...] = Field(
        default=(), max_length=32, description="further fields, in this order"
    )

    @property
    def beyond_standard(self) -> tuple[int, ...]:
        """The user-defined and extension-pack fields that an order carries."""
        coded = (447, 448, 452, 453, 2376) if self.algorithm_code or self.trader_code else ()
        attributes = (2593, 2594, 2595) if self.algorithm_code else ()
        origin = (1724,) if self.origination else ()
        own = tuple(one.tag for one in self.extra if is_user_defined(one.tag))
        return tuple(tag for tag in (*coded, *origin, *attributes, *own) if tag > KNOWN_MAX)


class Tls(_ProfileModel):
    """The TLS sidecar (stunnel) beside the gateway, which connects to it on loopback."""

    host: str = Field(pattern=_WORD, description="the broker's address behind the sidecar")
    port: int = Field(ge=1, le=65_535, description="the broker's TLS port")
    server_name: str = Field(pattern=_WORD, description="name in the broker's certificate")
    ca_file: str = Field(min_length=1, description="certificates that the sidecar trusts, PEM")
    cert_file: str = Field(default="", description="our certificate, if the broker asks for one")
    key_file: str = Field(default="", description="its private key")


class CertifyTerms(_ProfileModel):
    """The orders that `countersign certify` may send, all to buy; nothing else is sent."""

    symbol: str = Field(pattern=_WORD, description="55, an instrument of theirs")
    account: str = Field(default="", pattern=r"^[\x21-\x7e]{0,32}$", description="tag 1")
    rest_price: str = Field(pattern=_PRICE, description="far below the market: the order rests")
    rest_quantity: int = Field(ge=1, le=10**9, description="38 of an order that rests")
    fill_price: str = Field(
        default="", pattern=rf"^$|{_PRICE}", description="price at which an order is filled"
    )
    fill_quantity: int = Field(default=0, ge=0, le=10**9, description="38 of a filled order")
    partial_quantity: int = Field(
        default=0, ge=0, le=10**9, description="38 of an order that they fill in part first"
    )
    reject_symbol: str = Field(
        default="", pattern=r"^[\x21-\x7e]{0,64}$", description="an instrument that they reject"
    )


class Profile(_ProfileModel):
    """One session with one broker."""

    name: str = Field(pattern=r"^[a-z0-9._-]{1,32}$", description="name of the profile and session")
    version: Version = Field(
        default=Version.FIX_44,
        strict=False,
        description="FIX.4.2, FIX.4.4, or FIX.5.0SP2 (FIXT.1.1, 1137=9)",
    )
    dictionary: str = Field(
        default="",
        description="a data dictionary of your own (QuickFIX XML) for application messages; a"
        " relative path begins at the profile's folder; empty: the shipped one of the version",
    )
    timestamp_digits: Literal[0, 3, 6] = Field(
        default=6, description="decimals of SendingTime (52) and TransactTime (60)"
    )
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
    minor_digits: int = Field(
        default_factory=_digits,
        ge=0,
        le=8,
        description="decimals of the minor unit; else ISO's",
    )
    foreign_orders: ForeignTreatment = Field(
        default=ForeignTreatment.SHOW,
        strict=False,
        description="orders at the broker that are not ours: show them; block their instrument"
        " until a person resolves it; or show them and cancel them with ours (kill, cancel-all)",
    )
    capabilities: Capabilities
    pace: Pace
    tags: OrderTags = OrderTags()
    tls: Tls | None = Field(default=None, description="the TLS sidecar; missing: none")
    certify: CertifyTerms | None = Field(
        default=None, description="what `countersign certify` may order; missing: nothing"
    )
    market_data: MarketData | None = Field(
        default=None, description="the broker's market data; missing: they come by another door"
    )
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

    @model_validator(mode="after")
    def _speaks_its_version(self) -> Self:
        lacks, can = SPEECH[self.version].lacks, self.capabilities
        for name, msg_type in (("mass_cancel", "q"), ("mass_status", "AF")):
            if getattr(can, name) and msg_type in lacks:
                problem = f"{self.version} has no message {msg_type}: write false"
                raise ValueError(f"capabilities.{name}: {problem}")
        later = ("order_capacity", "algorithm_code", "trader_code", "origination")
        for name in later if self.version is Version.FIX_42 else ():
            if getattr(self.tags, name):
                problem = f'{self.version} has no such field: write ""'
                raise ValueError(f"tags.{name}: {problem}")
        return self

    @property
    def market_session(self) -> "Profile":
        """The session over which market data come.

        Raises:
            ProfileError: the profile has none.
        """
        data = self.market_data
        if data is None:
            raise ProfileError(problem="market_data: the profile has none")
        return self.model_copy(
            update={
                "sender_comp_id": data.sender_comp_id,
                "target_comp_id": data.target_comp_id,
                "host": data.host or self.host,
                "port": data.port,
                "mode": SessionMode.RESET if data.reset else SessionMode.RESUME,
                "heartbeat_s": data.heartbeat_s,
                "dictionary": data.dictionary or SPEECH[self.version].market,
            }
        )

    @model_validator(mode="after")
    def _keeps_sessions_apart(self) -> Self:
        data = self.market_data
        if data is None:
            return self
        own = (self.sender_comp_id, self.target_comp_id, self.host, self.port)
        other = (data.sender_comp_id, data.target_comp_id, data.host or self.host, data.port)
        if own == other:
            raise ValueError(
                "market_data.sender_comp_id: market data have the order session's CompIDs, host and"
                " port: a session of their own needs other ones, which the broker gives"
            )
        if self.tls is not None and other[2] not in _LOOPBACK:
            raise ValueError(
                f"market_data.host: {other[2]} would get clear text: with [tls] both sessions go"
                ' over the sidecar, so write host = "127.0.0.1"'
            )
        return self

    @model_validator(mode="after")
    def _keeps_clear_text_here(self) -> Self:
        if self.tls is not None and self.host not in _LOOPBACK:
            raise ValueError(
                f"host: {self.host} would get clear text: with [tls] the session connects to the"
                ' sidecar, so write host = "127.0.0.1"'
            )
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


def simulator_profile(port: int, *, sender: str = "COUNTERSIGN", target: str = "EMSSIM") -> Profile:
    """Return the profile of the bundled simulator."""
    return Profile(
        name="simulator",
        sender_comp_id=sender,
        target_comp_id=target,
        host="127.0.0.1",
        port=port,
        reconnect_s=1,
        capabilities=Capabilities(
            mass_cancel=True, mass_status=True, replace=True, cancel_on_disconnect=False
        ),
        pace=Pace(cancels_per_s=500, cancel_burst=500, sweep_timeout_s=5),
        tags=OrderTags(algorithm_code="1001", trader_code="2001", origination="5"),
    )
