"""The names of the kinds and their rows, as `kinds` reads them.

Written by `make kinds` from the classes of the kinds; do not edit.
"""

from enum import StrEnum


class Kind(StrEnum):
    """Every kind of record there is, in the order of the journal."""

    INTENT_RECEIVED = "intent_received"
    FORECAST_TAKEN = "forecast_taken"
    GJR_MADE = "gjr_made"
    QUOTE_TAKEN = "quote_taken"
    INTENT_PROPOSED = "intent_proposed"
    PLACEBO_JUDGED = "placebo_judged"
    GJR_JUDGED = "gjr_judged"
    DECISION_SEALED = "decision_sealed"
    OPERATOR_NOTE = "operator_note"
    SNAPSHOT_TAKEN = "snapshot_taken"
    FORECAST_SEALED = "forecast_sealed"
    FORECAST_LISTED = "forecast_listed"
    MODE_CHOSEN = "mode_chosen"
    FORECAST_REQUESTED = "forecast_requested"
    ROUNDS_CAPTURED = "rounds_captured"
    TOKENS_DRAWN = "tokens_drawn"
    NEWS_TWIN_MADE = "news_twin_made"
    PATHS_JOINED = "paths_joined"
    FORECAST_FAILED = "forecast_failed"
    PLACEBO_MADE = "placebo_made"
    FORECAST_MADE = "forecast_made"
    ORDER_SENDING = "order_sending"
    ORDER_SENT = "order_sent"
    ORDER_REFUSED = "order_refused"
    ORDER_UNKNOWN = "order_unknown"
    ORDER_WITHDRAWN = "order_withdrawn"
    ORDER_REPORTED = "order_reported"
    ORDER_ENDED = "order_ended"
    CANCEL_REQUESTED = "cancel_requested"
    CANCEL_ENDED = "cancel_ended"
    REPLACE_REQUESTED = "replace_requested"
    REPLACE_SENT = "replace_sent"
    REPLACE_ENDED = "replace_ended"
    VERDICT_GIVEN = "verdict_given"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_RESUMED = "approval_resumed"
    APPROVAL_GIVEN = "approval_given"
    APPROVAL_REFUSED = "approval_refused"
    RESERVATION_RELEASED = "reservation_released"
    FIX_INBOUND = "fix_inbound"
    FIX_ANOMALY = "fix_anomaly"
    SESSION_EVENT = "session_event"
    FOREIGN_REPORTED = "foreign_reported"
    PROCESSES_AGREED = "processes_agreed"
    POLICY_ANNOUNCED = "policy_announced"
    FEED_CONDITION = "feed_condition"
    RUN_FINISHED = "run_finished"
    RUN_STARTED = "run_started"
    INSTRUMENT_LISTED = "instrument_listed"
    ENGINE_EVENT = "engine_event"
    WITNESS_EVENT = "witness_event"
    POLICY_ACTIVATED = "policy_activated"
    MODEL_LOADED = "model_loaded"
    MARK_TAKEN = "mark_taken"
    LEDGER_RESTORED = "ledger_restored"
    BOOK_DIFFERENCE = "book_difference"
    DIFFERENCE_RESOLVED = "difference_resolved"
    BOOK_ADJUSTED = "book_adjusted"
    KILL_DRILLED = "kill_drilled"
    KILL_PRESSED = "kill_pressed"
    KILL_OUTCOME = "kill_outcome"
    KILL_RELEASED = "kill_released"
    CANCEL_SENT = "cancel_sent"
    MODE_ENTERED = "mode_entered"
    DIGESTS_REGISTERED = "digests_registered"
    PROMOTION_TESTED = "promotion_tested"
    MODEL_PROMOTED = "model_promoted"
    STOP_BEGUN = "stop_begun"
    STOP_ENDED = "stop_ended"
    CANCEL_ALL_ASKED = "cancel_all_asked"
    FLATTEN_ASKED = "flatten_asked"
    CANCEL_ALL_OUTCOME = "cancel_all_outcome"
    READ_RECORDED = "read_recorded"
    ACCESS_REFUSED = "access_refused"
    RECEIPT_KEY = "receipt_key"
    AGENT_SCOPED = "agent_scoped"
    ALARM_LOST = "alarm_lost"
    REVIEW_DRAWN = "review_drawn"
    REVIEW_ANSWERED = "review_answered"
    OVERRIDE_GRANTED = "override_granted"
    OVERRIDE_ENDED = "override_ended"
    DECISION_ANNOTATED = "decision_annotated"
    FORECAST_SCORED = "forecast_scored"
    SAMPLER_CHECKED = "sampler_checked"
    POLICY_TRIED = "policy_tried"
    CASE_OPENED = "case_opened"
    CASE_NOTED = "case_noted"
    CASE_MOVED = "case_moved"
    SWAPS_TESTED = "swaps_tested"
    JUSTIFICATION_ENTERED = "justification_entered"
    JUSTIFICATION_ENDED = "justification_ended"
    PUBLICATION_NOTED = "publication_noted"
    PUBLICATION_ENDED = "publication_ended"
    FAIRNESS_TESTED = "fairness_tested"
    FAIRNESS_AGREED = "fairness_agreed"
    ORDER_ALLOCATED = "order_allocated"
    BASKET_RECEIVED = "basket_received"
    BASKET_DECIDED = "basket_decided"
    ROWS_ACCEPTED = "rows_accepted"
    KEY_ROTATED = "key_rotated"
    KEY_REVOKED = "key_revoked"
    KEY_DESTROYED = "key_destroyed"
    OFFICER_KEY_CHANGED = "officer_key_changed"
    RECORD_DISAVOWED = "record_disavowed"
    STREAM_HEADS = "stream_heads"
    HOLD_PLACED = "hold_placed"
    HOLD_LIFTED = "hold_lifted"
    RETENTION_EXPIRED = "retention_expired"
    SUBJECT_ERASED = "subject_erased"
    PERSONAL_DISCLOSED = "personal_disclosed"
    CLOCK_OBSERVED = "clock_observed"


