"""The kinds of version 1 that this file interprets; of others it verifies the bytes only.

Written by `make verifier` from the table of kinds; do not edit.
"""

_KINDS = """
intent_received gjr_made quote_taken intent_proposed placebo_judged gjr_judged decision_sealed
operator_note snapshot_taken mode_chosen forecast_requested rounds_captured news_twin_made
forecast_failed placebo_made forecast_made order_sending order_sent order_refused order_unknown
order_withdrawn order_reported order_ended cancel_requested cancel_ended replace_requested
replace_sent replace_ended verdict_given approval_requested approval_resumed approval_given
approval_refused reservation_released fix_inbound fix_anomaly session_event foreign_reported
processes_agreed policy_announced feed_condition run_finished run_started instrument_listed
engine_event witness_event policy_activated model_loaded mark_taken ledger_restored book_difference
difference_resolved book_adjusted kill_drilled kill_pressed kill_outcome kill_released cancel_sent
mode_entered digests_registered promotion_tested model_promoted stop_begun stop_ended
cancel_all_asked flatten_asked cancel_all_outcome read_recorded access_refused receipt_key
agent_scoped alarm_lost review_drawn review_answered override_granted override_ended
decision_annotated forecast_scored policy_tried case_opened case_noted case_moved swaps_tested
justification_entered justification_ended publication_noted publication_ended fairness_tested
fairness_agreed order_allocated basket_received basket_decided rows_accepted key_rotated key_revoked
key_destroyed officer_key_changed record_disavowed stream_heads hold_placed hold_lifted
retention_expired subject_erased personal_disclosed clock_observed
"""
KNOWN_KINDS = dict.fromkeys(_KINDS.split(), 1)
"""The kinds with their version."""
