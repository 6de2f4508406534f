"""Records of a run: its opening, what serves, its marks, its end; readers of the log's upkeep.

Not here: when a record is appended (`launch`). A payload holds no float: a number with a fraction
stands as text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from msgspec import field

from audit.privacy.retention import YEARS_FIELD
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.dialects.order_profile import order_profile
from fix.dialects.profile import Profile
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY, RECORD_RULES, digest_of
from gateway.walk.journal.forecast import engine_document
from gateway.walk.ports import Tags
from inference.engine.port import EngineDescription
from risk.forms.documents import document_of
from risk.policy.policy import Policy, policy_digest, policy_document
from risk.policy.signing import SignedPolicy, signed_policy_document
from risk.state.instrument import Instrument

PLAYBACK = "playback"
ENGINE, FIX = "engine", "fix"
"""The child processes, as `processes_agreed` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpening:
    """What a run says of itself when it begins, besides its tags.

    Attributes:
        profile: `development` or `serve`.
        playback: digests of what is played, empty for `serve`.
        first_as_of_us: the first decision's as-of, microseconds UTC.
        data_cutoff_us: end of the model's training data, microseconds UTC.
        equity_minor: opening equity, cents.
        table_digest: SHA-256 (hex) of the table of instruments.
        retention_years: years to keep, by class of record.
        broker: profile of the FIX session, for what an order's text depends on.
        fix_profile: the same profile's values and digests, for the record.
    """

    profile: str
    code_commit: str
    versions: Mapping[str, str]
    model_manifest: str
    playback: Mapping[str, str]
    first_as_of_us: int
    data_cutoff_us: int
    equity_minor: int
    instruments: tuple[Instrument, ...]
    table_digest: str
    origin: str
    liability: Mapping[str, JSON]
    retention_years: Mapping[str, int]
    broker: Profile
    fix_profile: Mapping[str, JSON]


def run_started(tags: Tags, opening: RunOpening) -> Draft:
    """The opening of a run."""
    return Draft(
        stream="control",
        kind=Kind.RUN_STARTED,
        payload={
            **tags.document(),
            "profile": opening.profile,
            "git": opening.code_commit,
            "versions": dict(opening.versions),
            "models": {"manifest": opening.model_manifest},
            "playback": dict(opening.playback),
            "first_as_of_us": opening.first_as_of_us,
            "data_cutoff_us": opening.data_cutoff_us,
            "equity_minor": opening.equity_minor,
            "currency": opening.broker.currency,
            "instruments": [document_of(one) for one in opening.instruments],
            "table_digest": opening.table_digest,
            "origin": opening.origin,
            "liability": dict(opening.liability),
            "record_rules": RECORD_RULES,
            "settings": {YEARS_FIELD: dict(opening.retention_years)},
            "order_profile": order_profile(opening.broker),
            "fix_profile": dict(opening.fix_profile),
        },
        actor=GATEWAY,
        idem_key=f"run_started:{tags.run_id}",
    )


