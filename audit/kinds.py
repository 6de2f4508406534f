"""The closed list of record kinds, in walk order: fields, stream, actor and idempotency key.

Rules it keeps:

- a payload has every field of its kind, may have its optional ones, and no other;
- a kind lives in one sort of stream only;
- `section=True`: the record can change what a verdict rests on, so it moves the guard of its
  payload's `account`; `firm_wide=True`: it moves the guard of every account;
- a field whose name ends in `_blob` names a stored blob by its SHA-256 in hex (or is null).

Adding an optional field is a compatible change; anything else raises the kind's version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from audit.canonical import JSON
from audit.errors import DraftError


class Kind(StrEnum):
    """Every kind of record there is, in walk order."""

    RUN_STARTED = "run_started"
    POLICY_ACTIVATED = "policy_activated"
    MODEL_LOADED = "model_loaded"
    ENGINE_EVENT = "engine_event"
    INSTRUMENT_LISTED = "instrument_listed"
    INTENT_RECEIVED = "intent_received"
    SNAPSHOT_TAKEN = "snapshot_taken"
    FORECAST_REQUESTED = "forecast_requested"
    ROUNDS_CAPTURED = "rounds_captured"
    FORECAST_MADE = "forecast_made"
    FORECAST_FAILED = "forecast_failed"
    PLACEBO_MADE = "placebo_made"
    QUOTE_TAKEN = "quote_taken"
    INTENT_PROPOSED = "intent_proposed"
    PLACEBO_JUDGED = "placebo_judged"
    VERDICT_GIVEN = "verdict_given"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_GIVEN = "approval_given"
    APPROVAL_REFUSED = "approval_refused"
    RESERVATION_RELEASED = "reservation_released"
    ORDER_SENDING = "order_sending"
    ORDER_SENT = "order_sent"
    ORDER_REFUSED = "order_refused"
    ORDER_UNKNOWN = "order_unknown"
    ORDER_WITHDRAWN = "order_withdrawn"
    ORDER_REPORTED = "order_reported"
    CANCEL_SENT = "cancel_sent"
    DECISION_SEALED = "decision_sealed"
    MARK_TAKEN = "mark_taken"
    SESSION_EVENT = "session_event"
    FIX_INBOUND = "fix_inbound"
    FIX_ANOMALY = "fix_anomaly"
    KILL_PRESSED = "kill_pressed"
    KILL_OUTCOME = "kill_outcome"
    KILL_RELEASED = "kill_released"
    OPERATOR_NOTE = "operator_note"
    STREAM_HEADS = "stream_heads"
    RUN_FINISHED = "run_finished"


class StreamClass(StrEnum):
    """The sorts of streams; all but `control` are followed by a name."""

    CONTROL = "control"
    MARKET = "market/"
    DECISION = "decision/"
    SESSION = "session/"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """What a record of one kind looks like.

    Attributes:
        idem: how callers form the idempotency key, unique within the stream.
        actors: roles that may write it, the part of `actor` before the first colon.
    """

    kind: Kind
    version: int
    stream: StreamClass
    fields: frozenset[str]
    optional: frozenset[str]
    actors: frozenset[str]
    idem: str
    section: bool
    firm_wide: bool


BASE = "account run_id mode dev"
"""Fields of every record that belongs to one account's run."""

GATEWAY = "gateway"
LEDGER = "ledger"
ROLES = frozenset(
    {"gateway", "engine", "fix", "ledger", "playback", "policy", "person", "agent", "api", "cli"}
)


def _spec(  # noqa: PLR0913 - one row of the table below
    kind: Kind,
    stream: StreamClass,
    fields: str,
    *,
    optional: str = "",
    actors: str = "",
    idem: str,
    section: bool = False,
    firm_wide: bool = False,
) -> KindSpec:
    """Build one row; without `actors` every role but the ledger's own may write it."""
    return KindSpec(
        kind=kind,
        version=1,
        stream=stream,
        fields=frozenset(fields.split()),
        optional=frozenset(optional.split()),
        actors=frozenset(actors.split()) or ROLES - {LEDGER},
        idem=idem,
        section=section or firm_wide,
        firm_wide=firm_wide,
    )