ROWS = """
intent_received decision/
    account client_key decision_id dev mode request run_id attempt? author? basket_id? flattens?
    instrument? origin? policy_digest? policy_version? scope_digest? session_index? strategy?
forecast_taken decision/
    account attempt decision_id dev instrument mode run_id author? forecast_attempt? forecast_id?
    missing? narrative? narrative_as_of_us? of_leaf? of_seq? policy_digest? policy_version?
    session_date? session_index? strategy?
gjr_made forecast/
    attempt fitter? forecast? missing? paths_blob?
quote_taken decision/
    ask_ticks bid_ticks instrument market_time_us digest? phase? seq_gap? session? session_date?
    session_index? source?
intent_proposed decision/
    account dev intent mode run_id attempt? book_digest? intent_digest? paths? quote? reason?
    sizing? words?
placebo_judged decision/
    account dev intent mode run_id verdict basis_seq? book? book_digest? fill? forecast? inputs?
    judged_book_digest? market_now_us? paths? policy_digest? policy_status? quote? reason? result?
    sizing? state? target_exposure_bp?
gjr_judged decision/
    account book_digest dev fill intent judged_book_digest market_now_us mode policy_status quote
    result run_id sizing state verdict inputs? paths?
decision_sealed decision/
    outcome elapsed_us? instrument? policy_digest? policy_version? reason?
operator_note control
    text author?
snapshot_taken forecast/
    as_of_us attempt bars_digest dev forecast_id inputs instrument mode n_bars n_news news_digest
    run_id snapshot_blob policy_digest? policy_version?
forecast_sealed forecast/
    instrument outcome
forecast_listed instrument/
    again attempt event forecast_id instrument
mode_chosen forecast/
    accepted_pm attempt by_state cause chosen divergence events first instrument look_ahead
    look_ahead_cause most paths regime sampler tokens usual_paths
forecast_requested forecast/
    attempt codec_digest deadline_ms drafter n_tokens paths prompt_digest prompt_ids sampler
    seed_root seed_size seeds_digest spec_k template allowed_range? bar_us? drafts_first? horizon?
    model_digest? news_twin? prompt? seed_rule? sigma?
rounds_captured forecast/
    accepted capture_blob drafted positions rounds attempt? capture_bytes? drafter? elapsed_us?
    mean_accepted? plain_fallback? table_digest?
tokens_drawn forecast/
    attempt capture_blob capture_bytes n_tokens paths rule seed states table_digest
news_twin_made forecast/
    attempt prompt_digest accepted? capture_blob? capture_bytes? drafted? drafter? elapsed_us?
    forecast? mean_accepted? mean_error_1e8? missing? own_shortfall_1e8? paths_blob? plain_fallback?
    positions? rounds? shortfall_1e8? table_digest?
paths_joined joint/
    correlation_1e6 digest joint_id keep_bp members mode n_paths rule seed shrunk_bp without_bp
forecast_failed forecast/
    detail reason attempt? elapsed_us? source?
placebo_made forecast/
    forecast attempt? capture_blob? digest? elapsed_us? paths_blob? reason?
forecast_made forecast/
    forecast attempt? capture_digest? digest? dropped? elapsed_us? kept? paths_blob? verdicts_blob?
order_sending decision/ section
    account approving_seq cl_ord_id fields kill_epoch send_before_us approving_leaf? decided_us?
    instrument? intent? market_now_us? policy_digest? session? verdict?
order_sent decision/
    cl_ord_id msg_seq_num raw raw_digest decision_to_wire_us? session? session_epoch?
order_refused decision/ section
    account cl_ord_id reason session?
order_unknown decision/ section
    account cl_ord_id reason session?
order_withdrawn decision/ section
    account reason cl_ord_id? verdict_seq?
order_reported decision/ section
    account cl_ord_id report anomaly? exec_id? fill? inbox_offset? instrument? last_lots?
    ord_status? order_state? raw_digest? reopens? resolved_lots? restated? session? state? terminal?
    trade_date? undoes_seq?
order_ended decision/ section
    account cl_ord_id order_state reason inbox_offset? resolves_seq? session?
cancel_requested decision/
    account client_key decision_id orig_cl_ord_id reason requested_by role session
cancel_ended decision/
    account cl_ord_id decision_id orig_cl_ord_id outcome reason inbox_offset? ord_status?
    order_state? session?
replace_requested decision/ section
    account after before client_key decision_id market_now_us orig_cl_ord_id reason requested_by
    reservation role session judged?
replace_sent decision/
    account cl_ord_id decision_id msg_seq_num orig_cl_ord_id raw raw_digest session_epoch
replace_ended decision/ section
    account cl_ord_id decision_id freed_lots orig_cl_ord_id outcome reason reservation terms
    inbox_offset? ord_status? order_state? session?
verdict_given decision/ section
    account basis_seq decision_id dev intent kill_epoch market_now_us mode policy_digest reservation
    run_id send_before_us verdict action? approval? attempt? book? egress_epoch? history? inputs?
    instrument? intent_digest? narrative_as_of_us? policy_status? quote? reason? renewal? result?
    sizing? state? state_digest?
approval_requested decision/
    account decision_id author? band? expires_us? intent? intent_digest? policy_digest? reason?
    verdict_digest? verdict_seq?
approval_resumed decision/
    account decision_id expires_us resumed_by verdict_seq
approval_given decision/ section
    account approver decision_id author? band? expires_us? intent_digest? kill_epoch? policy_digest?
    reason? role? send_before_us? shown? verdict_digest? verdict_seq?
approval_refused decision/ section
    account approver decision_id author? intent_digest? reason? role? verdict_seq?
reservation_released decision/ section
    account reason reservation? verdict_seq?
fix_inbound session/
    digest msg_type offset raw session?
fix_anomaly session/
    raw reason cl_ord_id? digest? offset? report? session?
session_event session/
    detail event cause? logon_no? new_sender? new_target? old_sender? old_target? orders? positions?
    reset_no? session? span_us? state? trading_day?
foreign_reported session/
    cl_ord_id offset order_id order_status treatment cancel_refused? exec_id? exec_type? filled?
    instrument? last_price? last_qty? leaves? order_account? orig_cl_ord_id? price? quantity? side?
    works?
processes_agreed control
    account agreed dev mode process run_id
policy_announced control
    actor_name follows_digest loosens policy policy_digest reason wait_us
feed_condition market/
    condition detail feed instrument received_us run_id sequence source
run_finished control
    account dev mode run_id summary elapsed_us? outcome?
run_started control
    account data_cutoff_us dev first_as_of_us git mode models playback profile run_id versions
    currency? equity_minor? fix_profile? instruments? liability? order_profile? origin?
    policy_digest? record_rules? seed? settings? table_digest?
instrument_listed market/
    instrument reference? table_digest?
engine_event control
    detail event state?
witness_event control
    cosigned_size event policy_digest witnesses waiting_us?
policy_activated control firm_wide
    policy policy_digest reason signatures signed_by version?
model_loaded control
    engine manifest self_test elapsed_us? plan?
mark_taken market/ section
    account dev instrument market_time_us mode price_ticks run_id kind? session_date? session_index?
    source?
ledger_restored control
    backup_sha256 known_size lost reason root size
book_difference control firm_wide
    book_lots broker_lots cl_ord_id instrument reason session source exec_id? inbox_offset?
    odd_units? resent?
difference_resolved control firm_wide
    evidence of_leaf of_seq reason resolved_by right adjustment? book_lots? broker_lots? ends?
    signatures? terms? trade? with_seq?
book_adjusted control firm_wide
    account adjusted_by evidence lots market_time_us reason ref signatures sort terms amount_minor?
    effective_us? fill? instrument? mark_ticks? marks? positions? reference? split? trade?
kill_drilled control
    actor_name boot_id confirmed durable_us kill_epoch live pressed_us reason confirmed_us?
kill_pressed control firm_wide
    actor_name confirmed kill_epoch reason boot_id? confirmed_us? elapsed_us? open? press_id?
    pressed_us? source?
kill_outcome control
    confirmed detail kill_epoch open unknown answered_us? boot_id? elapsed_us? first_cancel_us?
    last_cancel_us? last_order_us? pressed_us?
kill_released control firm_wide
    kill_epoch reason released_by live? log_id? press_id? signatures?
cancel_sent session/
    cl_ord_id orig_cl_ord_id boot_id? cancelled_us? kill_epoch? msg_seq_num? raw? raw_digest?
    reason? result? session?
mode_entered control
    account before mode sender target limits? log_id? reason? signatures?
digests_registered control
    actor_name digests reason
promotion_tested control
    actor_name failed gate model_digest model_id passed reason report_blob
model_promoted control
    log_id model_digest model_id report_blob signatures tested_seq
stop_begun control firm_wide
    actor_name reason stop stop_id
stop_ended control firm_wide
    ended_by reason stop_ids log_id? signatures?
cancel_all_asked control
    actor_name cancel_id live reason
flatten_asked control
    actor_name flatten_id left orders reason
cancel_all_outcome control
    cancel_id confirmed open unknown
read_recorded control
    from_us object reader role window_s
access_refused control
    count from_us reason who window_s
receipt_key control
    algorithm public run_id
agent_scoped control
    account key scope scope_digest
alarm_lost control
    alarm at_us event reason run_id tries
review_drawn control
    actor_name decisions first_day last_day proposed root size
review_answered control
    actor_name answer note review_seq reviewed_id sheet_digest
override_granted control section
    account check expires_us granted_by instrument log_id not_before_us notional_max_minor
    override_id policy_digest qty_max_lots reason rule_id side signatures
override_ended control section
    account ended_by outcome override_id reason used_by?
decision_annotated control
    actor_name annotated_id role sort text about_seq? instead?
forecast_scored market/
    attempt base_us came_1e8 came_us forecast_seq instrument model_digest scored_id snapshot_seq
    step table target
sampler_checked sampler/
    capture_blob capture_bytes checked_id degrees model_digest of_leaf of_seq statistic_1e6 tokens
policy_tried control
    actor_name first_seq flips follows_digest last_seq policy policy_digest trial_blob untried
    verdicts
case_opened case/
    accounts agents at_us case_id evidence indicator instrument who
case_noted case/
    actor_name case_id text
case_moved case/
    actor_name case_id case_state reason
swaps_tested control firm_wide
    actor_name bound_1e8 floor_1e8 identity iqr_1e8 lexicon_digest model_digest outside pairs paths
    placebo swaps_digest tested_id
justification_entered control firm_wide
    actor_name log_id ref signatures terms
justification_ended control firm_wide
    ended_by of_leaf of_seq reason ref signatures
publication_noted control firm_wide
    actor_name author instrument medium published_us ref reference
publication_ended control firm_wide
    ended_by of_leaf of_seq reason ref signatures
fairness_tested control
    actor_name cases criteria criteria_digest deals first_day last_day results root size tests?
fairness_agreed control
    actor_name criteria criteria_digest log_id notice_days signatures
order_allocated control
    account allocated_by decision_id lots parts sealed_seq
basket_received control
    account author basket_id client_key dev digest legs mode run_id
basket_decided control
    account basket_id legs outcome reason received_seq
rows_accepted control
    reason root size
key_rotated control
    from_size from_us new_vkey old_vkey statement
key_revoked control
    from_us statement vkey reason?
key_destroyed control
    vkey
officer_key_changed control
    after before name reason role signatures
record_disavowed control firm_wide
    leaf of_stream reason seq signatures
stream_heads control ledger_only
    heads part parts
hold_placed control
    hold_id placed_by reason scope
hold_lifted control
    hold_id lifted_by reason
retention_expired control
    classes kept_until_us newest_us records subject retention_years?
subject_erased control
    basis erased_by erased_us fields records subject fields_blob? retention_years?
personal_disclosed control
    positions reader reason seq subjects
clock_observed control ledger_only
    error_us host offset_us reason source status step_us wall_us discipline?
"""

SIGNED = {
    "justification_entered": (
        "",
        "fairness justification",
        "ref {ref}",
        "terms {terms:json}",
    ),
    "justification_ended": (
        "justification_entered",
        "justification end",
        "record {of_seq} {of_leaf}",
        "reason {reason:json}",
    ),
    "publication_ended": (
        "publication_noted",
        "publication end",
        "record {of_seq} {of_leaf}",
        "reason {reason:json}",
    ),
}
