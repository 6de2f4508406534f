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
from audit.records.kinds import RUN
from audit.records.record import Draft
from audit.records.record_kind import Contents, Filing, RecordKind
from fix.dialects.order_profile import order_profile
from fix.dialects.profile import Profile
from gateway.walk.journal.decision import digest_of
from gateway.walk.journal.forecast import engine_document
from gateway.walk.journal.form import RECORD_RULES
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
    started = RunStarted(
        account=tags.account,
        run_id=tags.run_id,
        mode=tags.mode,
        dev=tags.dev,
        profile=opening.profile,
        git=opening.code_commit,
        versions=dict(opening.versions),
        models={"manifest": opening.model_manifest},
        playback=dict(opening.playback),
        first_as_of_us=opening.first_as_of_us,
        data_cutoff_us=opening.data_cutoff_us,
        equity_minor=opening.equity_minor,
        currency=opening.broker.currency,
        instruments=tuple(document_of(one) for one in opening.instruments),
        table_digest=opening.table_digest,
        origin=opening.origin,
        liability=dict(opening.liability),
        record_rules=RECORD_RULES,
        settings={YEARS_FIELD: dict(opening.retention_years)},
        order_profile=order_profile(opening.broker),
        fix_profile=dict(opening.fix_profile),
    )
    return started.draft()


def processes_agreed(tags: Tags, process: str, agreed: Mapping[str, str]) -> Draft:
    """What a child process and the gateway both have, compared before it may serve."""
    return ProcessesAgreed(process=process, agreed=dict(agreed)).draft(tags=tags.document())


class ProcessesAgreed(RecordKind, frozen=True, kw_only=True):
    """What two processes have alike."""

    filing = Filing("control", "agreed:{run_id}:{process}", tags=RUN)

    process: str
    agreed: dict[str, str]


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
    listed = InstrumentListed(
        instrument=document_of(listing.instrument),
        reference=listing.reference(),
        table_digest=table_digest,
    )
    symbol = listing.instrument.symbol
    return listed.draft(stream=f"market/{symbol}", digest=digest_of(listed.document()))


def policy_activated(
    tags: Tags, signed: SignedPolicy, *, by: str = "", reason: str = "start of the run"
) -> Draft:
    """The signed policy that is in force from this record on."""
    document: Any = signed_policy_document(signed)
    activated = PolicyActivated(
        policy_digest=policy_digest(signed.policy),
        policy=document["policy"],
        signatures=document["signatures"],
        signed_by=tuple(f"{one.role}:{one.signer}" for one in signed.signatures),
        reason=reason,
        run_id=tags.run_id,
        dev=tags.dev,
        detail=f"while serving, by {by}" if by else "",
    )
    return activated.draft()


def policy_announced(
    before: Policy, after: Policy, *, loosens: Sequence[str], wait_us: int, by: str, reason: str
) -> Draft:
    """A looser policy that may follow after its cooling time; the same one again is this record."""
    return PolicyAnnounced(
        policy_digest=policy_digest(after),
        policy=policy_document(after),
        follows_digest=policy_digest(before),
        loosens=tuple(loosens),
        wait_us=wait_us,
        reason=reason,
        actor_name=by,
    ).draft()


class PolicyAnnounced(RecordKind, frozen=True, kw_only=True):
    """A looser policy, and which it follows."""

    filing = Filing("control", "policy_announced:{follows_digest}:{policy_digest}")

    policy_digest: str
    policy: dict[str, Any]
    follows_digest: str
    loosens: tuple[str, ...]
    wait_us: int
    reason: str
    actor_name: str


def model_loaded(described: EngineDescription, run_id: str) -> Draft:
    """The engine that serves the run, with its self-test."""
    test = described.self_test
    loaded = ModelLoaded(
        manifest=described.model_digest,
        engine=engine_document(described),
        self_test={
            "passed": test.passed,
            "detail": test.detail,
            "positions": test.positions,
            "p_value": f"{test.p_value:.6f}",
            "mean_accepted": f"{test.mean_accepted:.4f}",
        },
        run_id=run_id,
    )
    return loaded.draft()


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
    mark = MarkTaken(
        account=tags.account,
        instrument=instrument,
        market_time_us=market_time_us,
        price_ticks=price_ticks,
        kind=kind,
        session_index=session_index,
        session_date=session_date,
    )
    key = f"mark:{tags.account}:{session_index}:{kind}"
    return mark.draft(tags=tags.document(), key=key, actor=PLAYBACK)


def feed_mark(
    tags: Tags, *, instrument: str, market_time_us: int, price_ticks: int, day: str, opens: bool
) -> Draft:
    """A mark at a feed's middle; the first of a UTC day is its `open`."""
    mark = MarkTaken(
        account=tags.account,
        instrument=instrument,
        market_time_us=market_time_us,
        price_ticks=price_ticks,
        kind="open" if opens else "feed",
        session_date=day,
        source="feed",
    )
    return mark.draft(tags=tags.document())