_C, _M, _D, _S = (
    StreamClass.CONTROL,
    StreamClass.MARKET,
    StreamClass.DECISION,
    StreamClass.SESSION,
)
_ORDER = "account cl_ord_id"
_EXTRA = "run_id mode dev detail market_time_us"

_TABLE: tuple[KindSpec, ...] = (
    _spec(
        Kind.RUN_STARTED,
        _C,
        f"{BASE} profile git versions models playback first_as_of_us data_cutoff_us",
        optional="equity_minor currency instruments settings origin seed",
        idem="run_started:<run_id>",
    ),
    _spec(
        Kind.POLICY_ACTIVATED,
        _C,
        "policy_digest policy signatures signed_by reason",
        optional="parent_digest shadow_diff run_id mode dev version policy_blob",
        idem="policy:<policy_digest>:<n>",
        firm_wide=True,
    ),
    _spec(
        Kind.MODEL_LOADED,
        _C,
        "manifest engine self_test",
        optional="run_id dev elapsed_us manifest_digest",
        idem="model:<run_id>:<n>",
    ),
    _spec(
        Kind.ENGINE_EVENT,
        _C,
        "event detail",
        optional="run_id state pid",
        idem="engine:<run_id>:<n>",
    ),
    _spec(
        Kind.INSTRUMENT_LISTED,
        _M,
        "instrument",
        optional="symbol name asset_class tick_minor lot multiplier currency min_qty notional"
        " source description run_id",
        idem="listed:<digest of the instrument>",
    ),
    _spec(
        Kind.INTENT_RECEIVED,
        _D,
        f"{BASE} decision_id client_key request",
        optional="instrument author strategy origin received_us request_digest attempt demo"
        " market_time_us session_index",
        idem="intent:<client_key>",
    ),
    _spec(
        Kind.SNAPSHOT_TAKEN,
        _D,
        f"{BASE} decision_id instrument as_of_us snapshot_blob news_digest bars_digest",
        optional="strategy author session_index session_date n_bars n_news market_time_us news"
        " client_key",
        idem="snapshot",
    ),
    _spec(
        Kind.FORECAST_REQUESTED,
        _D,
        "prompt_ids prompt_digest codec_digest template seed_root seed_size attempt seeds n_tokens"
        " spec_k drafter deadline_ms",
        optional="prompt allowed_range seed sigma model_digest horizon bar_us request_id mode"
        " account run_id",
        idem="request:<attempt>",
    ),
    _spec(
        Kind.ROUNDS_CAPTURED,
        _D,
        "capture_blob rounds drafted accepted positions",
        optional="recovered bonus truncated elapsed_us capture_bytes attempt drafter first_row"
        " mean_accepted entropy codec table_digest trajectories",
        idem="rounds:<attempt>",
    ),
    _spec(
        Kind.FORECAST_MADE,
        _D,
        "forecast",
        optional="elapsed_us attempt trajectories kept dropped digest capture_digest detail"
        " trajectories_blob p_row",
        idem="forecast:<attempt>",
    ),
    _spec(
        Kind.FORECAST_FAILED,
        _D,
        "reason detail",
        optional="attempt elapsed_us source account run_id",
        idem="forecast_failed:<attempt>",
    ),
    _spec(
        Kind.PLACEBO_MADE,
        _D,
        "forecast",
        optional="elapsed_us attempt capture_blob digest detail reason",
        idem="placebo:<attempt>",
    ),
    _spec(
        Kind.QUOTE_TAKEN,
        _D,
        "instrument market_time_us bid_ticks ask_ticks",
        optional="account run_id session phase seq_gap source last_ticks digest session_index"
        " session_date quote_seq taken_us",
        idem="quote:<market_time_us>",
    ),
    _spec(
        Kind.INTENT_PROPOSED,
        _D,
        f"{BASE} intent",
        optional="sizing reason intent_digest decision_id detail",
        idem="proposed",
    ),
    _spec(
        Kind.PLACEBO_JUDGED,
        _D,
        f"{BASE} intent verdict",
        optional="sizing reason policy_digest book basis_seq decision_id forecast book_digest"
        " detail target_exposure_bp fill market_now_us result",
        idem="placebo_judged",
    ),
    _spec(
        Kind.VERDICT_GIVEN,
        _D,
        f"{BASE} decision_id intent verdict basis_seq policy_digest kill_epoch market_now_us"
        " send_before_us reservation",
        optional="state state_blob state_digest sizing reason attempt egress_epoch instrument"
        " reevaluation_of action detail result quote narrative_as_of_us renewal policy_status"
        " intent_digest approval",
        idem="verdict:<n>",
        section=True,
    ),
    _spec(
        Kind.APPROVAL_REQUESTED,
        _D,
        "account decision_id",
        optional=f"{_EXTRA} verdict_seq intent intent_digest band expires_us reason author"
        " policy_digest notional_minor verdict_digest",
        idem="approval_requested:<verdict seq>",
    ),
    _spec(
        Kind.APPROVAL_GIVEN,
        _D,
        "account decision_id approver",
        optional=f"{_EXTRA} verdict_seq intent_digest reason band expires_us signature author"
        " policy_digest send_before_us kill_epoch role verdict_digest",
        idem="approval:<verdict seq>",
        section=True,
    ),
    _spec(
        Kind.APPROVAL_REFUSED,
        _D,
        "account decision_id approver",
        optional=f"{_EXTRA} verdict_seq intent_digest reason author role",
        idem="approval:<verdict seq>",
        section=True,
    ),
    _spec(
        Kind.RESERVATION_RELEASED,
        _D,
        "account reason",
        optional=f"{_EXTRA} decision_id reservation verdict_seq",
        idem="released",
        section=True,
    ),
    _spec(
        Kind.ORDER_SENDING,
        _D,
        f"{_ORDER} approving_seq fields kill_epoch send_before_us",
        optional=f"{_EXTRA} decision_id intent session policy_digest approving_leaf fields_digest"
        " market_now_us verdict instrument decided_us",
        idem="sending:<cl_ord_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_SENT,
        _D,
        "cl_ord_id msg_seq_num raw_digest raw",
        optional=f"{_EXTRA} account session sent_us decision_to_wire_us sending_time decision_id",
        idem="sent:<cl_ord_id>",
    ),
    _spec(
        Kind.ORDER_REFUSED,
        _D,
        f"{_ORDER} reason",
        optional=f"{_EXTRA} decision_id session",
        idem="refused:<cl_ord_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_UNKNOWN,
        _D,
        f"{_ORDER} reason",
        optional=f"{_EXTRA} decision_id session",
        idem="unknown:<cl_ord_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_WITHDRAWN,
        _D,
        "account reason",
        optional=f"{_EXTRA} cl_ord_id decision_id verdict_seq",
        idem="withdrawn",
        section=True,
    ),
    _spec(
        Kind.ORDER_REPORTED,
        _D,
        f"{_ORDER} report",
        optional=f"{_EXTRA} decision_id session inbox_offset raw_digest event fill order_state"
        " ord_status terminal last_lots market_time_us instrument anomaly trade_date exec_id",
        idem="report:<session>:<trade date>:<exec_id>",
        section=True,
    ),
    _spec(
        Kind.CANCEL_SENT,
        _D,
        "cl_ord_id orig_cl_ord_id",
        optional=f"{_EXTRA} account reason raw raw_digest msg_seq_num kill_epoch session result"
        " decision_id",
        idem="cancel:<cl_ord_id>",
    ),
    _spec(
        Kind.DECISION_SEALED,
        _D,
        "outcome",
        optional=f"{_EXTRA} account decision_id records elapsed_us instrument reason",
        idem="sealed",
    ),
    _spec(
        Kind.MARK_TAKEN,
        _M,
        f"{BASE} instrument market_time_us price_ticks",
        optional="source session_index session_date kind market_index",
        idem="mark:<run_id>:<market_time_us>",
        section=True,
    ),
    _spec(
        Kind.SESSION_EVENT,
        _S,
        "event detail",
        optional="run_id state msg_seq_in msg_seq_out session profile account",
        idem="event:<run_id>:<n>",
    ),
    _spec(
        Kind.FIX_INBOUND,
        _S,
        "offset raw msg_type digest",
        optional="run_id session received_us poss_dup",
        idem="inbound:<offset>",
    ),
    _spec(
        Kind.FIX_ANOMALY,
        _S,
        "reason raw",
        optional="run_id session offset cl_ord_id detail report account digest",
        idem="anomaly:<offset>",
    ),
    _spec(
        Kind.KILL_PRESSED,
        _C,
        "kill_epoch actor_name reason confirmed",
        optional="run_id mode dev account open elapsed_us detail source",
        idem="kill:<kill_epoch>",
        firm_wide=True,
    ),
    _spec(
        Kind.KILL_OUTCOME,
        _C,
        "kill_epoch confirmed unknown open detail",
        optional="run_id elapsed_us journal account swept_by",
        idem="kill_outcome:<kill_epoch>:<n>",
    ),
    _spec(
        Kind.KILL_RELEASED,
        _C,
        "kill_epoch released_by reason",
        optional="run_id mode dev detail signatures",
        idem="release:<kill_epoch>",
        firm_wide=True,
    ),
    _spec(
        Kind.OPERATOR_NOTE,
        _C,
        "text",
        optional="run_id account decision_id author detail",
        idem="note:<n>",
    ),
    _spec(
        Kind.STREAM_HEADS,
        _C,
        "heads part parts",
        actors=LEDGER,
        idem="heads:<tree size before it>:<part>",
    ),
    _spec(
        Kind.RUN_FINISHED,
        _C,
        f"{BASE} summary",
        optional="elapsed_us outcome",
        idem="run_finished:<run_id>",
    ),
)

