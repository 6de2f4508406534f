"""The closed list of record kinds, in walk order: fields, stream, actor and idempotency key.

Rules:

- A payload has every required field of its kind, any of the optional ones, and no other.
- A kind lives in one sort of stream.
- `section=True`: the record can change what a verdict rests on, so it moves the guard of its
  payload's `account`. `firm_wide=True`: it moves the guard of every account.
- A field whose name ends in `_blob` holds the SHA-256 of a stored blob in hex, or null.

Adding an optional field is a compatible change; anything else raises the kind's version.
"""

from collections.abc import Mapping

from audit.records.kind_names import Kind, StreamClass
from audit.records.kind_spec import LEDGER, RUN, KindSpec
from audit.records.kind_spec import spec as _spec
from audit.records.ledger_kinds import LEDGER_KINDS
from audit.records.stop_kinds import BASKET_KINDS, STOP_KINDS

__all__ = ["KINDS", "LEDGER", "RUN", "Kind", "KindSpec", "StreamClass"]

_C, _M = StreamClass.CONTROL, StreamClass.MARKET
_D, _S = StreamClass.DECISION, StreamClass.SESSION

_TABLE: tuple[KindSpec, ...] = (
    _spec(
        Kind.CLOCK_OBSERVED,
        _C,
        "reason wall_us source status offset_us error_us host step_us discipline?",
        "clock:<tree size before it>",
        ledger_only=True,
    ),
    _spec(
        Kind.RUN_STARTED,
        _C,
        RUN + "profile git versions models playback first_as_of_us data_cutoff_us equity_minor? "
        "currency? instruments? settings? origin? seed? policy_digest? detail? "
        "order_profile? liability? record_rules? table_digest? fix_profile?",
        "run_started:<run_id>",
    ),
    _spec(
        Kind.POLICY_ACTIVATED,
        _C,
        "policy_digest policy signatures signed_by reason version?",
        "policy:<policy_digest>:<n>",
        firm_wide=True,
    ),
    _spec(
        Kind.MODEL_LOADED,
        _C,
        "manifest engine self_test elapsed_us? plan?",
        "model:<run_id>:<n>",
    ),
    _spec(Kind.ENGINE_EVENT, _C, "event detail state? ", "engine:<run_id>:<n>"),
    _spec(Kind.PROCESSES_AGREED, _C, RUN + "process agreed", "agreed:<run_id>:<process>"),
    _spec(
        Kind.INSTRUMENT_LISTED,
        _M,
        "instrument reference? table_digest?",
        "listed:<digest of the payload>",
    ),
    _spec(Kind.RECEIPT_KEY, _C, "algorithm public run_id", "receipt_key:<public>"),
    _spec(
        Kind.AGENT_SCOPED,
        _C,
        "key account scope scope_digest",
        "scope:<account>:<key>:<scope_digest>",
    ),
    BASKET_KINDS[0],
    _spec(
        Kind.INTENT_RECEIVED,
        _D,
        RUN + "decision_id client_key request instrument? author? strategy? origin? attempt? "
        "session_index? policy_digest? policy_version? scope_digest? flattens? basket_id?",
        "intent:<client_key>",
    ),
    _spec(
        Kind.SNAPSHOT_TAKEN,
        _D,
        RUN + "decision_id instrument as_of_us snapshot_blob news_digest bars_digest strategy? "
        "author? session_index? session_date? n_bars? n_news? news? client_key? "
        "policy_digest? policy_version? narrative? narrative_as_of_us?",
        "snapshot",
    ),
    _spec(
        Kind.MODE_CHOSEN,
        _D,
        "attempt instrument chosen cause paths look_ahead look_ahead_cause most usual_paths tokens "
        "accepted_pm regime divergence events",
        "mode:<attempt>",
    ),
    _spec(
        Kind.FORECAST_REQUESTED,
        _D,
        "prompt_ids prompt_digest codec_digest template seed_root seed_size attempt seeds "
        "n_tokens spec_k drafter deadline_ms prompt? allowed_range? sigma? model_digest? horizon? "
        "bar_us? seed_rule? news_twin? drafts_first?",
        "request:<attempt>",
    ),
    _spec(
        Kind.ROUNDS_CAPTURED,
        _D,
        "capture_blob rounds drafted accepted positions elapsed_us? capture_bytes? attempt? "
        "drafter? mean_accepted? table_digest? plain_fallback?",
        "rounds:<attempt>",
    ),
    _spec(
        Kind.FORECAST_MADE,
        _D,
        "forecast elapsed_us? attempt? kept? dropped? digest? capture_digest? paths_blob? "
        "verdicts_blob?",
        "forecast:<attempt>",
    ),
    _spec(
        Kind.FORECAST_FAILED,
        _D,
        "reason detail attempt? elapsed_us? source?",
        "forecast_failed:<attempt>",
    ),
    _spec(
        Kind.PLACEBO_MADE,
        _D,
        "forecast elapsed_us? attempt? capture_blob? digest? reason? paths_blob?",
        "placebo:<attempt>",
    ),
    _spec(
        Kind.GJR_MADE,
        _D,
        "attempt forecast? fitter? paths_blob? missing?",
        "gjr:<attempt>",
    ),
    _spec(
        Kind.NEWS_TWIN_MADE,
        _D,
        "attempt prompt_digest forecast? capture_blob? capture_bytes? rounds? drafted? accepted? "
        "positions? plain_fallback? mean_accepted? elapsed_us? drafter? table_digest? missing?",
        "news_twin:<attempt>",
    ),
    _spec(
        Kind.QUOTE_TAKEN,
        _D,
        "instrument market_time_us bid_ticks ask_ticks session? phase? seq_gap? source? digest? "
        "session_index? session_date?",
        "quote:<market_time_us>",
    ),
    _spec(
        Kind.INTENT_PROPOSED,
        _D,
        RUN + "intent sizing? reason? intent_digest? attempt? book_digest? quote? paths? words?",
        "proposed | renewed:<attempt>",
    ),
    _spec(
        Kind.PLACEBO_JUDGED,
        _D,
        RUN + "intent verdict sizing? reason? policy_digest? book? basis_seq? forecast? "
        "book_digest? target_exposure_bp? result? fill? market_now_us? quote? state? "
        "policy_status? judged_book_digest? inputs? paths?",
        "placebo_judged",
    ),
    _spec(
        Kind.GJR_JUDGED,
        _D,
        RUN + "intent verdict sizing result fill market_now_us quote book_digest state "
        "policy_status judged_book_digest inputs? paths?",
        "gjr_judged",
    ),
    _spec(
        Kind.VERDICT_GIVEN,
        _D,
        RUN + "decision_id intent verdict basis_seq policy_digest kill_epoch market_now_us "
        "send_before_us reservation state? state_digest? sizing? reason? attempt? "
        "egress_epoch? instrument? action? result? intent_digest? policy_status? quote? "
        "narrative_as_of_us? renewal? approval? book? history? inputs?",
        "verdict:<basis_seq>",
        section=True,
    ),
    _spec(
        Kind.APPROVAL_REQUESTED,
        _D,
        "account decision_id verdict_seq? intent? intent_digest? band? expires_us? reason? "
        "author? policy_digest? verdict_digest?",
        "approval_requested:<verdict seq>",
    ),
    _spec(
        Kind.APPROVAL_RESUMED,
        _D,
        "account decision_id verdict_seq expires_us resumed_by",
        "approval_resumed:<run id>",
    ),
    _spec(
        Kind.APPROVAL_GIVEN,
        _D,
        "account decision_id approver verdict_seq? intent_digest? reason? band? expires_us? "
        "author? policy_digest? send_before_us? kill_epoch? role? verdict_digest? shown?",
        "approval:<verdict seq>",
        section=True,
    ),
    _spec(
        Kind.APPROVAL_REFUSED,
        _D,
        "account decision_id approver verdict_seq? intent_digest? reason? author? role?",
        "approval:<verdict seq>",
        section=True,
    ),
    _spec(
        Kind.RESERVATION_RELEASED,
        _D,
        "account reason reservation? verdict_seq?",
        "released",
        section=True,
    ),
    BASKET_KINDS[1],
    _spec(
        Kind.ORDER_SENDING,
        _D,
        "account cl_ord_id approving_seq fields kill_epoch send_before_us intent? session? "
        "policy_digest? approving_leaf? market_now_us? verdict? instrument? decided_us?",
        "sending:<cl_ord_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_SENT,
        _D,
        "cl_ord_id msg_seq_num raw_digest raw session? decision_to_wire_us? session_epoch?",
        "sent:<cl_ord_id>",
    ),
    _spec(
        Kind.ORDER_REFUSED,
        _D,
        "account cl_ord_id reason session?",
        "refused:<cl_ord_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_UNKNOWN,
        _D,
        "account cl_ord_id reason session?",
        "unknown:<cl_ord_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_WITHDRAWN,
        _D,
        "account reason cl_ord_id? verdict_seq?",
        "withdrawn",
        section=True,
    ),
    _spec(
        Kind.ORDER_REPORTED,
        _D,
        "account cl_ord_id report session? inbox_offset? raw_digest? fill? state? order_state? "
        "ord_status? terminal? last_lots? instrument? anomaly? trade_date? exec_id? undoes_seq? "
        "reopens? resolved_lots? restated?",
        "report:<session>:<trade date>:<exec_id>",
        section=True,
    ),
    _spec(
        Kind.ORDER_ENDED,
        _D,
        "account cl_ord_id reason order_state session? inbox_offset? resolves_seq?",
        "ended:<session>:<inbox offset> | ended:<resolved seq>",
        section=True,
    ),
    _spec(
        Kind.CANCEL_REQUESTED,
        _D,
        "account decision_id orig_cl_ord_id session requested_by role client_key reason",
        "cancel_requested:<requested by>:<client key>",
    ),
    _spec(
        Kind.CANCEL_SENT,
        _S,
        "cl_ord_id orig_cl_ord_id reason? raw? raw_digest? msg_seq_num? kill_epoch? session? "
        "result? boot_id? cancelled_us?",
        "cancel:<cl_ord_id>",
    ),
    _spec(
        Kind.CANCEL_ENDED,
        _D,
        "account decision_id cl_ord_id orig_cl_ord_id outcome reason order_state? session? "
        "inbox_offset? ord_status?",
        "cancel_ended:<cl_ord_id>:<inbox offset> | cancel_not_sent:<cl_ord_id>",
    ),
    _spec(
        Kind.REPLACE_REQUESTED,
        _D,
        "account decision_id orig_cl_ord_id session requested_by role client_key reason before "
        "after reservation market_now_us judged?",
        "replace_requested:<requested by>:<client key>",
        section=True,
    ),
    _spec(
        Kind.REPLACE_SENT,
        _D,
        "account decision_id cl_ord_id orig_cl_ord_id msg_seq_num session_epoch raw raw_digest",
        "replace_sent:<cl_ord_id>",
    ),
    _spec(
        Kind.REPLACE_ENDED,
        _D,
        "account decision_id cl_ord_id orig_cl_ord_id outcome reason terms freed_lots "
        "reservation order_state? session? inbox_offset? ord_status?",
        "replace_ended:<cl_ord_id>:<inbox offset>",
        section=True,
    ),
    _spec(
        Kind.DECISION_SEALED,
        _D,
        "outcome elapsed_us? instrument? reason? policy_digest? policy_version?",
        "sealed | sealed:<n>",
    ),
    _spec(
        Kind.MARK_TAKEN,
        _M,
        RUN + "instrument market_time_us price_ticks source? session_index? session_date? kind?",
        "mark:<run_id>:<market_time_us>",
        section=True,
    ),
    _spec(
        Kind.FEED_CONDITION,
        _M,
        "run_id instrument feed source condition sequence detail received_us",
        "feed:<run_id>:<n>",
    ),
    _spec(
        Kind.SESSION_EVENT,
        _S,
        "event detail state? session? reset_no? cause? old_sender? old_target? new_sender? "
        "new_target? logon_no? span_us? orders? positions? trading_day?",
        "event:<run_id>:<n>",
    ),
    _spec(Kind.FIX_INBOUND, _S, "offset raw msg_type digest session?", "inbound:<offset>"),
    _spec(
        Kind.FIX_ANOMALY,
        _S,
        "reason raw session? offset? cl_ord_id? report? digest?",
        "anomaly:<offset>:<reason>",
    ),
    _spec(
        Kind.FOREIGN_REPORTED,
        _S,
        "offset order_id cl_ord_id order_status treatment orig_cl_ord_id? exec_id? exec_type? "
        "instrument? side? order_account? quantity? price? filled? leaves? last_qty? last_price? "
        "works? cancel_refused?",
        "foreign:<inbox offset>",
    ),
    _spec(
        Kind.BOOK_DIFFERENCE,
        _C,
        "instrument cl_ord_id reason book_lots broker_lots session source inbox_offset? resent? "
        "detail? exec_id? odd_units?",
        "difference:<session>:<source>:<n>",
        firm_wide=True,
    ),
    _spec(
        Kind.DIFFERENCE_RESOLVED,
        _C,
        "of_seq of_leaf right resolved_by reason evidence adjustment? ends? signatures? "
        "book_lots? broker_lots? with_seq? terms? trade?",
        "resolved:<seq of the difference>",
        firm_wide=True,
    ),
    _spec(
        Kind.BOOK_ADJUSTED,
        _C,
        "account ref sort adjusted_by reason evidence terms signatures market_time_us lots "
        "instrument? amount_minor? fill? split? positions? reference? trade? effective_us? marks? "
        "mark_ticks?",
        "adjusted:<account>:<ref>",
        firm_wide=True,
    ),
    *STOP_KINDS,
    _spec(Kind.OPERATOR_NOTE, _C, "text author?", "note:<n>"),
    _spec(
        Kind.READ_RECORDED,
        _C,
        "reader role object from_us window_s",
        "read:<reader>:<role>:<object>:<from_us>",
    ),
    _spec(
        Kind.ACCESS_REFUSED,
        _C,
        "who reason count from_us window_s",
        "refused:<from_us>:<who>:<reason>:<random>",
    ),
    _spec(
        Kind.ALARM_LOST,
        _C,
        "alarm event at_us tries reason run_id",
        "alarm_lost:<run_id>:<n>",
    ),
    *LEDGER_KINDS,
)

KINDS: Mapping[Kind, KindSpec] = {spec.kind: spec for spec in _TABLE}