class FeedCondition(RecordKind, frozen=True, kw_only=True):
    """A change of what is wrong with a feed of one instrument; `ok` when nothing is."""

    filing = Filing("market/{instrument}", "feed:{run_id}:{number}")

    run_id: str
    instrument: str
    feed: str
    source: str
    condition: str
    sequence: int
    detail: str
    received_us: int


def run_finished(tags: Tags, summary: Mapping[str, Any]) -> Draft:
    """The end of a run that was played to its end, with its summary."""
    return RunFinished.draft_of({**tags.document(), "summary": _exact(summary)})


class RunFinished(RecordKind, frozen=True, kw_only=True):
    """A run's end."""

    filing = Filing("control", "run_finished:{run_id}", tags=RUN, also="elapsed_us outcome")

    summary: dict[str, Any]


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


class RunStarted(RecordKind, frozen=True, kw_only=True):
    """A run's opening, with all that its decisions rest on; see `RECORD_RULES`."""

    filing = Filing(
        "control",
        "run_started:{run_id}",
        loose="equity_minor instruments order_profile",
        also="policy_digest seed",
    )

    account: str
    run_id: str
    mode: str
    dev: bool
    profile: str
    git: str
    versions: dict[str, str]
    models: dict[str, str]
    playback: dict[str, str]
    first_as_of_us: int
    data_cutoff_us: int
    equity_minor: int
    currency: str | None = None
    instruments: tuple[dict[str, Any], ...]
    table_digest: str | None = None
    origin: str | None = None
    liability: dict[str, Any] | None = None
    record_rules: int = 1
    settings: dict[str, Any] | None = None
    order_profile: dict[str, Any]
    fix_profile: dict[str, Any] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[object, ...]:
        """What a hold's renewal rests on: with other terms it is another run's hold."""
        traded = (self.equity_minor, self.instruments, self.order_profile, self.fix_profile)
        return (self.account, self.mode, self.dev, *traded, self.record_rules)


class InstrumentListed(RecordKind, frozen=True, kw_only=True):
    """An instrument; `reference` is what its table says besides units."""

    filing = Filing("market/{symbol}", "listed:{digest}")

    instrument: dict[str, Any]
    reference: dict[str, Any] = field(default_factory=dict)
    table_digest: str | None = None


class EngineEvent(RecordKind, frozen=True, kw_only=True):
    """What happened to the engine child."""

    filing = Filing(
        "control", "engine:{run_id}:{moment_us}", "engine", early="run_id", also="state"
    )

    event: str
    detail: str
    run_id: str


class WitnessEvent(RecordKind, frozen=True, kw_only=True):
    """A change of the witnesses' quorum."""

    filing = Filing("control", "witness:{run_id}:{number}", early="run_id waiting_us")

    event: str
    cosigned_size: int
    policy_digest: str
    witnesses: list[Any]
    waiting_us: int
    run_id: str


class RunMember(Contents, frozen=True, kw_only=True):
    """The run that a record belongs to."""

    run_id: str


class PolicyActivated(RecordKind, frozen=True, kw_only=True):
    """A policy in force; its signatures name the trial that was signed, if any."""

    filing = Filing("control", "policy:{policy_digest}:{run_id}", firm_wide=True, also="version")

    policy_digest: str
    policy: dict[str, Any]
    signatures: tuple[dict[str, Any], ...]
    signed_by: tuple[str, ...]
    reason: str
    run_id: str | None = None
    dev: bool | None = None
    detail: str = ""


class ModelLoaded(RecordKind, frozen=True, kw_only=True):
    """What serves; `manifest` is the digest of the weights."""

    filing = Filing("control", "model:{run_id}", "engine", also="elapsed_us plan")

    manifest: str
    engine: dict[str, Any]
    self_test: dict[str, Any]
    run_id: str | None = None


class MarkTaken(RecordKind, frozen=True, kw_only=True):
    """A price that values holdings; `kind` is `open`, `close` or `feed`."""

    filing = Filing(
        "market/{instrument}",
        "mark:{account}:{run_id}:{market_time_us}",
        tags=RUN,
        section=True,
        loose="kind",
    )

    account: str
    instrument: str
    price_ticks: int
    market_time_us: int
    kind: str
    session_index: int | None = None
    session_date: str = ""
    source: str = ""


class LedgerRestored(RecordKind, frozen=True, kw_only=True):
    """The log goes on from an older state; `known_size` is the size that was published."""

    filing = Filing("control", "restored:{size}:{known_size}", "cli")

    size: int
    root: str
    known_size: int
    lost: int
    reason: str
    backup_sha256: str