def processes_agreed(tags: Tags, process: str, agreed: Mapping[str, str]) -> Draft:
    """What a child process and the gateway both have, compared before it may serve."""
    return Draft(
        stream="control",
        kind=Kind.PROCESSES_AGREED,
        payload={**tags.document(), "process": process, "agreed": dict(agreed)},
        actor=GATEWAY,
        idem_key=f"agreed:{tags.run_id}:{process}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An instrument and what else its table says of it; None where the table says nothing.

    Attributes:
        mic: the venue, ISO 10383.
        max_qty: largest order that the venue takes, in lots.
        calendar: name of the trading calendar.
        margin_bp: margin, basis points of the notional (R23).
        adv_lots: average daily volume in lots (R15).
        borrow_bp: yearly borrow fee in basis points; kept, not used yet.
        locate_lots: lots that may be sold short, located with the broker (R19).
        reference_price: a price by which a draft policy scales its limits; no rule reads it.
    """

    instrument: Instrument
    max_qty: int
    calendar: str
    isin: str | None = None
    figi: str | None = None
    mic: str | None = None
    sector: str | None = None
    region: str | None = None
    issuer: str | None = None
    margin_bp: int | None = None
    adv_lots: int | None = None
    borrow_bp: int | None = None
    locate_lots: int | None = None
    reference_price: str | None = None

    def reference(self) -> dict[str, JSON]:
        """Return what the table says besides the instrument's units."""
        said = {one.name: getattr(self, one.name) for one in fields(self)[1:]}
        return {name: value for name, value in said.items() if value is not None}


def instrument_listed(listing: Listing, table_digest: str) -> Draft:
    """An instrument with its reference data; the same listing of the same table is one record."""
    payload: dict[str, JSON] = {
        "instrument": document_of(listing.instrument),
        "reference": listing.reference(),
        "table_digest": table_digest,
    }
    return Draft(
        stream=f"market/{listing.instrument.symbol}",
        kind=Kind.INSTRUMENT_LISTED,
        payload=payload,
        actor=GATEWAY,
        idem_key=f"listed:{digest_of(payload)}",
    )


def policy_activated(
    tags: Tags, signed: SignedPolicy, *, by: str = "", reason: str = "start of the run"
) -> Draft:
    """The signed policy that is in force from this record on."""
    digest = policy_digest(signed.policy)
    document = signed_policy_document(signed)
    return Draft(
        stream="control",
        kind=Kind.POLICY_ACTIVATED,
        payload={
            "policy_digest": digest,
            "policy": document["policy"],
            "signatures": document["signatures"],
            "signed_by": [f"{one.role}:{one.signer}" for one in signed.signatures],
            "reason": reason,
            "run_id": tags.run_id,
            "dev": tags.dev,
            **({"detail": f"while serving, by {by}"} if by else {}),
        },
        actor=GATEWAY,
        idem_key=f"policy:{digest}:{tags.run_id}",
    )


def policy_announced(
    before: Policy, after: Policy, *, loosens: Sequence[str], wait_us: int, by: str, reason: str
) -> Draft:
    """A looser policy that may follow after its cooling time; the same one again is this record."""
    digest, follows = policy_digest(after), policy_digest(before)
    return Draft(
        stream="control",
        kind=Kind.POLICY_ANNOUNCED,
        payload={
            "policy_digest": digest,
            "policy": policy_document(after),
            "follows_digest": follows,
            "loosens": list(loosens),
            "wait_us": wait_us,
            "reason": reason,
            "actor_name": by,
        },
        actor=GATEWAY,
        idem_key=f"policy_announced:{follows}:{digest}",
    )


def model_loaded(described: EngineDescription, run_id: str) -> Draft:
    """The engine that serves the run, with its self-test."""
    test = described.self_test
    return Draft(
        stream="control",
        kind=Kind.MODEL_LOADED,
        payload={
            "manifest": described.model_digest,
            "engine": engine_document(described),
            "self_test": {
                "passed": test.passed,
                "detail": test.detail,
                "positions": test.positions,
                "p_value": f"{test.p_value:.6f}",
                "mean_accepted": f"{test.mean_accepted:.4f}",
            },
            "run_id": run_id,
        },
        actor="engine",
        idem_key=f"model:{run_id}",
    )


def mark_taken(
    tags: Tags,
    *,
    instrument: str,
    market_time_us: int,
    price_ticks: int,
    kind: str,
    session_index: int,
    session_date: str,
) -> Draft:
    """A price that values the holdings of the tags' account; `kind` is `open` or `close`."""
    return Draft(
        stream=f"market/{instrument}",
        kind=Kind.MARK_TAKEN,
        payload={
            **tags.document(),
            "instrument": instrument,
            "market_time_us": market_time_us,
            "price_ticks": price_ticks,
            "kind": kind,
            "session_index": session_index,
            "session_date": session_date,
        },
        actor=PLAYBACK,
        idem_key=f"mark:{tags.account}:{session_index}:{kind}",
    )


def feed_mark(
    tags: Tags, *, instrument: str, market_time_us: int, price_ticks: int, day: str, opens: bool
) -> Draft:
    """A mark at a feed's middle; the first of a UTC day is its `open`."""
    return Draft(
        stream=f"market/{instrument}",
        kind=Kind.MARK_TAKEN,
        payload={
            **tags.document(),
            "instrument": instrument,
            "market_time_us": market_time_us,
            "price_ticks": price_ticks,
            "kind": "open" if opens else "feed",
            "session_date": day,
            "source": "feed",
        },
        actor=GATEWAY,
        idem_key=f"mark:{tags.account}:{tags.run_id}:{market_time_us}",
    )


def feed_condition(  # noqa: PLR0913 - the fields of the record
    run_id: str,
    *,
    number: int,
    instrument: str,
    feed: str,
    source: str,
    condition: str,
    sequence: int,
    detail: str,
    received_us: int,
) -> Draft:
    """A change of what is wrong with a feed of one instrument; `ok` when nothing is."""
    return Draft(
        stream=f"market/{instrument}",
        kind=Kind.FEED_CONDITION,
        payload={
            "run_id": run_id,
            "instrument": instrument,
            "feed": feed,
            "source": source,
            "condition": condition,
            "sequence": sequence,
            "detail": detail,
            "received_us": received_us,
        },
        actor=GATEWAY,
        idem_key=f"feed:{run_id}:{number}",
    )


def run_finished(tags: Tags, summary: Mapping[str, Any]) -> Draft:
    """The end of a run that was played to its end, with its summary."""
    return Draft(
        stream="control",
        kind=Kind.RUN_FINISHED,
        payload={**tags.document(), "summary": _exact(summary)},
        actor=GATEWAY,
        idem_key=f"run_finished:{tags.run_id}",
    )


def _exact(value: Any) -> JSON:  # noqa: ANN401 - any JSON value
    """Return a JSON value without floats."""
    match value:
        case float():
            return repr(value)
        case dict():
            return {str(k): _exact(v) for k, v in value.items()}
        case list() | tuple():
            return [_exact(v) for v in value]
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)


