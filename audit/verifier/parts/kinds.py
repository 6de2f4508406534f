"""The kinds of version 1 that this file interprets; of others it verifies the bytes only.

Written by `make verifier` from the table of kinds; do not edit.
"""

_KINDS = """
clock_observed run_started policy_activated model_loaded engine_event processes_agreed
instrument_listed receipt_key agent_scoped basket_received intent_received snapshot_taken
mode_chosen forecast_requested rounds_captured forecast_made forecast_failed placebo_made gjr_made
news_twin_made quote_taken intent_proposed placebo_judged gjr_judged verdict_given
approval_requested approval_resumed approval_given approval_refused reservation_released
basket_decided order_sending order_sent order_refused order_unknown order_withdrawn order_reported
order_ended cancel_requested cancel_sent cancel_ended replace_requested replace_sent replace_ended
decision_sealed mark_taken feed_condition session_event fix_inbound fix_anomaly foreign_reported
book_difference difference_resolved book_adjusted kill_pressed kill_outcome kill_released
kill_drilled stop_begun stop_ended override_granted override_ended cancel_all_asked
cancel_all_outcome flatten_asked mode_entered digests_registered promotion_tested model_promoted
fairness_tested fairness_agreed order_allocated policy_announced policy_tried review_drawn
review_answered decision_annotated forecast_scored publication_noted publication_ended
justification_entered swaps_tested case_opened case_noted case_moved operator_note read_recorded
access_refused alarm_lost key_rotated key_revoked key_destroyed ledger_restored rows_accepted
record_disavowed officer_key_changed witness_event hold_placed hold_lifted retention_expired
subject_erased personal_disclosed stream_heads run_finished
"""
KNOWN_KINDS = dict.fromkeys(_KINDS.split(), 1)
"""The kinds with their version."""