KINDS: Mapping[Kind, KindSpec] = {spec.kind: spec for spec in _TABLE}


def check_payload(kind: Kind, payload: Mapping[str, JSON]) -> None:
    """Refuse a payload with a missing or unknown field.

    Raises:
        DraftError: names the fields.
    """
    spec = KINDS[kind]
    missing = spec.fields - payload.keys()
    unknown = payload.keys() - spec.fields - spec.optional
    if missing or unknown:
        raise DraftError(f"{kind}: missing {sorted(missing)}, unknown {sorted(map(str, unknown))}")
    account = payload.get("account")
    if "account" in payload and not isinstance(account, str | None):
        raise DraftError(f"{kind}: account is not text")
    if spec.section and not spec.firm_wide and not account:
        raise DraftError(f"{kind}: moves a section but names no account")


def check_stream(kind: Kind, stream: str) -> None:
    """Refuse a stream that a kind does not live in.

    Raises:
        DraftError: wrong sort of stream.
    """
    expected = KINDS[kind].stream
    if expected is StreamClass.CONTROL:
        fits = stream == expected
    else:
        fits = stream.startswith(expected) and len(stream) > len(expected)
    if not fits:
        raise DraftError(f"{kind} lives in {expected}, not in {stream!r}")


def check_actor(kind: Kind, actor: str) -> None:
    """Refuse an actor whose role may not write a kind.

    Raises:
        DraftError: unknown or wrong role.
    """
    role = actor.partition(":")[0]
    if role not in KINDS[kind].actors:
        raise DraftError(f"{kind} is not written by {actor!r}")