class RunStarted(Contents, frozen=True, kw_only=True):
    """The contents of `run_started`; see `RECORD_RULES`."""

    account: str
    run_id: str
    mode: str
    dev: bool
    equity_minor: int
    instruments: tuple[dict[str, Any], ...]
    order_profile: dict[str, Any]
    fix_profile: dict[str, Any] = field(default_factory=dict)
    record_rules: int = 1


class InstrumentListed(Contents, frozen=True, kw_only=True):
    """The contents of `instrument_listed`; `reference` is what its table says besides units."""

    instrument: dict[str, Any]
    reference: dict[str, Any] = field(default_factory=dict)


class RunMember(Contents, frozen=True, kw_only=True):
    """The run that a record belongs to."""

    run_id: str


class PolicyActivated(Contents, frozen=True, kw_only=True):
    """The contents of `policy_activated`; its signatures name the trial that was signed, if any."""

    policy: dict[str, Any]
    signed_by: tuple[str, ...] = ()
    policy_digest: str = ""
    signatures: tuple[dict[str, Any], ...] = ()


class ModelLoaded(Contents, frozen=True, kw_only=True):
    """The contents of `model_loaded`; `manifest` is the digest of the weights."""

    manifest: str
    run_id: str | None = None
    engine: dict[str, Any] | None = None
    self_test: dict[str, Any] | None = None


class MarkTaken(Contents, frozen=True, kw_only=True):
    """The contents of `mark_taken`; `kind` is `open`, `close` or `feed`."""

    account: str
    instrument: str
    price_ticks: int
    market_time_us: int
    kind: str
    session_index: int | None = None
    session_date: str = ""


class LedgerRestored(Contents, frozen=True, kw_only=True):
    """The contents of `ledger_restored`; `known_size` is the size that was published."""

    known_size: int


class HoldPlaced(Contents, frozen=True, kw_only=True):
    hold_id: str
    scope: str
